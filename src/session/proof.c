#define _GNU_SOURCE
#include "session/proof.h"

#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"
#include "session/prepare.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROOF_MS = 2000 };

/* The allowed file shows that the directory is writable at all, so that the refusal means something. */
static const char script[] = "echo x >allowed || exit 9; echo x 2>/dev/null >.env; "
			     "/run/ccbox/cc-connect forbidden.invalid 443 </dev/null 2>/dev/null; exit 0";

struct proof_run {
	bool over;
	bool refused_name;
	bool refused_host;
	bool no_capture;
};

static void on_event(void *context, const struct cc_event *event)
{
	struct proof_run *run = context;

	if (event->type == CC_EVENT_NOTICE && event->violation.target &&
	    strcmp(event->violation.target, "transparent") == 0)
		run->no_capture = true;
	if (event->type != CC_EVENT_VIOLATION || !event->violation.action)
		return;
	if (strncmp(event->violation.action, "file-write", 10) == 0)
		run->refused_name = true;
	if (strcmp(event->violation.action, "network-outbound") == 0)
		run->refused_host = true;
}

static void on_note(void *context, struct cc_note *note)
{
	struct proof_run *run = context;

	if (note->kind == CC_NOTE_EXIT || note->kind == CC_NOTE_REFUSED || note->kind == CC_NOTE_LOST)
		run->over = true;
}

static enum cc_code watch(struct cc_session *session, struct proof_run *run, struct cc_err *err)
{
	int64_t deadline = cc_clock_ms() + PROOF_MS;
	enum cc_code code = CC_OK;

	/* events may still be on their way when the command is over: wait for them until the deadline */
	while (code == CC_OK && !(run->over && run->refused_name && run->refused_host)) {
		struct pollfd entries[CC_BOX_WATCH];
		int fds[CC_BOX_WATCH];
		size_t count = cc_session_watch(session, fds);
		int64_t left = deadline - cc_clock_ms();

		if (left <= 0 || count == 0)
			break;
		for (size_t i = 0; i < count; i++)
			entries[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		if (poll(entries, count, (int)left) < 0 && errno != EINTR)
			return cc_fail(err, CC_ESYS, errno, "poll");
		for (size_t i = 0; code == CC_OK && i < count; i++)
			if (entries[i].revents)
				code = cc_session_step(session, fds[i], err);
	}
	return code;
}

static enum cc_code run_script(struct cc_session *session, const struct cc_prepared *prepared, const char *dir,
			       struct proof_run *run, struct cc_err *err)
{
	struct cc_strv argv = {0};
	struct cc_box_exec exec = {.argv = &argv, .env = &prepared->plan.env, .cwd = dir};
	CC_AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int id;
	enum cc_code code = null < 0 ? cc_fail(err, CC_ESYS, errno, "/dev/null") : CC_OK;
	const char *words[] = {"/bin/sh", "-c", script};

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(words); i++)
		code = cc_strv_push(&argv, words[i], err);
	exec.stdio[0] = exec.stdio[1] = exec.stdio[2] = null;
	if (code == CC_OK)
		code = cc_session_exec(session, &exec, &id, err);
	if (code == CC_OK)
		code = watch(session, run, err);
	cc_strv_done(&argv);
	return code;
}

static enum cc_code start(char *const *env, const char *dir, struct cc_prepared *prepared, struct proof_run *run,
			  struct cc_session **out_session, struct cc_err *err)
{
	struct cc_spec spec;
	struct cc_prepare_ask ask = {
		.spec = &spec, .backend = CC_BACKEND_NATIVE, .cwd = dir, .env = env, .agent = "none"};
	struct cc_session_config config = {.session_id = "probe", .sink = {run, on_event, on_note}};
	enum cc_code code;

	cc_spec_init(&spec);
	code = cc_spec_add_bind(&spec, dir, false, err);
	if (code == CC_OK)
		code = cc_prepare(&ask, prepared, err);
	if (code == CC_OK)
		code = cc_prepare_launch(prepared, &config.launch, err);
	if (code == CC_OK) {
		config.backend = prepared->backend;
		code = cc_session_launch(&config, out_session, err);
	}
	cc_spec_done(&spec);
	return code;
}

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void remove_dir(const char *dir)
{
	static const char *const names[] = {"allowed", ".env"};
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < CC_COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

enum cc_code cc_proof_run(char *const *env, struct cc_proof *out_proof, struct cc_err *err)
{
	char dir[] = "/tmp/ccbox-probe-XXXXXX";
	CC_AUTO(cc_session) session = NULL;
	struct cc_prepared prepared = {0};
	struct proof_run run = {0};
	enum cc_code code;

	*out_proof = (struct cc_proof){0};
	if (!mkdtemp(dir))
		return cc_fail(err, CC_ESYS, errno, "cannot make a directory in /tmp");
	code = start(env, dir, &prepared, &run, &session, err);
	if (code == CC_OK) {
		out_proof->started = true;
		code = run_script(session, &prepared, dir, &run, err);
		cc_session_end(session);
		out_proof->names_held = run.refused_name && exists(dir, "allowed") && !exists(dir, ".env");
		out_proof->hosts_held = run.refused_host;
		out_proof->late = !run.over;
		out_proof->captures = !run.no_capture;
	}
	cc_prepared_done(&prepared);
	remove_dir(dir);
	return code;
}
