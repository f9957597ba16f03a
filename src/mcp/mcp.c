#define _GNU_SOURCE
#include "mcp/mcp.h"

#include "base/mem.h"
#include "mcp/apart.h"
#include "mcp/peer.h"

#include <string.h>

#ifndef CC_VERSION
#define CC_VERSION "0"
#endif

enum { ASK_MS = 300000, ANSWER_MAX = 4 << 20 };

struct server {
	struct cc_mcp_peer peer;
	struct cc_tools *tools;
	struct cc_shell *shell;
	struct cc_apart apart;
	bool asks;                  /* the client can put a question to a person */
	const struct cc_json *call; /* id of the call that runs */
};

/* Newest first; an unknown one is answered with ours, and the client decides. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static void initialize(struct server *server, const char *id, const struct cc_json *params)
{
	const char *wanted = cc_json_str(params, "protocolVersion", ""), *version = versions[0];
	struct cc_rpcw answer;

	for (size_t i = 0; i < CC_COUNT(versions); i++)
		if (strcmp(versions[i], wanted) == 0)
			version = versions[i];
	server->asks = cc_json_get(cc_json_get(params, "capabilities"), "elicitation") != NULL;
	cc_rpcw_result(&answer, id);
	cc_jsonw_object(&answer.w);
	cc_jsonw_kstr(&answer.w, "protocolVersion", version);
	cc_jsonw_key(&answer.w, "capabilities");
	cc_jsonw_object(&answer.w);
	cc_jsonw_key(&answer.w, "tools");
	cc_jsonw_object(&answer.w);
	cc_jsonw_end(&answer.w);
	cc_jsonw_end(&answer.w);
	cc_jsonw_key(&answer.w, "serverInfo");
	cc_jsonw_object(&answer.w);
	cc_jsonw_kstr(&answer.w, "name", "ccbox");
	cc_jsonw_kstr(&answer.w, "version", CC_VERSION);
	cc_jsonw_end(&answer.w);
	cc_jsonw_kstr(
		&answer.w, "instructions",
		"These tools work in a sandbox. What it refuses is said with the rule and with the flag by which the "
		"person could allow it; do not try to get around a refusal.");
	cc_jsonw_end(&answer.w);
	cc_mcp_peer_send(&server->peer, &answer);
}

static void ping(struct server *server, const char *id, const struct cc_json *params)
{
	struct cc_rpcw answer;

	(void)params;
	cc_rpcw_result(&answer, id);
	cc_jsonw_object(&answer.w);
	cc_jsonw_end(&answer.w);
	cc_mcp_peer_send(&server->peer, &answer);
}

static void list(struct server *server, const char *id, const struct cc_json *params)
{
	struct cc_rpcw answer;

	(void)params;
	cc_rpcw_result(&answer, id);
	cc_jsonw_object(&answer.w);
	cc_jsonw_key(&answer.w, "tools");
	cc_jsonw_array(&answer.w);
	for (size_t i = 0; i < cc_tools_count; i++) {
		const struct cc_tool *tool = &cc_tools_table[i];

		if (!cc_tool_offered(tool, server->tools->mode))
			continue;
		cc_jsonw_object(&answer.w);
		cc_jsonw_kstr(&answer.w, "name", tool->name);
		cc_jsonw_kstr(&answer.w, "description", tool->help);
		cc_jsonw_key(&answer.w, "inputSchema");
		cc_jsonw_raw(&answer.w, tool->schema);
		cc_jsonw_key(&answer.w, "annotations");
		cc_jsonw_object(&answer.w);
		cc_jsonw_kbool(&answer.w, "readOnlyHint", tool->tier == CC_TIER_READ);
		cc_jsonw_kbool(&answer.w, "openWorldHint", tool->tier == CC_TIER_EXEC);
		cc_jsonw_end(&answer.w);
		cc_jsonw_end(&answer.w);
	}
	cc_jsonw_end(&answer.w);
	cc_jsonw_end(&answer.w);
	cc_mcp_peer_send(&server->peer, &answer);
}

static void answer_call(void *context, const char *id, bool failed, struct cc_view text)
{
	struct server *server = context;
	struct cc_rpcw answer;

	cc_rpcw_result(&answer, id);
	cc_jsonw_object(&answer.w);
	cc_jsonw_key(&answer.w, "content");
	cc_jsonw_array(&answer.w);
	cc_jsonw_object(&answer.w);
	cc_jsonw_kstr(&answer.w, "type", "text");
	cc_jsonw_key(&answer.w, "text");
	cc_jsonw_view(&answer.w, text);
	cc_jsonw_end(&answer.w);
	cc_jsonw_end(&answer.w);
	cc_jsonw_kbool(&answer.w, "isError", failed);
	cc_jsonw_end(&answer.w);
	cc_mcp_peer_send(&server->peer, &answer);
}

/* Until there is room for one more call beside this process, or, when all is asked for, until none is left. */
static void wait_apart(struct server *server, bool all)
{
	while (all ? cc_apart_busy(&server->apart) : cc_apart_full(&server->apart)) {
		struct pollfd entries[CC_APART_MAX];

		cc_apart_watch(&server->apart, entries);
		poll(entries, CC_APART_MAX, -1);
		cc_apart_step(&server->apart, answer_call, server);
	}
}

static void call(struct server *server, const char *id, const struct cc_json *params)
{
	const struct cc_json *args = cc_json_get(params, "arguments");
	const char *name = cc_json_str(params, "name", "");
	struct cc_buf text;
	struct cc_err err = {0};
	bool failed;

	if (args && args->kind != CC_JSON_OBJECT) {
		cc_mcp_peer_fail(&server->peer, id, CC_RPC_PARAMS, "arguments is no object");
		return;
	}
	cc_buf_init(&text, ANSWER_MAX);
	if (cc_tool_walks(name)) {
		wait_apart(server, false);
		if (cc_apart_start(&server->apart, id, server->tools, name, args, ANSWER_MAX, &err) == CC_OK)
			return;
		failed = true;
	} else {
		failed = cc_tool_call(server->tools, name, args, &text, &err) != CC_OK;
	}
	if (failed)
		cc_buf_addf(&text, "%s\n", err.what);
	answer_call(server, id, failed || text.failed, cc_buf_view(&text));
	cc_buf_done(&text);
}

/* What a call beside this process would have found is no longer wanted; one that runs in it looks for itself. */
static void cancel(struct server *server, const struct cc_json *message)
{
	const struct cc_json *wanted = cc_json_get(cc_json_get(message, "params"), "requestId");
	char id[CC_RPC_ID];

	if (!wanted || strcmp(cc_json_str(message, "method", ""), "notifications/cancelled") != 0)
		return;
	cc_rpc_id_text(wanted, id);
	if (strcmp(id, "null") != 0)
		cc_apart_drop(&server->apart, id);
}

static const struct {
	const char *method;
	void (*answer)(struct server *server, const char *id, const struct cc_json *params);
} methods[] = {{"initialize", initialize}, {"ping", ping}, {"tools/list", list}, {"tools/call", call}};

static void take(struct server *server, const struct cc_json *message)
{
	char id[CC_RPC_ID];
	const char *method = cc_json_str(message, "method", "");

	if (!cc_json_get(message, "id")) { /* a notification */
		cancel(server, message);
		return;
	}
	cc_rpc_id(message, id);
	server->call = cc_json_get(message, "id");
	for (size_t i = 0; i < CC_COUNT(methods); i++)
		if (strcmp(methods[i].method, method) == 0) {
			methods[i].answer(server, id, cc_json_get(message, "params"));
			return;
		}
	cc_mcp_peer_fail(&server->peer, id, CC_RPC_METHOD, "no such method here");
}

static bool ask(void *context, const char *question)
{
	struct server *server = context;
	struct cc_rpcw message;
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *result;

	if (!server->asks)
		return false;
	cc_mcp_peer_ask(&server->peer, &message, "elicitation/create");
	cc_jsonw_object(&message.w);
	cc_jsonw_kstr(&message.w, "message", question);
	cc_jsonw_key(&message.w, "requestedSchema");
	cc_jsonw_raw(&message.w,
		     "{\"type\":\"object\",\"properties\":{\"allow\":{\"type\":\"boolean\",\"title\":\"Run it\"}},"
		     "\"required\":[\"allow\"]}");
	cc_jsonw_end(&message.w);
	cc_mcp_peer_send(&server->peer, &message);
	doc = cc_mcp_peer_answer(&server->peer, ASK_MS);
	result = doc ? cc_json_get(cc_json_root(doc), "result") : NULL;
	return result && strcmp(cc_json_str(result, "action", ""), "accept") == 0 &&
	       cc_json_bool(cc_json_get(result, "content"), "allow", false);
}

static bool cancelled(void *context)
{
	struct server *server = context;

	if (!cc_mcp_peer_look(&server->peer))
		server->shell->wait.fd = -1; /* nothing more to come; an answer may still be waited for */
	return cc_mcp_peer_take(&server->peer, "notifications/cancelled", "requestId", server->call);
}

static enum cc_code run(void *context, const char *line, const char *cwd, long timeout, struct cc_buf *out,
			int *out_code, struct cc_err *err)
{
	struct server *server = context;

	return cc_shell_run(server->shell, line, cwd, timeout, out, out_code, err);
}

/* The next message; calls beside this process are answered while it is waited for. */
static struct cc_json_doc *next(struct server *server)
{
	while (cc_apart_busy(&server->apart) && !cc_mcp_peer_has(&server->peer)) {
		struct pollfd entries[CC_APART_MAX + 1];

		cc_apart_watch(&server->apart, entries);
		entries[CC_APART_MAX] = (struct pollfd){.fd = server->peer.in, .events = POLLIN};
		poll(entries, CC_COUNT(entries), -1);
		if (entries[CC_APART_MAX].revents)
			cc_mcp_peer_look(&server->peer);
		cc_apart_step(&server->apart, answer_call, server);
	}
	return cc_mcp_peer_next(&server->peer);
}

void cc_mcp_serve(struct cc_tools *tools, struct cc_shell *session, int in, int out)
{
	struct server server = {.tools = tools, .shell = session};
	struct cc_json_doc *doc;

	cc_mcp_peer_init(&server.peer, in, out);
	tools->shell.context = &server;
	tools->shell.ask = ask;
	tools->shell.run = session ? run : NULL;
	if (session)
		session->wait = (struct cc_shell_wait){in, out, cancelled, &server};
	while ((doc = next(&server))) {
		take(&server, cc_json_root(doc));
		cc_json_doc_free(doc);
	}
	wait_apart(&server, true);
	cc_mcp_peer_done(&server.peer);
}
