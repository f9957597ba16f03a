#define _GNU_SOURCE
#include "runs/inside.h"

#include "agents/redact.h"
#include "os/fd.h"
#include "work/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a runner that was told to end may still work: it settles what the agent left. */
enum { END_MS = 60000 };

enum cc_code cc_runs_new(const struct cc_runs_config *config, struct cc_runs **out_runs, struct cc_err *err)
{
	struct cc_runs *runs = calloc(1, sizeof(*runs));
	char path[PATH_MAX];

	if (!runs)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	runs->config = *config;
	snprintf(path, sizeof(path), "%s/runs", config->data_dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		free(runs);
		return cc_fail(err, CC_ESYS, errno, "cannot make %s", path);
	}
	*out_runs = runs;
	return CC_OK;
}

struct cc_run *cc_runs_find(struct cc_runs *runs, const char *id)
{
	for (struct cc_run *run = runs->first; run; run = run->next)
		if (strcmp(run->id, id) == 0)
			return run;
	return NULL;
}

void cc_runs_reaped(struct cc_runs *runs, pid_t pid)
{
	for (struct cc_run *run = runs->first; run; run = run->next)
		if (run->child.pid == pid) {
			run->child.pid = -1;
			cc_fd_close(&run->child.pidfd);
		}
}

static void forget(struct cc_run *run)
{
	cc_fd_close(&run->file);
	cc_strv_done(&run->repos);
	free(run->id);
	free(run->backend);
	free(run->reason);
	free(run->detail);
	free(run);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct cc_run *run = handle->data;

	if (--run->handles == 0)
		forget(run);
}

static void unlist(struct cc_run *run)
{
	struct cc_runs *runs = run->runs;
	struct cc_run_reader *next;

	for (struct cc_run **at = &runs->first; *at; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			runs->count--;
			break;
		}
	for (struct cc_run_reader *reader = run->readers; reader; reader = next) {
		next = reader->next;
		reader->run = NULL;
		reader->wake(reader->context);
	}
	run->readers = NULL;
	if (runs->count == 0 && runs->ended) {
		void (*ended)(void *context) = runs->ended;

		runs->ended = NULL;
		ended(runs->ended_context);
	}
}

/* What its push gateway kept while it judged; a runner that was killed did not take it away. */
static void drop_spool(const struct cc_runs *runs, const char *id)
{
	char dir[PATH_MAX];
	struct cc_err err;

	snprintf(dir, sizeof(dir), "%s/push", runs->config.data_dir);
	(void)!cc_files_remove(dir, id, &err); /* mostly it is not there */
}

/* The last of a run, whatever became of its runner: nothing of it goes on, and that it is over stands in its record. */
void cc_run_over(struct cc_run *run)
{
	struct cc_live *session = cc_roster_find(run->runs->config.roster, run->id);
	static const char lost[] = "{\"exitCode\":125,\"reason\":\"lost\"}";
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;

	if (run->polled) { /* the handle first: see close_pipe of src/live */
		run->polled = false;
		uv_close((uv_handle_t *)&run->poll, on_handle_closed);
	}
	cc_fd_close(&run->link);
	cc_proc_end(&run->child);
	if (session)
		cc_live_end(session, "the run is over");
	drop_spool(run->runs, run->id);
	if (run->repos.count)
		cc_forges_revoke(run->runs->config.forges, run->id, run);
	if (!run->ended) {
		run->ended = true;
		run->state = "lost";
		run->code = 125;
		free(run->reason);
		run->reason = cc_str_copy("lost");
		if (cc_json_parse("end", cc_view_of(lost), 0, &doc, &err) == CC_OK)
			cc_record_line(run, "end", cc_json_root(doc), true);
	}
	if (run->runs->config.changed)
		run->runs->config.changed(run->runs->config.context, run);
	unlist(run);
	uv_close((uv_handle_t *)&run->grace, on_handle_closed);
}

/* The request, as far as it says what the run is; of the prompt what a record may hold. */
static void record_start(struct cc_run *run, const struct cc_run_ask *ask)
{
	static const char *const modes[] = {"", "chat", "review", "plan", "orchestrate"};
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_view prompt = cc_view_of(ask->wanted->prompt);
	struct cc_buf text, clean;
	struct cc_jsonw w;
	struct cc_err err;

	cc_buf_init(&text, CC_RUN_LINE_MAX);
	cc_buf_init(&clean, CC_RUN_LINE_MAX);
	if (prompt.len > CC_RUN_SAY_MAX)
		prompt.len = CC_RUN_SAY_MAX;
	cc_redact(prompt, &clean);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "agent", ask->wanted->agent);
	cc_jsonw_kstr(&w, "mode", modes[ask->wanted->mode]);
	cc_jsonw_kstr(&w, "workspaceId", ask->wanted->workspace ? ask->wanted->workspace : "default");
	cc_jsonw_kstr(&w, ask->repo ? "repo" : "directory", ask->repo ? ask->repo : ask->wanted->directory);
	if (ask->wanted->model)
		cc_jsonw_kstr(&w, "model", ask->wanted->model);
	cc_jsonw_key(&w, "prompt");
	cc_jsonw_view(&w, cc_buf_view(&clean));
	cc_jsonw_end(&w);
	if (!text.failed && cc_json_parse("start", cc_buf_view(&text), 0, &doc, &err) == CC_OK)
		cc_record_line(run, "start", cc_json_root(doc), false);
	cc_buf_done(&text);
	cc_buf_done(&clean);
}

enum cc_code cc_run_start(struct cc_runs *runs, const struct cc_run_ask *ask, struct cc_run **out_run,
			  struct cc_err *err)
{
	struct cc_run *run;
	enum cc_code code;

	if (runs->ended || runs->count >= CC_RUNS_AT_ONCE)
		return cc_fail(err, CC_ELIMIT, 0, "at most %d runs at once, and none when the server goes down",
			       CC_RUNS_AT_ONCE);
	run = calloc(1, sizeof(*run));
	if (!run)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	*run = (struct cc_run){.runs = runs,
			       .id = cc_str_copy(ask->id),
			       .state = "starting",
			       .code = -1,
			       .child = {-1, -1},
			       .link = -1,
			       .file = -1};
	code = run->id ? cc_record_make(run, err) : cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (code != CC_OK) {
		forget(run);
		return code;
	}
	run->next = runs->first;
	runs->first = run;
	runs->count++;
	uv_timer_init(runs->config.loop, &run->grace);
	run->grace.data = run;
	run->handles++;
	record_start(run, ask);
	code = cc_runlink_start(run, ask, err);
	if (code != CC_OK) {
		cc_run_over(run);
		return code;
	}
	*out_run = run;
	return CC_OK;
}

void cc_run_look(const struct cc_run *run, struct cc_run_now *out)
{
	*out = (struct cc_run_now){.id = run->id,
				   .state = run->state,
				   .backend = run->backend,
				   .reason = run->reason,
				   .detail = run->detail,
				   .code = run->code,
				   .pid = run->child.pid > 0 && !run->ended ? run->child.pid : 0};
}

static enum cc_code say(struct cc_run *run, struct cc_jsonw *w, struct cc_buf *text, struct cc_err *err)
{
	enum cc_code code;

	cc_jsonw_end(w);
	code = cc_runlink_say(run, text, err);
	cc_buf_done(text);
	return code;
}

enum cc_code cc_run_steer(struct cc_run *run, const char *text, struct cc_err *err)
{
	struct cc_buf message;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &message, CC_PEER_MAX, "steer");
	cc_jsonw_kstr(&w, "text", text);
	return say(run, &w, &message, err);
}

static void on_grace_over(uv_timer_t *timer)
{
	cc_run_over(timer->data);
}

enum cc_code cc_run_stop(struct cc_run *run, struct cc_err *err)
{
	struct cc_buf message;
	struct cc_jsonw w;
	enum cc_code code;

	cc_jsonw_message(&w, &message, CC_PEER_MAX, "stop");
	code = say(run, &w, &message, err);
	if (code == CC_OK && !uv_is_active((uv_handle_t *)&run->grace))
		uv_timer_start(&run->grace, on_grace_over, END_MS, 0);
	return code;
}

enum cc_code cc_run_answer(struct cc_run *run, int64_t question, bool allow, struct cc_err *err)
{
	struct cc_buf message;
	struct cc_jsonw w;
	size_t at = 0;

	while (at < CC_RUN_QUESTIONS && run->questions[at] != question)
		at++;
	if (question < 1 || at == CC_RUN_QUESTIONS)
		return cc_fail(err, CC_ENOTFOUND, 0, "no such question waits in that run");
	cc_jsonw_message(&w, &message, CC_PEER_MAX, "answer");
	cc_jsonw_kint(&w, "id", question);
	cc_jsonw_kbool(&w, "allow", allow);
	return say(run, &w, &message, err);
}

void cc_run_write_questions(const struct cc_run *run, struct cc_jsonw *w)
{
	cc_jsonw_array(w);
	for (size_t i = 0; i < CC_RUN_QUESTIONS; i++)
		if (run->questions[i])
			cc_jsonw_int(w, run->questions[i]);
	cc_jsonw_end(w);
}

void cc_runs_end(struct cc_runs *runs, void (*done)(void *context), void *context)
{
	struct cc_run *next;
	struct cc_err err;

	runs->ended = done;
	runs->ended_context = context;
	for (struct cc_run *run = runs->first; run; run = next) {
		next = run->next;
		if (cc_run_stop(run, &err) != CC_OK && run->link < 0)
			cc_run_over(run);
	}
	if (runs->count == 0 && runs->ended) {
		runs->ended = NULL;
		done(context);
	}
}

/* Its last number is not known here without reading it all; a reader takes what is behind it all the same. */
static uint64_t last_seq(const char *path)
{
	char tail[4096 + 1];
	CC_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t seq = 0;
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;

	for (off_t at = size > 2 * CC_RUN_LINE_MAX ? size - 2 * CC_RUN_LINE_MAX : 0; at < size; at += 4000) {
		ssize_t got = pread(fd, tail, sizeof(tail) - 1, at);

		tail[got > 0 ? got : 0] = '\0';
		for (const char *found = tail; (found = strstr(found, "{\"v\":1,\"seq\":")); found++)
			seq = strtoull(found + 13, NULL, 10) > seq ? strtoull(found + 13, NULL, 10) : seq;
	}
	return seq;
}

void cc_runs_lost(struct cc_runs *runs, const char *id, int64_t pid, const char *reason)
{
	struct cc_run run = {.runs = runs, .id = (char *)(size_t)id, .file = -1};
	CC_AUTO(cc_json_doc) doc = NULL;
	char path[PATH_MAX], text[200];
	struct cc_err err;

	/* one that hangs would keep its sandbox's commands; the number may be another process's by now */
	if (pid > 1 && cc_proc_is((pid_t)pid, "cc-run"))
		kill((pid_t)pid, SIGKILL);
	drop_spool(runs, id);
	cc_record_path(runs, id, path);
	run.seq = last_seq(path);
	run.file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	snprintf(text, sizeof(text), "{\"exitCode\":125,\"reason\":\"lost\",\"content\":\"%.100s\"}", reason);
	if (run.file >= 0 && cc_json_parse("end", cc_view_of(text), 0, &doc, &err) == CC_OK)
		cc_record_line(&run, "end", cc_json_root(doc), true);
	cc_fd_close(&run.file);
}

void cc_runs_forget(struct cc_runs *runs, const char *id)
{
	char path[PATH_MAX];

	cc_record_path(runs, id, path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/runs/%s.diff", runs->config.data_dir, id);
	unlink(path);
}
