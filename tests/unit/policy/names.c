#include "../t.h"

#include "policy/names.h"

static const struct {
	const char *pattern, *path;
	bool names; /* the pattern names exactly this path below the root "/" */
} whole[] = {
	{"*.pem", "/a.pem", true},
	{"*.pem", "/x/y/a.PEM", true},
	{"**/*.pem", "/x/a.pem", true},
	{"*.pem", "/a.pem/b", false},
	{"./a.pem", "/a.pem", true},
	{"./a.pem", "/x/a.pem", false},
	{"x/*.pem", "/x/a.pem", true},
	{"x/*.pem", "/y/x/a.pem", false},
	{"x/**", "/x/a/b", true},
	{"x/**", "/x", false},
	{"**/x/**", "/q/x/a/b", true},
	{"**/x/**", "/q/x", false},
	{"x/**/y", "/x/y", true},
	{"x/**/y", "/x/1/2/y", true},
	{"x/**/y", "/x/1/2/y/z", false},
	{"a/**/b/**/c", "/a/b/b/c", true},
	{"a/**/b/**/c", "/a/c/b", false},
	{"**", "/a", true},
	{"?.key", "/\xc3\xa9.key", true},
	{"?.key", "/ab.key", false},
	{"a*b*c", "/aXbYc", true},
	{"a*b*c", "/aXc", false},
	{"*", "/x", true},
	{"a**b", "/axxb", true},
};

static void a_pattern_names_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(whole); i++) {
		struct cc_pattern pattern;
		struct cc_err err;

		T_OK(cc_pattern_parse(whole[i].pattern, false, &pattern, &err), err);
		if (cc_pattern_names(&pattern, cc_view_of(whole[i].path), 1) != whole[i].names)
			fail_msg("%s and %s", whole[i].pattern, whole[i].path);
		cc_pattern_done(&pattern);
	}
}

static const struct {
	const char *pattern, *path;
	enum cc_match match;
	size_t end;
} from[] = {
	{".git/hooks/**", "/.git", CC_MATCH_ANCESTOR, 0},
	{".git/hooks/**", "/.git/hooks", CC_MATCH_ANCESTOR, 0},
	{".git/hooks/**", "/.git/hooks/x", CC_MATCH_EXACT, 11},
	{".git/hooks/**", "/.git/hooks/x/y", CC_MATCH_EXACT, 11},
	{".git/hooks", "/.GIT/HOOKS/y", CC_MATCH_EXACT, 11},
	{".git/hooks", "/.git/hook", CC_MATCH_NONE, 0},
	{".git/modules/**/config", "/.git/modules", CC_MATCH_ANCESTOR, 0},
	{".git/modules/**/config", "/.git/modules/a", CC_MATCH_NONE, 0},
	{".git/modules/**/config", "/.git/modules/a/config", CC_MATCH_EXACT, 22},
	{".git/modules/**/config", "/.git/modules/a/b/config/x", CC_MATCH_EXACT, 24},
	{".git/modules/**/config", "/.git/modules/config", CC_MATCH_EXACT, 20},
	{".git/modules/**/hooks/**", "/.git/modules/a/hooks", CC_MATCH_ANCESTOR, 0},
	{".git/modules/**/hooks/**", "/.git/modules/a/hooks/x", CC_MATCH_EXACT, 21},
	{".git/modules/**/info/attributes", "/.git/modules/a/info", CC_MATCH_ANCESTOR, 0},
	{"**", "/a", CC_MATCH_EXACT, 0},
};

static void a_pattern_is_met_from_a_part_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(from); i++) {
		struct cc_pattern pattern;
		struct cc_hit hit;
		struct cc_err err;

		T_OK(cc_pattern_parse(from[i].pattern, true, &pattern, &err), err);
		hit = cc_pattern_from(&pattern, cc_view_of(from[i].path), 1);
		if (hit.match != from[i].match || (hit.match == CC_MATCH_EXACT && hit.end != from[i].end))
			fail_msg("%s and %s: %d, %zu", from[i].pattern, from[i].path, (int)hit.match, hit.end);
		cc_pattern_done(&pattern);
	}
}

static void what_can_never_match_is_refused(void **state)
{
	static const char *const bad[] = {"", "a//b", "/", "./", "a/", "../x", "a/../b", "./.", "**/.."};
	char longest[CC_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < CC_COUNT(bad); i++) {
		struct cc_pattern pattern;
		struct cc_err err;

		T_ROW(cc_pattern_parse(bad[i], false, &pattern, &err) == CC_EINVAL, bad[i]);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	{
		struct cc_pattern pattern;

		assert_int_equal(cc_pattern_parse(longest, false, &pattern, NULL), CC_EINVAL);
	}
}

static void paths_are_clean_or_refused(void **state)
{
	static const struct {
		const char *path;
		enum cc_code want;
	} rows[] = {
		{"/", CC_OK},         {"/a", CC_OK},         {"/a/b.c", CC_OK},    {"/...", CC_OK},
		{"/\xff", CC_OK},     {"", CC_EINVAL},       {"a", CC_EINVAL},     {"/a/", CC_EINVAL},
		{"/a//b", CC_EINVAL}, {"/a/./b", CC_EINVAL}, {"/a/..", CC_EINVAL}, {"/a\nb", CC_EINVAL},
		{NULL, CC_EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_path_check("a path", rows[i].path, NULL) == rows[i].want, rows[i].path ? rows[i].path : "-");
	assert_true(cc_path_within(cc_view_of("/a/b"), cc_view_of("/a")));
	assert_true(cc_path_within(cc_view_of("/a"), cc_view_of("/a")));
	assert_true(cc_path_within(cc_view_of("/a"), cc_view_of("/")));
	assert_false(cc_path_within(cc_view_of("/ab"), cc_view_of("/a")));
	assert_false(cc_path_within(cc_view_of("/"), cc_view_of("/a")));
}

static void what_could_fold_is_valid_and_not_ascii(void **state)
{
	static const struct {
		const char *name;
		bool could;
	} folds[] = {{"plain.txt", false},
		     {"", false},
		     {"id.\xe2\x84\xaa"
		      "ey",
		      true},
		     {".e\xe2\x80\x8cnv", true},
		     {"caf\xc3\xa9", true},
		     {"\xff\xfe", false},
		     {"k\xff.pem", false},
		     {"\xc0\xaf", false},
		     {"\xf5\x80\x80\x80", false},
		     {"\xf4\x8f\xbf\xbf", true}};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(folds); i++)
		T_ROW(cc_name_could_fold(cc_view_of(folds[i].name)) == folds[i].could, folds[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_names_paths),
		cmocka_unit_test(a_pattern_is_met_from_a_part_on),
		cmocka_unit_test(what_can_never_match_is_refused),
		cmocka_unit_test(paths_are_clean_or_refused),
		cmocka_unit_test(what_could_fold_is_valid_and_not_ascii),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
