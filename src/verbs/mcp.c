#define _GNU_SOURCE
#include "mcp/mcp.h"
#include "mcp/peer.h"

#include "cli/config.h"
#include "cli/start.h"
#include "verbs/verbs.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_MS = 1000 };

/* Where outputs that are too long to show lie: beside the events, the person's alone. */
static void find_spill(char *const *env, char out[PATH_MAX])
{
	char state[PATH_MAX - 16];

	out[0] = '\0';
	if (!cc_state_home(env, state, sizeof(state)))
		return;
	snprintf(out, PATH_MAX, "%s/output", state);
	if (mkdir(out, 0700) < 0 && access(out, W_OK) < 0)
		out[0] = '\0';
}

static enum cc_code serve(const struct cc_ask_run *ask, struct cc_prepared *prepared, char *const *env,
			  struct cc_err *err)
{
	struct cc_tools *tools = calloc(1, sizeof(*tools));
	struct cc_eventlog log = {.fd = -1};
	struct cc_shell shell = {.log = &log, .wait = {.fd = -1, .out = -1}};
	bool runs = cc_mode_writes(ask->spec.mode);
	enum cc_code code = tools ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");

	if (code == CC_OK)
		code = cc_start_log(ask, env, &log, err);
	/* bash is warm before the client asks: what cannot be held is said now, and nothing is served then */
	if (code == CC_OK)
		code = runs ? cc_shell_open(&shell, prepared, err) : cc_prepare_finish(prepared, err);
	if (code == CC_OK)
		code = cc_tools_init(tools, prepared->rules, ask->spec.mode, prepared->workdir, err);
	if (code == CC_OK) {
		find_spill(env, shell.spill);
		if (shell.spill[0])
			code = cc_tools_add_root(tools, shell.spill, err);
	}
	if (code == CC_OK)
		cc_mcp_serve(tools, runs ? &shell : NULL, 0, 1);
	if (runs)
		cc_shell_close(&shell);
	if (tools)
		cc_tools_done(tools);
	free(tools);
	cc_eventlog_done(&log);
	return code;
}

/* A client that is there already hears why there are no tools, as the answer to its first request. */
static void tell(const struct cc_err *why)
{
	struct pollfd entry = {.fd = 0, .events = POLLIN};
	struct cc_mcp_peer peer;
	CC_AUTO(cc_json_doc) doc = NULL;
	char id[CC_RPC_ID];

	if (isatty(0) || poll(&entry, 1, FIRST_MS) <= 0)
		return;
	cc_mcp_peer_init(&peer, 0, 1);
	(void)cc_mcp_peer_look(&peer);
	if (peer.waiting_count && (doc = cc_mcp_peer_next(&peer)) && cc_json_get(cc_json_root(doc), "id")) {
		cc_rpc_id(cc_json_root(doc), id);
		cc_mcp_peer_fail(&peer, id, CC_RPC_NOT_DONE, why->what);
	}
	cc_mcp_peer_done(&peer);
}

int cc_verb_mcp(char *const *argv, char *const *env)
{
	struct cc_start start;
	struct cc_err err = {0};
	enum cc_code code = cc_start_gather(&start, CC_FOR_RUN, argv, env, &err);

	signal(SIGPIPE, SIG_IGN);
	if (code == CC_OK && *cc_start_command(&start, argv))
		code = cc_fail(&err, CC_EINVAL, 0, "ccbox mcp takes options and no command");
	if (code == CC_OK)
		code = cc_start_prepare(&start, NULL, env, &err);
	if (code == CC_OK) {
		if (start.prepared.backend->kind == CC_BACKEND_NONE)
			cc_start_say_unsandboxed(&start.prepared);
		code = serve(&start.ask, &start.prepared, env, &err);
	}
	cc_start_done(&start);
	if (code == CC_OK)
		return 0;
	tell(&err);
	return cc_give_up(&err);
}
