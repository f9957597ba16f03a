#include "../t.h"

#include "guard/actions.h"

#define D CC_GUARD_DENY
#define A CC_GUARD_ASK
#define Y CC_GUARD_ALLOW

#define RULE(s, a, p, c, v)                                                                                            \
	{                                                                                                              \
		.scope = CC_SCOPE_##s, .action = CC_ACTION_##a, .prefix = p, .constraint = c, .verdict = v             \
	}

static void the_narrowest_scope_decides(void **state)
{
	static const struct {
		const char *label;
		struct cc_action_rule rules[3];
		size_t count;
		struct cc_action_ask ask;
		enum cc_guard want;
	} rows[] = {
		{"the default of a class", {{0}}, 0, {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT}, A},
		{"another default", {{0}}, 0, {.actions = CC_ACTION_BIT(GIT_COMMIT), .mode = CC_MODE_CHAT}, Y},
		{"the space before the workspace",
		 {RULE(WORKSPACE, GIT_PUSH, NULL, NULL, D), RULE(SPACE, GIT_PUSH, NULL, NULL, Y)},
		 2,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT},
		 Y},
		{"the agent before the preset",
		 {RULE(AGENT, GIT_PUSH, NULL, NULL, D), RULE(PRESET, GIT_PUSH, NULL, NULL, Y)},
		 2,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT},
		 D},
		{"the longest prefix inside a scope",
		 {RULE(SPACE, FILE_DELETE, "/p/", NULL, D), RULE(SPACE, FILE_DELETE, "/p/tmp/", NULL, Y)},
		 2,
		 {.actions = CC_ACTION_BIT(FILE_DELETE), .object = "/p/tmp/x", .mode = CC_MODE_CHAT},
		 Y},
		{"a prefix that does not fit",
		 {RULE(SPACE, FILE_DELETE, "/q/", NULL, Y)},
		 1,
		 {.actions = CC_ACTION_BIT(FILE_DELETE), .object = "/p/x", .mode = CC_MODE_CHAT},
		 A},
		{"a tie goes to the stricter",
		 {RULE(SPACE, GIT_COMMIT, NULL, NULL, Y), RULE(SPACE, GIT_COMMIT, NULL, NULL, D)},
		 2,
		 {.actions = CC_ACTION_BIT(GIT_COMMIT), .mode = CC_MODE_CHAT},
		 D},
		{"a known constraint beats none",
		 {RULE(SPACE, GIT_COMMIT, NULL, NULL, D), RULE(SPACE, GIT_COMMIT, NULL, "mode:chat", Y)},
		 2,
		 {.actions = CC_ACTION_BIT(GIT_COMMIT), .mode = CC_MODE_CHAT},
		 Y},
		{"an unknown constraint of a strict rule asks",
		 {RULE(SPACE, GIT_COMMIT, NULL, "moon:full", D)},
		 1,
		 {.actions = CC_ACTION_BIT(GIT_COMMIT), .mode = CC_MODE_CHAT},
		 A},
		{"an unknown constraint of a mild rule says nothing",
		 {RULE(SPACE, GIT_PUSH, NULL, "moon:full", Y)},
		 1,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT},
		 A},
		{"a rule whose time is over says nothing",
		 {{.scope = CC_SCOPE_SPACE, .action = CC_ACTION_GIT_PUSH, .until = 100, .verdict = Y}},
		 1,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT, .now = 100},
		 A},
		{"several classes: the strictest",
		 {RULE(SPACE, PR_CREATE, NULL, NULL, D)},
		 1,
		 {.actions = CC_ACTION_BIT(PR_CREATE) | CC_ACTION_BIT(GIT_COMMIT), .mode = CC_MODE_CHAT},
		 D},
		{"the manager only makes it stricter",
		 {RULE(SPACE, GIT_PUSH, NULL, NULL, Y),
		  {.scope = CC_SCOPE_DEFAULT, .action = CC_ACTION_GIT_PUSH, .managed = true, .verdict = D}},
		 2,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT},
		 D},
		{"and never milder",
		 {RULE(SPACE, GIT_PUSH, NULL, NULL, D),
		  {.scope = CC_SCOPE_SPACE, .action = CC_ACTION_GIT_PUSH, .managed = true, .verdict = Y}},
		 2,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT},
		 D},
		{"a mode that reads allows nothing that acts",
		 {RULE(SPACE, GIT_COMMIT, NULL, NULL, Y)},
		 1,
		 {.actions = CC_ACTION_BIT(GIT_COMMIT), .mode = CC_MODE_PLAN},
		 D},
		{"but looking", {{0}}, 0, {.actions = CC_ACTION_BIT(NETWORK_EGRESS), .mode = CC_MODE_PLAN}, Y},
		{"a person's yes answers a question",
		 {{0}},
		 0,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT, .confirmed = true},
		 Y},
		{"and no refusal",
		 {RULE(SPACE, GIT_PUSH, NULL, NULL, D)},
		 1,
		 {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT, .confirmed = true},
		 D},
		{"an action that nobody knows", {{0}}, 0, {.actions = UINT32_C(1) << 30, .mode = CC_MODE_CHAT}, D},
		{"no mode", {{0}}, 0, {.actions = CC_ACTION_BIT(GIT_COMMIT)}, D},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_actions_decide(rows[i].rules, rows[i].count, &rows[i].ask).verdict == rows[i].want,
		      rows[i].label);
}

static void names_are_the_wire_s(void **state)
{
	struct cc_err err = {0};
	enum cc_action action;
	enum cc_scope scope;

	(void)state;
	for (int i = 0; i < CC_ACTION_COUNT; i++) {
		T_OK(cc_action_parse(cc_action_name((enum cc_action)i), &action, &err), err);
		assert_int_equal(action, i);
	}
	assert_string_equal(cc_action_name(CC_ACTION_NETWORK_EGRESS), "networkEgress");
	assert_int_equal(cc_action_parse("nothing", &action, &err), CC_EINVAL);
	assert_int_equal(cc_scope_parse("galaxy", &scope, &err), CC_EINVAL);
	T_OK(cc_scope_parse("preset", &scope, &err), err);
	assert_int_equal(cc_guard_parse("allow"), Y);
	assert_int_equal(cc_guard_parse("prompt"), A);
	assert_int_equal(cc_guard_parse("deny"), D);
	assert_int_equal(cc_guard_parse("perhaps"), A);
	assert_int_equal(cc_guard_parse(NULL), A);
	assert_string_equal(cc_guard_name(D), "deny");
}

static void what_is_stored_is_read_or_refused(void **state)
{
	static const struct {
		const char *text;
		bool good, managed;
		enum cc_guard verdict;
	} rows[] = {{"gitPush=deny", true, true, D},
		    {"gitPush=prompt", true, true, A},
		    {"gitPush=allow", true, false, Y},
		    {"gitPush", false, false, D},
		    {"gitPush=", false, false, D},
		    {"gitPush=never", false, false, D},
		    {"gitPush=deny ", false, false, D},
		    {"push=deny", false, false, D},
		    {"=deny", false, false, D},
		    {"", false, false, D},
		    {"gitPushhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh=deny", false,
		     false, D}};
	struct cc_action_rule stored[2], run = RULE(SPACE, GIT_PUSH, NULL, NULL, Y);
	struct cc_action_ask ask = {.actions = CC_ACTION_BIT(GIT_PUSH), .mode = CC_MODE_CHAT};
	struct cc_action_answer answer;
	struct cc_err err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_action_rule rule;

		assert_int_equal(cc_action_stored(rows[i].text, &rule, &err) == CC_OK, rows[i].good);
		if (!rows[i].good)
			continue;
		assert_int_equal(rule.action, CC_ACTION_GIT_PUSH);
		assert_int_equal(rule.verdict, rows[i].verdict);
		assert_int_equal(rule.managed, rows[i].managed);
	}
	/* the strictest of the files, whatever the run says */
	T_OK(cc_action_stored("gitPush=allow", &stored[0], &err), err);
	answer = cc_actions_decide(stored, 1, &ask);
	assert_int_equal(answer.verdict, Y);
	assert_string_equal(cc_action_source(&answer, CC_MODE_CHAT), "policy");
	T_OK(cc_action_stored("gitPush=prompt", &stored[1], &err), err);
	assert_int_equal(cc_actions_decide(stored, 2, &ask).verdict, A);
	stored[0] = run;
	answer = cc_actions_decide(stored, 2, &ask);
	assert_int_equal(answer.verdict, A);
	assert_string_equal(cc_action_source(&answer, CC_MODE_CHAT), "policy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_narrowest_scope_decides),
					   cmocka_unit_test(what_is_stored_is_read_or_refused),
					   cmocka_unit_test(names_are_the_wire_s)};

	return cmocka_run_group_tests_name("actions", tests, NULL, NULL);
}
