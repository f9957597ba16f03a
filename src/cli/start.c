#define _GNU_SOURCE
#include "cli/start.h"

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/copy.h"
#include "os/clock.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GROUP_PREFIX "ccbox-run-"

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

enum cc_code cc_start_gather(struct cc_start *start, unsigned verb, char *const *argv, char *const *env,
			     struct cc_err *err)
{
	*start = (struct cc_start){0};
	cc_bridge_init(&start->bridge);
	cc_ask_run_init(&start->ask);
	if (!getcwd(start->cwd, sizeof(start->cwd)))
		return cc_fail(err, CC_ESYS, 0, "the current directory is gone");
	return cc_config_gather(verb, argv, env, start->cwd, &start->ask, &start->used, err);
}

char *const *cc_start_command(const struct cc_start *start, char *const *argv)
{
	argv += start->used;
	return *argv && strcmp(*argv, "--") == 0 ? argv + 1 : argv;
}

enum cc_code cc_start_name(struct cc_start *start, struct cc_err *err)
{
	char session[64];

	if (start->ask.spec.session_id)
		return CC_OK;
	make_session_id(session);
	start->ask.spec.session_id = cc_str_copy(session);
	return start->ask.spec.session_id ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

/* Copies of other sessions are nothing for this one, wherever they lie. */
static enum cc_code close_copies(const struct cc_start *start, struct cc_policy *policy, char *const *env,
				 struct cc_err *err)
{
	char dir[PATH_MAX];
	struct cc_err why;
	enum cc_code code;

	if (start->copied || cc_copy_dir(env, dir, &why) != CC_OK || access(dir, F_OK) < 0)
		return CC_OK;
	code = cc_strv_push(&policy->deny_read, dir, err);
	return code == CC_OK ? cc_strv_push(&policy->deny_write, dir, err) : code;
}

/* Before anything is started: a child would be one process too many in a group that is to have groups. */
static enum cc_code open_groups(const struct cc_ask_run *ask, struct cc_err *err)
{
	enum cc_code code;

	if (!ask->limits.memory && !ask->limits.pids && !ask->limits.cpu)
		return CC_OK;
	code = cc_group_prepare(err);
	if (code == CC_OK)
		cc_group_sweep_empty(GROUP_PREFIX); /* of one that was killed: nothing runs in it */
	return code;
}

enum cc_code cc_start_prepare(struct cc_start *start, const char *program, char *const *env, struct cc_err *err)
{
	struct cc_ask_run *ask = &start->ask;
	struct cc_bridge *bridge = &start->bridge;
	struct cc_prepare_ask prepare_ask = {.spec = &ask->spec,
					     .backend = ask->backend,
					     .cwd = start->cwd,
					     .env = env,
					     .agent = ask->agent,
					     .program = program,
					     .all_proxy_socks = ask->all_proxy_socks,
					     .ssh_agent = ask->ssh_agent,
					     .rules_only = start->rules_only,
					     .foreign = start->foreign};
	enum cc_code code = cc_start_name(start, err);

	if (code == CC_OK)
		code = close_copies(start, &ask->spec.policy, env, err);
	if (code == CC_OK && ask->copy && !start->copied)
		code = cc_fail(err, CC_EINVAL, 0, "--copy is for ccbox run and ccbox shell");
	if (code != CC_OK)
		return code;

#ifdef CC_TWIN
	prepare_ask.init = "cc-init-twin";
#endif
	if (!ask->dry_run && open_groups(ask, err) != CC_OK)
		return err->code;
	if (ask->bridge_socat && ask->dry_run)
		prepare_ask.bridge_dir = "BRIDGE";
	else if (ask->bridge_socat && cc_bridge_open(env, bridge, err) != CC_OK)
		return err->code;
	else if (ask->bridge_socat)
		prepare_ask.bridge_dir = bridge->dir;
	return cc_prepare(&prepare_ask, &start->prepared, err);
}

void cc_start_done(struct cc_start *start)
{
	cc_bridge_close(&start->bridge);
	cc_prepared_done(&start->prepared);
	cc_ask_run_done(&start->ask);
}

enum cc_code cc_start_log(const struct cc_ask_run *ask, char *const *env, struct cc_eventlog *log, struct cc_err *err)
{
	char state[PATH_MAX];
	struct cc_err why;

	*log = (struct cc_eventlog){.fd = -1};
	if (ask->events)
		return cc_eventlog_open(ask->events, log, err);
	/* The log is a courtesy, no protection: a full or read-only home directory must not stop the work. */
	if (!cc_state_home(env, state, sizeof(state)))
		return CC_OK;
	if (cc_eventlog_default(state, ask->spec.session_id, log, &why) != CC_OK)
		cc_say("no event log: %s", why.what);
	return CC_OK;
}

enum cc_code cc_start_hold(const struct cc_ask_run *ask, const struct cc_prepared *prepared, struct cc_held *held,
			   struct cc_err *err)
{
	char name[64];
	struct cc_held_ask wanted = {
		.name = name,
		.limits = ask->limits,
		.backend = prepared->backend->kind,
		.remedy = "no control group is ours to make it in (on a systemd host: systemd-run --user --scope -p "
			  "Delegate=yes ccbox run ...)"};

	snprintf(name, sizeof(name), GROUP_PREFIX "%d", (int)getpid());
	return cc_held_begin(held, &wanted, err);
}

void cc_start_say_unsandboxed(const struct cc_prepared *prepared)
{
	cc_say("NO SANDBOX: --backend none runs the command on this host with your files, your network and your secrets");
	for (int i = 0; i < CC_NEED_COUNT; i++)
		if (prepared->unheld & (1u << i))
			cc_say("  not held: %s", cc_need_text((enum cc_need_index)i));
}
