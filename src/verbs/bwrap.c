#define _GNU_SOURCE
#include "verbs/verbs.h"

#include "backend/linux/facts.h"
#include "cli/run.h"
#include "client/place.h"
#include "verbs/foreign.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Those that ask bubblewrap about itself. */
static bool asks_bubblewrap(char *const *argv)
{
	return argv[0] && (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "--help") == 0);
}

static enum cc_code become_bubblewrap(char *const *argv, char *const *env, struct cc_err *err)
{
	char path[PATH_MAX];
	char *words[] = {path, argv[0], NULL};
	enum cc_code code = cc_facts_bwrap(env, path, sizeof(path), err);

	if (code != CC_OK)
		return code;
	execve(path, words, env);
	return cc_fail(err, CC_ESYS, 0, "cannot run %s", path);
}

/* The tool decides what is mounted; what the policy would mount is not asked. */
static void forget_binds(struct cc_spec *spec)
{
	for (size_t i = 0; i < spec->bind_count; i++) {
		free(spec->binds[i].host_path);
		free(spec->binds[i].guest_path);
	}
	spec->bind_count = 0;
	cc_strv_done(&spec->policy.allow_write);
	cc_strv_done(&spec->policy.allow_read);
}

static enum cc_code prepare(struct cc_start *start, const struct cc_foreign *foreign, char *const *env,
			    struct cc_err *err)
{
	char *none[] = {NULL};
	enum cc_code code = cc_start_gather(start, CC_FOR_RUN, none, env, err);

	if (code != CC_OK)
		return code;
	forget_binds(&start->ask.spec);
	start->foreign = foreign;
	start->ask.backend = CC_BACKEND_NATIVE;
	free(start->ask.agent);
	start->ask.agent = cc_str_copy("none");
	free(start->ask.spec.guest_workdir);
	start->ask.spec.guest_workdir = cc_str_copy(foreign->workdir);
	code = cc_foreign_apply(foreign, &start->ask.spec, err);
	return code == CC_OK ? cc_start_prepare(start, foreign->command[0], env, err) : code;
}

/* Plain bubblewrap shows what the person can read, and with the host's network the daemon's token is the daemon. */
static enum cc_code hide_daemon(char *const *env, struct cc_foreign *foreign, struct cc_err *err)
{
	char dir[PATH_MAX], resolved[PATH_MAX];
	struct cc_err why;
	enum cc_code code;

	if (cc_place_data(NULL, env, dir, &why) != CC_OK || !realpath(dir, resolved))
		return CC_OK; /* there is none */
	code = cc_strv_push(&foreign->mounts, "--tmpfs", err);
	return code == CC_OK ? cc_strv_push(&foreign->mounts, resolved, err) : code;
}

static enum cc_code run(char *const *argv, char *const *env, int *out_code, struct cc_err *err)
{
	struct cc_foreign foreign = {0};
	struct cc_inherited inherited = {0};
	struct cc_strv words = {0}, command = {0};
	struct cc_start start = {0};
	bool started = false;
	pid_t parent = getppid();
	enum cc_code code = cc_foreign_words(argv, &words, err);

	if (code == CC_OK && words.count == 0)
		code = cc_fail(err, CC_EINVAL, 0, "no command: ccbox bwrap [BUBBLEWRAP'S OPTIONS] -- COMMAND [ARG...]");
	if (code == CC_OK)
		code = cc_foreign_read(words.items, env, cc_foreign_exists, &foreign, err);
	if (code == CC_OK)
		code = hide_daemon(env, &foreign, err);
	if (code == CC_OK)
		code = cc_foreign_inherited(&foreign, &inherited, err);
	for (char *const *word = foreign.command; code == CC_OK && *word; word++)
		code = cc_strv_push(&command, *word, err);
	if (code == CC_OK && foreign.die_with_parent &&
	    (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent))
		code = cc_fail(err, CC_ESTATE, 0, "the caller is gone");
	if (code == CC_OK) {
		started = true;
		code = prepare(&start, &foreign, env, err);
	}
	if (code == CC_OK)
		code = cc_run_execute(&start, &command, env, &inherited, out_code, err);
	if (started)
		cc_start_done(&start);
	cc_strv_done(&command);
	cc_strv_done(&words);
	cc_foreign_done(&foreign);
	return code;
}

int cc_verb_bwrap(char *const *argv, char *const *env)
{
	const char *session = cc_env_get(env, "CCBOX_SESSION");
	struct cc_err err = {0};
	int exit_code = 0;
	enum cc_code code;

	if (asks_bubblewrap(argv))
		code = become_bubblewrap(argv, env, &err);
	else if (session)
		code = cc_fail(&err, CC_ESTATE, 0,
			       "this is inside the session %s: a sandbox in it cannot be made, and is not needed",
			       session);
	else
		code = run(argv, env, &exit_code, &err);
	return code == CC_OK ? exit_code : cc_give_up(&err);
}
