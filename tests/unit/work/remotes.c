#include "work/remotes.h"

#include "t.h"

static void test_spellings(void **state)
{
	static const struct {
		const char *url, *repo; /* NULL: it is none */
	} rows[] = {
		{"https://git.test/ann/tool.git", "git.test/ann/tool"},
		{"https://git.test/ann/tool", "git.test/ann/tool"},
		{"https://git.test/ann/tool/", "git.test/ann/tool"},
		{"https://x-token:abc@git.test/ann/tool.git", "git.test/ann/tool"},
		{"ssh://git@git.test/ann/tool.git", "git.test/ann/tool"},
		{"ssh://git.test/ann/tool.git", "git.test/ann/tool"},
		{"git@git.test:ann/tool.git", "git.test/ann/tool"},
		{"git.test:ann/tool", "git.test/ann/tool"},
		{"git@git.test:group/sub/tool.git", "git.test/group/sub/tool"},
		{"https://git.test/a@b/tool", NULL},
		{"https://git.test/tool", NULL},
		{"https://git.test", NULL},
		{"https://git.test/", NULL},
		{"https://git.test:8443/ann/tool", "git.test:8443/ann/tool"},
		{"https://ann@git.test:8443/ann/tool", "git.test:8443/ann/tool"},
		{"https://git.test:/ann/tool", NULL},
		{"https://git.test:443x/ann/tool", NULL},
		{"https://git.test:844344/ann/tool", NULL},
		{"ssh://git@git.test:22/ann/tool", NULL},
		{"http://git.test/ann/tool", NULL},
		{"git://git.test/ann/tool", NULL},
		{"file:///srv/ann/tool", NULL},
		{"/srv/ann/tool.git", NULL},
		{"../ann/tool.git", NULL},
		{"https://git.test/ann/../tool", NULL},
		{"https://git.test/ann//tool", NULL},
		{"https://git.test/-ann/tool", NULL},
		{"https://git.test/ann/to ol", NULL},
		{"https://.test/ann/tool", NULL},
		{"git@git.test:/ann/tool", NULL},
		{"ext::sh -c true", NULL},
		{"", NULL},
	};
	char repo[CC_REMOTE_REPO];

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		bool is = cc_remote_repo(cc_view_of(rows[i].url), repo);

		T_ROW(is == (rows[i].repo != NULL), rows[i].url);
		T_ROW(!is || strcmp(repo, rows[i].repo) == 0, rows[i].url);
	}
}

static void test_too_long(void **state)
{
	char url[2 * CC_REMOTE_REPO], repo[CC_REMOTE_REPO];

	(void)state;
	memset(url, 'a', sizeof(url));
	memcpy(url, "https://git.test/ann/", 21);
	assert_false(cc_remote_repo((struct cc_view){url, sizeof(url)}, repo));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_spellings), cmocka_unit_test(test_too_long)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
