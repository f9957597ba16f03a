/* mcp.c - the tools over MCP, by the smallest part of its HTTP transport: one message a POST, one answer to a request,
 * no stream. So nothing can be asked of a person here, and what would have to be is denied. */
#define _GNU_SOURCE
#include "server/server.h"

#include "base/mem.h"
#include "mcpweb/mcpweb.h"
#include "wire/rpc.h"

#include <string.h>
#include <sys/stat.h>

enum { MESSAGE_MAX = 1 << 20 };

/* Inside a sandbox or not at all: no answer of this protocol would say that there is none. */
static enum cc_code check_host(const struct cc_server *server, struct cc_err *err)
{
	if (server->stopping)
		return cc_fail(err, CC_ESTATE, 0, "the server is going down");
	if (!server->config.sandbox)
		return cc_fail(err, CC_EUNSUPPORTED, 0, "the sandbox is switched off; tools are served inside one");
	return cc_server_has_native(server, err);
}

static enum cc_code start(struct cc_call *call, struct cc_mcp_session **out, struct cc_err *err)
{
	struct cc_server *server = cc_call_context(call);
	CC_AUTO_FREE char *directory = cc_str_copy(cc_call_query(call, "directory"));
	CC_AUTO_FREE char *mode = cc_str_copy(cc_call_query(call, "mode"));
	const char *workspace = cc_call_query(call, "workspace");
	struct cc_strv protect = {0};
	struct cc_mcp_ask ask = {directory, mode ? mode : "chat", &protect, &server->owner_ports, &server->deny_read};
	enum cc_mode parsed;
	struct stat st;
	enum cc_code code = check_host(server, err);

	if (code == CC_OK)
		code = cc_mode_parse(ask.mode, &parsed, err);
	if (code == CC_OK && (!directory || directory[0] != '/'))
		code = cc_fail(err, CC_EINVAL, 0, "?directory= has to be there, and absolute");
	if (code == CC_OK && (stat(directory, &st) < 0 || !S_ISDIR(st.st_mode)))
		code = cc_fail(err, CC_ENOTFOUND, 0, "there is no directory %.300s", directory);
	if (code == CC_OK)
		code = cc_store_repo_paths(server->store, workspace ? workspace : "default", &protect, err);
	if (code == CC_OK)
		code = cc_mcp_start(server->mcps, &ask, out, err);
	cc_strv_done(&protect);
	return code;
}

static enum cc_code take(struct cc_call *call, const struct cc_json *message, struct cc_err *err)
{
	struct cc_server *server = cc_call_context(call);
	const char *id = cc_call_mcp_session(call);
	bool first = strcmp(cc_json_str(message, "method", ""), "initialize") == 0;
	struct cc_mcp_session *session = NULL;
	enum cc_code code = CC_OK;

	if (first && (id[0] || !cc_json_get(message, "id")))
		return cc_fail(err, CC_EINVAL, 0, "initialize is a request, and begins a session");
	if (!first && !id[0])
		return cc_fail(err, CC_EINVAL, 0, "the header Mcp-Session-Id is missing");
	if (first)
		code = start(call, &session, err);
	else
		session = cc_mcp_find(server->mcps, id);
	if (code == CC_OK && !session)
		code = cc_fail(err, CC_ENOTFOUND, 0, "there is no such session");
	if (code != CC_OK)
		return code;
	code = cc_mcp_say(session, call, message, err);
	if (code != CC_OK && first) /* nobody knows its id */
		cc_mcp_stop(session, NULL);
	return code;
}

static void post_mcp(struct cc_call *call)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	enum cc_rpc_error error;
	struct cc_err err = {0};
	enum cc_code code;

	doc = cc_rpc_parse(cc_call_body(call), &error);
	code = doc ? take(call, cc_json_root(doc), &err)
		   : cc_fail(&err, CC_EINVAL, 0, "the body is not one JSON-RPC 2.0 message");
	if (code != CC_OK)
		cc_reply_fail(call, &err);
}

static void delete_mcp(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_mcp_session *session = cc_mcp_find(server->mcps, cc_call_mcp_session(call));

	if (session)
		cc_mcp_stop(session, call);
	else
		cc_reply_failf(call, CC_ENOTFOUND, "there is no such session");
}

const struct cc_route cc_routes_mcp[] = {
	{"POST", "/v1/mcp", 0, MESSAGE_MAX, post_mcp},
	{"DELETE", "/v1/mcp", 0, 0, delete_mcp},
	{0},
};
