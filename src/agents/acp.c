/* acp.c - the client's side of the Agent Client Protocol (version 1): one session, one prompt at a time. Files and
 * terminals are not offered: the agent has its own, in its sandbox. */
#include "agents/inside.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_INITIALIZE = 1, CALL_NEW, CALL_PROMPT };

static void send(struct cc_talk *talk, struct cc_rpcw *message)
{
	bool whole = cc_rpcw_end(message);

	if (whole) {
		cc_buf_add(&talk->out, message->text.data, message->text.len);
		cc_buf_adds(&talk->out, "\n");
	}
	talk->failed |= !whole || talk->out.failed;
	cc_buf_done(&message->text);
}

/* Calls are numbered; those from CALL_PROMPT on are prompts. */
static void call(struct cc_talk *talk, struct cc_rpcw *message, const char *method)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", ++talk->calls);
	cc_rpcw_call(message, id, method);
	cc_jsonw_object(&message->w);
}

void cc_acpc_begin(struct cc_talk *talk)
{
	struct cc_rpcw out;

	call(talk, &out, "initialize");
	cc_jsonw_kint(&out.w, "protocolVersion", 1);
	cc_jsonw_key(&out.w, "clientCapabilities");
	cc_jsonw_raw(&out.w, "{\"fs\":{\"readTextFile\":false,\"writeTextFile\":false},\"terminal\":false}");
	cc_jsonw_key(&out.w, "clientInfo");
	cc_jsonw_raw(&out.w, "{\"name\":\"ccbox\",\"version\":\"1\"}");
	cc_jsonw_end(&out.w);
	send(talk, &out);
}

static void open_session(struct cc_talk *talk)
{
	struct cc_rpcw out;

	call(talk, &out, "session/new");
	cc_jsonw_kstr(&out.w, "cwd", talk->cwd);
	cc_jsonw_key(&out.w, "mcpServers");
	cc_jsonw_raw(&out.w, "[]");
	cc_jsonw_end(&out.w);
	send(talk, &out);
}

void cc_acpc_say(struct cc_talk *talk, const char *text)
{
	struct cc_rpcw out;

	call(talk, &out, "session/prompt");
	cc_jsonw_key(&out.w, "sessionId");
	cc_jsonw_raw(&out.w, talk->session);
	cc_jsonw_key(&out.w, "prompt");
	cc_jsonw_array(&out.w);
	cc_jsonw_object(&out.w);
	cc_jsonw_kstr(&out.w, "type", "text");
	cc_jsonw_kstr(&out.w, "text", text);
	cc_jsonw_end(&out.w);
	cc_jsonw_end(&out.w);
	cc_jsonw_end(&out.w);
	send(talk, &out);
	talk->turns++;
}

static void on_answer(struct cc_talk *talk, const struct cc_json *message)
{
	int64_t id = cc_json_int(message, "id", 0);
	const struct cc_json *result = cc_json_get(message, "result");
	const struct cc_json *session = cc_json_get(result, "sessionId");
	char text[500];

	if (id < 1 || id > talk->calls)
		return;
	if (!result) {
		snprintf(text, sizeof(text), "the agent refused call %d: %.400s", (int)id,
			 cc_json_str(cc_json_get(message, "error"), "message", "without a reason"));
		cc_talk_note(talk, CC_AGENT_ERROR, text);
		talk->failed = true;
	}
	if (id == CALL_INITIALIZE && result) {
		snprintf(text, sizeof(text), "protocol %d", (int)cc_json_int(result, "protocolVersion", 0));
		cc_talk_note(talk, CC_AGENT_DEBUG, text);
		open_session(talk);
	} else if (id == CALL_NEW && session && session->kind == CC_JSON_STRING) {
		struct cc_buf json;
		struct cc_jsonw w;

		cc_buf_init(&json, sizeof(talk->session));
		cc_jsonw_init(&w, &json);
		cc_jsonw_copy(&w, session);
		if (json.failed || !cc_str_put(talk->session, sizeof(talk->session), json.data))
			talk->failed = true;
		else
			cc_acpc_say(talk, talk->prompt);
		cc_buf_done(&json);
	} else if (id >= CALL_PROMPT) {
		talk->turns -= talk->turns > 0;
	} else {
		talk->failed = true;
	}
	talk->over |= talk->failed || (id >= CALL_PROMPT && talk->turns == 0);
}

/* Of an update: {"type":"text","text":...}, a text, or a list of {"type":"content","content":...}. */
static void text_of(const struct cc_json *content, struct cc_buf *out)
{
	if (!content)
		return;
	if (content->kind == CC_JSON_STRING)
		cc_buf_add(out, content->text.ptr, content->text.len);
	if (content->kind == CC_JSON_OBJECT) {
		cc_buf_adds(out, cc_json_str(content, "text", ""));
		if (cc_json_get(content, "content"))
			text_of(cc_json_get(content, "content"), out);
	}
	for (const struct cc_json *m = content->kind == CC_JSON_ARRAY ? content->child : NULL; m; m = m->next)
		text_of(m, out);
}

/* The tool's name comes with the first word of a call; what follows has its id alone. */
static const char *tool_name(struct cc_talk *talk, const struct cc_json *update)
{
	const char *id = cc_json_str(update, "toolCallId", "");
	const char *name = cc_json_str(cc_json_get(cc_json_get(update, "_meta"), "claudeCode"), "toolName",
				       cc_json_str(update, "kind", NULL));

	for (unsigned i = 0; *id && i < CC_TALK_CALLS; i++)
		if (strcmp(talk->tools[i].id, id) == 0)
			return talk->tools[i].name;
	if (*id && name) {
		unsigned at = talk->tool_count++ % CC_TALK_CALLS;

		cc_str_put(talk->tools[at].id, sizeof(talk->tools[at].id), id);
		cc_str_put(talk->tools[at].name, sizeof(talk->tools[at].name), name);
	}
	return name;
}

static void on_tool(struct cc_talk *talk, const struct cc_json *update, bool first)
{
	const char *status = cc_json_str(update, "status", "");
	const struct cc_json *input = cc_json_get(update, "rawInput");
	struct cc_agent_event event = {.type = CC_AGENT_TOOL_CALL,
				       .id = cc_json_str(update, "toolCallId", NULL),
				       .tool = tool_name(talk, update),
				       .detail = input,
				       .text = cc_view_of(cc_json_str(update, "title", ""))};
	struct cc_buf text;

	/* some begin with an empty input and say it later */
	if (first || (input && input->count > 0))
		cc_talk_event(talk, &event);
	if (strcmp(status, "completed") != 0 && strcmp(status, "failed") != 0)
		return;
	cc_buf_init(&text, CC_TALK_LINE_MAX);
	text_of(cc_json_get(update, "content"), &text);
	event.type = CC_AGENT_TOOL_RESULT;
	event.detail = NULL;
	event.failed = strcmp(status, "failed") == 0;
	event.text = cc_buf_view(&text);
	cc_talk_event(talk, &event);
	cc_buf_done(&text);
}

static void on_update(struct cc_talk *talk, const struct cc_json *params)
{
	const struct cc_json *update = cc_json_get(params, "update");
	const char *what = cc_json_str(update, "sessionUpdate", "");
	bool thinks = strcmp(what, "agent_thought_chunk") == 0;
	struct cc_buf text;

	if (strcmp(what, "tool_call") == 0 || strcmp(what, "tool_call_update") == 0)
		on_tool(talk, update, strcmp(what, "tool_call") == 0);
	if (strcmp(what, "usage_update") == 0) {
		struct cc_agent_event used = {.type = CC_AGENT_USAGE, .tokens_in = cc_agent_tokens(update, "used")};

		cc_talk_event(talk, &used);
	}
	if (!thinks && strcmp(what, "agent_message_chunk") != 0)
		return;
	cc_buf_init(&text, CC_TALK_LINE_MAX);
	text_of(cc_json_get(update, "content"), &text);
	cc_talk_note(talk, thinks ? CC_AGENT_THINKING : CC_AGENT_TEXT, text.data ? text.data : "");
	cc_buf_done(&text);
}

static bool take_option(const struct cc_json *option, const char *kind, char out[CC_RPC_ID])
{
	const struct cc_json *id = cc_json_get(option, "optionId");
	struct cc_buf json;
	struct cc_jsonw w;
	bool good;

	if (!id || id->kind != CC_JSON_STRING || strcmp(cc_json_str(option, "kind", ""), kind) != 0)
		return false;
	cc_buf_init(&json, CC_RPC_ID);
	cc_jsonw_init(&w, &json);
	cc_jsonw_copy(&w, id);
	good = !json.failed && cc_str_put(out, CC_RPC_ID, json.data);
	cc_buf_done(&json);
	return good;
}

void cc_acpc_answer(struct cc_talk *talk, struct cc_talk_asked *asked, bool allow, const char *reason)
{
	const char *option = allow ? asked->allow : asked->deny;
	struct cc_rpcw out;

	(void)reason;
	cc_rpcw_result(&out, asked->id);
	cc_jsonw_object(&out.w);
	cc_jsonw_key(&out.w, "outcome");
	cc_jsonw_object(&out.w);
	/* without an option that says no, a question that is called off is the no */
	cc_jsonw_kstr(&out.w, "outcome", *option ? "selected" : "cancelled");
	if (*option) {
		cc_jsonw_key(&out.w, "optionId");
		cc_jsonw_raw(&out.w, option);
	}
	cc_jsonw_end(&out.w);
	cc_jsonw_end(&out.w);
	send(talk, &out);
}

/* session/request_permission: only what allows or refuses once is chosen, so that the next one is asked about again. */
static void on_permission(struct cc_talk *talk, const char *id, const struct cc_json *params)
{
	const struct cc_json *options = cc_json_get(params, "options"), *tool = cc_json_get(params, "toolCall");
	const char *kind = cc_json_str(tool, "kind", NULL);
	struct cc_talk_asked *asked = cc_talk_asks(talk), none = {0};
	struct cc_tool_ask ask = {.tool = cc_json_str(tool, "title", "?"),
				  .kind = cc_tool_kind_of_acp(kind),
				  .input = cc_json_get(tool, "rawInput")};

	if (!asked) {
		cc_str_put(none.id, sizeof(none.id), id);
		cc_acpc_answer(talk, &none, false, "");
		return;
	}
	cc_str_put(asked->id, sizeof(asked->id), id);
	for (const struct cc_json *m = options ? options->child : NULL; m; m = m->next)
		if (!take_option(m, "allow_once", asked->allow))
			take_option(m, "reject_once", asked->deny);
	ask.tool = tool_name(talk, tool) ? tool_name(talk, tool) : ask.tool;
	talk->config.sink.ask(talk->config.sink.context, asked->number, &ask, cc_json_str(tool, "title", ""));
}

void cc_acpc_line(struct cc_talk *talk, struct cc_view line)
{
	enum cc_rpc_error error;
	CC_AUTO(cc_json_doc) doc = cc_rpc_parse(line, &error);
	struct cc_agent_event text = {.type = CC_AGENT_TEXT, .text = line};
	const struct cc_json *root = doc ? cc_json_root(doc) : NULL;
	const char *method = cc_json_str(root, "method", NULL);
	struct cc_rpcw out;
	char id[CC_RPC_ID];

	if (!root) {
		cc_talk_event(talk, &text);
		return;
	}
	if (!method) {
		on_answer(talk, root);
		return;
	}
	cc_rpc_id(root, id);
	if (strcmp(method, "session/update") == 0) {
		on_update(talk, cc_json_get(root, "params"));
	} else if (strcmp(method, "session/request_permission") == 0 && cc_json_get(root, "id")) {
		on_permission(talk, id, cc_json_get(root, "params"));
	} else if (cc_json_get(root, "id")) {
		cc_rpcw_error(&out, id, CC_RPC_METHOD, "not served here");
		send(talk, &out);
	}
}
