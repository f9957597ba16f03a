/* sandbox.c - sessions over HTTP: launched, listed, suspended, resumed, destroyed. Each of them answers when it is
 * done. */
#define _GNU_SOURCE
#include "server/server.h"

#include "os/clock.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLE_MAX = 64 << 10, RECORDED_MAX = 200 };

/* A call that waits for a session to become something. */
struct wait {
	struct cc_watcher watcher;
	struct cc_call *call;
	bool (*is_done)(enum cc_state state);
	int status;
};

struct cc_live *cc_server_session(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_live *live = cc_roster_find(server->roster, cc_call_param(call, 0));

	if (!live)
		cc_reply_failf(call, CC_ENOTFOUND, "there is no session of that name");
	return live;
}

static void reply_handle(struct cc_call *call, int status, const struct cc_live *live)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, HANDLE_MAX);
	cc_jsonw_init(&w, &text);
	cc_live_write(live, &w);
	cc_reply_json(call, status, &text);
	cc_buf_done(&text);
}

static void drop_wait(void *context)
{
	struct wait *wait = context;

	cc_live_unwatch(&wait->watcher);
	free(wait);
}

static bool answer(struct wait *wait, const struct cc_live *live)
{
	enum cc_state state = cc_live_state(live);

	if (!wait->is_done(state) && state != CC_STATE_ERROR && state != CC_STATE_DESTROYED)
		return false;
	if (wait->is_done(state))
		reply_handle(wait->call, wait->status, live);
	else if (cc_live_error(live)->code != CC_OK)
		cc_reply_fail(wait->call, cc_live_error(live));
	else
		cc_reply_failf(wait->call, CC_ESTATE, "the session is %s", cc_state_name(state));
	return true;
}

static void on_changed(void *context, struct cc_live *live)
{
	struct wait *wait = context;

	if (answer(wait, live))
		cc_live_unwatch(&wait->watcher);
}

/* The answer comes when the session has become what is_done says, or can no longer become it. */
static bool wait_for(struct cc_call *call, struct cc_live *live, bool (*is_done)(enum cc_state state), int status)
{
	struct wait *wait = calloc(1, sizeof(*wait));

	if (!wait) {
		cc_reply_failf(call, CC_ELIMIT, "out of memory");
		return false;
	}
	*wait = (struct wait){
		.watcher = {on_changed, wait, NULL, NULL}, .call = call, .is_done = is_done, .status = status};
	cc_call_on_closed(call, drop_wait, wait);
	cc_live_watch(live, &wait->watcher);
	return true;
}

static bool is_up(enum cc_state state)
{
	return state == CC_STATE_WARM || state == CC_STATE_ACTIVE;
}

static bool is_suspended(enum cc_state state)
{
	return state == CC_STATE_SUSPENDED;
}

static bool is_destroyed(enum cc_state state)
{
	return state == CC_STATE_DESTROYED;
}

enum cc_code cc_server_has_native(const struct cc_server *server, struct cc_err *err)
{
	const struct cc_probe *probe = &server->probe;

	if (!probe->available)
		return cc_fail(err, CC_EUNSUPPORTED, 0, "the native sandbox is not available on this host: %.300s",
			       probe->install_hint);
	if (!probe->enforceable)
		return cc_fail(err, CC_EUNENFORCED, 0, "the native sandbox cannot be held on this host: %s: %.200s",
			       probe->failing.step, probe->failing.what);
	return CC_OK;
}

/* As dispatch chooses (contract 1.8): wrapped where the host offers a sandbox, which then has to hold; without one, or
 * switched off, none, and the handle says so. Asked for by name, it is that one or a refusal. */
static enum cc_code choose_backend(const struct cc_server *server, enum cc_backend_kind asked,
				   enum cc_backend_kind *out_kind, struct cc_err *err)
{
	*out_kind = asked;
	if (asked == CC_BACKEND_UNSET)
		*out_kind = server->config.sandbox && server->probe.available ? CC_BACKEND_NATIVE : CC_BACKEND_NONE;
	return *out_kind == CC_BACKEND_NATIVE ? cc_server_has_native(server, err) : CC_OK;
}

static enum cc_code settle(struct cc_launch_request *request, struct cc_err *err)
{
	struct cc_spec *spec = &request->spec;
	unsigned char random[8];
	char id[32] = "s-";

	cc_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(id + 2 + 2 * i, 3, "%02x", random[i]);
	if (!spec->session_id)
		spec->session_id = cc_str_copy(id);
	if (!spec->workspace_id)
		spec->workspace_id = cc_str_copy("default");
	if (!spec->session_id || !spec->workspace_id)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (spec->bind_count == 0)
		return cc_fail(err, CC_EINVAL, 0, "bindMounts is empty: a sandbox sees only what is listed there");
	return cc_spec_check(spec, err);
}

static enum cc_code read_launch(struct cc_call *call, struct cc_launch_request *request, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	enum cc_code code = cc_json_parse("body", cc_call_body(call), 0, &doc, err);

	if (code == CC_OK)
		code = cc_launch_request_read(cc_json_root(doc), request, err);
	return code == CC_OK ? settle(request, err) : code;
}

/* Recorded before it begins: a session that nobody could find later does not start. */
static enum cc_code record(struct cc_server *server, const struct cc_launch_request *request, struct cc_live_ask *ask,
			   struct cc_strv *protect, struct cc_err *err)
{
	struct cc_store_session row = {.id = request->spec.session_id,
				       .workspace = request->spec.workspace_id,
				       .agent = request->spec.agent_id,
				       .backend = cc_backend_name(ask->backend),
				       .request = ask->body.ptr,
				       .created_ms = cc_clock_wall_ms()};
	enum cc_code code;

	if (cc_roster_find(server->roster, row.id))
		return cc_fail(err, CC_ESTATE, 0, "a session %s is there already", row.id);
	code = cc_store_repo_paths(server->store, row.workspace, protect, err);
	if (code == CC_OK)
		code = cc_store_session_add(server->store, &row, &ask->record, err);
	server->store_failing = code != CC_OK;
	ask->id = row.id;
	ask->workspace = row.workspace;
	ask->agent = row.agent;
	ask->protect = protect;
	return code;
}

static void post_sandbox(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_launch_request request;
	struct cc_live_ask ask = {
		.body = cc_call_body(call), .owner_ports = &server->owner_ports, .deny_read = &server->deny_read};
	struct cc_strv protect = {0};
	struct cc_live *live;
	struct cc_err err = {0}, why;
	enum cc_code code;

	cc_launch_request_init(&request);
	code = server->stopping ? cc_fail(&err, CC_ESTATE, 0, "the server is going down")
				: read_launch(call, &request, &err);
	if (code == CC_OK)
		code = choose_backend(server, request.backend, &ask.backend, &err);
	if (code == CC_OK)
		code = record(server, &request, &ask, &protect, &err);
	/* the push gateway is a run's own */
	ask.gateway = code == CC_OK && cc_runs_find(server->runs, ask.id);
	if (code == CC_OK) {
		code = cc_live_launch(server->roster, &ask, &live, &err);
		if (code != CC_OK)
			(void)!cc_store_session_set(server->store, ask.record, cc_backend_name(ask.backend),
						    "destroyed", err.what, 0, cc_clock_wall_ms(), &why);
	}
	cc_launch_request_done(&request);
	cc_strv_done(&protect);
	if (code != CC_OK)
		cc_reply_fail(call, &err);
	else if (wait_for(call, live, is_up, 201))
		cc_live_check(live);
}

/* With ?all=1 those that are gone as well, as the store has them. */
static void get_sandboxes(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;
	enum cc_code code = CC_OK;

	cc_buf_init(&text, 16 << 20);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "sandboxes");
	cc_jsonw_array(&w);
	for (struct cc_live *live = cc_roster_next(server->roster, NULL); live;
	     live = cc_roster_next(server->roster, live))
		cc_live_write(live, &w);
	cc_jsonw_end(&w);
	if (cc_call_query(call, "all")) {
		cc_jsonw_key(&w, "recorded");
		code = cc_store_sessions_write(server->store, RECORDED_MAX, &w, &err);
	}
	cc_jsonw_end(&w);
	cc_reply_written(call, 200, code, &text, &err);
}

static void get_sandbox(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_live *live = cc_roster_find(server->roster, cc_call_param(call, 0));
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;
	enum cc_code code;

	if (live) {
		reply_handle(call, 200, live);
		return;
	}
	cc_buf_init(&text, HANDLE_MAX);
	cc_jsonw_init(&w, &text);
	code = cc_store_session_write(server->store, cc_call_param(call, 0), &w, &err);
	cc_reply_written(call, 200, code, &text, &err);
}

static void delete_sandbox(struct cc_call *call)
{
	struct cc_live *live = cc_server_session(call);

	if (live && wait_for(call, live, is_destroyed, 200))
		cc_live_end(live, "stopped");
}

static void post_suspend(struct cc_call *call)
{
	struct cc_live *live = cc_server_session(call);
	struct cc_err err;

	if (!live)
		return;
	if (cc_live_suspend(live, &err) != CC_OK)
		cc_reply_fail(call, &err);
	else
		wait_for(call, live, is_suspended, 200);
}

static void post_resume(struct cc_call *call)
{
	struct cc_live *live = cc_server_session(call);
	struct cc_err err;

	if (!live)
		return;
	if (cc_live_resume(live, &err) != CC_OK)
		cc_reply_fail(call, &err);
	else
		wait_for(call, live, is_up, 200);
}

const struct cc_route cc_routes_sandbox[] = {
	{"GET", "/v1/sandboxes", 0, 0, get_sandboxes},
	{"POST", "/v1/sandboxes", 0, CC_REQUEST_MAX, post_sandbox},
	{"GET", "/v1/sandboxes/{id}", 0, 0, get_sandbox},
	{"DELETE", "/v1/sandboxes/{id}", 0, 0, delete_sandbox},
	{"POST", "/v1/sandboxes/{id}/suspend", 0, 1024, post_suspend},
	{"POST", "/v1/sandboxes/{id}/resume", 0, 1024, post_resume},
	{0},
};
