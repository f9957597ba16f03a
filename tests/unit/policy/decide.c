#include "rig.h"

static void with_defaults(const struct rig_row *rows, size_t count)
{
	struct rig rig;

	rig_init(&rig);
	rig_compile(&rig);
	rig_check(&rig, rows, count);
	rig_done(&rig);
}

static void mounts_decide_first(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/a", "allow"),
		ASK(CREATE, "/r2/a", "deny mount:outside"),
		ASK(CREATE, "/etc/x", "deny mount:outside"),
		ASK(READ, "/etc/x", "allow"),
		ASK(CREATE, "/ro/a", "deny mount:read-only"),
		ASK(MODE, "/ro/a", "deny mount:read-only"),
		ASK(READ, "/ro/a", "allow"),
		ASK(CREATE, "/tmp/.env", "allow"),
		ASK_OF(MKNOD, "/tmp/fifo", "allow", CC_OBJECT_FIFO, NULL),
		ASK(CREATE, "/home/u/.bashrc", "allow"),
		ASK(CREATE, "/dev/shm/x.pem", "allow"),
		ASK(CREATE, "/home/u/.state/a", "allow"),
		ASK(CREATE, "/home/u/.state/a.key", "deny name:**/*.key"),
		ASK(CREATE, "/home/u/.state/.claude.json", "allow"),
		ASK(CREATE, "/home/u/.state/x/.git/hooks/pre-commit", "deny git:hooks"),
		ASK(CREATE, "relative", "deny mount:outside"),
	};

	(void)state;
	with_defaults(rows, CC_COUNT(rows));
}

static void names_hold_at_every_depth(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/.env", "deny name:**/.env"),
		ASK(CREATE, "/r/a/b/.ENV", "deny name:**/.env"),
		ASK(CREATE, "/r/.env.local", "deny name:**/.env.*"),
		ASK(MKDIR, "/r/.env.d", "deny name:**/.env.*"),
		ASK(CREATE, "/r/x.pem/inner", "deny name:**/*.pem"),
		ASK(CREATE, "/r/X.PeM", "deny name:**/*.pem"),
		ASK(CREATE, "/r/.key", "deny name:**/*.key"),
		ASK(CREATE, "/r/xkey", "allow"),
		ASK(CREATE, "/r/.environ", "allow"),
		ASK(CREATE, "/r/a.key.txt", "allow"),
		ASK(CREATE, "/r/\xff.key", "deny name:**/*.key"),
		ASK(CREATE, "/r/a\nb.key", "deny name:**/*.key"),
		ASK(WRITE, "/r/a.p12", "deny name:**/*.p12"),
		ASK(UNLINK, "/r/a.pfx", "deny name:**/*.pfx"),
		ASK(RENAME_FROM, "/r/.env", "deny name:**/.env"),
		ASK(RENAME_TO, "/r/.env", "deny name:**/.env"),
		ASK(LINK_FROM, "/r/.env", "deny name:**/.env"),
		ASK(LINK_TO, "/r/n.pem", "deny name:**/*.pem"),
		ASK(SYMLINK, "/r/n.pem", "deny name:**/*.pem"),
		ASK_OF(MKNOD, "/r/n.key", "deny name:**/*.key", CC_OBJECT_FIFO, NULL),
		ASK(BIND, "/r/s.pem", "deny name:**/*.pem"),
		ASK(BIND, "/r/s.sock", "allow"),
		ASK(CONNECT, "/r/s.pem", "deny name:**/*.pem"),
		ASK(CONNECT, "/r/s.sock", "allow"),
		ASK(MODE, "/r/.env", "deny name:**/.env"),
		ASK(RMDIR, "/r/.env", "deny name:**/.env"),
		ASK(READ, "/r/.env", "allow"),
		ASK_OF(MKNOD, "/r/fifo", "deny bind:no-fifo", CC_OBJECT_FIFO, NULL),
		ASK_OF(RENAME_TO, "/r/fifo", "deny bind:no-fifo", CC_OBJECT_FIFO, "/r/other"),
	};

	(void)state;
	with_defaults(rows, CC_COUNT(rows));
}

static void git_keeps_working(void **state)
{
	static const struct rig_row rows[] = {
		ASK(MKDIR, "/r/.git", "allow"),
		ASK(MKDIR, "/r/.git/objects", "allow"),
		ASK(MKDIR, "/r/.git/refs", "allow"),
		ASK(MKDIR, "/r/.git/hooks", "allow"),
		ASK(CREATE, "/r/.git/hooks/pre-commit.sample", "allow"),
		ASK(SYMLINK, "/r/.git/tAb3xYz", "allow"),
		ASK(UNLINK, "/r/.git/tAb3xYz", "allow"),
		ASK(MODE, "/r/.git/config", "allow"),
		ASK(CREATE, "/r/.git/HEAD.lock", "allow"),
		ASK_OF(RENAME_TO, "/r/.git/HEAD", "allow", CC_OBJECT_FILE, "/r/.git/HEAD.lock"),
		ASK(CREATE, "/r/.git/config.lock", "allow"),
		ASK(RENAME_FROM, "/r/.git/config.lock", "allow"),
		ASK_OF(RENAME_TO, "/r/.git/config", "judge git:config", CC_OBJECT_FILE, "/r/.git/config.lock"),
		ASK_OF(RENAME_TO, "/r/.git/index", "allow", CC_OBJECT_FILE, "/r/.git/index.lock"),
		ASK_OF(RENAME_TO, "/r/.git/packed-refs", "allow", CC_OBJECT_FILE, "/r/.git/packed-refs.new"),
		ASK(CREATE, "/r/.git/objects/ab/tmp_obj_x", "allow"),
		ASK_OF(LINK_TO, "/r/.git/objects/ab/cdef", "allow", CC_OBJECT_FILE, "/r/.git/objects/ab/tmp_obj_x"),
		ASK(UNLINK, "/r/.git/objects/ab/tmp_obj_x", "judge git:history"),
		ASK(RMDIR, "/r/.git/objects/ab", "allow"),
		ASK(CREATE, "/r/.git/objects/info/packs_x", "allow"),
		ASK(CREATE, "/r/.git/COMMIT_EDITMSG", "allow"),
		ASK(WRITE, "/r/.git/logs/HEAD", "allow"),
		ASK(CREATE, "/r/.git/MERGE_HEAD", "allow"),
		ASK(CREATE, "/r/.git/refs/heads/config", "allow"),
		ASK(CREATE, "/r/.git/refs/heads/lefthook-update", "allow"),
		ASK(CREATE, "/r/.git/info/exclude", "allow"),
		ASK(MKDIR, "/r/clone/.git", "allow"),
		ASK(CREATE, "/r/clone/.git/HEAD", "allow"),
	};

	(void)state;
	with_defaults(rows, CC_COUNT(rows));
}

static const struct rig_row against_the_host[] = {
	ASK(CREATE, "/r/.git/hooks/pre-commit", "deny git:hooks"),
	ASK(MKDIR, "/r/.GIT/Hooks/x", "deny git:hooks"),
	ASK_OF(RENAME_TO, "/r/.git/hooks/pre-commit", "deny git:hooks", CC_OBJECT_FILE,
	       "/r/.git/hooks/pre-commit.sample"),
	ASK(SYMLINK, "/r/.git/hooks", "deny git:links"),
	ASK_OF(RENAME_TO, "/r/.git/hooks", "deny git:hooks", CC_OBJECT_DIR, "/r/.git/x"),
	ASK(RENAME_FROM, "/r/.git/hooks", "deny git:hooks"),
	ASK(RENAME_FROM, "/r/.git", "deny git:pointer"),
	ASK_OF(RENAME_TO, "/r/a/.git", "deny git:pointer", CC_OBJECT_DIR, "/r/prepared"),
	ASK(CREATE, "/r/.git", "deny git:pointer"),
	ASK(UNLINK, "/r/.git", "deny git:pointer"),
	ASK_OF(RENAME_TO, "/r/.git", "judge git:pointer", CC_OBJECT_FILE, "/r/.git.lock"),
	ASK(SYMLINK, "/r/.git", "deny git:pointer"),
	ASK(WRITE, "/r/.git/config", "deny git:config"),
	ASK(CREATE, "/r/.git/config", "deny git:config"),
	ASK(UNLINK, "/r/.git/config", "deny git:config"),
	ASK(LINK_TO, "/r/.git/config", "deny git:config"),
	ASK(LINK_FROM, "/r/.git/config", "deny git:config"),
	ASK_OF(RENAME_TO, "/r/.git/config", "deny git:config", CC_OBJECT_FILE, "/r/evil"),
	ASK_OF(RENAME_TO, "/r/.git/config", "deny git:links", CC_OBJECT_SYMLINK, "/r/.git/config.lock"),
	ASK_OF(RENAME_TO, "/r/.git/modules/a/b/config", "judge git:config", CC_OBJECT_FILE,
	       "/r/.git/modules/a/b/config.lock"),
	ASK(WRITE, "/r/.git/modules/a/b/config", "deny git:config"),
	ASK(WRITE, "/r/.git/worktrees/w/config.worktree", "deny git:config"),
	ASK(CREATE, "/r/.git/commondir", "deny git:pointer"),
	ASK(CREATE, "/r/.git/worktrees/w/gitdir", "deny git:pointer"),
	ASK(MKDIR, "/r/.git/worktrees", "allow"),
	ASK(MKDIR, "/r/.git/worktrees/w", "deny git:worktree-add"),
	ASK(WRITE, "/r/.git/worktrees/w/index.lock", "allow"),
	ASK(MKDIR, "/r/.git/modules/sub", "deny git:submodule-add"),
	ASK(CREATE, "/r/.git/modules/sub/objects/x", "allow"),
	ASK(CREATE, "/r/.git/modules/sub/hooks/post-checkout", "deny git:hooks"),
	ASK(SYMLINK, "/r/.git/logs/HEAD", "deny git:links"),
	ASK_OF(RENAME_TO, "/r/.git/index", "deny git:links", CC_OBJECT_SYMLINK, "/r/l"),
	ASK_OF(LINK_TO, "/r/.git/index", "deny git:links", CC_OBJECT_SYMLINK, "/r/l"),
	ASK(BIND, "/r/.git/s", "deny git:links"),
	ASK_OF(MKNOD, "/r/.git/f", "deny git:links", CC_OBJECT_FIFO, NULL),
	ASK_OF(RENAME_TO, "/r/.git/x", "deny git:moved-directory", CC_OBJECT_DIR, "/r/x"),
	ASK_OF(RENAME_TO, "/r/x", "deny git:moved-directory", CC_OBJECT_DIR, "/r/.git/x"),
	ASK_OF(RENAME_TO, "/r/.git/y", "allow", CC_OBJECT_DIR, "/r/.git/x"),
	ASK_OF(RENAME_TO, "/r/y", "allow", CC_OBJECT_DIR, "/r/x"),
	ASK(UNLINK, "/r/.git/HEAD", "deny git:skeleton"),
	ASK(RENAME_FROM, "/r/.git/objects", "deny git:skeleton"),
	ASK(RMDIR, "/r/.git/refs", "deny git:skeleton"),
	ASK(CREATE, "/r/.git/objects/info/alternates", "deny git:alternates"),
	ASK_OF(RENAME_TO, "/r/.git/objects/info", "deny git:alternates", CC_OBJECT_DIR, "/r/.git/i"),
	ASK(CREATE, "/r/.git/info/attributes", "deny git:attributes"),
	ASK(CREATE, "/r/.git/refs/replace/abc", "deny git:replace"),
	ASK(CREATE, "/r/.git/info/grafts", "deny git:grafts"),
	ASK(CREATE, "/r/.git/fsmonitor--daemon.ipc", "deny git:fsmonitor"),
	ASK(CREATE, "/r/.git/remotes/origin", "deny git:remotes"),
	ASK(CREATE, "/r/.git/own/HEAD", "judge git:bare"),
	ASK(CREATE, "/r/.git/refs/heads/HEAD", "allow"),
	ASK(CREATE, "/r/a/.gitmodules", "deny git:gitmodules"),
	ASK(CREATE, "/r/.lfsconfig", "deny git:lfsconfig"),
	ASK(CREATE, "/r/HEAD", "judge git:bare"),
	ASK(MKDIR, "/r/docs/objects", "judge git:bare"),
	ASK(MKDIR, "/r/docs/refs", "judge git:bare"),
	ASK_OF(RENAME_TO, "/r/docs/config", "judge git:bare", CC_OBJECT_FILE, "/r/docs/x"),
	ASK(CREATE, "/r/docs/commondir", "judge git:bare"),
	ASK(WRITE, "/r/docs/config", "judge git:bare"),
	ASK(MODE, "/r/docs/config", "allow"),
	ASK(WRITE, "/r/src/hooks/use.ts", "judge git:bare"),
	ASK(WRITE, "/r/src/hooks/a/use.ts", "allow"),
	ASK_OF(RENAME_TO, "/r/srv.git/hooks", "judge git:bare", CC_OBJECT_DIR, "/r/h"),
	ASK(CREATE, "/r/wt/config.worktree", "judge git:bare"),
	ASK_OF(RENAME_FROM, "/r/.git/modules/a/b", "deny git:moved-directory", CC_OBJECT_DIR, NULL),
	ASK_OF(RENAME_TO, "/r/.git/modules/a/b", "deny git:moved-directory", CC_OBJECT_DIR, "/r/.git/x"),
	ASK_OF(RENAME_TO, "/r/.git/worktrees/w/x", "deny git:moved-directory", CC_OBJECT_DIR, "/r/.git/worktrees/w/y"),
	ASK_OF(RENAME_TO, "/r/.git/modules/a/b/HEAD", "allow", CC_OBJECT_FILE, "/r/.git/modules/a/b/HEAD.lock"),
	ASK_OF(RENAME_FROM, "/r/.git/refs/heads/a", "allow", CC_OBJECT_DIR, NULL),
	ASK(CREATE, "/r/src/config/a.json", "allow"),
};

static void git_cannot_be_turned_against_the_host(void **state)
{
	(void)state;
	with_defaults(against_the_host, CC_COUNT(against_the_host));
}

static void tool_files_are_denied_or_flagged(void **state)
{
	static const struct rig_row rows[] = {
		ASK(MKDIR, "/r/.vscode", "deny tool:editor"),
		ASK(SYMLINK, "/r/.vscode", "deny tool:editor"),
		ASK(CREATE, "/r/a/.vscode/tasks.json", "deny tool:editor"),
		ASK(CREATE, "/r/x.code-workspace", "deny tool:editor"),
		ASK(MKDIR, "/r/.devcontainer", "deny tool:editor"),
		ASK(CREATE, "/r/.husky/pre-commit", "deny tool:hooks"),
		ASK(CREATE, "/r/lefthook.yml", "deny tool:hooks"),
		ASK(CREATE, "/r/.envrc", "deny tool:env"),
		ASK(CREATE, "/r/.npmrc", "deny tool:package-manager"),
		ASK(MKDIR, "/r/.yarn", "allow"),
		ASK(MKDIR, "/r/.yarn/releases", "allow"),
		ASK(CREATE, "/r/.yarn/releases/y.cjs", "deny tool:package-manager"),
		ASK(CREATE, "/r/.yarn/cache/y.zip", "allow"),
		ASK(CREATE, "/r/.yarn", "deny tool:package-manager"),
		ASK_OF(RENAME_TO, "/r/.yarn", "deny tool:package-manager", CC_OBJECT_DIR, "/r/y"),
		ASK(CREATE, "/r/.cargo/config.toml", "deny tool:package-manager"),
		ASK(CREATE, "/r/.mcp.json", "deny agent:config"),
		ASK(CREATE, "/r/.claude/settings.local.json", "deny agent:config"),
		ASK(CREATE, "/r/.claude/notes.md", "allow"),
		ASK(CREATE, "/r/.bashrc", "deny shell:start-up"),
		ASK(CREATE, "/r/.ccbox.jsonc", "deny ccbox:policy"),
		ASK(CREATE, "/r/.git/.ccbox-judged-12-3", "deny ccbox:own"),
		ASK(CREATE, "/r/.git/rebase-merge/git-rebase-todo.lock", "allow"),
		ASK(UNLINK, "/r/.git/objects/ab/cdef", "judge git:history"),
		ASK(UNLINK, "/r/.git/refs/heads/main", "judge git:history"),
		ASK(UNLINK, "/r/.git/packed-refs", "judge git:history"),
		ASK(CREATE, "/r/.git/objects/ab/cdef", "allow"),
		ASK(RMDIR, "/r/.git/objects/ab", "allow"),
		ASK(RMDIR, "/r/.git/objects", "deny git:skeleton"),
		ASK(CREATE, "/r/.git/rebase-merge/git-rebase-todo", "deny git:operation"),
		ASK(WRITE, "/r/.git/rebase-merge/git-rebase-todo", "deny git:operation"),
		ASK(LINK_FROM, "/r/.git/rebase-merge/git-rebase-todo", "deny git:operation"),
		ASK(UNLINK, "/r/.git/rebase-merge/git-rebase-todo", "allow"),
		ASK(RMDIR, "/r/.git/rebase-merge", "allow"),
		ASK(CREATE, "/r/.git/rebase-merge/strategy", "deny git:operation"),
		ASK(CREATE, "/r/.git/worktrees/w/rebase-merge/strategy", "deny git:operation"),
		ASK(CREATE, "/r/.git/modules/a/b/sequencer/opts", "deny git:operation"),
		ASK_OF(RENAME_TO, "/r/.git/rebase-merge/git-rebase-todo", "judge git:operation", CC_OBJECT_FILE,
		       "/r/.git/rebase-merge/sedXYZ"),
		ASK_OF(RENAME_TO, "/r/.git/sequencer/opts", "deny git:operation", CC_OBJECT_FILE,
		       "/r/.git/sequencer/x"),
		ASK_OF(RENAME_TO, "/r/.git/sequencer/opts", "judge git:operation", CC_OBJECT_FILE,
		       "/r/.git/sequencer/opts.lock"),
		ASK_OF(RENAME_TO, "/r/.git/rebase-merge", "deny git:operation", CC_OBJECT_DIR, "/r/.git/x"),
		ASK(WRITE, "/r/.git/.ccbox-judged-12-3", "deny ccbox:own"),
		ASK(UNLINK, "/r/.git/.ccbox-judged-12-3", "deny ccbox:own"),
		ASK(RENAME_FROM, "/r/a/.git/modules/x/.ccbox-judged-1-0", "deny ccbox:own"),
		ASK(LINK_FROM, "/home/u/.state/.git/.ccbox-judged-1-0", "deny ccbox:own"),
		ASK(MODE, "/r/.ccbox-judged-1-0", "deny ccbox:own"),
		ASK(CREATE, "/r/.github/workflows/ci.yml", "flag flag:ci"),
		ASK(CREATE, "/r/CLAUDE.md", "flag flag:instructions"),
		ASK(CREATE, "/r/.pre-commit-config.yaml", "flag flag:hooks"),
		ASK(CREATE, "/r/.gitattributes", "flag flag:git"),
		ASK(CREATE, "/r/tools/bazel", "flag flag:build"),
		ASK(CREATE, "/r/tools/other", "allow"),
	};

	(void)state;
	with_defaults(rows, CC_COUNT(rows));
}

static void names_open_before_the_globs(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/a/cacert.pem", "allow"),
		ASK(CREATE, "/r/cacert.pem/x.key", "deny name:**/*.key"),
		ASK(CREATE, "/r/.env.example", "allow"),
		ASK(CREATE, "/r/.env", "deny name:**/.env"),
		ASK(CREATE, "/r/x/testdata/deep/a.key", "allow"),
		ASK(CREATE, "/r/testdata", "allow"),
		ASK(CREATE, "/r/certs/dev.pem", "allow"),
		ASK(CREATE, "/r/sub/certs/dev.pem", "deny name:**/*.pem"),
		ASK(CREATE, "/r/certs/sub/dev.pem", "deny name:**/*.pem"),
		ASK(CREATE, "/r/node_modules/p/k.pem", "allow"),
		ASK(CREATE, "/r/node_modules/p/.git/hooks/x", "deny git:hooks"),
		ASK(CREATE, "/r/src/tracked.pem", "allow"),
		ASK(CREATE, "/r/other/src/tracked.pem", "deny name:**/*.pem"),
		ASK(CREATE, "/r/top.key", "allow"),
		ASK(CREATE, "/r/a/top.key", "deny name:**/*.key"),
		ASK(CREATE, "/r/d.pem/readme", "allow"),
		ASK(CREATE, "/r/d.pem/k.key", "deny name:**/*.key"),
		ASK(CREATE, "/home/u/.state/sessions/1.key", "allow"),
		ASK(CREATE, "/r/sessions/1.key", "deny name:**/*.key"),
		ASK(CREATE, "/home/u/.state/sessions/1.pem", "deny name:**/*.pem"),
	};
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_add(&rig, &rig.spec.policy.allow_names, "**/cacert.pem");
	rig_add(&rig, &rig.spec.policy.allow_names, ".env.example");
	rig_add(&rig, &rig.spec.policy.allow_names, "**/testdata/**");
	rig_add(&rig, &rig.spec.policy.allow_names, "certs/*.pem");
	rig_add(&rig, &rig.spec.policy.presets, "packages");
	rig_add(&rig, &rig.spec.policy.presets, "tracked");
	rig_add(&rig, &rig.facts.tracked, "src/tracked.pem");
	rig_add(&rig, &rig.facts.tracked, "top.key");
	rig_add(&rig, &rig.facts.tracked, "d.pem/readme");
	rig_add(&rig, &rig.facts.tracked, "we*rd.key");
	rig_add(&rig, &rig.facts.agent_names, "sessions/*.key");
	rig_compile(&rig);
	rig_check(&rig, rows, CC_COUNT(rows));
	rig_done(&rig);
}

static void paths_open_only_what_they_name(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/.vscode/settings.json", "allow"),
		ASK(CREATE, "/r/.vscode/tasks.json", "deny tool:editor"),
		ASK(CREATE, "/r/.husky/pre-commit", "allow"),
		ASK(CREATE, "/r/.husky/sub/.vscode/x", "deny tool:editor"),
		ASK(CREATE, "/r/.husky/x.key", "deny name:**/*.key"),
		ASK(WRITE, "/r/.git/config", "allow"),
		ASK(CREATE, "/r/.git/hooks/pre-push", "deny git:hooks"),
		ASK(MKDIR, "/r/.git/worktrees/w", "allow"),
		ASK(CREATE, "/r/.git/worktrees/w/commondir", "allow"),
		ASK(CREATE, "/r/.git/worktrees/w/config.worktree", "deny git:config"),
		ASK(CREATE, "/r/prot/x", "deny protected:/r/prot"),
		ASK(CREATE, "/r/locked/x", "deny deny-write:/r/locked"),
		ASK(RENAME_FROM, "/r/locked", "deny deny-write:/r/locked"),
		ASK(CREATE, "/r/db/a.sql", "deny deny-write:db/*.sql"),
		ASK(RENAME_FROM, "/r/db", "deny deny-write:db/*.sql"),
		ASK(MKDIR, "/r/db", "allow"),
		ASK(CREATE, "/r/x/db/a.sql", "allow"),
		ASK(CREATE, "/r/sub/prot2/x", "deny protected:/r/sub/prot2"),
		ASK(RENAME_FROM, "/r/sub", "deny protected:/r/sub/prot2"),
		ASK(RENAME_TO, "/r/sub", "deny protected:/r/sub/prot2"),
		ASK(CREATE, "/r/scripts/hook", "deny git:host-config"),
	};
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_add(&rig, &rig.spec.policy.allow_paths, "/r/.vscode/settings.json");
	rig_add(&rig, &rig.spec.policy.allow_paths, "/r/.husky");
	rig_add(&rig, &rig.spec.policy.allow_paths, "/r/.git/config");
	rig_add(&rig, &rig.spec.policy.allow_paths, "/r/.git/worktrees");
	rig_add(&rig, &rig.spec.policy.allow_paths, "/r/prot/x");
	rig_add(&rig, &rig.spec.policy.allow_paths, "/r/locked");
	rig_add(&rig, &rig.spec.policy.allow_paths, "/r");
	rig_add(&rig, &rig.spec.protected_paths, "/r/prot");
	rig_add(&rig, &rig.spec.protected_paths, "/r/sub/prot2");
	rig_add(&rig, &rig.spec.policy.deny_write, "/r/locked");
	rig_add(&rig, &rig.spec.policy.deny_write, "db/*.sql");
	rig_add(&rig, &rig.facts.git_paths, "/r/scripts/hook");
	rig_compile(&rig);
	rig_check(&rig, rows, CC_COUNT(rows));
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts_decide_first),
		cmocka_unit_test(names_hold_at_every_depth),
		cmocka_unit_test(git_keeps_working),
		cmocka_unit_test(git_cannot_be_turned_against_the_host),
		cmocka_unit_test(tool_files_are_denied_or_flagged),
		cmocka_unit_test(names_open_before_the_globs),
		cmocka_unit_test(paths_open_only_what_they_name),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
