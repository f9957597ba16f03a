/* file.c - the record of a run, written and read. */
#define _GNU_SOURCE
#include "runs/inside.h"

#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

void cc_record_path(const struct cc_runs *runs, const char *id, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/runs/%s.ndjson", runs->config.data_dir, id);
}

enum cc_code cc_record_make(struct cc_run *run, struct cc_err *err)
{
	char path[PATH_MAX];

	cc_record_path(run->runs, run->id, path);
	run->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return run->file >= 0 ? CC_OK : cc_fail(err, CC_ESYS, errno, "cannot make %s", path);
}

static void wake(struct cc_run *run)
{
	struct cc_run_reader *next;

	for (struct cc_run_reader *reader = run->readers; reader; reader = next) {
		next = reader->next;
		reader->wake(reader->context);
	}
}

void cc_record_line(struct cc_run *run, const char *kind, const struct cc_json *object, bool last)
{
	/* a number, a time and the run's name, whatever the object says of its own */
	static const char *const ours[] = {"v", "seq", "time", "run", "record", NULL};
	struct cc_buf line;
	struct cc_jsonw w;
	ssize_t done;

	if (run->size > CC_RUN_RECORD_MAX && !last) {
		run->skipped++;
		return;
	}
	cc_buf_init(&line, 2 * (size_t)CC_RUN_LINE_MAX);
	cc_jsonw_init(&w, &line);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", 1);
	cc_jsonw_kint(&w, "seq", (int64_t)++run->seq);
	cc_jsonw_kint(&w, "time", cc_clock_wall_ms());
	cc_jsonw_kstr(&w, "run", run->id);
	cc_jsonw_kstr(&w, "record", kind);
	if (last && run->skipped)
		cc_jsonw_kint(&w, "skippedEvents", (int64_t)run->skipped);
	cc_jsonw_members(&w, object, ours);
	cc_jsonw_end(&w);
	cc_buf_adds(&line, "\n");
	/* one write, to the end: a line is there whole, or what a full disk left of it has no feed and is no line */
	done = line.failed ? -1 : write(run->file, line.data, line.len);
	if (done != (ssize_t)line.len)
		run->skipped++;
	else
		run->size += line.len;
	cc_buf_done(&line);
	wake(run);
}

static bool is_id(const char *id)
{
	return *id && strlen(id) <= 80 && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id);
}

enum cc_code cc_runs_diff(const struct cc_runs *runs, const char *id, struct cc_buf *out, struct cc_err *err)
{
	char path[PATH_MAX];
	CC_AUTO_FD fd = -1;

	snprintf(path, sizeof(path), "%s/runs/%s.diff", runs->config.data_dir, is_id(id) ? id : "");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return cc_fail(err, CC_ENOTFOUND, 0, "there is no change of a run of that name");
	return cc_fd_read_all(fd, out, err);
}

enum cc_code cc_run_reader_open(struct cc_run_reader *reader, struct cc_runs *runs, const char *id, uint64_t since,
				struct cc_err *err)
{
	char path[PATH_MAX];

	if (!is_id(id))
		return cc_fail(err, CC_ENOTFOUND, 0, "there is no run of that name");
	cc_record_path(runs, id, path);
	reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (reader->fd < 0)
		return cc_fail(err, CC_ENOTFOUND, 0, "there is no record of a run of that name");
	cc_buf_init(&reader->bytes, 2 * (size_t)CC_RUN_LINE_MAX + CHUNK);
	reader->since = since;
	reader->run = cc_runs_find(runs, id);
	if (reader->run) {
		reader->next = reader->run->readers;
		reader->run->readers = reader;
	}
	return CC_OK;
}

void cc_run_reader_close(struct cc_run_reader *reader)
{
	if (reader->run)
		for (struct cc_run_reader **at = &reader->run->readers; *at; at = &(*at)->next)
			if (*at == reader) {
				*at = reader->next;
				break;
			}
	reader->run = NULL;
	cc_fd_close(&reader->fd);
	cc_buf_done(&reader->bytes);
}

static void read_more(struct cc_run_reader *reader)
{
	char chunk[CHUNK];
	ssize_t got = read(reader->fd, chunk, sizeof(chunk));

	reader->end = got <= 0;
	if (got > 0)
		cc_buf_add(&reader->bytes, chunk, (size_t)got);
	if (reader->bytes.failed) { /* no line is that long */
		cc_buf_reset(&reader->bytes);
		reader->end = true;
	}
}

bool cc_run_reader_take(struct cc_run_reader *reader, struct cc_view *out_line, uint64_t *out_seq)
{
	for (;;) {
		const char *end;

		cc_buf_eat(&reader->bytes, reader->taken);
		reader->taken = 0;
		end = reader->bytes.len ? memchr(reader->bytes.data, '\n', reader->bytes.len) : NULL;
		if (!end) {
			read_more(reader);
			if (reader->end)
				return false;
			continue;
		}
		*out_line = (struct cc_view){reader->bytes.data, (size_t)(end - reader->bytes.data) + 1};
		reader->taken = out_line->len;
		*out_seq = 0;
		if (cc_view_starts(*out_line, "{\"v\":1,\"seq\":"))
			*out_seq = strtoull(out_line->ptr + 13, NULL, 10);
		if (*out_seq > reader->since)
			return true;
	}
}

bool cc_run_reader_over(const struct cc_run_reader *reader)
{
	return !reader->run && reader->end;
}
