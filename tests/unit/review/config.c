#include "../t.h"

#include "review/config.h"

#define URL(value) "[remote \"origin\"]\n\turl = " value "\n"

static const struct {
	const char *label, *text;
	const char *error; /* NULL: accepted */
} configs[] = {
	{"the empty file", "", NULL},
	{"what git init writes",
	 "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n", NULL},
	{"what git clone writes",
	 "[remote \"origin\"]\n\turl = https://github.com/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
	 "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
	 NULL},
	{"comments and blank lines", "# a\n\n; b\n[core] ; c\n\tbare = false # d\n", NULL},
	{"a key on the section's line", "[core] bare = false\n", NULL},
	{"another case", "[CORE]\n\tFileMode = true\n", NULL},
	{"a key without a value", "[core]\n\tbare\n", NULL},
	{"quotes", "[user]\n\tname = \"A ; B\" C\n", NULL},
	{"a value over two lines", "[user]\n\tname = A \\\n  B\n", NULL},
	{"no newline at the end", "[core]\nbare=false", NULL},
	{"identity and rebase", "[user]\n\temail = a@b\n[pull]\n\trebase = true\n[branch \"x\"]\n\trebase = merges\n",
	 NULL},
	{"git-lfs", "[lfs]\n\trepositoryformatversion = 0\n", NULL},
	{"formats", "[extensions]\n\tobjectformat = sha256\n\trefstorage = reftable\n", NULL},
	{"scp-like", URL("git@github.com:a/b.git"), NULL},
	{"ssh", URL("ssh://git@host:22/a"), NULL},
	{"a path", URL("/srv/a.git"), NULL},
	{"a relative path", URL("../a:b"), NULL},
	{"file", URL("file:///srv/a.git"), NULL},
	{"a remote's tags", "[remote \"o\"]\n\ttagOpt = --no-tags\n", NULL},

	{"a file system monitor", "[core]\n\tfsmonitor = evil\n",
	 "git configuration, line 2: core.fsmonitor is not one of the keys that a repository may set"},
	{"hooks elsewhere", "[core]\nhooksPath=x\n",
	 "git configuration, line 2: core.hookspath is not one of the keys that a repository may set"},
	{"an ssh command", "[core]\nbare=false\nsshCommand=x\n",
	 "git configuration, line 3: core.sshcommand is not one of the keys that a repository may set"},
	{"an include", "[include]\npath=x\n",
	 "git configuration, line 2: include.path is not one of the keys that a repository may set"},
	{"a conditional include", "[includeIf \"gitdir:/\"]\npath=x\n",
	 "git configuration, line 2: includeif.gitdir:/.path is not one of the keys that a repository may set"},
	{"an alias", "[alias]\nst=!evil\n",
	 "git configuration, line 2: alias.st is not one of the keys that a repository may set"},
	{"a filter", "[filter \"x\"]\nclean=evil\n",
	 "git configuration, line 2: filter.x.clean is not one of the keys that a repository may set"},
	{"a credential helper", "[credential]\nhelper=!x\n",
	 "git configuration, line 2: credential.helper is not one of the keys that a repository may set"},
	{"a remote's upload-pack", "[remote \"o\"]\nuploadpack=evil\n",
	 "git configuration, line 2: remote.o.uploadpack is not one of the keys that a repository may set"},
	{"a template directory", "[init]\ntemplateDir=x\n",
	 "git configuration, line 2: init.templatedir is not one of the keys that a repository may set"},
	{"a URL rewrite", "[url \"ext::x\"]\ninsteadOf=https://\n",
	 "git configuration, line 2: url.ext::x.insteadof is not one of the keys that a repository may set"},
	{"core with a subsection", "[core \"x\"]\nbare=false\n",
	 "git configuration, line 2: core.x.bare is not one of the keys that a repository may set"},
	{"a helper as URL", URL("ext::sh -c evil"),
	 "git configuration, line 2: remote.origin.url has a value that is not allowed"},
	{"a helper as a branch's remote", "[branch \"m\"]\nremote = ext::sh\n",
	 "git configuration, line 2: branch.m.remote has a value that is not allowed"},
	{"an unknown scheme", URL("foo://x"),
	 "git configuration, line 2: remote.origin.url has a value that is not allowed"},
	{"a URL that is an option", URL("--upload-pack=evil"),
	 "git configuration, line 2: remote.origin.url has a value that is not allowed"},
	{"a host that is an option", URL("ssh://-oProxyCommand=evil/x"),
	 "git configuration, line 2: remote.origin.url has a value that is not allowed"},
	{"an scp-like host that is an option", URL("-oProxyCommand=evil:x"),
	 "git configuration, line 2: remote.origin.url has a value that is not allowed"},
	{"a user and a host that is an option", URL("ssh://a@-oProxyCommand=evil/x"),
	 "git configuration, line 2: remote.origin.url has a value that is not allowed"},
	{"a URL without a value", "[remote \"o\"]\nurl\n",
	 "git configuration, line 2: remote.o.url has a value that is not allowed"},
	{"a newline in a value", "[user]\nname = \"a\\nb\"\n",
	 "git configuration, line 2: user.name has a value that is not allowed"},
	{"a key before a section", "bare = false\n", "git configuration, line 1: a key before the first section"},
	{"an old subsection", "[remote.x]\nurl=a\n", "git configuration, line 1: ']' is expected"},
	{"an open section", "[core\n", "git configuration, line 1: ']' is expected"},
	{"an open subsection", "[remote \"x]\n", "git configuration, line 1: a subsection's name has no end"},
	{"an open quote", "[user]\nname = \"x\n", "git configuration, line 2: a quote has no end"},
	{"an unknown escape", "[user]\nname = \\x\n", "git configuration, line 2: an unknown escape"},
	{"a NUL's neighbour", "[core]\001\n", "git configuration holds a control character"},
	{"a carriage return", "[core]\r\nbare=false\r\n", "git configuration holds a control character"},
	{"a byte order mark", "\xef\xbb\xbf[core]\nbare=false\n",
	 "git configuration, line 1: a key before the first section"},
	{"a line count over continuations", "[user]\nname=a\\\nb\n[alias]\nx=y\n",
	 "git configuration, line 5: alias.x is not one of the keys that a repository may set"},
};

static void only_safe_keys_pass(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(configs); i++) {
		struct cc_err err = {0};
		enum cc_code code = cc_gitconfig_judge(cc_view_of("/r/.git/config"), cc_view_of(configs[i].text),
						       cc_view_of(""), &err);

		if ((code == CC_OK) != !configs[i].error ||
		    (configs[i].error && strcmp(err.what, configs[i].error) != 0))
			fail_msg("row \"%s\": got \"%s\"", configs[i].label, err.what);
	}
}

static const struct {
	const char *label, *before, *text, *error;
} changes[] = {
	{"what the host has set stays", "[submodule \"x\"]\nupdate=!x\n[commit]\ngpgsign\n",
	 "[user]\nname=n\n[submodule \"x\"]\n\tupdate = !x\n[commit] gpgsign\n[branch \"b\"]\nmerge=refs/heads/m\n",
	 NULL},
	{"not with another value", "[core]\nhooksPath=.husky\n", "[core]\nhooksPath=.husky/_\n",
	 "git configuration, line 2: core.hookspath is not one of the keys that a repository may set"},
	{"not with none", "[commit]\ngpgsign=true\n", "[commit]\ngpgsign\n",
	 "git configuration, line 2: commit.gpgsign is not one of the keys that a repository may set"},
	{"not twice", "[alias]\na=b\n", "[alias]\na=b\na=b\n",
	 "git configuration, line 3: alias.a is not one of the keys that a repository may set"},
	{"not for another subsection", "[submodule \"x\"]\nupdate=!u\n", "[submodule \"X\"]\nupdate=!u\n",
	 "git configuration, line 2: submodule.X.update is not one of the keys that a repository may set"},
	{"not in another order", "[core]\npager=a\npager=b\n", "[core]\npager=b\npager=a\n",
	 "git configuration, line 2: core.pager is not one of the keys that a repository may set"},
	{"not gone", "[core]\nfsmonitor=false\n", "[core]\nbare=false\n",
	 "git configuration, line 2: core.fsmonitor stands there and may not be taken away"},
	{"a safe one may go", "[user]\nname=n\nemail=e\n", "[user]\nname=n\n", NULL},
	{"nor beside what nobody understands", "[core]\r\n", "[core]\nbare=false\n",
	 "git configuration holds a control character"},
};

static void what_the_host_has_set_stays_and_nothing_joins_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(changes); i++) {
		struct cc_err err = {0};
		enum cc_code code = cc_gitconfig_judge(cc_view_of("/r/.git/config"), cc_view_of(changes[i].text),
						       cc_view_of(changes[i].before), &err);

		if ((code == CC_OK) != !changes[i].error ||
		    (changes[i].error && strcmp(err.what, changes[i].error) != 0))
			fail_msg("row \"%s\": got \"%s\"", changes[i].label, err.what);
	}
}

static const struct {
	const char *path, *text;
	enum cc_code want;
} pointers[] = {
	{"/r/wt/.git", "gitdir: /r/.git/worktrees/wt\n", CC_OK},
	{"/r/sub/.git", "gitdir: ../.git/modules/sub\n", CC_OK},
	{"/r/sub/.git", "gitdir: ../.git/modules/a/b", CC_OK},
	{"/r/a/sub/.git", "gitdir: ../../.git/modules/a/sub\n", CC_OK},
	{"/r/.git/worktrees/wt/commondir", "../..\n", CC_OK},
	/* a link may take the place of what has a name */
	{"/r/sub/.git", "gitdir: ../other/.git\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: lnk/.git\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: /r/lnk/.git\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: /r/../r/.git\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: ../.git/../lnk/.git\n", CC_EPOLICY},
	{"/r/.git/worktrees/wt/commondir", "../..\n", CC_OK},
	{"/r/.git/worktrees/wt/gitdir", "/r/wt/.git\n", CC_OK},
	{"/r/sub/.git", "../.git/modules/sub\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: /etc/evil/.git\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: ../../out/.git\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: /r/../out/.git\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: ../evil\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: ../.git/evil\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: ../.git/modules\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: ../.git/worktrees/a/b\n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: \n", CC_EPOLICY},
	{"/r/sub/.git", "gitdir: a\nb\n", CC_EPOLICY},
	{"/r/.git/commondir", "../../evil\n", CC_EPOLICY},
	{"/r/.git/commondir", "../evil\n", CC_EPOLICY},
	{"/r/.git/commondir", "../../../../../../..\n", CC_EPOLICY},
	{"/r/.git/commondir", "", CC_EPOLICY},
};

static void pointers_stay_where_configuration_is_judged(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(pointers); i++)
		T_ROW(cc_gitpointer_judge(cc_view_of(pointers[i].path), cc_view_of(pointers[i].text), cc_view_of("/r"),
					  NULL) == pointers[i].want,
		      pointers[i].text);
}

static void a_submodule_names_its_own_work_tree(void **state)
{
	static const struct {
		const char *path, *value;
		bool want;
	} rows[] = {
		{"/r/.git/modules/sub/config", "../../../sub", true},
		{"/r/.git/modules/a/b/config", "../../../../a/b", true},
		{"/r/.git/modules/sub/config", "../../../", false},
		{"/r/.git/modules/sub/config", "../../hooks", false},
		{"/r/.git/modules/sub/config", "../../../x/.git/hooks", false},
		{"/r/.git/modules/sub/config", "../../../x/../.GIT", false},
		{"/r/.git/modules/sub/config", "../../../../elsewhere", false},
		{"/r/.git/modules/sub/config", "/r/sub", false},
		{"/r/.git/config", "../sub", false},
		{"/r/.git/worktrees/w/config", "../../../sub", false},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_gitworktree_ok(cc_view_of(rows[i].path), rows[i].value) == rows[i].want, rows[i].value);
}

static void a_rebase_lists_no_program(void **state)
{
	static const struct {
		const char *text;
		const char *error;
	} rows[] = {
		{"", NULL},
		{"pick 12ab a b\n# exec x\n\n  fixup -C 1 y\nmerge -C 1 l # x\nupdate-ref refs/heads/x\nnoop\nbreak",
		 NULL},
		{"pick 1 exec\nexec ./x\n", "list of a rebase, line 2: exec is not one of its own steps"},
		{"\t x ./x", "list of a rebase, line 1: x is not one of its own steps"},
		{"EXEC x\n", "list of a rebase, line 1: EXEC is not one of its own steps"},
		{"pick 1\rexec x\n", "list of a rebase, line 1: a control character"},
		{"exec\r\n", "list of a rebase, line 1: exec\r is not one of its own steps"},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_err err = {0};

		T_ROW((cc_gittodo_judge(cc_view_of(rows[i].text), &err) == CC_OK) == !rows[i].error, rows[i].text);
		if (rows[i].error)
			assert_string_equal(err.what, rows[i].error);
	}
}

static void a_bare_repository_needs_its_parts(void **state)
{
	const unsigned three = CC_BARE_HEAD | CC_BARE_OBJECTS | CC_BARE_REFS;

	(void)state;
	assert_int_equal(cc_bare_part_of(cc_view_of("HEAD")), CC_BARE_HEAD);
	assert_int_equal(cc_bare_part_of(cc_view_of("Config")), CC_BARE_CONFIG);
	assert_int_equal(cc_bare_part_of(cc_view_of("configs")), 0);
	assert_true(cc_bare_completes(three));
	assert_false(cc_bare_completes(CC_BARE_HEAD | CC_BARE_OBJECTS | CC_BARE_CONFIG));
	assert_true(cc_bare_completes(three | CC_BARE_CONFIG));
	assert_true(cc_bare_completes(CC_BARE_HEAD | CC_BARE_COMMONDIR));
	assert_false(cc_bare_completes(CC_BARE_CONFIG | CC_BARE_OBJECTS | CC_BARE_REFS));
	assert_false(cc_bare_completes(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_safe_keys_pass),
		cmocka_unit_test(what_the_host_has_set_stays_and_nothing_joins_it),
		cmocka_unit_test(pointers_stay_where_configuration_is_judged),
		cmocka_unit_test(a_submodule_names_its_own_work_tree),
		cmocka_unit_test(a_rebase_lists_no_program),
		cmocka_unit_test(a_bare_repository_needs_its_parts),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
