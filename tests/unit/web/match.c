#include "../t.h"

#include "web/web.h"

static const struct {
	const char *pattern, *path;
	bool want;
	const char *first;
} paths[] = {
	{"/healthz", "/healthz", true, ""},
	{"/healthz", "/healthz/", false, ""},
	{"/healthz", "/health", false, ""},
	{"/v1/sandboxes/{id}", "/v1/sandboxes/agent-a::b::chat", true, "agent-a::b::chat"},
	{"/v1/sandboxes/{id}", "/v1/sandboxes/", false, ""},
	{"/v1/sandboxes/{id}", "/v1/sandboxes/a/exec", false, ""},
	{"/v1/sandboxes/{id}/exec", "/v1/sandboxes/a/exec", true, "a"},
	{"/v1/sandboxes/{id}/exec/{n}/stdin", "/v1/sandboxes/a/exec/3/stdin", true, "a"},
	{"/v1/sandboxes/{id}/exec", "/v1/sandboxes//exec", false, ""},
};

static void patterns_take_whole_segments(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(paths); i++) {
		char params[CC_WEB_PARAMS][CC_WEB_PARAM_MAX] = {""};

		T_ROW(cc_web_match(paths[i].pattern, paths[i].path, params) == paths[i].want, paths[i].path);
		if (paths[i].want)
			assert_string_equal(params[0], paths[i].first);
	}
}

static void a_parameter_that_does_not_fit_is_no_match(void **state)
{
	char params[CC_WEB_PARAMS][CC_WEB_PARAM_MAX];
	char path[CC_WEB_PARAM_MAX + 8] = "/";

	(void)state;
	memset(path + 1, 'a', CC_WEB_PARAM_MAX - 1);
	assert_true(cc_web_match("/{id}", path, params));
	memset(path + 1, 'a', CC_WEB_PARAM_MAX);
	assert_false(cc_web_match("/{id}", path, params));
	assert_false(cc_web_match("/{a}/{b}/{c}/{d}/{e}", "/1/2/3/4/5", params));
}

static void secrets_are_the_same_only_whole(void **state)
{
	(void)state;
	assert_true(cc_web_same_secret("abc", 3, "abc"));
	assert_false(cc_web_same_secret("abcd", 4, "abc"));
	assert_false(cc_web_same_secret("ab", 2, "abc"));
	assert_false(cc_web_same_secret("", 0, "abc"));
	assert_false(cc_web_same_secret("", 0, ""));
	assert_false(cc_web_same_secret("abC", 3, "abc"));
}

static void a_query_is_read_by_name(void **state)
{
	char out[8];

	(void)state;
	assert_true(cc_web_query("follow=1&since=42&", "since", out, sizeof(out)));
	assert_string_equal(out, "42");
	assert_true(cc_web_query("a=", "a", out, sizeof(out)));
	assert_string_equal(out, "");
	assert_false(cc_web_query("since=42", "sinc", out, sizeof(out)));
	assert_false(cc_web_query("nosince=42", "since", out, sizeof(out)));
	assert_false(cc_web_query("since=123456789", "since", out, sizeof(out)));
	assert_false(cc_web_query("", "since", out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_take_whole_segments),
		cmocka_unit_test(a_parameter_that_does_not_fit_is_no_match),
		cmocka_unit_test(secrets_are_the_same_only_whole),
		cmocka_unit_test(a_query_is_read_by_name),
	};

	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
