/* server.h - the daemon as a whole: what the handlers of every route find behind their call. */
#ifndef CC_SERVER_SERVER_H
#define CC_SERVER_SERVER_H

#include "console/console.h"
#include "server/config.h"
#include "live/live.h"
#include "mcpweb/mcpweb.h"
#include "runs/runs.h"
#include "server/data.h"
#include "server/record.h"
#include "session/probe.h"
#include "web/web.h"

#include <uv.h>

struct cc_server {
	struct cc_console console; /* first: its handlers look for it there */
	struct cc_server_config config;
	struct cc_data data;
	struct cc_probe probe; /* once, at the start */
	char *const *env;
	uv_loop_t loop;
	uv_signal_t signals[2];
	struct cc_web *web;
	struct cc_roster *roster;
	struct cc_runs *runs;
	struct cc_mcps *mcps;
	struct cc_forges *forges;
	struct cc_store *store;
	uv_timer_t flush;
	bool store_failing;
	struct cc_strv owner_ports, deny_read; /* closed to every session */
	int64_t started_ms;
	bool stopping;
};

/* The whole program. Returns the exit code: 0 after SIGTERM or SIGINT, 125 when it could not start. */
int cc_server_main(int argc, char **argv, char **env);

/* Tables of rows; each file of the API has one. server.c lists them. */
extern const struct cc_route cc_routes_base[];
extern const struct cc_route cc_routes_sandbox[];
extern const struct cc_route cc_routes_exec[];
extern const struct cc_route cc_routes_events[];
extern const struct cc_route cc_routes_repos[];
extern const struct cc_route cc_routes_runs[];
extern const struct cc_route cc_routes_mcp[];

/* The session that the call's first parameter names; NULL: it has been answered with 404. */
struct cc_live *cc_server_session(struct cc_call *call);

/* The native sandbox is there, and holds. */
CC_MUST enum cc_code cc_server_has_native(const struct cc_server *server, struct cc_err *err);

/* Runs of agents: their row in the store, and what a daemon before this one left of them. */
void cc_agentruns_changed(void *context, const struct cc_run *run);
CC_MUST enum cc_code cc_agentruns_sweep(struct cc_server *server, struct cc_err *err);

#endif
