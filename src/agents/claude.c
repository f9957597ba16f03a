/* claude.c - Claude Code's stream-json, both ways. */
#include "agents/inside.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The hook is asked before every tool, whatever settings allow; a question that it hands on waits without a limit of
 * Claude's own. */
#define HOOK_ID      "ccbox"
#define HOOK_SECONDS 3600

static void send(struct cc_talk *talk, struct cc_buf *line)
{
	cc_buf_adds(line, "\n");
	if (!line->failed)
		cc_buf_add(&talk->out, line->data, line->len);
	talk->failed |= line->failed || talk->out.failed;
	cc_buf_done(line);
}

static void begin(struct cc_jsonw *w, struct cc_buf *line, const char *type)
{
	cc_buf_init(line, CC_TALK_OUT_MAX);
	cc_jsonw_init(w, line);
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "type", type);
}

void cc_claude_begin(struct cc_talk *talk)
{
	struct cc_buf line;
	struct cc_jsonw w;

	begin(&w, &line, "control_request");
	cc_jsonw_kstr(&w, "request_id", "ccbox-1");
	cc_jsonw_key(&w, "request");
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "subtype", "initialize");
	cc_jsonw_key(&w, "hooks");
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "PreToolUse");
	cc_jsonw_array(&w);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "matcher", "");
	cc_jsonw_kint(&w, "timeout", HOOK_SECONDS);
	cc_jsonw_key(&w, "hookCallbackIds");
	cc_jsonw_array(&w);
	cc_jsonw_str(&w, HOOK_ID);
	for (int i = 0; i < 5; i++)
		cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	send(talk, &line);
	cc_claude_say(talk, talk->prompt);
}

void cc_claude_say(struct cc_talk *talk, const char *text)
{
	struct cc_buf line;
	struct cc_jsonw w;

	begin(&w, &line, "user");
	cc_jsonw_key(&w, "message");
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "role", "user");
	cc_jsonw_key(&w, "content");
	cc_jsonw_array(&w);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "type", "text");
	cc_jsonw_kstr(&w, "text", text);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	cc_jsonw_key(&w, "parent_tool_use_id");
	cc_jsonw_null(&w);
	cc_jsonw_kstr(&w, "session_id", "");
	cc_jsonw_end(&w);
	send(talk, &line);
	talk->turns++;
}

/* {"type":"control_response","response":{"subtype":..., "request_id":...,  up to where its body follows. */
static void begin_answer(struct cc_jsonw *w, struct cc_buf *line, const char *subtype, const char *id)
{
	begin(w, line, "control_response");
	cc_jsonw_key(w, "response");
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "subtype", subtype);
	cc_jsonw_kstr(w, "request_id", id);
}

static void end_answer(struct cc_talk *talk, struct cc_jsonw *w, struct cc_buf *line)
{
	cc_jsonw_end(w);
	cc_jsonw_end(w);
	send(talk, line);
}

/* In the words of Claude's hooks. */
static const char *decision_of(enum cc_guard verdict)
{
	return verdict == CC_GUARD_ALLOW ? "allow" : verdict == CC_GUARD_ASK ? "ask" : "deny";
}

static void answer_hook(struct cc_talk *talk, const char *id, const struct cc_tool_verdict *verdict)
{
	struct cc_buf line;
	struct cc_jsonw w;
	char reason[300];

	snprintf(reason, sizeof(reason), "ccbox: %s", verdict->rule);
	begin_answer(&w, &line, "success", id);
	cc_jsonw_key(&w, "response");
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "hookSpecificOutput");
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "hookEventName", "PreToolUse");
	cc_jsonw_kstr(&w, "permissionDecision", decision_of(verdict->verdict));
	cc_jsonw_kstr(&w, "permissionDecisionReason", reason);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	end_answer(talk, &w, &line);
}

static void refuse(struct cc_talk *talk, const char *id, const char *why)
{
	struct cc_buf line;
	struct cc_jsonw w;

	begin_answer(&w, &line, "error", id);
	cc_jsonw_kstr(&w, "error", why);
	end_answer(talk, &w, &line);
}

void cc_claude_answer(struct cc_talk *talk, struct cc_talk_asked *asked, bool allow, const char *reason)
{
	struct cc_buf line;
	struct cc_jsonw w;

	begin_answer(&w, &line, "success", asked->id);
	cc_jsonw_key(&w, "response");
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "behavior", allow ? "allow" : "deny");
	if (allow) {
		cc_jsonw_key(&w, "updatedInput");
		cc_jsonw_raw(&w, asked->input ? asked->input : "{}");
	} else {
		cc_jsonw_kstr(&w, "message", reason);
	}
	cc_jsonw_end(&w);
	end_answer(talk, &w, &line);
}

static void on_hook(struct cc_talk *talk, const char *id, const struct cc_json *request)
{
	const struct cc_json *input = cc_json_get(request, "input");
	const char *tool = cc_json_str(input, "tool_name", "?");
	struct cc_tool_ask ask = {
		.tool = tool, .kind = cc_tool_kind_of_name(tool), .input = cc_json_get(input, "tool_input")};
	struct cc_tool_verdict verdict = {.verdict = CC_GUARD_DENY, .rule = "not a hook that was asked for"};

	if (strcmp(cc_json_str(input, "hook_event_name", ""), "PreToolUse") == 0)
		talk->config.sink.judge(talk->config.sink.context, &ask, &verdict);
	answer_hook(talk, id, &verdict);
}

static void on_permission(struct cc_talk *talk, const char *id, const struct cc_json *request)
{
	const char *tool = cc_json_str(request, "tool_name", "?");
	struct cc_tool_ask ask = {
		.tool = tool, .kind = cc_tool_kind_of_name(tool), .input = cc_json_get(request, "input")};
	struct cc_talk_asked *asked = cc_talk_asks(talk), none = {0};
	struct cc_buf input;
	struct cc_jsonw w;

	if (!asked || !cc_str_put(asked->id, sizeof(asked->id), id)) {
		cc_str_put(none.id, sizeof(none.id), id);
		if (asked)
			asked->number = 0;
		cc_claude_answer(talk, &none, false, "too many questions at once");
		return;
	}
	cc_buf_init(&input, CC_TALK_LINE_MAX);
	cc_jsonw_init(&w, &input);
	if (ask.input)
		cc_jsonw_copy(&w, ask.input);
	asked->input = input.failed ? NULL : input.data;
	if (input.failed)
		cc_buf_done(&input);
	talk->config.sink.ask(talk->config.sink.context, asked->number, &ask, cc_json_str(request, "description", ""));
}

static void on_control(struct cc_talk *talk, const struct cc_json *message)
{
	const struct cc_json *request = cc_json_get(message, "request");
	const char *id = cc_json_str(message, "request_id", "");
	const char *what = cc_json_str(request, "subtype", "");

	if (strcmp(what, "hook_callback") == 0)
		on_hook(talk, id, request);
	else if (strcmp(what, "can_use_tool") == 0)
		on_permission(talk, id, request);
	else
		refuse(talk, id, "not served");
}

/* Content blocks, as they come in pieces. */

static struct cc_talk_block *block_of(struct cc_talk *talk, const struct cc_json *event)
{
	int64_t index = cc_json_int(event, "index", -1);

	return index >= 0 && index < CC_TALK_BLOCKS ? &talk->blocks[index] : NULL;
}

static void close_block(struct cc_talk_block *block)
{
	cc_buf_done(&block->json);
	block->open = false;
}

static void on_block_start(struct cc_talk *talk, const struct cc_json *event)
{
	const struct cc_json *what = cc_json_get(event, "content_block");
	struct cc_talk_block *block = block_of(talk, event);
	const char *type = cc_json_str(what, "type", "");

	if (!block)
		return;
	close_block(block);
	cc_buf_init(&block->json, CC_TALK_LINE_MAX);
	block->open = true;
	block->kind = strcmp(type, "tool_use") == 0      ? CC_BLOCK_TOOL
		      : strstr(type, "thinking") == type ? CC_BLOCK_THINKING
		      : strcmp(type, "text") == 0        ? CC_BLOCK_TEXT
							 : CC_BLOCK_OTHER;
	cc_str_put(block->id, sizeof(block->id), cc_json_str(what, "id", ""));
	cc_str_put(block->name, sizeof(block->name), cc_json_str(what, "name", ""));
}

static void on_delta(struct cc_talk *talk, const struct cc_json *event)
{
	const struct cc_json *delta = cc_json_get(event, "delta");
	const struct cc_json *json = cc_json_get(delta, "partial_json");
	struct cc_talk_block *block = block_of(talk, event);
	bool thinks = block && block->open && block->kind == CC_BLOCK_THINKING;
	const char *said = cc_json_str(delta, "text", NULL), *thought = cc_json_str(delta, "thinking", NULL);

	if (json && json->kind == CC_JSON_STRING && block && block->open)
		cc_buf_add(&block->json, json->text.ptr, json->text.len);
	if (said)
		cc_talk_note(talk, thinks ? CC_AGENT_THINKING : CC_AGENT_TEXT, said);
	if (thought)
		cc_talk_note(talk, CC_AGENT_THINKING, thought);
}

/* The input as it is, the text where it is no JSON, nothing where there was none. */
static void on_block_stop(struct cc_talk *talk, const struct cc_json *event)
{
	struct cc_talk_block *block = block_of(talk, event);
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_agent_event call = {.type = CC_AGENT_TOOL_CALL};
	struct cc_err err;

	if (!block || !block->open)
		return;
	if (block->kind == CC_BLOCK_TOOL) {
		call.id = block->id;
		call.tool = block->name;
		if (block->json.len && cc_json_parse("input", cc_buf_view(&block->json), 0, &doc, &err) == CC_OK)
			call.detail = cc_json_root(doc);
		else
			call.text = cc_buf_view(&block->json);
		cc_talk_event(talk, &call);
	}
	close_block(block);
}

static void on_stream(struct cc_talk *talk, const struct cc_json *message)
{
	static const struct {
		const char *type;
		void (*handle)(struct cc_talk *talk, const struct cc_json *event);
	} rows[] = {{"content_block_start", on_block_start},
		    {"content_block_delta", on_delta},
		    {"content_block_stop", on_block_stop}};
	const struct cc_json *event = cc_json_get(message, "event");
	const char *type = cc_json_str(event, "type", "");

	if (strcmp(type, "message_start") == 0)
		cc_str_put(talk->seen[talk->seen_count++ % CC_TALK_SEEN], sizeof(talk->seen[0]),
			   cc_json_str(cc_json_get(event, "message"), "id", ""));
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		if (strcmp(rows[i].type, type) == 0)
			rows[i].handle(talk, event);
}

/* Whole messages. */

static bool was_streamed(const struct cc_talk *talk, const char *id)
{
	for (size_t i = 0; *id && i < CC_TALK_SEEN; i++)
		if (strcmp(talk->seen[i], id) == 0)
			return true;
	return false;
}

/* One that did not come in pieces before. */
static void on_assistant(struct cc_talk *talk, const struct cc_json *message)
{
	const struct cc_json *said = cc_json_get(message, "message");
	const struct cc_json *content = cc_json_get(said, "content");

	if (was_streamed(talk, cc_json_str(said, "id", "")))
		return;
	for (const struct cc_json *m = content ? content->child : NULL; m; m = m->next) {
		struct cc_agent_event call = {.type = CC_AGENT_TOOL_CALL,
					      .id = cc_json_str(m, "id", NULL),
					      .tool = cc_json_str(m, "name", NULL),
					      .detail = cc_json_get(m, "input")};

		if (cc_json_str(m, "text", NULL))
			cc_talk_note(talk, CC_AGENT_TEXT, cc_json_str(m, "text", ""));
		if (cc_json_str(m, "thinking", NULL))
			cc_talk_note(talk, CC_AGENT_THINKING, cc_json_str(m, "thinking", ""));
		if (strcmp(cc_json_str(m, "type", ""), "tool_use") == 0)
			cc_talk_event(talk, &call);
	}
}

/* A text, or a list of blocks of which the texts count. */
static void text_of(const struct cc_json *content, struct cc_buf *out)
{
	if (content && content->kind == CC_JSON_STRING)
		cc_buf_add(out, content->text.ptr, content->text.len);
	for (const struct cc_json *m = content && content->kind == CC_JSON_ARRAY ? content->child : NULL; m;
	     m = m->next)
		cc_buf_adds(out, cc_json_str(m, "text", ""));
}

static void on_user(struct cc_talk *talk, const struct cc_json *message)
{
	const struct cc_json *content = cc_json_get(cc_json_get(message, "message"), "content");

	for (const struct cc_json *m = content && content->kind == CC_JSON_ARRAY ? content->child : NULL; m;
	     m = m->next) {
		struct cc_agent_event result = {.type = CC_AGENT_TOOL_RESULT,
						.id = cc_json_str(m, "tool_use_id", NULL),
						.failed = cc_json_bool(m, "is_error", false)};
		struct cc_buf text;

		if (strcmp(cc_json_str(m, "type", ""), "tool_result") != 0)
			continue;
		cc_buf_init(&text, CC_TALK_LINE_MAX);
		text_of(cc_json_get(m, "content"), &text);
		result.text = cc_buf_view(&text);
		cc_talk_event(talk, &result);
		cc_buf_done(&text);
	}
}

static void on_result(struct cc_talk *talk, const struct cc_json *message)
{
	const struct cc_json *usage = cc_json_get(message, "usage");
	struct cc_agent_event used = {.type = CC_AGENT_USAGE,
				      .tokens_in = cc_agent_tokens(usage, "input_tokens"),
				      .tokens_out = cc_agent_tokens(usage, "output_tokens")};
	int64_t status = cc_json_int(message, "api_error_status", 0);
	struct cc_buf text;

	if (usage)
		cc_talk_event(talk, &used);
	if (cc_json_bool(message, "is_error", false)) {
		cc_buf_init(&text, CC_TALK_LINE_MAX);
		cc_buf_adds(&text, cc_json_str(message, "result", cc_json_str(message, "error", "the agent failed")));
		if (status)
			cc_buf_addf(&text, " (HTTP %lld)", (long long)status);
		cc_talk_note(talk, CC_AGENT_ERROR, text.data);
		cc_buf_done(&text);
		talk->failed = true;
	}
	talk->turns -= talk->turns > 0;
	talk->over |= talk->turns == 0;
}

static void on_system(struct cc_talk *talk, const struct cc_json *message)
{
	char text[400];

	if (strcmp(cc_json_str(message, "subtype", ""), "init") != 0)
		return;
	snprintf(text, sizeof(text), "session %.60s, model %.80s, permissions %.40s",
		 cc_json_str(message, "session_id", "?"), cc_json_str(message, "model", "?"),
		 cc_json_str(message, "permissionMode", "?"));
	cc_talk_note(talk, CC_AGENT_DEBUG, text);
}

void cc_claude_line(struct cc_talk *talk, struct cc_view line)
{
	static const struct {
		const char *type;
		void (*handle)(struct cc_talk *talk, const struct cc_json *message);
	} rows[] = {{"stream_event", on_stream},     {"assistant", on_assistant}, {"user", on_user},
		    {"control_request", on_control}, {"result", on_result},       {"system", on_system}};
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_agent_event text = {.type = CC_AGENT_TEXT, .text = line};
	struct cc_err err;
	const char *type;

	/* what an agent prints beside its protocol is still what it said */
	if (cc_json_parse("line", line, 0, &doc, &err) != CC_OK || cc_json_root(doc)->kind != CC_JSON_OBJECT) {
		cc_talk_event(talk, &text);
		return;
	}
	type = cc_json_str(cc_json_root(doc), "type", "");
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		if (strcmp(rows[i].type, type) == 0)
			rows[i].handle(talk, cc_json_root(doc));
}
