#include "../t.h"

#include "agents/table.h"
#include "agents/talk.h"

/* What came out, one line an event: type|tool|text|detail; questions as "ask N tool". */
struct heard {
	struct cc_buf text;
	enum cc_guard verdict;
	int last_ask;
};

static void on_event(void *context, const struct cc_agent_event *event)
{
	struct heard *heard = context;
	struct cc_jsonw w;

	cc_buf_addf(&heard->text, "%s|%s|%.*s|", cc_agent_event_name(event->type), event->tool ? event->tool : "",
		    (int)event->text.len, event->text.ptr ? event->text.ptr : "");
	if (event->failed)
		cc_buf_adds(&heard->text, "failed ");
	if (event->type == CC_AGENT_USAGE)
		cc_buf_addf(&heard->text, "%d/%d", (int)event->tokens_in, (int)event->tokens_out);
	if (event->detail) {
		cc_jsonw_init(&w, &heard->text);
		cc_jsonw_copy(&w, event->detail);
	}
	cc_buf_adds(&heard->text, "\n");
}

static void on_judge(void *context, const struct cc_tool_ask *ask, struct cc_tool_verdict *out)
{
	struct heard *heard = context;

	cc_buf_addf(&heard->text, "judge %s %d\n", ask->tool, ask->kind);
	*out = (struct cc_tool_verdict){.verdict = heard->verdict, .rule = "the rule"};
}

static void on_ask(void *context, int number, const struct cc_tool_ask *ask, const char *title)
{
	struct heard *heard = context;

	heard->last_ask = number;
	cc_buf_addf(&heard->text, "ask %d %s %d %s\n", number, ask->tool, ask->kind, title);
}

static struct cc_talk *talk_of(enum cc_talk_kind kind, struct heard *heard)
{
	struct cc_talk_config config = {.kind = kind,
					.sink = {heard, on_event, on_judge, on_ask},
					.prompt = "do it",
					.cwd = "/p",
					.mode = CC_MODE_CHAT};
	struct cc_talk *talk = NULL;
	struct cc_err err = {0};

	cc_buf_init(&heard->text, 1 << 20);
	T_OK(cc_talk_new(&config, &talk, &err), err);
	return talk;
}

static void tell(struct cc_talk *talk, const char *line)
{
	assert_true(cc_talk_take(talk, line, strlen(line)));
	assert_true(cc_talk_take(talk, "\n", 1));
}

static void expect(struct heard *heard, const char *label, const char *want)
{
	const char *got = heard->text.data ? heard->text.data : "";

	if (strcmp(got, want) != 0)
		fail_msg("row \"%s\": got\n%s\nnot\n%s", label, got, want);
	cc_buf_reset(&heard->text);
}

#define EVENT(json) "{\"type\":\"stream_event\",\"event\":" json "}"

static void stream_json_becomes_events(void **state)
{
	static const struct {
		const char *label, *lines[6], *want;
	} rows[] = {
		{"no JSON is what it said", {"Segmentation fault"}, "text||Segmentation fault|\n"},
		{"a list is no message", {"[1]"}, "text||[1]|\n"},
		{"an unknown type is passed over", {"{\"type\":\"rate_limit_event\"}"}, ""},
		{"text in pieces",
		 {EVENT("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}"),
		  EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}"),
		  EVENT("{\"type\":\"content_block_stop\",\"index\":0}")},
		 "text||a|\n"},
		{"text in a block of thinking",
		 {EVENT("{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"thinking\"}}"),
		  EVENT("{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"text\":\"hm\"}}"),
		  EVENT("{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"thinking\":\"so\"}}"),
		  EVENT("{\"type\":\"content_block_stop\",\"index\":1}")},
		 "thinking||hm|\nthinking||so|\n"},
		{"a piece that nothing began",
		 {EVENT("{\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"text\":\"x\"}}")},
		 "text||x|\n"},
		{"a call, its input in pieces",
		 {EVENT("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\"}}"),
		  EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{\\\"command\\\":\"}}"),
		  EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"\\\"ls\\\"}\"}}"),
		  EVENT("{\"type\":\"content_block_stop\",\"index\":0}")},
		 "toolCall|Bash||{\"command\":\"ls\"}\n"},
		{"its input is no JSON",
		 {EVENT("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"B\"}}"),
		  EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{oops\"}}"),
		  EVENT("{\"type\":\"content_block_stop\",\"index\":0}")},
		 "toolCall|B|{oops|\n"},
		{"an index out of bounds",
		 {EVENT("{\"type\":\"content_block_start\",\"index\":9999999,\"content_block\":{\"type\":\"tool_use\",\"name\":\"B\"}}"),
		  EVENT("{\"type\":\"content_block_stop\",\"index\":-1}")},
		 ""},
		{"a message that came in pieces is not told twice",
		 {EVENT("{\"type\":\"message_start\",\"message\":{\"id\":\"m1\"}}"),
		  "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"again\"}]}}"},
		 ""},
		{"one that did not is told whole",
		 {"{\"type\":\"assistant\",\"message\":{\"id\":\"m2\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\"},"
		  "{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"Read\",\"input\":{}}]}}"},
		 "thinking||t|\ntext||x|\ntoolCall|Read||{}\n"},
		{"a result of a tool",
		 {"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"is_error\":true,"
		  "\"content\":[{\"type\":\"text\",\"text\":\"no\"}]}]}}"},
		 "toolResult||no|failed \n"},
		{"the end that is an error",
		 {"{\"type\":\"result\",\"is_error\":true,\"result\":\"overloaded\",\"api_error_status\":529,\"usage\":{\"input_tokens\":3}}"},
		 "usage|||3/0\nerror||overloaded (HTTP 529)|\n"},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct heard heard = {0};
		struct cc_talk *talk = talk_of(CC_TALK_STREAM_JSON, &heard);

		for (size_t k = 0; k < CC_COUNT(rows[i].lines) && rows[i].lines[k]; k++)
			tell(talk, rows[i].lines[k]);
		expect(&heard, rows[i].label, rows[i].want);
		cc_talk_free(talk);
		cc_buf_done(&heard.text);
	}
}

static bool says(struct cc_talk *talk, const char *part)
{
	bool there = cc_talk_out(talk)->data && strstr(cc_talk_out(talk)->data, part);

	cc_buf_reset(cc_talk_out(talk));
	return there;
}

static void every_tool_is_judged_before_and_asked_about(void **state)
{
	struct heard heard = {.verdict = CC_GUARD_ASK};
	struct cc_talk *talk = talk_of(CC_TALK_STREAM_JSON, &heard);

	(void)state;
	assert_true(
		says(talk, "\"subtype\":\"initialize\",\"hooks\":{\"PreToolUse\":[{\"matcher\":\"\",\"timeout\":3600"));
	tell(talk,
	     "{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"subtype\":\"hook_callback\",\"input\":"
	     "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git push\"}}}}");
	expect(&heard, "the hook", "judge Bash 4\n");
	assert_true(says(talk,
			 "\"request_id\":\"r1\",\"response\":{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
			 "\"permissionDecision\":\"ask\""));
	tell(talk,
	     "{\"type\":\"control_request\",\"request_id\":\"r0\",\"request\":{\"subtype\":\"hook_callback\",\"input\":"
	     "{\"hook_event_name\":\"Stop\"}}}");
	expect(&heard, "another hook", "");
	assert_true(says(talk, "\"permissionDecision\":\"deny\""));
	tell(talk,
	     "{\"type\":\"control_request\",\"request_id\":\"r2\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":"
	     "\"Bash\",\"input\":{\"command\":\"git push\"},\"description\":\"push it\"}}");
	expect(&heard, "the question", "ask 1 Bash 4 push it\n");
	assert_int_equal(cc_talk_out(talk)->len, 0);
	cc_talk_answer(talk, 1, true, "");
	assert_true(says(
		talk,
		"\"request_id\":\"r2\",\"response\":{\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"git push\"}}"));
	cc_talk_answer(talk, 1, true, ""); /* once */
	assert_int_equal(cc_talk_out(talk)->len, 0);
	tell(talk,
	     "{\"type\":\"control_request\",\"request_id\":\"r3\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"X\"}}");
	cc_talk_answer(talk, heard.last_ask, false, "because");
	assert_true(says(talk, "\"behavior\":\"deny\",\"message\":\"because\""));
	tell(talk, "{\"type\":\"control_request\",\"request_id\":\"r4\",\"request\":{\"subtype\":\"mcp_message\"}}");
	assert_true(says(talk, "\"subtype\":\"error\",\"request_id\":\"r4\""));
	/* more than can wait: refused, not forgotten */
	for (int i = 0; i <= CC_TALK_ASKS; i++)
		tell(talk,
		     "{\"type\":\"control_request\",\"request_id\":\"many\",\"request\":{\"subtype\":\"can_use_tool\"}}");
	assert_true(says(talk, "\"request_id\":\"many\",\"response\":{\"behavior\":\"deny\""));
	cc_talk_free(talk);
	cc_buf_done(&heard.text);
}

static void a_word_in_between_belongs_to_the_run(void **state)
{
	struct heard heard = {0};
	struct cc_talk *talk = talk_of(CC_TALK_STREAM_JSON, &heard);
	struct cc_err err = {0};

	(void)state;
	T_OK(cc_talk_say(talk, "and \"that\"", &err), err);
	assert_true(says(talk, "and \\\"that\\\""));
	tell(talk, "{\"type\":\"result\",\"is_error\":false}");
	assert_false(cc_talk_is_over(talk));
	tell(talk, "{\"type\":\"result\",\"is_error\":false}");
	assert_true(cc_talk_is_over(talk));
	assert_int_equal(cc_talk_say(talk, "late", &err), CC_ESTATE);
	cc_talk_free(talk);
	cc_buf_done(&heard.text);
	talk = talk_of(CC_TALK_PLAIN, &heard);
	assert_int_equal(cc_talk_say(talk, "x", &err), CC_ESTATE);
	assert_true(cc_talk_take(talk, "one\ntw\xffo", 8));
	cc_talk_end(talk);
	expect(&heard, "plain", "text||one|\ntext||\n|\ntext||tw\xef\xbf\xbdo|\ntext||\n|\n");
	cc_talk_free(talk);
	cc_buf_done(&heard.text);
}

static void acp_is_spoken_as_a_client(void **state)
{
	struct heard heard = {0};
	struct cc_talk *talk = talk_of(CC_TALK_ACP, &heard);

	(void)state;
	assert_true(says(talk, "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1"));
	tell(talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}");
	assert_true(says(talk, "\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/p\""));
	tell(talk, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\\\"1\"}}");
	assert_true(says(
		talk,
		"\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\\\"1\",\"prompt\":[{\"type\":\"text\","
		"\"text\":\"do it\"}]"));
	cc_buf_reset(&heard.text);
	tell(talk,
	     "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"agent_message_chunk\","
	     "\"content\":{\"type\":\"text\",\"text\":\"hello\"}}}}");
	tell(talk,
	     "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\","
	     "\"toolCallId\":\"c\",\"kind\":\"execute\",\"title\":\"ls\",\"rawInput\":{}}}}");
	tell(talk,
	     "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call_update\","
	     "\"toolCallId\":\"c\",\"status\":\"completed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\","
	     "\"text\":\"out\"}}]}}}");
	expect(&heard, "updates", "text||hello|\ntoolCall|execute|ls|{}\ntoolResult|execute|out|\n");
	tell(talk,
	     "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"session/request_permission\",\"params\":{\"toolCall\":{\"toolCallId\":"
	     "\"c\",\"kind\":\"execute\",\"title\":\"git push\",\"rawInput\":{\"command\":\"git push\"}},\"options\":["
	     "{\"optionId\":\"aa\",\"kind\":\"allow_always\"},{\"optionId\":\"a1\",\"kind\":\"allow_once\"},"
	     "{\"optionId\":\"r1\",\"kind\":\"reject_once\"}]}}");
	expect(&heard, "the question", "ask 1 execute 4 git push\n");
	cc_talk_answer(talk, 1, true, "");
	assert_true(says(talk, "\"id\":\"q\",\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"a1\"}}"));
	tell(talk, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/request_permission\",\"params\":{}}");
	cc_talk_answer(talk, 2, true, ""); /* nothing that allows once: no is all that is left */
	assert_true(says(talk, "\"id\":7,\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}"));
	tell(talk,
	     "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"fs/read_text_file\",\"params\":{\"path\":\"/etc/passwd\"}}");
	assert_true(says(talk, "\"id\":8,\"error\":{\"code\":-32601"));
	tell(talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}");
	assert_true(cc_talk_is_over(talk) && !cc_talk_failed(talk));
	cc_talk_free(talk);
	cc_buf_done(&heard.text);
	talk = talk_of(CC_TALK_ACP, &heard);
	tell(talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"log in first\"}}");
	assert_true(cc_talk_is_over(talk) && cc_talk_failed(talk));
	cc_talk_free(talk);
	cc_buf_done(&heard.text);
}

static void words_of_an_agent(void **state)
{
	static const struct {
		const char *name, *model;
		enum cc_mode mode;
		const char *want; /* is among them; NULL: refused */
		bool there;
	} rows[] = {
		{"claude", NULL, CC_MODE_CHAT, "--permission-prompt-tool", true},
		{"claude", NULL, CC_MODE_CHAT, "--dangerously-skip-permissions", false},
		{"claude", NULL, CC_MODE_CHAT, "--permission-mode", false},
		{"claude", NULL, CC_MODE_PLAN, "--permission-mode", true},
		{"claude", NULL, CC_MODE_REVIEW, "Write,Edit,MultiEdit,NotebookEdit", true},
		{"claude", "opus", CC_MODE_CHAT, "opus", true},
		{"claude", "--dangerously-skip-permissions", CC_MODE_CHAT, NULL, false},
		{"codex", NULL, CC_MODE_CHAT, "do it", true},
		{"gemini", "-y", CC_MODE_CHAT, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_runner_ask ask = {.prompt = "do it", .model = rows[i].model, .mode = rows[i].mode};
		struct cc_strv argv = {0};
		struct cc_err err;
		enum cc_code code = cc_runner_by_name(rows[i].name)->argv(&ask, &argv, &err);

		T_ROW((code == CC_OK) == (rows[i].want != NULL), rows[i].name);
		if (rows[i].want)
			T_ROW(cc_strv_has(&argv, rows[i].want) == rows[i].there, rows[i].want);
		cc_strv_done(&argv);
	}
	assert_null(cc_runner_by_name("nobody"));
	assert_null(cc_runner_by_name(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_json_becomes_events),
		cmocka_unit_test(every_tool_is_judged_before_and_asked_about),
		cmocka_unit_test(a_word_in_between_belongs_to_the_run),
		cmocka_unit_test(acp_is_spoken_as_a_client),
		cmocka_unit_test(words_of_an_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
