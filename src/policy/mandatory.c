/* mandatory.c - the mandatory rules (contract 6.6; attacks 4, 5, 9-11, D), in the order in which they are reported.
 * Each row was shown to run code on the host later, or stops something that was. */
#include "policy/defaults.h"

#define V(verb) CC_VERB_BIT(CC_VERB_##verb)
#define MAKES   (V(CREATE) | V(MKDIR) | V(MKNOD) | V(BIND) | V(SYMLINK) | V(LINK_TO) | V(RENAME_TO))
/* git tries chmod on its config to learn whether modes hold: judged files keep MODE free. */
#define CONTENT (CC_VERBS_WRITE & ~(V(MODE) | V(MKDIR)))

#define GIT(pattern, id, reason)                                                                                       \
	{                                                                                                              \
		pattern, CC_EFFECT_DENY, CC_JUDGE_NONE, CC_VERBS_WRITE, true, false, 0, CC_OPENS_PATH, "git:" id,      \
			reason                                                                                         \
	}
#define GIT_VERBS(pattern, verbs, id, reason)                                                                          \
	{                                                                                                              \
		pattern, CC_EFFECT_DENY, CC_JUDGE_NONE, verbs, true, true, 0, CC_OPENS_PATH, "git:" id, reason         \
	}
#define GIT_ADD(pattern, fixed, id, reason)                                                                            \
	{                                                                                                              \
		pattern, CC_EFFECT_DENY, CC_JUDGE_NONE, MAKES | V(RENAME_FROM), true, true, fixed, CC_OPENS_PATH,      \
			"git:" id, reason                                                                              \
	}
#define JUDGED(pattern, judge, fixed, id, reason)                                                                      \
	{                                                                                                              \
		pattern, CC_EFFECT_JUDGE, judge, CONTENT, true, false, fixed, CC_OPENS_PATH, "git:" id, reason         \
	}
#define SURROUNDED(pattern, verbs, reason)                                                                             \
	{                                                                                                              \
		pattern, CC_EFFECT_JUDGE, CC_JUDGE_BARE, verbs, true, true, 0, CC_OPENS_PATH, "git:bare", reason       \
	}
#define BARE(pattern)                                                                                                  \
	SURROUNDED(pattern, V(CREATE) | V(MKDIR) | V(SYMLINK) | V(LINK_TO) | V(RENAME_TO),                             \
		   "a repository assembled out of its parts runs the commands of its own configuration")
/* In a repository that is there already: what its host's git would run. */
#define BARE_CONTENT(pattern)                                                                                          \
	SURROUNDED(pattern, V(CREATE) | V(WRITE) | V(SYMLINK) | V(LINK_TO) | V(RENAME_TO),                             \
		   "in a repository without a work tree of its own, git runs what it names")
#define GIT_SAFE(pattern, verbs, id, reason)                                                                           \
	{                                                                                                              \
		pattern, CC_EFFECT_ALLOW, CC_JUDGE_NONE, verbs, true, true, 0, CC_OPENS_NOTHING, "git:" id, reason     \
	}
/* What an interrupted operation goes on with. git makes, empties and removes its directory; nothing else gives a file
 * there another content. */
#define OPERATION(pattern, effect, judge, reason)                                                                      \
	{                                                                                                              \
		pattern, effect, judge, CONTENT & ~(V(UNLINK) | V(RMDIR) | V(RENAME_FROM)), true, false, 0,            \
			CC_OPENS_PATH, "git:operation", reason                                                         \
	}
#define TODO(dir)                                                                                                      \
	OPERATION(dir "/rebase-merge/git-rebase-todo", CC_EFFECT_JUDGE, CC_JUDGE_TODO,                                 \
		  "git rebase --continue runs what it lists")
#define STRATEGY(dir)                                                                                                  \
	OPERATION(dir "/rebase-merge/strategy", CC_EFFECT_DENY, CC_JUDGE_NONE, "git runs the program that it names")
#define OPTIONS(dir)                                                                                                   \
	OPERATION(dir "/sequencer/opts", CC_EFFECT_JUDGE, CC_JUDGE_CONFIG, "it names a program that git runs")
/* git's own gc, prune and branch -d take these away; rm -rf does not. */
#define HISTORY(pattern, fixed)                                                                                        \
	{                                                                                                              \
		pattern, CC_EFFECT_JUDGE, CC_JUDGE_HISTORY, V(UNLINK), true, false, fixed, CC_OPENS_PATH,              \
			"git:history", "only git itself takes objects and references of a repository away"             \
	}
#define DENY(pattern, opener, id, reason)                                                                              \
	{                                                                                                              \
		pattern, CC_EFFECT_DENY, CC_JUDGE_NONE, CC_VERBS_WRITE, false, false, 0, opener, id, reason            \
	}
#define SHELL(pattern)  DENY(pattern, CC_OPENS_PATH, "shell:start-up", "a shell or its tools run it at start")
#define HOOK(pattern)   DENY(pattern, CC_OPENS_TOOLING, "tool:hooks", "a git hook manager runs it")
#define ENVRC(pattern)  DENY(pattern, CC_OPENS_TOOLING, "tool:env", "it runs when the directory is entered")
#define EDITOR(pattern) DENY(pattern, CC_OPENS_TOOLING, "tool:editor", "an editor runs what it names")
#define PACKAGE(pattern)                                                                                               \
	DENY(pattern, CC_OPENS_TOOLING, "tool:package-manager", "a package manager runs or trusts what it names")
#define AGENT(pattern) DENY(pattern, CC_OPENS_PATH, "agent:config", "an agent on the host runs what it names")
#define FLAG(pattern, id, reason)                                                                                      \
	{                                                                                                              \
		pattern, CC_EFFECT_FLAG, CC_JUDGE_NONE, CC_VERBS_WRITE, false, false, 0, CC_OPENS_PATH, id, reason     \
	}
#define CI(pattern)    FLAG(pattern, "flag:ci", "a server runs it after a push")
#define BUILD(pattern) FLAG(pattern, "flag:build", "a build wrapper or version manager obeys it")

const struct cc_default_rule cc_default_rules[] = {
	GIT(".git/hooks/**", "hooks", "git runs it"),
	GIT(".git/modules/**/hooks/**", "hooks", "git runs it"),
	GIT_VERBS(".git/hooks", V(MODE), "hooks", "a hook that cannot be reached does not run"),
	GIT(".git/info/attributes", "attributes", "it chooses filters that git runs"),
	GIT(".git/modules/**/info/attributes", "attributes", "it chooses filters that git runs"),
	GIT(".git/info/grafts", "grafts", "it changes what a review shows"),
	GIT(".git/objects/info/alternates", "alternates", "it brings in another repository's objects"),
	GIT(".git/objects/info/http-alternates", "alternates", "it brings in another repository's objects"),
	GIT(".git/modules/**/objects/info/alternates", "alternates", "it brings in another repository's objects"),
	GIT(".git/refs/replace/**", "replace", "it changes what a review shows"),
	GIT(".git/remotes/**", "remotes", "an old way to name remotes, outside the configuration that is judged"),
	GIT(".git/branches/**", "remotes", "an old way to name remotes, outside the configuration that is judged"),
	GIT(".git/fsmonitor--daemon*", "fsmonitor", "git on the host talks to it"),
	GIT(".lfsconfig", "lfsconfig", "git-lfs runs what it names"),
	GIT(".gitmodules", "gitmodules", "it names repositories that git fetches and updates by command"),
	GIT(".gitconfig", "gitconfig", "git configuration of a home directory"),
	GIT_VERBS(".git/HEAD", V(UNLINK) | V(RMDIR) | V(RENAME_FROM), "skeleton", "without it git looks further up"),
	GIT_VERBS(".git/objects", V(UNLINK) | V(RMDIR) | V(RENAME_FROM), "skeleton", "without it git looks further up"),
	GIT_VERBS(".git/refs", V(UNLINK) | V(RMDIR) | V(RENAME_FROM), "skeleton", "without it git looks further up"),
	{".git/**", CC_EFFECT_DENY, CC_JUDGE_NONE, V(SYMLINK) | V(MKNOD) | V(BIND), true, false, 0, CC_OPENS_PATH,
	 "git:links", "a link or special file in a git directory turns git on the host into a writer elsewhere"},
	GIT_SAFE(".git/t??????", V(SYMLINK), "probe", "git init tries whether links hold"),
	GIT_SAFE(".git/hooks/*.sample", V(CREATE) | V(WRITE) | V(MODE) | V(UNLINK) | V(RENAME_FROM), "sample",
		 "git never runs a sample"),
	JUDGED(".git/config", CC_JUDGE_CONFIG, 0, "config", "git configuration names commands"),
	JUDGED(".git/config.worktree", CC_JUDGE_CONFIG, 0, "config", "git configuration names commands"),
	JUDGED(".git/modules/**/config", CC_JUDGE_CONFIG, 0, "config", "git configuration names commands"),
	JUDGED(".git/modules/**/config.worktree", CC_JUDGE_CONFIG, 0, "config", "git configuration names commands"),
	JUDGED(".git/worktrees/**/config", CC_JUDGE_CONFIG, 0, "config", "git configuration names commands"),
	JUDGED(".git/worktrees/**/config.worktree", CC_JUDGE_CONFIG, 0, "config", "git configuration names commands"),
	{".git", CC_EFFECT_JUDGE, CC_JUDGE_POINTER, CONTENT & ~V(RMDIR), true, true, 0, CC_OPENS_PATH, "git:pointer",
	 "it points git at another repository"},
	JUDGED(".git/commondir", CC_JUDGE_POINTER, 0, "pointer", "it points git at another repository"),
	JUDGED(".git/gitdir", CC_JUDGE_POINTER, 0, "pointer", "it points git at another repository"),
	JUDGED(".git/modules/**/commondir", CC_JUDGE_POINTER, 0, "pointer", "it points git at another repository"),
	JUDGED(".git/modules/**/gitdir", CC_JUDGE_POINTER, 0, "pointer", "it points git at another repository"),
	JUDGED(".git/worktrees/*/commondir", CC_JUDGE_POINTER, 2, "pointer", "it points git at another repository"),
	JUDGED(".git/worktrees/*/gitdir", CC_JUDGE_POINTER, 2, "pointer", "it points git at another repository"),
	HISTORY(".git/objects/**", 2),
	HISTORY(".git/refs/**", 2),
	HISTORY(".git/packed-refs", 0),
	HISTORY(".git/modules/**/objects/**", 2),
	HISTORY(".git/modules/**/refs/**", 2),
	HISTORY(".git/modules/**/packed-refs", 2),
	TODO(".git"),
	TODO(".git/worktrees/*"),
	TODO(".git/modules/**"),
	STRATEGY(".git"),
	STRATEGY(".git/worktrees/*"),
	STRATEGY(".git/modules/**"),
	OPTIONS(".git"),
	OPTIONS(".git/worktrees/*"),
	OPTIONS(".git/modules/**"),
	GIT_ADD(".git/worktrees/*", 2, "worktree-add", "a linked work tree is a new entrance to the repository"),
	GIT_ADD(".git/modules/*", 2, "submodule-add", "a submodule brings a repository with its own configuration"),
	BARE("HEAD"),
	BARE("objects"),
	BARE("refs"),
	BARE_CONTENT("config"),
	BARE_CONTENT("config.worktree"),
	BARE_CONTENT("commondir"),
	SURROUNDED("hooks", V(SYMLINK) | V(RENAME_TO), "in a repository, git runs what lies in it"),
	BARE_CONTENT("hooks/*"),
	SHELL(".bashrc"),
	SHELL(".bash_profile"),
	SHELL(".bash_login"),
	SHELL(".bash_logout"),
	SHELL(".bash_aliases"),
	SHELL(".profile"),
	SHELL(".zshrc"),
	SHELL(".zprofile"),
	SHELL(".zshenv"),
	SHELL(".zlogin"),
	SHELL(".zlogout"),
	SHELL(".ripgreprc"),
	HOOK(".husky"),
	HOOK(".githooks"),
	HOOK("lefthook*"),
	HOOK(".lefthook*"),
	HOOK(".overcommit.yml"),
	ENVRC(".envrc"),
	ENVRC(".direnv"),
	EDITOR(".vscode"),
	EDITOR(".idea"),
	EDITOR(".zed"),
	EDITOR(".helix"),
	EDITOR(".fleet"),
	EDITOR(".devcontainer*"),
	EDITOR("*.code-workspace"),
	EDITOR(".exrc"),
	EDITOR(".vimrc"),
	EDITOR(".nvimrc"),
	EDITOR(".nvim.lua"),
	EDITOR(".lvimrc"),
	EDITOR(".dir-locals.el"),
	EDITOR("pyrightconfig.json"),
	PACKAGE(".npmrc"),
	PACKAGE(".yarnrc"),
	PACKAGE(".yarnrc.yml"),
	PACKAGE(".yarn/releases/**"),
	PACKAGE(".yarn/plugins/**"),
	PACKAGE(".pnpmfile.*"),
	PACKAGE("bunfig.toml"),
	PACKAGE(".bunfig.toml"),
	PACKAGE(".cargo/config*"),
	AGENT(".mcp.json"),
	AGENT(".claude.json"),
	AGENT(".claude/settings*.json"),
	AGENT(".claude/hooks"),
	AGENT(".claude/commands"),
	AGENT(".claude/agents"),
	AGENT(".claude/skills"),
	AGENT(".claude/plugins"),
	AGENT(".claude/rules"),
	AGENT(".claude/workflows"),
	AGENT(".claude/routines"),
	AGENT(".claude/output-styles"),
	AGENT(".claude/scheduled_tasks.json"),
	AGENT(".claude/launch.json"),
	AGENT(".claude/loop.md"),
	AGENT(".cursor"),
	AGENT(".gemini"),
	AGENT(".codex"),
	AGENT(".opencode"),
	AGENT("opencode.json"),
	AGENT("opencode.jsonc"),
	AGENT(".goose"),
	AGENT(".kiro"),
	AGENT(".windsurf"),
	AGENT(".continue"),
	AGENT(".roo"),
	AGENT(".qwen"),
	AGENT(".agents"),
	AGENT(".aider.conf.yml"),
	AGENT(".crush.json"),
	DENY(".ccbox.jsonc", CC_OPENS_NOTHING, "ccbox:policy", "it is this sandbox's own policy"),
	/* between its making and its rename nobody else may hold it open for writing */
	DENY(".ccbox-judged-*", CC_OPENS_NOTHING, "ccbox:own",
	     "the gate lays judged content there before it takes its name"),
	CI(".github/workflows"),
	CI(".github/actions"),
	CI(".github/hooks"),
	CI(".gitlab-ci.yml"),
	CI(".circleci"),
	CI("Jenkinsfile"),
	FLAG(".pre-commit-config.yaml", "flag:hooks", "a git hook manager runs it"),
	FLAG(".gitattributes", "flag:git", "it chooses filters and merge drivers"),
	BUILD(".tool-versions"),
	BUILD("mise.toml"),
	BUILD(".mise.toml"),
	BUILD(".mise"),
	BUILD(".nvmrc"),
	BUILD(".python-version"),
	BUILD("rust-toolchain"),
	BUILD("rust-toolchain.toml"),
	BUILD(".bazelrc"),
	BUILD(".bazeliskrc"),
	BUILD(".bazelversion"),
	BUILD("tools/bazel"),
	BUILD(".mvn"),
	BUILD("gradle-wrapper.*"),
	BUILD("maven-wrapper.*"),
	BUILD(".pnp.*"),
	FLAG("AGENTS.md", "flag:instructions", "an agent on the host reads it as instructions"),
	FLAG("CLAUDE.md", "flag:instructions", "an agent on the host reads it as instructions"),
};
const size_t cc_default_rule_count = CC_COUNT(cc_default_rules);
