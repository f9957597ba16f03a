#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/learn.h"
#include "cli/config.h"
#include "cli/copy.h"
#include "cli/loop.h"
#include "cli/run.h"
#include "cli/start.h"
#include "os/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

enum cc_code cc_run_execute(struct cc_start *start, const struct cc_strv *argv, char *const *env,
			    const struct cc_inherited *inherited, int *out_code, struct cc_err *err)
{
	const struct cc_ask_run *ask = &start->ask;
	struct cc_prepared *prepared = &start->prepared;
	const struct cc_bridge *bridge = &start->bridge;
	struct cc_eventlog log;
	struct cc_launch launch;
	bool none = prepared->backend->kind == CC_BACKEND_NONE;
	struct cc_learn learn;
	struct cc_held held = {0};
	struct cc_loop_ask loop = {.prepared = prepared,
				   .launch = &launch,
				   .session_id = ask->spec.session_id,
				   .argv = argv,
				   .env = none ? &prepared->facts.env : &prepared->plan.env,
				   .log = &log,
				   .held = &held,
				   .learn = ask->learn ? &learn : NULL,
				   .pty = ask->pty >= 0 ? ask->pty : isatty(0),
				   .timeout = ask->timeout,
				   .inherited = inherited};
	struct cc_strv lent_argv = {0};
	enum cc_code code = cc_prepare_launch(prepared, &launch, err);

	if (code == CC_OK)
		code = cc_start_log(ask, env, &log, err);
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
		code = cc_start_hold(ask, prepared, &held, err);
	launch.pids = cc_held_launch_pids(&held);
	if (code == CC_OK)
		code = cc_loop_run(&loop, out_code, err);
	if (code == CC_OK && ask->learn)
		say_learned(&learn, env, ask->spec.session_id);
	cc_held_end(&held);
	cc_learn_done(&learn);
	cc_strv_done(&lent_argv);
	cc_eventlog_done(&log);
	return code;
}

static enum cc_code command_of(char *const *argv, const struct cc_strv *fixed, struct cc_strv *command,
			       struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (; code == CC_OK && *argv; argv++)
		code = cc_strv_push(command, *argv, err);
	if (code == CC_OK && fixed && command->count)
		code = cc_fail(err, CC_EINVAL, 0, "ccbox shell takes no command; use ccbox run -- COMMAND");
	if (code == CC_OK && fixed)
		code = cc_strv_copy(command, fixed, err);
	if (code == CC_OK && command->count == 0)
		code = cc_fail(err, CC_EINVAL, 0, "no command: ccbox run [OPTIONS] -- COMMAND [ARG...]");
	return code;
}

/* An agent is known by the first word of the command: behind another program it would find itself without its login,
 * and the person without a reason. */
static void say_hidden_agent(const struct cc_strv *command)
{
	static const char *const starters[] = {"env", "nohup", "nice", "ionice", "timeout", "time", "stdbuf", "setsid"};
	const char *slash = strrchr(command->items[0], '/'), *starter = slash ? slash + 1 : command->items[0];
	bool starts = false, valued = false;

	for (size_t i = 0; i < CC_COUNT(starters); i++)
		starts |= strcmp(starters[i], starter) == 0;
	for (size_t i = 1; starts && i < command->count; i++) {
		const char *word = command->items[i];
		const struct cc_agent *agent = cc_agent_by_program(word);

		if (agent) {
			cc_say("%s is started through %s, so nothing of its login is lent: start it directly%s",
			       agent->name, starter,
			       strcmp(starter, "env") == 0 ? ", and set variables with --env NAME=VALUE" : "");
			return;
		}
		if (!valued && word[0] != '-' && !strchr(word, '=') && !(word[0] >= '0' && word[0] <= '9'))
			return;
		valued = word[0] == '-' && word[1] && !word[2];
	}
}

/* allowRead names a bind, and where one is named the directory one stands in is none any more. */
static void say_unwritable(const struct cc_ask_run *ask)
{
	bool writable = ask->binds.count || !ask->spec.policy.allow_read.count || !cc_mode_writes(ask->spec.mode);

	for (size_t i = 0; i < ask->spec.bind_count; i++)
		writable |= !ask->spec.binds[i].read_only;
	if (!writable)
		cc_say("nothing is writable: allowRead of the policy is all that is bound; add the project with --bind DIR");
}

static void say_start(const struct cc_start *start, const struct cc_strv *command)
{
	for (size_t i = 0; i < start->prepared.said.count; i++)
		cc_say("%s", start->prepared.said.items[i]);
	say_unwritable(&start->ask);
	if (!start->ask.agent && !start->prepared.lend.agent)
		say_hidden_agent(command);
}

static enum cc_code start_and_run(struct cc_start *start, const struct cc_strv *command, char *const *env,
				  int *out_code, struct cc_err *err)
{
	enum cc_code code = cc_start_prepare(start, command->items[0], env, err);

	if (code == CC_OK && start->ask.dry_run)
		code = cc_prepare_finish(&start->prepared, err);
	if (code == CC_OK && start->ask.dry_run) {
		print_plan(&start->prepared);
		*out_code = 0;
	} else if (code == CC_OK) {
		if (start->prepared.backend->kind == CC_BACKEND_NONE)
			cc_start_say_unsandboxed(&start->prepared);
		else if (!start->ask.quiet)
			say_start(start, command);
		code = cc_run_execute(start, command, env, NULL, out_code, err);
	}
	return code;
}

/* A session that did not start has left nothing in its copy. */
static enum cc_code run_copy(struct cc_start *start, unsigned verb, const struct cc_strv *command, char *const *argv,
			     char *const *env, int *out_code, struct cc_err *err)
{
	struct cc_worktree tree = {0};
	struct cc_err why;
	enum cc_code code = cc_copy_begin(start, env, &tree, err);

	if (code == CC_OK)
		code = start_and_run(start, command, env, out_code, err);
	if (code == CC_OK && start->ask.dry_run) {
		code = cc_worktree_remove(&tree, err);
	} else if (code == CC_OK && cc_copy_end(&tree, verb, argv, env, &why) != CC_OK) {
		/* the command has run, and its exit code stands; but not a good one */
		cc_say("%s", why.what);
		*out_code = *out_code ? *out_code : 1;
	} else if (code != CC_OK && tree.home && cc_worktree_remove(&tree, &why) != CC_OK) {
		cc_say("its copy stays: %s", why.what);
	}
	cc_worktree_done(&tree);
	return code;
}

static enum cc_code run_verb(unsigned verb, char *const *argv, char *const *env, const struct cc_strv *fixed,
			     int *out_code, struct cc_err *err)
{
	struct cc_start start;
	struct cc_strv command = {0};
	enum cc_code code = cc_start_gather(&start, verb, argv, env, err);

	if (code == CC_OK)
		code = command_of(cc_start_command(&start, argv), fixed, &command, err);
	if (code == CC_OK)
		code = start.ask.copy ? run_copy(&start, verb, &command, argv, env, out_code, err)
				      : start_and_run(&start, &command, env, out_code, err);
	cc_strv_done(&command);
	cc_start_done(&start);
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
