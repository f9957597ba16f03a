#define _GNU_SOURCE
#include "session/eventlog.h"

#include "os/clock.h"
#include "os/fd.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum cc_code make_dirs(const char *path, struct cc_err *err)
{
	char part[4096];

	if (strlen(path) >= sizeof(part))
		return cc_fail(err, CC_ELIMIT, 0, "the state directory's path is too long");
	for (const char *at = path + 1;; at++) {
		if (*at && *at != '/')
			continue;
		memcpy(part, path, (size_t)(at - path));
		part[at - path] = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return cc_fail(err, CC_ESYS, errno, "cannot make %s", part);
		if (!*at)
			return CC_OK;
	}
}

static int is_log(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 6 && strcmp(entry->d_name + len - 6, ".jsonl") == 0;
}

/* Session ids start with the time, so names in order are ages in order. */
static void remove_oldest(const char *dir)
{
	struct dirent **names = NULL;
	int count = scandir(dir, &names, is_log, alphasort);
	char path[4096 + 256];

	for (int i = 0; i < count; i++) {
		if (i < count - CC_EVENTLOG_KEEP) {
			snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
			unlink(path);
		}
		free(names[i]);
	}
	free(names);
}

enum cc_code cc_eventlog_default(const char *state_home, const char *session, struct cc_eventlog *out_log,
				 struct cc_err *err)
{
	char dir[4096];
	char path[8192];
	enum cc_code code;
	int fd;

	if ((size_t)snprintf(dir, sizeof(dir), "%s/events", state_home) >= sizeof(dir))
		return cc_fail(err, CC_ELIMIT, 0, "the state directory's path is too long");
	code = make_dirs(dir, err);
	if (code != CC_OK)
		return code;
	snprintf(path, sizeof(path), "%s/%s.jsonl", dir, session);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot make %s", path);
	/* a few more than kept do no harm: looking at all of them at every start would cost more */
	if (cc_clock_wall_ms() % 16 == 0)
		remove_oldest(dir);
	*out_log = (struct cc_eventlog){.fd = fd};
	return CC_OK;
}

enum cc_code cc_eventlog_open(const char *where, struct cc_eventlog *out_log, struct cc_err *err)
{
	char *end = NULL;
	long number = strncmp(where, "fd:", 3) == 0 ? strtol(where + 3, &end, 10) : -1;
	int fd;

	if (end && (*end || end == where + 3 || number < 0 || fcntl((int)number, F_GETFD) < 0))
		return cc_fail(err, CC_EINVAL, 0, "--events %s: that descriptor is not open", where);
	fd = end ? fcntl((int)number, F_DUPFD_CLOEXEC, 3)
		 : open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "--events %s", where);
	*out_log = (struct cc_eventlog){.fd = fd, .output = true};
	return CC_OK;
}

void cc_eventlog_put(struct cc_eventlog *log, const struct cc_event *event)
{
	struct cc_buf line;
	struct cc_err err;

	if (log->fd < 0 || (!log->output && (event->type == CC_EVENT_STDOUT || event->type == CC_EVENT_STDERR)))
		return;
	cc_buf_init(&line, 1 << 20);
	cc_event_write(event, &line);
	if (line.failed || cc_fd_write_all(log->fd, line.data, line.len, &err) != CC_OK)
		log->failed = true;
	cc_buf_done(&line);
}

void cc_eventlog_done(struct cc_eventlog *log)
{
	cc_fd_close(&log->fd);
}
