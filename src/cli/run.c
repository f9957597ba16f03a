#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/learn.h"
#include "cli/loop.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"
#include "session/bridge.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Sorts by time, unique without a registry. */
static void make_session_id(char out[64])
{
	int64_t now_ms = cc_clock_wall_ms();
	time_t now = (time_t)(now_ms / 1000);
	struct tm parts;
	unsigned char random[4];

	gmtime_r(&now, &parts);
	cc_random(random, sizeof(random));
	snprintf(out, 64, "run-%04d%02d%02dT%02d%02d%02d.%03dZ-%02x%02x%02x%02x", parts.tm_year + 1900,
		 parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, (int)(now_ms % 1000),
		 random[0], random[1], random[2], random[3]);
}

static enum cc_code open_log(const struct cc_ask_run *ask, char *const *env, const char *session,
			     struct cc_eventlog *log, struct cc_err *err)
{
	char state[PATH_MAX];
	struct cc_err why;

	*log = (struct cc_eventlog){.fd = -1};
	if (ask->events)
		return cc_eventlog_open(ask->events, log, err);
	/* The log is a courtesy, no protection: a full or read-only home directory must not stop the work. */
	if (!cc_state_home(env, state, sizeof(state)))
		return CC_OK;
	if (cc_eventlog_default(state, session, log, &why) != CC_OK)
		cc_say("no event log: %s", why.what);
	return CC_OK;
}

static void print_plan(const struct cc_prepared *prepared)
{
	struct cc_buf text;

	cc_buf_init(&text, 1 << 22);
	cc_buf_addf(&text, "backend %s\nworkdir %s\n", cc_backend_name(prepared->backend->kind), prepared->workdir);
	for (size_t i = 0; i < prepared->said.count; i++)
		cc_buf_addf(&text, "%s\n", prepared->said.items[i]);
	if (prepared->backend->kind == CC_BACKEND_NATIVE)
		cc_linux_plan_print(&prepared->plan, &text);
	fputs(text.data ? text.data : "", stdout);
	cc_buf_done(&text);
}

static void say_start(const struct cc_prepared *prepared)
{
	for (size_t i = 0; i < prepared->said.count; i++)
		cc_say("%s", prepared->said.items[i]);
}

static void say_unsandboxed(const struct cc_prepared *prepared)
{
	cc_say("NO SANDBOX: --backend none runs the command on this host with your files, your network and your secrets");
	for (int i = 0; i < CC_NEED_COUNT; i++)
		if (prepared->unheld & (1u << i))
			cc_say("  not held: %s", cc_need_text((enum cc_need_index)i));
}

/* The policy goes to standard error, which the command may have used too: so it is kept as a file beside the log. */
static void say_learned(const struct cc_learn *learn, char *const *env, const char *session)
{
	char state[PATH_MAX];
	char path[2 * PATH_MAX];
	struct cc_buf text;
	CC_AUTO_FD fd = -1;

	cc_buf_init(&text, 4 << 20);
	if (!cc_learn_write(learn, &text)) {
		cc_say("nothing was refused: no policy is needed");
		cc_buf_done(&text);
		return;
	}
	if (cc_state_home(env, state, sizeof(state))) {
		snprintf(path, sizeof(path), "%s/events/%s.policy.jsonc", state, session);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (fd >= 0 && cc_fd_write_all(fd, text.data, text.len, NULL) == CC_OK)
		cc_say("learned, and kept as %s:", path);
	else
		cc_say("learned:");
	fputs(text.data, stderr);
	cc_buf_done(&text);
}

static enum cc_code execute(const struct cc_ask_run *ask, struct cc_prepared *prepared, const struct cc_bridge *bridge,
			    const struct cc_strv *argv, char *const *env, int *out_code, struct cc_err *err)
{
	const char *session = ask->spec.session_id;
	struct cc_eventlog log;
	struct cc_launch launch;
	bool none = prepared->backend->kind == CC_BACKEND_NONE;
	struct cc_learn learn;
	struct cc_loop_ask loop = {.prepared = prepared,
				   .launch = &launch,
				   .session_id = session,
				   .argv = argv,
				   .env = none ? &prepared->facts.env : &prepared->plan.env,
				   .log = &log,
				   .learn = ask->learn ? &learn : NULL,
				   .pty = ask->pty >= 0 ? ask->pty : isatty(0),
				   .timeout = ask->timeout};
	struct cc_strv lent_argv = {0};
	enum cc_code code = cc_prepare_launch(prepared, &launch, err);

	if (code == CC_OK)
		code = open_log(ask, env, session, &log, err);
	if (code != CC_OK)
		return code;
#ifdef CC_TWIN
	launch.off = cc_env_get(env, "CCBOX_TWIN_OFF");
	launch.fail_at = cc_env_get(env, "CCBOX_TWIN_FAIL");
#endif
	if (!none) {
		code = cc_lend_argv(&prepared->lend, argv, &lent_argv, err);
		loop.argv = &lent_argv;
	}
	if (code == CC_OK && !none && bridge->dir[0]) {
		launch.bridge = bridge->listeners;
		launch.bridge_socat = bridge->socat;
	}
	cc_learn_init(&learn);
	if (code == CC_OK)
		code = cc_loop_run(&loop, out_code, err);
	if (code == CC_OK && ask->learn)
		say_learned(&learn, env, session);
	cc_learn_done(&learn);
	cc_strv_done(&lent_argv);
	cc_eventlog_done(&log);
	return code;
}

static enum cc_code prepare(struct cc_ask_run *ask, const char *cwd, const char *program, char *const *env,
			    struct cc_bridge *bridge, struct cc_prepared *out_prepared, struct cc_err *err)
{
	char session[64];
	struct cc_prepare_ask prepare_ask = {.spec = &ask->spec,
					     .backend = ask->backend,
					     .cwd = cwd,
					     .env = env,
					     .agent = ask->agent,
					     .program = program,
					     .all_proxy_socks = ask->all_proxy_socks,
					     .ssh_agent = ask->ssh_agent};

#ifdef CC_TWIN
	prepare_ask.init = "cc-init-twin";
#endif
	make_session_id(session);
	ask->spec.session_id = cc_str_copy(session);
	if (ask->bridge_socat && ask->dry_run)
		prepare_ask.bridge_dir = "BRIDGE";
	else if (ask->bridge_socat && cc_bridge_open(env, bridge, err) != CC_OK)
		return err->code;
	else if (ask->bridge_socat)
		prepare_ask.bridge_dir = bridge->dir;
	return cc_prepare(&prepare_ask, out_prepared, err);
}

static enum cc_code run_verb(unsigned verb, char *const *argv, char *const *env, const struct cc_strv *fixed,
			     int *out_code, struct cc_err *err)
{
	struct cc_ask_run ask;
	struct cc_prepared prepared = {0};
	struct cc_strv command = {0};
	struct cc_bridge bridge;
	char cwd[PATH_MAX];
	size_t used = 0;
	enum cc_code code;

	if (!getcwd(cwd, sizeof(cwd)))
		return cc_fail(err, CC_ESYS, 0, "the current directory is gone");
	cc_bridge_init(&bridge);
	cc_ask_run_init(&ask);
	code = cc_config_gather(verb, argv, env, cwd, &ask, &used, err);
	if (code == CC_OK && argv[used] && strcmp(argv[used], "--") == 0)
		used++;
	for (size_t i = used; code == CC_OK && argv[i]; i++)
		code = cc_strv_push(&command, argv[i], err);
	if (code == CC_OK && fixed && command.count)
		code = cc_fail(err, CC_EINVAL, 0, "ccbox shell takes no command; use ccbox run -- COMMAND");
	if (code == CC_OK && fixed)
		code = cc_strv_copy(&command, fixed, err);
	if (code == CC_OK && command.count == 0)
		code = cc_fail(err, CC_EINVAL, 0, "no command: ccbox run [OPTIONS] -- COMMAND [ARG...]");
	if (code == CC_OK)
		code = prepare(&ask, cwd, command.items[0], env, &bridge, &prepared, err);
	if (code == CC_OK && ask.dry_run)
		code = cc_prepare_finish(&prepared, err);
	if (code == CC_OK && ask.dry_run) {
		print_plan(&prepared);
		*out_code = 0;
	} else if (code == CC_OK) {
		if (prepared.backend->kind == CC_BACKEND_NONE)
			say_unsandboxed(&prepared);
		else if (!ask.quiet)
			say_start(&prepared);
		code = execute(&ask, &prepared, &bridge, &command, env, out_code, err);
	}
	cc_bridge_close(&bridge);
	cc_strv_done(&command);
	cc_prepared_done(&prepared);
	cc_ask_run_done(&ask);
	return code;
}

int cc_verb_run(char *const *argv, char *const *env)
{
	struct cc_err err = {0};
	int exit_code = 0;

	return run_verb(CC_FOR_RUN, argv, env, NULL, &exit_code, &err) == CC_OK ? exit_code : cc_give_up(&err);
}

int cc_verb_shell(char *const *argv, char *const *env)
{
	const char *shell = cc_env_get(env, "SHELL");
	struct cc_strv fixed = {0};
	struct cc_err err = {0};
	int exit_code = 0;
	enum cc_code code = cc_strv_push(&fixed, shell && shell[0] == '/' ? shell : "/bin/sh", &err);

	if (code == CC_OK)
		code = cc_strv_push(&fixed, "-i", &err);
	if (code == CC_OK)
		code = run_verb(CC_FOR_SHELL, argv, env, &fixed, &exit_code, &err);
	cc_strv_done(&fixed);
	return code == CC_OK ? exit_code : cc_give_up(&err);
}
