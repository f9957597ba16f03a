#define _GNU_SOURCE
#include "rig.h"

#include "policy/rules.h"

#include <signal.h>

/* A repository that the run must not be able to read from, and a program that must not be run. */
static int up_private(void **state)
{
	return up(state) == 0 && sh("git init -q private; cd private; echo top-secret >s; git add s; git commit -qm s; "
				    "printf '#!/bin/sh\\ntouch %s/ran\\ncat\\n' \"$B\" >../run; chmod +x ../run") == 0
		       ? 0
		       : -1;
}

/* What a run leaves. After settling: is its history lost, is something left that no commit holds, and what the shell
 * says about $B/x, which the result was brought to. Where naive is set, an honest git in the copy is deceived by it:
 * that line succeeds before the settling. */
static const struct {
	const char *name, *leave, *after, *naive;
	bool damaged, left;
} rows[] = {
	{"programs of every kind",
	 "for h in pre-commit post-commit post-index-change reference-transaction; do cp \"$B/run\" .git/hooks/$h || { mkdir .git/hooks; "
	 "cp \"$B/run\" .git/hooks/$h; }; done; for k in core.fsmonitor core.pager filter.x.clean filter.x.process diff.external "
	 "diff.x.textconv uploadpack.packObjectsHook core.alternateRefsCommand core.sshCommand gpg.program credential.helper "
	 "core.editor merge.x.driver; do git config $k \"$B/run\"; done; git config alias.add \"!$B/run\"; "
	 "git config commit.gpgSign true; printf '* filter=x diff=x merge=x\\n' >.gitattributes; echo w >w; rm -f \"$B/ran\"",
	 "git show cc/run/r:w", "git status >/dev/null; test -e \"$B/ran\"; rm \"$B/ran\"", false, false},
	{"an included configuration",
	 "printf '[core]\\nfsmonitor = %s/run\\n' \"$B\" >c; git config include.path ../c; echo w >w",
	 "git show cc/run/r:w", "git status >/dev/null; test -e \"$B/ran\"; rm \"$B/ran\"", false, false},
	{"objects of another repository, by its list of stores",
	 "echo \"$B/private/.git/objects\" >>.git/objects/info/alternates; git update-ref refs/heads/cc/run/r $(cd \"$B/private\"; "
	 "git rev-parse HEAD); echo w >w",
	 "no git cat-file -e $(cd \"$B/private\"; git rev-parse HEAD); git show cc/run/r:w",
	 "git clone -q --no-local . \"$B/n\"; grep -q top-secret \"$B/n/s\"", true, false},
	{"objects of another repository, by links to them",
	 "for o in $(cd \"$B/private/.git/objects\"; ls -d [0-9a-f][0-9a-f]/*); do mkdir -p .git/objects/${o%/*}; "
	 "ln -s \"$B/private/.git/objects/$o\" .git/objects/$o; done; git update-ref refs/heads/cc/run/r $(cd \"$B/private\"; "
	 "git rev-parse HEAD)",
	 "no git cat-file -e $(cd \"$B/private\"; git rev-parse HEAD)",
	 "git clone -q --no-local . \"$B/n\"; grep -q top-secret \"$B/n/s\"", true, false},
	{"a link for the store",
	 "rm -rf .git/objects; ln -s \"$B/private/.git/objects\" .git/objects; "
	 "git update-ref refs/heads/cc/run/r $(cd \"$B/private\"; git rev-parse HEAD)",
	 "no git cat-file -e $(cd \"$B/private\"; git rev-parse HEAD); test -e \"$B/private/.git/objects/pack\"",
	 "git show HEAD:s | grep -q top-secret", true, false},
	{"a link for the directory of a reference",
	 "rm -rf .git/refs/heads; ln -s \"$B/private/.git/refs/heads\" .git/refs/heads",
	 "no git rev-parse -q --verify cc/run/r", NULL, true, false},
	{"a file for .git", "rm -rf .git; echo \"gitdir: $B/private/.git\" >.git; echo w >w",
	 "git show cc/run/r:w; no git cat-file -e $(cd \"$B/private\"; git rev-parse HEAD)", "git log | grep -q ' s$'",
	 true, false},
	{"a link for .git", "rm -rf .git; ln -s \"$B/private/.git\" .git; echo w >w",
	 "git show cc/run/r:w; test -e \"$B/private/.git/HEAD\"", "git log | grep -q ' s$'", true, false},
	{"another common directory", "echo \"$B/private/.git\" >.git/commondir; echo w >w", "git show cc/run/r:w",
	 "test \"$(git rev-parse --git-common-dir)\" = \"$B/private/.git\"", false, false},
	{"a link for HEAD", "rm .git/HEAD; ln -s \"$B/private/.git/HEAD\" .git/HEAD; echo w >w", "git show cc/run/r:w",
	 NULL, true, false},
	{"a FIFO for HEAD, and one for a reference",
	 "rm .git/HEAD; mkfifo .git/HEAD; mkfifo .git/refs/heads/f; echo w >w", "git show cc/run/r:w", NULL, true,
	 false},
	{"a HEAD outside of the branches", "echo 'ref: refs/heads/../../../../private/.git/HEAD' >.git/HEAD; echo w >w",
	 "git show cc/run/r:w", NULL, true, false},
	{"no HEAD", "rm .git/HEAD; echo w >w", "git show cc/run/r:w", NULL, true, false},
	{"no .git", "rm -rf .git; echo w >w", "git show cc/run/r:w; git show cc/run/r:a", NULL, true, false},
	{"an index that holds what the work tree does not",
	 "git update-index --add --cacheinfo "
	 "100644,$(git rev-parse HEAD:a),.env; echo w >w",
	 "git show cc/run/r:w; no git cat-file -e cc/run/r:.env", "git ls-files | grep -q .env", false, false},
	{"an index that says that nothing changed",
	 "git update-index --assume-unchanged a; git update-index --skip-worktree d/b; "
	 "echo hidden >a; echo hidden >d/b; mkdir -p .git/info; echo a >.git/info/exclude",
	 "git show cc/run/r:a | grep -q hidden; git show cc/run/r:d/b | grep -q hidden",
	 "test -z \"$(git status --porcelain)\"", false, false},
	{"rubbish for an index", "echo junk >.git/index; echo w >w", "git show cc/run/r:w", "no git status 2>/dev/null",
	 false, false},
	{"a replacement that hides a commit",
	 "echo x >.env; git add -f .env; git commit -qm bad; git replace HEAD HEAD~1",
	 "git cat-file -e cc/run/r:.env; test -z \"$(git replace)\"", "test -z \"$(git ls-tree HEAD .env)\"", false,
	 false},
	{"an object that was swapped",
	 "echo good >g; git add g; git commit -qm g; b=$(git rev-parse HEAD:g); o=$(echo evil | "
	 "git hash-object -w --stdin); f=.git/objects/$(echo $b | sed 's,..,&/,'); chmod u+w $f; "
	 "cp .git/objects/$(echo $o | sed 's,..,&/,') $f",
	 "git show cc/run/r:g | grep -q good", "git show HEAD:g | grep -q evil", true, false},
	{"an object of the origin that was swapped",
	 "b=$(git rev-parse HEAD:a); o=$(echo evil | git hash-object -w --stdin); "
	 "d=.git/objects/$(echo $b | cut -c1-2); mkdir -p $d; f=.git/objects/$(echo $b | "
	 "sed 's,..,&/,'); rm -f $f; cp .git/objects/$(echo $o | sed 's,..,&/,') $f; "
	 "echo w >w; git add w; git commit -qm w",
	 "test \"$(git show cc/run/r:a)\" = a; git fsck --strict", "git show HEAD:a | grep -q evil", false, false},
	{"grafts and a false end of the past",
	 "mkdir -p .git/info; git rev-parse HEAD >.git/info/grafts; "
	 "git rev-parse HEAD >.git/shallow; echo w >w; git add w; git commit -qm w",
	 "git show cc/run/r:w; test ! -e .git/shallow", NULL, false, false},
	{"a past that was made anew", "git checkout -q --orphan o; git commit -qm root; echo w >w",
	 "git show cc/run/r:w", NULL, false, false},
	{"a branch without a commit", "git checkout -q --orphan o; echo w >w", "git show cc/run/r:w", NULL, true,
	 false},
	{"another repository in it, committed as a link, with a monitor",
	 "git init -q n; echo i >n/i; git -C n add i; git -C n commit -qm i; git -C n config core.fsmonitor \"$B/run\"; git add n 2>/dev/null; "
	 "git commit -qm n; echo j >n/j; rm -f \"$B/ran\"",
	 "git show cc/run/r:n/j; git show cc/run/r~1 | grep -q 'Subproject'",
	 "git status >/dev/null; test -e \"$B/ran\"; rm \"$B/ran\"", false, false},
	{"a name that folds to .git", "mkdir -p p/.Git; echo x >p/.Git/config; echo w >p/w",
	 "git show cc/run/r:p/w; no git cat-file -e cc/run/r:p/.Git/config", NULL, false, false},
	{"a directory of the commit that is now a link out of the tree", "rm -r d; ln -s \"$B/private\" d; echo w >w",
	 "git show cc/run/r:w; test \"$(git cat-file -t cc/run/r:d)\" = blob; no git cat-file -e cc/run/r:d/s", NULL,
	 false, false},
	{"what no commit holds", "mkfifo f; truncate -s 1T huge; echo w >w; rm a; mkfifo a",
	 "git show cc/run/r:w; git show cc/run/r:a", NULL, false, true},
	{"what its owner locked", "mkdir -p l/m; echo w >l/m/w; chmod 0 l/m/w l/m l", "git show cc/run/r:l/m/w", NULL,
	 false, false},
	{"names that are options, patterns and lines",
	 "echo w >-n; echo w >':(exclude)x'; echo w >\"$(printf 'a\\nb')\"; mkfifo '*'; echo w >w",
	 "git show cc/run/r:w; git show 'cc/run/r:-n'; git show 'cc/run/r::(exclude)x'; test $(git ls-tree -z --name-only cc/run/r | "
	 "tr -cd '\\0' | wc -c) = 7",
	 NULL, false, true},
	{"a depth that no path reaches",
	 "python3 -c \"import os\nfor i in range(1200): os.mkdir('x'*9); os.chdir('x'*9)\nopen('w','w')\"; echo w >w",
	 "git show cc/run/r:w", NULL, false, true},
};

static void what_a_run_leaves_deceives_nobody(void **state)
{
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_worktree tree;
		struct cc_worktree_outcome outcome;
		struct cc_err err = {0};
		char line[4096];

		if (i) {
			assert_int_equal(rig_down(state), 0);
			assert_int_equal(up_private(state), 0);
		}
		LINE("git clone -q plain x");
		T_OK(make("x", "r", NULL, &tree, &err), err);
		snprintf(line, sizeof(line), "cd runs/r/tree; %s", rows[i].leave);
		T_ROW(sh(line) == 0, rows[i].name);
		snprintf(line, sizeof(line), "cd runs/r/tree; %s", rows[i].naive ? rows[i].naive : ":");
		T_ROW(sh(line) == 0, rows[i].name);
		if (cc_worktree_settle(&tree, NULL, NULL, &outcome, &err) != CC_OK)
			fail_msg("row \"%s\": %s", rows[i].name, err.what);
		T_ROW(outcome.damaged == rows[i].damaged, rows[i].name);
		T_ROW((outcome.left.count > 0) == rows[i].left, rows[i].name);
		outcome.reviewed = true;
		if (outcome.changed)
			T_OK(cc_worktree_bring_back(&tree, &outcome, false, &err), err);
		snprintf(line, sizeof(line), "test ! -e ran; cd x; %s; test ! -e ../ran", rows[i].after);
		T_ROW(sh(line) == 0, rows[i].name);
		cc_worktree_outcome_done(&outcome);
		T_OK(cc_worktree_remove(&tree, &err), err);
		LINE("test \"$(ls -A runs)\" = .door; test -e private/s");
	}
}

static void findings_wait_for_somebody(void **state)
{
	CC_AUTO(cc_rules) rules = NULL;
	struct cc_worktree tree;
	struct cc_worktree_outcome outcome;
	struct cc_spec spec;
	struct cc_err err = {0};
	char root[PATH_MAX + 16];

	(void)state;
	snprintf(root, sizeof(root), "%s/plain", base);
	cc_spec_init(&spec);
	spec.session_id = cc_str_copy("t");
	T_OK(cc_spec_add_bind(&spec, root, false, &err), err);
	T_OK(cc_rules_compile(&spec, NULL, &rules, &err), err);
	T_OK(make("plain", "r", NULL, &tree, &err), err);
	/* one is committed and hidden, one comes and goes, one is left */
	LINE("cd runs/r/tree; echo x >.env; git add -f .env; git commit -qm x; "
	     "git rm -q --cached .env; git commit -qm y; git replace HEAD~1 HEAD~2; rm .env; mkdir .vscode; echo '{}' >.vscode/tasks.json");
	T_OK(cc_worktree_settle(&tree, rules, root, &outcome, &err), err);
	assert_true(outcome.reviewed);
	assert_int_equal(outcome.review.count, 2);
	assert_non_null(strstr(outcome.review.stat, "tasks.json"));
	assert_int_equal(cc_worktree_bring_back(&tree, &outcome, false, &err), CC_EPOLICY);
	LINE("cd plain; no git rev-parse -q --verify cc/run/r");
	cc_worktree_outcome_done(&outcome);
	/* later, by somebody else */
	T_OK(cc_worktree_shrink(&tree, &err), err);
	cc_worktree_done(&tree);
	snprintf(root, sizeof(root), "%s/runs", base);
	T_OK(cc_worktree_open(root, "r", environ, &tree, &err), err);
	snprintf(root, sizeof(root), "%s/plain", base);
	T_OK(cc_worktree_settle(&tree, rules, root, &outcome, &err), err);
	assert_int_equal(outcome.review.count, 2);
	T_OK(cc_worktree_bring_back(&tree, &outcome, true, &err), err);
	LINE("cd plain; git cat-file -e cc/run/r:.vscode/tasks.json; test ! -e .vscode");
	cc_worktree_outcome_done(&outcome);
	T_OK(cc_worktree_remove(&tree, &err), err);
	cc_spec_done(&spec);
}

static void what_killed_owners_left_is_swept(void **state)
{
	static const char *const ids[] = {"busy", "work", "idle", "fifo"};
	struct cc_worktree trees[CC_COUNT(ids)];
	struct cc_strv kept = {0};
	struct cc_err err = {0};
	char runs[PATH_MAX + 16];

	(void)state;
	snprintf(runs, sizeof(runs), "%s/runs", base);
	for (size_t i = 0; i < CC_COUNT(ids); i++)
		T_OK(make("plain", ids[i], NULL, &trees[i], &err), err);
	LINE("for r in busy work fifo; do echo w >runs/$r/tree/w; done; mkfifo runs/fifo/tree/f; mkdir runs/half runs/.trash.1; "
	     "ln -s \"$B/private\" runs/.trash.1/l; ln -s \"$B/private\" runs/link; ln -s \"$B/private\" runs/.trash.2");
	for (size_t i = 1; i < CC_COUNT(ids); i++)
		cc_worktree_done(&trees[i]);
	assert_int_equal(cc_worktree_open(runs, "busy", environ, &trees[1], &err), CC_ESTATE);
	T_OK(cc_worktree_sweep(runs, environ, &kept, &err), err);
	assert_true(cc_strv_has(&kept, "work") && cc_strv_has(&kept, "fifo"));
	assert_false(cc_strv_has(&kept, "busy") || cc_strv_has(&kept, "idle"));
	LINE("test -e private/s; test -e runs/busy/tree/w; test ! -e runs/busy/ours; test ! -e runs/work/tree; test -e runs/fifo/tree/f; "
	     "test ! -e runs/idle; test ! -e runs/half; test ! -e runs/.trash.1; git -C runs/work/ours show cc/run/work:w; "
	     "git -C runs/fifo/ours show cc/run/fifo:w");
	cc_strv_done(&kept);
	/* once more: the same */
	T_OK(cc_worktree_sweep(runs, environ, &kept, &err), err);
	assert_true(cc_strv_has(&kept, "work") && cc_strv_has(&kept, "fifo"));
	LINE("test -e runs/fifo/tree/f");
	cc_strv_done(&kept);
	cc_worktree_done(&trees[0]);
}

/* Settling is killed somewhere on its way, again and again, and then done by whoever comes next. */
static void a_killed_settling_loses_nothing(void **state)
{
	struct cc_err err = {0};
	char runs[PATH_MAX + 16];

	(void)state;
	snprintf(runs, sizeof(runs), "%s/runs", base);
	for (unsigned ms = 0; ms < 60; ms += 6) {
		struct cc_worktree tree;
		struct cc_worktree_outcome outcome;
		struct cc_strv kept = {0};
		pid_t pid;

		T_OK(make("plain", "r", NULL, &tree, &err), err);
		LINE("cd runs/r/tree; echo c >c; git add c; git commit -qm c; echo w >w; rm a; git init -q n; echo x >n/x");
		pid = fork();
		if (pid == 0) {
			setpgid(0, 0);
			_exit(cc_worktree_settle(&tree, NULL, NULL, &outcome, &err));
		}
		cc_worktree_done(&tree);
		usleep(ms * 1000);
		/* the process alone: a git that it started may still be at work, and then the run is still somebody's
		 */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (!cc_strv_has(&kept, "r")) {
			T_OK(cc_worktree_sweep(runs, environ, &kept, &err), err);
			LINE("test -e runs/r");
		}
		/* what could not be settled waits whole: say why */
		T_OK(cc_worktree_open(runs, "r", environ, &tree, &err), err);
		T_OK(cc_worktree_settle(&tree, NULL, NULL, &outcome, &err), err);
		cc_worktree_outcome_done(&outcome);
		cc_worktree_done(&tree);
		LINE("test ! -e runs/r/tree; cd runs/r/ours; test \"$(git log --format=%s cc/run/r | sed 1d | tr '\\n' ' ')\" = 'c one '; "
		     "git show cc/run/r:w; git show cc/run/r:n/x; no git cat-file -e cc/run/r:a; git fsck --no-dangling");
		cc_strv_done(&kept);
		T_OK(cc_worktree_open(runs, "r", environ, &tree, &err), err);
		assert_false(tree.damaged);
		T_OK(cc_worktree_remove(&tree, &err), err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_run_leaves_deceives_nobody, up_private, rig_down),
		cmocka_unit_test_setup_teardown(findings_wait_for_somebody, up_private, rig_down),
		cmocka_unit_test_setup_teardown(what_killed_owners_left_is_swept, up_private, rig_down),
		cmocka_unit_test_setup_teardown(a_killed_settling_loses_nothing, up_private, rig_down),
	};

	return rig_can() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
