#include "../t.h"

#include "push/rule.h"

static struct cc_push_rules rules_of(const char *text)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_push_rules rules = {0};
	struct cc_err err = {0};

	T_OK(cc_json_parse("rules", cc_view_of(text), 0, &doc, &err), err);
	T_OK(cc_push_rules_read(cc_json_root(doc), &rules, &err), err);
	return rules;
}

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool fold, want;
	} rows[] = {
		{"main", "main", false, true},
		{"main", "Main", false, false},
		{"main", "Main", true, true},
		{"*", "main", false, true},
		{"*", "a/b", false, false},
		{"**", "a/b", false, true},
		{"**", "", false, true},
		{"*", "", false, true},
		{"a/*", "a/b", false, true},
		{"a/*", "a/b/c", false, false},
		{"a/**", "a/b/c", false, true},
		{"a/**", "a", false, false},
		{"**/x", "x", false, true},
		{"**/x", "a/b/x", false, true},
		{"**/x", "a/bx", false, false},
		{"a/**/x", "a/x", false, true},
		{"a/**/x", "a/b/c/x", false, true},
		{"a/**/x", "ax", false, false},
		{"a*c", "abc", false, true},
		{"a*c", "ab/c", false, false},
		{"a**c", "ab/c", false, true},
		{"*a*b*", "xxaxxbxx", false, true},
		{"?", "/", false, false},
		{"a?c", "abc", false, true},
		{"", "", false, true},
		{"", "a", false, false},
		{"**/*.yml", ".github/workflows/a.yml", false, true},
		{"**a*/b", "xa/ya/b", false, true},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_push_glob(rows[i].pattern, cc_view_of(rows[i].text), rows[i].fold) == rows[i].want,
		      rows[i].pattern);
}

enum { C = CC_PUSH_CREATE, U = CC_PUSH_UPDATE, F = CC_PUSH_FORCE, D = CC_PUSH_DELETE, T = CC_PUSH_TAG };

#define MAIN    "refs/heads/main"
#define R       "h.test/o/r"
#define ALLOW   "{\"verdict\":\"allow\"}"
#define ALL     "\"what\":[\"create\",\"update\",\"force\",\"delete\",\"tag\"]"
#define OF(...) "[" __VA_ARGS__ "]"

static void verdicts(void **state)
{
	static const struct {
		const char *label, *rules, *repo, *ref;
		unsigned what;
		enum cc_push_verdict want;
	} rows[] = {
		{"no rule: a branch", OF(""), R, MAIN, U, CC_PUSH_ASK},
		{"no rule: a new branch", OF(""), R, MAIN, C, CC_PUSH_ASK},
		{"no rule: force", OF(""), R, MAIN, U | F, CC_PUSH_DENY},
		{"no rule: delete", OF(""), R, MAIN, D, CC_PUSH_DENY},
		{"no rule: a tag", OF(""), R, "refs/tags/v", T, CC_PUSH_DENY},
		{"no rule: another reference", OF(""), R, "refs/notes/x", C, CC_PUSH_DENY},
		{"nothing is nothing", OF(ALLOW), R, MAIN, 0, CC_PUSH_DENY},
		{"allow", OF(ALLOW), R, MAIN, U, CC_PUSH_ALLOW},
		{"allow is for what adds", OF(ALLOW), R, MAIN, U | F, CC_PUSH_DENY},
		{"allow is for what adds: tags", OF(ALLOW), R, "refs/tags/v", T, CC_PUSH_DENY},
		{"allow all", OF("{\"verdict\":\"allow\"," ALL "}"), R, MAIN, U | F, CC_PUSH_ALLOW},
		{"allow all: a tag goes", OF("{\"verdict\":\"allow\"," ALL "}"), R, "refs/tags/v", T | D,
		 CC_PUSH_ALLOW},
		{"a tag that goes is a deletion, too", OF("{\"verdict\":\"allow\",\"what\":[\"tag\"]}"), R,
		 "refs/tags/v", T | D, CC_PUSH_DENY},
		{"allow all is not for other references", OF("{\"verdict\":\"allow\"," ALL "}"), R, "refs/notes/x", C,
		 CC_PUSH_DENY},
		{"other references by their whole name", OF("{\"verdict\":\"allow\",\"ref\":\"refs/notes/*\"}"), R,
		 "refs/notes/x", C, CC_PUSH_ALLOW},
		{"a branch by its whole name", OF("{\"verdict\":\"allow\",\"ref\":\"refs/heads/*\"}"), R, MAIN, C,
		 CC_PUSH_ALLOW},
		{"force alone does not let a branch go on", OF("{\"verdict\":\"allow\",\"what\":[\"force\"]}"), R, MAIN,
		 U | F, CC_PUSH_ASK},
		{"who forbids updates forbids force",
		 OF("{\"verdict\":\"allow\"," ALL "},{\"verdict\":\"deny\",\"what\":[\"update\"]}"), R, MAIN, U | F,
		 CC_PUSH_DENY},
		{"the strictest: deny last", OF(ALLOW ",{\"verdict\":\"deny\"}"), R, MAIN, U, CC_PUSH_DENY},
		{"the strictest: deny first", OF("{\"verdict\":\"deny\"}," ALLOW), R, MAIN, U, CC_PUSH_DENY},
		{"the strictest: ask", OF("{\"verdict\":\"ask\"}," ALLOW), R, MAIN, U, CC_PUSH_ASK},
		{"another branch", OF("{\"verdict\":\"deny\",\"ref\":\"release/*\"}," ALLOW), R, MAIN, U,
		 CC_PUSH_ALLOW},
		{"deny in any letters", OF("{\"verdict\":\"deny\",\"ref\":\"main\"}," ALLOW), R, "refs/heads/MAIN", U,
		 CC_PUSH_DENY},
		{"allow in its letters", OF("{\"verdict\":\"allow\",\"ref\":\"main\"}"), R, "refs/heads/MAIN", U,
		 CC_PUSH_ASK},
		{"a tag of a branch's name", OF("{\"verdict\":\"deny\",\"ref\":\"main\"}"), R, "refs/tags/main", T,
		 CC_PUSH_DENY},
		{"the repository", OF("{\"verdict\":\"allow\",\"repository\":\"h.test/o/*\"}"), R, MAIN, U,
		 CC_PUSH_ALLOW},
		{"the repository in any letters", OF("{\"verdict\":\"allow\",\"repository\":\"H.test/O/r\"}"), R, MAIN,
		 U, CC_PUSH_ALLOW},
		{"another repository", OF("{\"verdict\":\"allow\",\"repository\":\"h.test/x/*\"}"), R, MAIN, U,
		 CC_PUSH_ASK},
		{"a rule about paths denies only them", OF(ALLOW ",{\"verdict\":\"deny\",\"paths\":[\"ci/**\"]}"), R,
		 MAIN, U, CC_PUSH_ALLOW},
		{"alone it allows nothing", OF("{\"verdict\":\"deny\",\"paths\":[\"ci/**\"]}"), R, MAIN, U,
		 CC_PUSH_ASK},
		{"a rule about size too", OF(ALLOW ",{\"verdict\":\"deny\",\"maxBytes\":5}"), R, MAIN, U,
		 CC_PUSH_ALLOW},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_push_rules rules = rules_of(rows[i].rules);

		T_ROW(cc_push_decide(&rules, rows[i].repo, rows[i].ref, rows[i].what).verdict == rows[i].want,
		      rows[i].label);
		cc_push_rules_done(&rules);
	}
}

static void what_a_command_does(void **state)
{
	static const struct {
		const char *ref;
		bool creates, deletes, forces;
		unsigned want;
	} rows[] = {
		{MAIN, true, false, false, C},
		{MAIN, false, false, false, U},
		{MAIN, false, false, true, U | F},
		{MAIN, false, true, false, D},
		{"refs/tags/v", true, false, false, T},
		{"refs/tags/v", false, false, false, T | F},
		{"refs/tags/v", false, true, false, T | D},
		{"refs/notes/x", true, false, false, C},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_push_what_of(rows[i].ref, rows[i].creates, rows[i].deletes, rows[i].forces) == rows[i].want,
		      rows[i].ref);
}

static void paths_and_sizes(void **state)
{
	static const struct {
		const char *path;
		enum cc_push_verdict want;
	} rows[] = {
		{".github/workflows/a.yml", CC_PUSH_DENY},
		{".GitHub/Workflows/a.yml", CC_PUSH_DENY},
		{".github/workflows", CC_PUSH_DENY},
		{".github", CC_PUSH_DENY},
		{".github/other", CC_PUSH_ALLOW},
		{"x/.github/workflows/a", CC_PUSH_ALLOW},
		{"deep/down/Makefile", CC_PUSH_DENY},
		{"Makefile", CC_PUSH_DENY},
		{"Makefile.am", CC_PUSH_ALLOW},
	};
	struct cc_push_rules rules =
		rules_of(OF(ALLOW ",{\"verdict\":\"deny\",\"paths\":[\".github/workflows/**\",\"**/Makefile\"]},"
				  "{\"verdict\":\"allow\",\"maxBytes\":100}"));

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_push_decide_path(&rules, R, MAIN, U, cc_view_of(rows[i].path)).verdict == rows[i].want,
		      rows[i].path);
	assert_int_equal(cc_push_decide_size(&rules, R, MAIN, U, 100).verdict, CC_PUSH_ALLOW);
	assert_int_equal(cc_push_decide_size(&rules, R, MAIN, U, 101).verdict, CC_PUSH_DENY);
	assert_true(cc_push_minds_paths(&rules, R));
	assert_null(cc_push_flat_deny(&rules, R));
	cc_push_rules_done(&rules);
	rules = rules_of(OF("{\"verdict\":\"deny\",\"name\":\"x\"}," ALLOW));
	assert_string_equal(cc_push_flat_deny(&rules, R), "x");
	cc_push_rules_done(&rules);
	rules = rules_of(OF("{\"verdict\":\"deny\",\"ref\":\"main\"},{\"verdict\":\"deny\",\"maxBytes\":5},"
			    "{\"verdict\":\"deny\",\"what\":[\"force\"]},{\"verdict\":\"deny\",\"repository\":\"x\"}"));
	assert_null(cc_push_flat_deny(&rules, R));
	cc_push_rules_done(&rules);
}

static void what_is_no_rule(void **state)
{
	static const char *const rows[] = {
		"{}",
		"[1]",
		"[{}]",
		"[{\"verdict\":\"yes\"}]",
		"[{\"verdict\":1}]",
		"[{\"ref\":\"main\"}]",
		"[{\"verdict\":\"deny\",\"branch\":\"main\"}]",
		"[{\"verdict\":\"deny\",\"ref\":\"\"}]",
		"[{\"verdict\":\"deny\",\"ref\":[\"a\"]}]",
		"[{\"verdict\":\"deny\",\"what\":[]}]",
		"[{\"verdict\":\"deny\",\"what\":[\"pull\"]}]",
		"[{\"verdict\":\"deny\",\"what\":\"force\"}]",
		"[{\"verdict\":\"deny\",\"paths\":[]}]",
		"[{\"verdict\":\"deny\",\"paths\":[1]}]",
		"[{\"verdict\":\"deny\",\"maxBytes\":0}]",
		"[{\"verdict\":\"deny\",\"maxBytes\":\"9\"}]",
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_push_rules rules = {0};
		struct cc_err err = {0};

		T_OK(cc_json_parse("rules", cc_view_of(rows[i]), 0, &doc, &err), err);
		T_ROW(cc_push_rules_read(cc_json_root(doc), &rules, &err) == CC_EPROTO && !rules.items, rows[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(what_a_command_does),
		cmocka_unit_test(paths_and_sizes),
		cmocka_unit_test(what_is_no_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
