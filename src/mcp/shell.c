#define _GNU_SOURCE
#include "mcp/shell.h"

#include "mcp/output.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"
#include "plan/env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_MS = 2000, REFUSED_MAX = 8192, CODE_TIMEOUT = 124 };

static void on_event(void *context, const struct cc_event *event)
{
	struct cc_shell *shell = context;

	cc_eventlog_put(shell->log, event);
	if (event->type == CC_EVENT_VIOLATION && shell->id) {
		cc_buf_adds(&shell->refused, "[sandbox] ");
		cc_event_say(event, &shell->refused);
		cc_buf_adds(&shell->refused, "\n");
	}
}

static void on_note(void *context, struct cc_note *note)
{
	struct cc_shell *shell = context;

	if (note->id != shell->id)
		return;
	if (note->kind == CC_NOTE_STARTED) {
		shell->started = true;
	} else if (note->kind == CC_NOTE_REFUSED) {
		shell->sys = note->sys;
		shell->over = true;
	} else if (note->kind == CC_NOTE_EXIT) {
		shell->code = note->signal ? 128 + note->signal : note->code;
		shell->over = true;
	}
}

enum cc_code cc_shell_open(struct cc_shell *shell, struct cc_prepared *prepared, struct cc_err *err)
{
	struct cc_session_config config = {.session_id = prepared->ask.spec->session_id,
					   .backend = prepared->backend,
					   .sink = {shell, on_event, on_note}};
	bool none = prepared->backend->kind == CC_BACKEND_NONE;
	enum cc_code code = cc_prepare_launch(prepared, &config.launch, err);

	shell->prepared = prepared;
	cc_buf_init(&shell->refused, REFUSED_MAX);
	cc_proc_adopt();
#ifdef CC_TWIN
	config.launch.off = cc_env_get(prepared->ask.env, "CCBOX_TWIN_OFF");
#endif
	if (code == CC_OK)
		code = cc_session_launch(&config, &shell->session, err);
	if (code == CC_OK)
		code = none ? cc_plan_env_sanitise(&prepared->facts.env, &shell->env, err)
			    : cc_strv_copy(&shell->env, &prepared->plan.env, err);
	return code;
}

static enum cc_code start(struct cc_shell *shell, const char *line, const char *cwd, int pipe_fds[2],
			  struct cc_err *err)
{
	struct cc_strv argv = {0};
	CC_AUTO_FD nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct cc_box_exec what = {.argv = &argv,
				   .env = &shell->env,
				   .cwd = cwd ? cwd : shell->prepared->workdir,
				   .stdio = {nothing, pipe_fds[1], pipe_fds[1]}};
	enum cc_code code = nothing < 0 ? cc_fail(err, CC_ESYS, errno, "/dev/null") : CC_OK;
	const char *bash = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";

	if (code == CC_OK)
		code = cc_strv_push(&argv, bash, err);
	if (code == CC_OK)
		code = cc_strv_push(&argv, "-c", err);
	if (code == CC_OK)
		code = cc_strv_push(&argv, line, err);
	shell->over = shell->started = false;
	shell->code = shell->sys = 0;
	cc_buf_reset(&shell->refused);
	if (code == CC_OK)
		code = cc_session_exec(shell->session, &what, &shell->id, err);
	cc_strv_done(&argv);
	return code;
}

/* False: nobody holds the other end any more. */
static bool take_output(int fd, struct cc_output *output)
{
	char bytes[16384];
	ssize_t got = read(fd, bytes, sizeof(bytes));

	if (got > 0)
		cc_output_add(output, bytes, (size_t)got);
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

struct run {
	int fd;
	bool open, asked, ended, timed_out;
	int64_t until; /* of the next step: TERM, then KILL, then leaving what still holds the pipe */
};

static void hurry(struct cc_shell *shell, struct run *run)
{
	struct cc_err err;

	if (shell->over) { /* something in the background holds the pipe: it may, the answer goes out */
		run->ended = true;
		return;
	}
	(void)!cc_session_signal(shell->session, shell->id, run->asked ? SIGKILL : SIGTERM, &err);
	run->asked = true;
	run->until = cc_clock_ms() + GRACE_MS;
}

static enum cc_code turn(struct cc_shell *shell, struct run *run, struct cc_output *output, struct cc_err *err)
{
	struct pollfd entries[CC_BOX_WATCH + 3];
	int fds[CC_BOX_WATCH];
	size_t watched = cc_session_watch(shell->session, fds);
	int64_t left = run->until - cc_clock_ms();
	enum cc_code code = CC_OK;

	for (size_t i = 0; i < watched; i++)
		entries[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	entries[watched] = (struct pollfd){.fd = run->open ? run->fd : -1, .events = POLLIN};
	entries[watched + 1] = (struct pollfd){.fd = shell->over ? -1 : shell->wait.fd, .events = POLLIN};
	entries[watched + 2] = (struct pollfd){.fd = run->asked ? -1 : shell->wait.out};
	if (left > 0 && poll(entries, watched + 3, left > 60000 ? 60000 : (int)left) < 0 && errno != EINTR)
		return cc_fail(err, CC_ESYS, errno, "poll");
	if (left <= 0) {
		run->timed_out |= !shell->over;
		hurry(shell, run);
		return CC_OK;
	}
	if (run->open && entries[watched].revents)
		run->open = take_output(run->fd, output);
	for (size_t i = 0; code == CC_OK && i < watched; i++)
		if (entries[i].revents)
			code = cc_session_step(shell->session, fds[i], err);
	if (code == CC_OK && !shell->over &&
	    (entries[watched + 2].revents ||
	     (entries[watched + 1].revents && shell->wait.cancelled(shell->wait.context))))
		hurry(shell, run);
	if (code == CC_OK && cc_session_state(shell->session) == CC_STATE_ERROR)
		code = cc_fail(err, CC_ESTATE, 0, "the session is over: %.200s", cc_session_error(shell->session));
	return code;
}

static enum cc_code wait_for(struct cc_shell *shell, struct run *run, struct cc_output *output, struct cc_err *err)
{
	enum cc_code code = CC_OK;
	bool was_over = false;

	while (code == CC_OK && !run->ended && (!shell->over || run->open)) {
		code = turn(shell, run, output, err);
		if (shell->over && !was_over)
			run->until = cc_clock_ms() + GRACE_MS;
		was_over = shell->over;
	}
	return code;
}

enum cc_code cc_shell_run(struct cc_shell *shell, const char *line, const char *cwd, long timeout, struct cc_buf *out,
			  int *out_code, struct cc_err *err)
{
	char path[PATH_MAX + 32];
	struct cc_output output;
	struct run run = {.open = true, .until = cc_clock_ms() + timeout * 1000};
	int fds[2];
	enum cc_code code;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "a pipe");
	run.fd = fds[0];
	cc_fd_set_nonblock(fds[0], true);
	snprintf(path, sizeof(path), "%s/%s-%u.log", shell->spill, shell->prepared->ask.spec->session_id,
		 ++shell->outputs);
	cc_output_init(&output, shell->spill[0] ? path : NULL);
	code = start(shell, line, cwd, fds, err);
	close(fds[1]);
	if (code == CC_OK)
		code = wait_for(shell, &run, &output, err);
	close(fds[0]);
	cc_output_show(&output, out);
	if (code == CC_OK && shell->sys)
		code = cc_fail(err, CC_ESYS, shell->sys, "%.200s", cwd ? cwd : "bash");
	if (shell->refused.len)
		cc_buf_add(out, shell->refused.data, shell->refused.len);
	if (code == CC_OK && run.timed_out)
		cc_buf_addf(out, "[ended after %ld seconds]\n", timeout);
	if (code == CC_OK)
		*out_code = run.timed_out ? CODE_TIMEOUT : shell->code;
	shell->id = 0;
	return code;
}

void cc_shell_close(struct cc_shell *shell)
{
	cc_session_free(shell->session);
	shell->session = NULL;
	cc_strv_done(&shell->env);
	cc_buf_done(&shell->refused);
	cc_proc_end_all();
}
