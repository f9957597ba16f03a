#define _GNU_SOURCE
#include "work/git.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { GIT_MS = 600000 };

static const char *const plain[] = {
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_DEFAULT_REF_FORMAT=files",
	"GIT_PAGER=cat",
	"LC_ALL=C",
	"HOME=/nonexistent",
};
static const char *const settings[] = {
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.untrackedCache=false",
	"protocol.allow=never",
	"fetch.fsckObjects=true",
	"transfer.fsckObjects=true",
	"fetch.unpackLimit=1",
	"gc.auto=0",
	"maintenance.auto=false",
	"core.alternateRefsCommand=true",
	/* what a repository says beside its commits of who their parents are, and beside its packs of where things lie
	 */
	"core.commitGraph=false",
	"core.multiPackIndex=false",
	"commit.gpgSign=false",
	"submodule.recurse=false",
	"safe.directory=*",
};

enum cc_code cc_git_init(struct cc_git *git, char *const *env, struct cc_err *err)
{
	enum cc_code code;

	*git = (struct cc_git){.keep = -1};
	code = cc_proc_which("git", CC_PATH_SYSTEM, git->path, sizeof(git->path), err);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(plain); i++)
		code = cc_strv_push(&git->env, plain[i], err);
	if (code == CC_OK)
		code = cc_strv_pushf(&git->env, err, "PATH=%s", cc_env_path(env));
	return code;
}

void cc_git_done(struct cc_git *git)
{
	cc_strv_done(&git->env);
	*git = (struct cc_git){0};
}

enum cc_code cc_git_set(struct cc_git *git, struct cc_err *err, const char *fmt, ...)
{
	char text[2 * PATH_MAX];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		return cc_fail(err, CC_EINVAL, 0, "a path is too long for git");
	return cc_strv_set_env(&git->env, text, err);
}

enum cc_code cc_git_persons(struct cc_git *git, char *const *env, struct cc_err *err)
{
	static const char *const names[] = {"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"};
	struct cc_strv kept = {0};
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < git->env.count; i++)
		if (!cc_view_starts(cc_view_of(git->env.items[i]), "GIT_CONFIG_"))
			code = cc_strv_push(&kept, git->env.items[i], err);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(names); i++) {
		const char *value = cc_env_get(env, names[i]);
		char text[PATH_MAX + 32];

		if (value && (size_t)snprintf(text, sizeof(text), "%s=%s", names[i], value) < sizeof(text))
			code = cc_strv_set_env(&kept, text, err);
	}
	cc_strv_done(&git->env);
	git->env = kept;
	return code;
}

static enum cc_code words_of(const struct cc_git *git, const char *const *words, struct cc_strv *argv,
			     struct cc_err *err)
{
	enum cc_code code = cc_strv_push(argv, git->path, err);

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(settings); i++) {
		code = cc_strv_push(argv, "-c", err);
		if (code == CC_OK)
			code = cc_strv_push(argv, settings[i], err);
	}
	for (; code == CC_OK && *words; words++)
		code = cc_strv_push(argv, *words, err);
	return code;
}

enum cc_code cc_git_begin(const struct cc_git *git, const char *dir, const int stdio[3], const char *const *words,
			  struct cc_child *out_child, struct cc_err *err)
{
	struct cc_strv argv = {0};
	struct cc_spawn how = {.envp = git->env.items,
			       .cwd = dir,
			       .stdio = {stdio[0], stdio[1], stdio[2]},
			       .keep = {git->keep},
			       .keep_count = git->keep >= 0,
			       .new_session = true,
			       .die_with_parent = true};
	enum cc_code code = words_of(git, words, &argv, err);

	how.argv = argv.items;
	if (code == CC_OK)
		code = cc_proc_spawn(&how, out_child, err);
	cc_strv_done(&argv);
	return code;
}

enum cc_code cc_git_run(const struct cc_git *git, const char *dir, size_t max, struct cc_buf *out,
			const char *const *words, struct cc_err *err)
{
	struct cc_strv argv = {0};
	struct cc_capture capture = {0};
	const char *what = strcmp(words[0], "-c") == 0 ? words[2] : words[0];
	int status = 0;
	enum cc_code code = words_of(git, words, &argv, err);

	cc_buf_init(out, max);
	if (code == CC_OK)
		code = cc_capture_start_keeping(argv.items, git->env.items, dir, git->keep, &capture, err);
	if (code == CC_OK)
		code = cc_capture_finish(&capture, GIT_MS, out, &status, err);
	cc_strv_done(&argv);
	if (code == CC_OK && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		code = cc_fail(err, CC_EPOLICY, 0, "git %s failed in %.200s; nothing of it is to be trusted", what,
			       dir);
	return code == CC_OK ? cc_buf_check(out, "git's answer", err) : code;
}

enum cc_code cc_git_line(const struct cc_git *git, const char *dir, char *out, size_t cap, const char *const *words,
			 struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code = cc_git_run(git, dir, cap + 1, &text, words, err);
	size_t len = text.data ? strcspn(text.data, "\n") : 0;

	if (code == CC_OK && (len >= cap || strlen(text.data ? text.data : "") != text.len || len + 1 < text.len))
		code = cc_fail(err, CC_EPROTO, 0, "git %s gave no answer of one line in %.200s", words[0], dir);
	if (code == CC_OK) {
		memcpy(out, text.data ? text.data : "", len);
		out[len] = '\0';
	}
	cc_buf_done(&text);
	return code;
}

enum cc_code cc_git_do(const struct cc_git *git, const char *dir, const char *const *words, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code = cc_git_run(git, dir, 65536, &text, words, err);

	cc_buf_done(&text);
	return code;
}

bool cc_git_is_oid(const char *text)
{
	size_t len = strlen(text);

	for (const char *at = text; *at; at++)
		if (cc_hex_value(*at) < 0 || (*at >= 'A' && *at <= 'F'))
			return false;
	return len == 40 || len == CC_GIT_OID;
}

enum cc_code cc_git_commit(const struct cc_git *git, const char *dir, const char *name, char out[CC_GIT_OID + 1],
			   struct cc_err *err)
{
	char commit[512], id[CC_GIT_OID + 1];
	const char *const words[] = {"rev-parse", "--verify", "--quiet", "--end-of-options", commit, NULL};
	enum cc_code code;

	if ((size_t)snprintf(commit, sizeof(commit), "%s^{commit}", name) >= sizeof(commit))
		return cc_fail(err, CC_EINVAL, 0, "%.80s... is too long", name);
	code = cc_git_line(git, dir, id, sizeof(id), words, err);
	if (code == CC_EPOLICY || (code == CC_OK && !cc_git_is_oid(id)))
		return cc_fail(err, CC_ENOTFOUND, 0, "%.200s names no commit in %.150s", name, dir);
	if (code == CC_OK)
		memcpy(out, id, sizeof(id));
	return code;
}

enum cc_code cc_git_start(const struct cc_git *git, const char *dir, const char *like, struct cc_err *err)
{
	const char *const words[] = {"init",
				     "-q",
				     "--bare",
				     "--template=",
				     strlen(like) == CC_GIT_OID ? "--object-format=sha256" : "--object-format=sha1",
				     ".",
				     NULL};

	return cc_git_do(git, dir, words, err);
}

const char *cc_git_empty_tree(const char *like)
{
	return strlen(like) == CC_GIT_OID ? "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
					  : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}
