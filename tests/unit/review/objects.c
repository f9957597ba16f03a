#include "../t.h"

#include "review/objects.h"

#define ID "1111111111111111111111111111111111111111"

static void lists_are_taken_apart(void **state)
{
	static const char good[] = "\001aaaa\0\n:000000 100644 " ID " " ID " A\0a b\0:100644 000000 " ID " " ID
				   " D\0:odd\n\0\0\001bbbb\0\n:000000 120000 " ID " " ID " A\0l\0";
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
		{"junk\0", 5},
		{":000000 100644 " ID " " ID " A\0", 88},
		{":000000 100644 11 " ID " A\0x\0", 60},
		{":00000x 100644 " ID " " ID " A\0x\0", 100},
	};
	struct cc_view text = {good, sizeof(good) - 1}, commit = {NULL, 0};
	struct cc_review_entry entry;
	struct cc_err err = {0};
	size_t at = 0;
	bool found;

	(void)state;
	T_OK(cc_review_next(text, &at, &commit, &entry, &found, &err), err);
	assert_true(found && cc_view_is(entry.path, "a b") && entry.old_mode == 0 && entry.new_mode == 0100644);
	assert_true(cc_view_is(entry.commit, "aaaa") && cc_view_is(entry.oid, ID));
	T_OK(cc_review_next(text, &at, &commit, &entry, &found, &err), err);
	assert_true(found && cc_view_is(entry.path, ":odd\n") && entry.new_mode == 0);
	T_OK(cc_review_next(text, &at, &commit, &entry, &found, &err), err);
	assert_true(found && entry.new_mode == 0120000 && cc_view_is(entry.commit, "bbbb"));
	T_OK(cc_review_next(text, &at, &commit, &entry, &found, &err), err);
	assert_false(found);
	for (size_t i = 0; i < CC_COUNT(bad); i++) {
		at = 0;
		T_ROW(cc_review_next((struct cc_view){bad[i].text, bad[i].len}, &at, &commit, &entry, &found, &err) ==
			      CC_EINVAL,
		      bad[i].text);
	}
}

static void links_stay_in_their_tree(void **state)
{
	static const struct {
		const char *path, *target;
		bool leaves;
	} rows[] = {
		{"l", "a", false},           {"l", "a/b", false},
		{"l", "/etc/passwd", true},  {"l", "..", true},
		{"d/l", "..", false},        {"d/l", "../..", true},
		{"d/l", "../a/../b", false}, {"d/l", "a/../../..", true},
		{"l", "./a", false},         {"l", ".git/config", true},
		{"d/l", "../.GIT/x", true},  {"l", "git~1/x", true},
		{"l", ".git./x", true},      {"l", "", true},
		{"l", "a\\b", true},         {"l", "~/.bashrc", false},
		{"a/b/c", "../../d", false}, {"l", "a//b", false},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_review_link_leaves(cc_view_of(rows[i].path), cc_view_of(rows[i].target)) == rows[i].leaves,
		      rows[i].target);
}

static void entries_are_judged_by_the_rules(void **state)
{
	static const struct {
		const char *path, *target;
		unsigned old_mode, new_mode;
		enum cc_review_kind want;
	} rows[] = {
		{"a.c", "", 0, 0100644, CC_REVIEW_FINE},
		{"a.c", "", 0100644, 0100755, CC_REVIEW_FINE},
		{"d/.env", "", 0, 0100644, CC_REVIEW_REFUSED},
		{"d/.ENV", "", 0100644, 0100644, CC_REVIEW_REFUSED},
		{"d/.env", "", 0100644, 0, CC_REVIEW_FINE},
		{"k.pem/x", "", 0, 0100644, CC_REVIEW_REFUSED},
		{".vscode/tasks.json", "", 0, 0100644, CC_REVIEW_REFUSED},
		{".git/hooks/x", "", 0, 0100644, CC_REVIEW_REFUSED},
		{"d/.GIT/config", "", 0, 0100644, CC_REVIEW_REFUSED},
		{"d/git~1/config", "", 0, 0100644, CC_REVIEW_REFUSED},
		{"sub", "", 0, 0160000, CC_REVIEW_REFUSED},
		{"l", "/etc/passwd", 0, 0120000, CC_REVIEW_REFUSED},
		{"l", "a", 0, 0120000, CC_REVIEW_FINE},
		{"x.key", "a", 0, 0120000, CC_REVIEW_REFUSED},
		{"", "", 0, 0100644, CC_REVIEW_REFUSED},
		{"/abs", "", 0, 0100644, CC_REVIEW_REFUSED},
		{"a/../b", "", 0, 0100644, CC_REVIEW_REFUSED},
	};
	CC_AUTO(cc_rules) rules = NULL;
	struct cc_spec spec;
	struct cc_err err = {0};

	(void)state;
	cc_spec_init(&spec);
	spec.session_id = cc_str_copy("t");
	T_OK(cc_spec_add_bind(&spec, "/p", false, &err), err);
	T_OK(cc_rules_compile(&spec, NULL, &rules, &err), err);
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_review_entry entry = {
			.old_mode = rows[i].old_mode, .new_mode = rows[i].new_mode, .path = cc_view_of(rows[i].path)};
		struct cc_review_verdict got = cc_review_judge(rules, "/p", &entry, cc_view_of(rows[i].target));

		T_ROW(got.kind == rows[i].want, rows[i].path);
		T_ROW((got.kind == CC_REVIEW_FINE) == (got.rule == NULL), rows[i].path);
	}
	cc_spec_done(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_taken_apart),
					   cmocka_unit_test(links_stay_in_their_tree),
					   cmocka_unit_test(entries_are_judged_by_the_rules)};

	return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
