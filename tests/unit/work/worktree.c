#define _GNU_SOURCE
#include "rig.h"

static const struct form {
	const char *name;
	const char *build; /* makes $B/x */
	const char *holds; /* in the copy, as make left it */
	bool unborn;
} forms[] = {
	{"a checkout with changes: what is committed comes, nothing else", "mv plain x",
	 "test \"$(cat a)\" = a; test ! -e untracked; test ! -e ign; test -z \"$(git status --porcelain)\"; "
	 "test \"$(git branch --show-current)\" = cc/run/r; git rev-parse -q --verify origin/side; git rev-parse -q --verify v1; "
	 "test \"$(git config user.email)\" = ann@example.test; test -z \"$(git remote)\"",
	 false},
	{"a detached HEAD", "mv plain x; cd x; git checkout -q --detach; git commit -qam two", "grep -q change a",
	 false},
	{"an unborn one", "git init -q x", "test -z \"$(git log --oneline 2>/dev/null)\"", true},
	{"a shallow one", "cd plain; git commit -qam two; cd ..; git clone -q --depth 1 \"file://$B/plain\" x",
	 "test $(git rev-list --count HEAD) = 1", false},
	{"a bare one", "git clone -q --bare plain x", "test -e a", false},
	{"a linked work tree",
	 "cd plain; git worktree add -q -b other ../x; cd ../x; echo o >o; git add o; git commit -qm o", "test -e o",
	 false},
	{"sha256", "git init -q --object-format=sha256 x; cd x; echo a >a; git add a; git commit -qm a",
	 "test $(git rev-parse HEAD | wc -c) = 65", false},
	{"one that borrows itself",
	 "git clone -q --shared plain mid; git clone -q --shared mid x; rm -rf mid/.git/refs/x", "test -e d/b", false},
	{"with a submodule",
	 "mkdir y; git clone -q plain x; cd x; git -c protocol.file.allow=always submodule -q add \"$B/plain\" sub; "
	 "git commit -qm sub",
	 "test -d sub; test -z \"$(ls sub)\"; test -z \"$(git status --porcelain)\"", false},
	{"with its git directory elsewhere", "git clone -q --separate-git-dir \"$B/far\" plain x", "test -e a", false},
	{"with a symbolic link for a path", "mv plain real; ln -s real x", "test -e a", false},
	{"packed, with a packed reference", "mv plain x; cd x; git gc -q; git pack-refs --all", "test -e a", false},
	{"with names that are strange",
	 "git clone -q plain x; cd x; printf x >\"$(printf 'a\\nb')\"; ln -s a 'l k'; git add .; git commit -qm n",
	 "test -L 'l k'; test -z \"$(git status --porcelain)\"", false},
};

/* Made, worked in, settled, brought back, removed: of every kind of origin. */
static void every_origin_has_copies(void **state)
{
	for (size_t i = 0; i < CC_COUNT(forms); i++) {
		const struct form *form = &forms[i];
		struct cc_worktree tree;
		struct cc_worktree_outcome outcome;
		struct cc_err err = {0};
		char line[1024];

		if (i) {
			assert_int_equal(rig_down(state), 0);
			assert_int_equal(up(state), 0);
		}
		T_ROW(sh(form->build) == 0, form->name);
		LINE("(cd x; cat HEAD .git/HEAD; git status --porcelain; git for-each-ref) >before 2>/dev/null || :");
		if (make("x", "r", NULL, &tree, &err) != CC_OK)
			fail_msg("row \"%s\": %s", form->name, err.what);
		T_ROW((tree.base[0] == '\0') == form->unborn, form->name);
		snprintf(line, sizeof(line), "cd runs/r/tree; %s", form->holds);
		T_ROW(sh(line) == 0, form->name);
		LINE("cd runs/r/tree; echo n >new; git add new; git commit -qm work; echo left >>new");
		T_OK(cc_worktree_settle(&tree, NULL, NULL, &outcome, &err), err);
		T_ROW(outcome.changed && outcome.rescued && !outcome.damaged && !outcome.left.count, form->name);
		T_ROW(cc_worktree_bring_back(&tree, &outcome, true, &err) == CC_EPOLICY, form->name);
		outcome.reviewed = true;
		T_OK(cc_worktree_bring_back(&tree, &outcome, false, &err), err);
		LINE("(cd x; cat HEAD .git/HEAD; git status --porcelain; git for-each-ref | grep -v cc/run/) >after 2>/dev/null || :; "
		     "cmp before after");
		snprintf(
			line, sizeof(line),
			"cd x; test \"$(git rev-parse cc/run/r)\" = %s; git show cc/run/r:new | grep -q left; "
			"git log -1 --format=%%an cc/run/r~1 | grep -q Ann; test $(git rev-list --count cc/run/r) -ge 2; "
			"git fsck --no-dangling --connectivity-only",
			tree.head);
		T_ROW(sh(line) == 0, form->name);
		cc_worktree_outcome_done(&outcome);
		T_OK(cc_worktree_remove(&tree, &err), err);
		LINE("test \"$(ls -A runs)\" = .door");
	}
}

static void what_is_no_origin_is_refused(void **state)
{
	static const struct {
		const char *build, *origin, *run, *from;
		enum cc_code want;
	} rows[] = {
		{":", "nothing", "r", NULL, CC_ENOTFOUND},
		{"mkdir e", "e", "r", NULL, CC_EPOLICY},
		{"mkdir f; echo 'gitdir: ../gone' >f/.git", "f", "r", NULL, CC_EPOLICY},
		{"git clone -q plain g; echo junk >g/.git/HEAD", "g", "r", NULL, CC_EPOLICY},
		{"git clone -q plain h; echo junk >h/.git/refs/heads/main", "h", "r", NULL, CC_ENOTFOUND},
		{"git clone -q plain i; echo '[' >>i/.git/config", "i", "r", NULL, CC_EPOLICY},
		{"git clone -q --shared plain j; echo \"$B/gone\" >>j/.git/objects/info/alternates", "j", "r", NULL,
		 CC_OK},
		{"git clone -q plain k; rm -rf k/.git/objects/??", "k", "r", NULL, CC_ENOTFOUND},
		{"git clone -q plain m; rm -f m/.git/objects/$(cd m; git rev-parse HEAD:d/b | sed 's,..,&/,')", "m",
		 "r2", NULL, CC_EPOLICY},
		{":", "plain", "r3", "nothing", CC_ENOTFOUND},
		{":", "plain", "r3", "--upload-pack=x", CC_ENOTFOUND},
		{":", "plain", "", NULL, CC_EINVAL},
		{":", "plain", "..", NULL, CC_EINVAL},
		{":", "plain", "a/b", NULL, CC_EINVAL},
		{":", "plain", ".a", NULL, CC_EINVAL},
		{":", "plain", "a..b", NULL, CC_EINVAL},
		{":", "plain", "-a", NULL, CC_EINVAL},
		{":", "plain", "a.lock", NULL, CC_EINVAL},
		{":", "plain", "a\nb", NULL, CC_EINVAL},
		{":", "plain", "r", NULL, CC_EINVAL}, /* j took it */
		{"chmod 755 runs", "plain", "r4", NULL, CC_EPOLICY},
		{"mv runs real; ln -s real runs", "plain", "r4", NULL, CC_EPOLICY},
	};
	struct cc_strv paths = {0};
	struct cc_err err = {0};
	char path[PATH_MAX + 64];

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_worktree tree = {0};
		enum cc_code code;

		T_ROW(sh(rows[i].build) == 0, rows[i].build);
		code = make(rows[i].origin, rows[i].run, rows[i].from, &tree, &err);
		if (code != rows[i].want)
			fail_msg("row %zu (%s): %d, %s", i, rows[i].build, code, code ? err.what : "");
		cc_worktree_done(&tree);
	}
	LINE("test \"$(ls real)\" = r");
	snprintf(path, sizeof(path), "%s/i", base);
	assert_int_equal(cc_worktree_protect(path, environ, &paths, &err), CC_EPOLICY);
	assert_int_equal(paths.count, 0);
	LINE("cd plain; git worktree add -q -b other ../x");
	snprintf(path, sizeof(path), "%s/x", base);
	T_OK(cc_worktree_protect(path, environ, &paths, &err), err);
	assert_int_equal(paths.count, 3);
	snprintf(path, sizeof(path), "%s/plain/.git", base);
	assert_true(cc_strv_has(&paths, path));
	cc_strv_done(&paths);
}

static void nothing_of_the_origin_runs(void **state)
{
	struct cc_worktree tree;
	struct cc_worktree_outcome outcome;
	struct cc_err err = {0};

	(void)state;
	LINE("printf '#!/bin/sh\\ntouch %s/ran\\ncat\\n' \"$B\" >run; chmod +x run; cd plain; "
	     "printf '* filter=x\\n' >.gitattributes; git add .gitattributes; git commit -qm attributes; "
	     "for h in post-checkout reference-transaction pre-commit post-index-change post-merge pre-auto-gc; do "
	     "cp ../run .git/hooks/$h; done; git config core.fsmonitor \"$B/run\"; git config filter.x.clean \"$B/run\"; "
	     "git config filter.x.smudge \"$B/run\"; git config filter.x.process \"$B/run\"; git config filter.x.required true; "
	     "git config diff.external \"$B/run\"; git config core.pager \"$B/run\"; git config credential.helper \"$B/run\"; "
	     "git config core.sshCommand \"$B/run\"; git config uploadpack.packObjectsHook \"$B/run\"; "
	     "git config core.alternateRefsCommand \"$B/run\"; git config alias.reset \"!$B/run\"; "
	     "git config commit.gpgSign true; git config gpg.program \"$B/run\"; git config core.editor \"$B/run\"; "
	     "git config fetch.prune true; git config url.http://127.0.0.1:9/.insteadOf \"$B/\"; "
	     "rm -f ../ran");
	T_OK(make("plain", "r", NULL, &tree, &err), err);
	LINE("test ! -e ran; cd runs/r/tree; test ! -e .git/hooks/pre-commit; test -z \"$(git config --get-regexp 'filter|core.pager')\"; "
	     "echo more >>a; git commit -qam more; echo again >>a; test ! -e ../../../ran");
	T_OK(cc_worktree_settle(&tree, NULL, NULL, &outcome, &err), err);
	outcome.reviewed = true;
	T_OK(cc_worktree_bring_back(&tree, &outcome, false, &err), err);
	LINE("test ! -e ran; cd plain; git rev-parse -q --verify cc/run/r; git worktree add -q ../w 2>/dev/null || :; test -e ../ran");
	cc_worktree_outcome_done(&outcome);
	T_OK(cc_worktree_remove(&tree, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_origin_has_copies, up, rig_down),
		cmocka_unit_test_setup_teardown(what_is_no_origin_is_refused, up, rig_down),
		cmocka_unit_test_setup_teardown(nothing_of_the_origin_runs, up, rig_down),
	};

	return rig_can() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
