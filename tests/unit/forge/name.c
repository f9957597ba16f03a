#include "../t.h"

#include "forge/name.h"

static const struct {
	const char *text;
	const char *host, *owner, *name; /* NULL: refused */
} repos[] = {
	{"github.com/owner/name", "github.com", "owner", "name"},
	{"localhost:4443/o/n", "localhost:4443", "o", "n"},
	{"gitlab.test/a/b/c", "gitlab.test", "a/b", "c"},
	{"host.test/o/a.b_c-d", "host.test", "o", "a.b_c-d"},
	{"host.test/o/n/", NULL, NULL, NULL},
	{"host.test//n", NULL, NULL, NULL},
	{"host.test/n", NULL, NULL, NULL},
	{"host.test", NULL, NULL, NULL},
	{"", NULL, NULL, NULL},
	{"/o/n", NULL, NULL, NULL},
	{"host.test/../n", NULL, NULL, NULL},
	{"host.test/o/..", NULL, NULL, NULL},
	{"host.test/o/a..b", NULL, NULL, NULL},
	{"host.test/o/.n", NULL, NULL, NULL},
	{"host.test/o/n.", NULL, NULL, NULL},
	{"host.test/-o/n", NULL, NULL, NULL},
	{"host.test/o/n.git", NULL, NULL, NULL},
	{"host.test/o/n%2e", NULL, NULL, NULL},
	{"host.test/o/n?x", NULL, NULL, NULL},
	{"host.test/o/n#x", NULL, NULL, NULL},
	{"host.test/o/n\nX: y", NULL, NULL, NULL},
	{"u@host.test/o/n", NULL, NULL, NULL},
	{"u:p@host.test/o/n", NULL, NULL, NULL},
	{"host.test:/o/n", NULL, NULL, NULL},
	{"host.test:44x/o/n", NULL, NULL, NULL},
	{"host.test:123456/o/n", NULL, NULL, NULL},
	{"host..test/o/n", NULL, NULL, NULL},
	{"host.test./o/n", NULL, NULL, NULL},
	{"-host.test/o/n", NULL, NULL, NULL},
	{"h\xc3\xb6st.test/o/n", NULL, NULL, NULL},
	{"h/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20", NULL, NULL, NULL},
};

static void repositories(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(repos); i++) {
		struct cc_repo repo;
		enum cc_code code = cc_repo_read(repos[i].text, &repo, NULL);

		T_ROW((code == CC_OK) == (repos[i].host != NULL), repos[i].text);
		if (code != CC_OK)
			continue;
		T_ROW(cc_view_is(repo.host, repos[i].host), repos[i].text);
		T_ROW(cc_view_is(repo.owner, repos[i].owner), repos[i].text);
		T_ROW(cc_view_is(repo.name, repos[i].name), repos[i].text);
	}
}

static void the_address_of_one(void **state)
{
	struct cc_err err = {0};
	struct cc_repo repo;
	struct cc_buf url;

	(void)state;
	T_OK(cc_repo_read("gitlab.test:8443/a/b/c", &repo, &err), err);
	cc_buf_init(&url, 256);
	cc_repo_url(&repo, &url);
	assert_string_equal(url.data, "https://gitlab.test:8443/a/b/c.git");
	cc_buf_done(&url);
}

static void addresses_of_an_api(void **state)
{
	static const struct {
		const char *url;
		bool good;
	} table[] = {
		{"https://api.github.com", true},  {"https://h.test:1/api/v3", true},
		{"http://api.github.com", false},  {"https://", false},
		{"https://h.test/", false},        {"https://u@h.test", false},
		{"https://h.test/api?x=1", false}, {"https://h.test/a//b", false},
		{"https://h.test/../x", false},    {"https://h.test/api/v3#x", false},
		{"HTTPS://h.test", false},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++)
		T_ROW(cc_base_good(cc_view_of(table[i].url)) == table[i].good, table[i].url);
}

static void words(void **state)
{
	(void)state;
	assert_true(cc_word_good("01-ab", 5));
	assert_false(cc_word_good("01-abc", 5));
	assert_false(cc_word_good("", 5));
	assert_false(cc_word_good(NULL, 5));
	assert_false(cc_word_good("a/b", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repositories),
		cmocka_unit_test(the_address_of_one),
		cmocka_unit_test(addresses_of_an_api),
		cmocka_unit_test(words),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
