#define _GNU_SOURCE
#include "session/gitsettings.h"

#include "base/buf.h"
#include "base/mem.h"
#include "os/proc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS_MAX = 8 << 20, GIT_TIMEOUT_MS = 10000, REFS_MAX = 2000 };

/* Keys that only change what git shows or how it names things; nothing here is run or opened. A trailing '*' stands for
 * any rest. git prints keys in lower case. */
static const char *const lent[] = {
	"user.name",
	"user.email",
	"init.defaultbranch",
	"core.autocrlf",
	"core.eol",
	"core.quotepath",
	"core.abbrev",
	"core.safecrlf",
	"core.whitespace",
	"pull.rebase",
	"pull.ff",
	"push.default",
	"push.autosetupremote",
	"push.followtags",
	"fetch.prune",
	"fetch.prunetags",
	"merge.conflictstyle",
	"merge.ff",
	"diff.algorithm",
	"diff.renames",
	"diff.colormoved",
	"diff.mnemonicprefix",
	"color.*",
	"column.ui",
	"rerere.enabled",
	"log.date",
	"log.decorate",
	"commit.verbose",
	"commit.cleanup",
	"tag.sort",
	"branch.sort",
	"rebase.autosquash",
	"rebase.autostash",
	"rebase.updaterefs",
	"status.short",
	"status.branch",
	"advice.*",
	"safe.directory",
};

/* Keys whose value is a path or a command of the host; '*' stands for any run of characters. */
static const char *const executed[] = {
	"core.hookspath",
	"include.path",
	"includeif.*.path",
	"core.attributesfile",
	"core.excludesfile",
	"core.fsmonitor",
	"core.sshcommand",
	"core.editor",
	"core.pager",
	"core.askpass",
	"core.gitproxy",
	"sequence.editor",
	"filter.*",
	"diff.*.command",
	"diff.*.textconv",
	"diff.external",
	"merge.*.driver",
	"mergetool.*",
	"difftool.*",
	"gpg.program",
	"gpg.*.program",
	"gpg.ssh.*",
	"credential.helper",
	"credential.*.helper",
	"alias.*",
	"pager.*",
	"interactive.*",
	"trailer.*",
	"init.templatedir",
	"uploadpack.*",
	"remote.*.vcs",
	"remote.*.uploadpack",
	"remote.*.receivepack",
	"sendemail.*",
	"web.browser",
	"browser.*",
	"man.*",
	"commit.template",
	"blame.ignorerevsfile",
};

static bool like(const char *pattern, const char *text)
{
	const char *star = strchr(pattern, '*');
	size_t head = star ? (size_t)(star - pattern) : strlen(pattern);
	size_t tail = star ? strlen(star + 1) : 0;
	size_t len = strlen(text);

	if (!star)
		return strcmp(pattern, text) == 0;
	return len >= head + tail && strncmp(pattern, text, head) == 0 && strcmp(star + 1, text + len - tail) == 0;
}

static bool in_table(const char *const *table, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (like(table[i], key))
			return true;
	return false;
}

/* "." and ".." worked out by name, in place: the path is absolute, and what it names need not exist. */
static void clean(char *path)
{
	size_t len = 0;

	for (const char *at = path; *at;) {
		size_t part = strcspn(++at, "/");

		if (part == 2 && at[0] == '.' && at[1] == '.') {
			while (len > 0 && path[--len] != '/')
				;
		} else if (part > 0 && !(part == 1 && at[0] == '.')) {
			path[len++] = '/';
			memmove(path + len, at, part);
			len += part;
		}
		at += part;
	}
	if (len == 0)
		path[len++] = '/';
	path[len] = '\0';
}

static enum cc_code add_path(struct cc_git_settings *settings, const char *text, const char *dir, const char *home,
			     bool must_exist, struct cc_err *err)
{
	char path[PATH_MAX];
	char resolved[PATH_MAX];
	int len;

	if (text[0] == '~' && text[1] == '/')
		len = snprintf(path, sizeof(path), "%s%s", home, text + 1);
	else
		len = snprintf(path, sizeof(path), "%s%s%s", text[0] == '/' ? "" : dir, text[0] == '/' ? "" : "/",
			       text);
	if (len < 0 || (size_t)len >= sizeof(path) || (must_exist && access(path, F_OK) < 0))
		return CC_OK;
	if (realpath(path, resolved))
		return cc_strv_push(&settings->paths, resolved, err);
	if (path[0] != '/')
		return CC_OK;
	clean(path);
	return cc_strv_push(&settings->paths, path, err);
}

/* What a file includes is named from where the file lies. */
static enum cc_code add_included(struct cc_git_settings *settings, const char *origin, const char *value,
				 const char *dir, const char *home, struct cc_err *err)
{
	const char *file = strncmp(origin, "file:", 5) == 0 ? origin + 5 : "";
	const char *slash = strrchr(file, '/');
	char base[PATH_MAX];
	int len = snprintf(base, sizeof(base), "%s%s%.*s", file[0] == '/' ? "" : dir, file[0] == '/' ? "" : "/",
			   slash ? (int)(slash - file) : 0, file);

	if (len < 0 || (size_t)len >= sizeof(base))
		return CC_OK;
	return add_path(settings, value, base, home, false, err);
}

/* A value may be a path or a whole command line: each word that could be a file counts. */
static enum cc_code add_words(struct cc_git_settings *settings, const char *value, const char *dir, const char *home,
			      struct cc_err *err)
{
	static const char breaks[] = " \t\n;&|()<>\"'`$!=";
	char word[PATH_MAX];
	enum cc_code code = CC_OK;

	while (code == CC_OK && *value) {
		size_t len = strcspn(value, breaks);

		if (len && len < sizeof(word)) {
			memcpy(word, value, len);
			word[len] = '\0';
			code = add_path(settings, word, dir, home, !strchr(word, '/'), err);
		}
		value += len + (value[len] != '\0');
	}
	return code;
}

/* "section.sub.key" -> the lines of a file; the subsection keeps its case. */
static enum cc_code lend(struct cc_git_settings *settings, const char *key, const char *value, struct cc_err *err)
{
	const char *first = strchr(key, '.');
	const char *last = strrchr(key, '.');
	enum cc_code code;

	if (!first || strpbrk(value, "\n\r\"\\") || strpbrk(key, "\n\"\\]"))
		return CC_OK;
	if (first == last)
		code = cc_strv_pushf(&settings->lend, err, "[%.*s]", (int)(first - key), key);
	else
		code = cc_strv_pushf(&settings->lend, err, "[%.*s \"%.*s\"]", (int)(first - key), key,
				     (int)(last - first - 1), first + 1);
	if (code == CC_OK)
		code = cc_strv_pushf(&settings->lend, err, "\t%s = \"%s\"", last + 1, value);
	return code;
}

enum cc_code cc_git_settings_take(struct cc_git_settings *settings, const char *scope, const char *origin,
				  const char *key, const char *value, const char *dir, const char *home,
				  struct cc_err *err)
{
	bool local = strcmp(scope, "local") == 0 || strcmp(scope, "worktree") == 0;
	enum cc_code code = CC_OK;

	/* a file that the configuration includes is configuration itself; the repository's own files have their rules
	 */
	if (strncmp(origin, "file:", 5) == 0 && !local)
		code = add_path(settings, origin + 5, dir, home, true, err);
	if (code == CC_OK && in_table(executed, CC_COUNT(executed), key))
		code = add_words(settings, value, dir, home, err);
	if (code == CC_OK && strncmp(key, "include", 7) == 0)
		code = add_included(settings, origin, value, dir, home, err);
	if (code == CC_OK && !local && in_table(lent, CC_COUNT(lent), key))
		code = lend(settings, key, value, err);
	return code;
}

/* Git may find anything in the environment; it gets what it needs to find its configuration. */
static enum cc_code git_env(char *const *env, struct cc_strv *out_env, struct cc_err *err)
{
	static const char *const names[] = {
		"HOME=", "XDG_CONFIG_HOME=", "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM="};
	enum cc_code code = cc_strv_push(out_env, "LC_ALL=C", err);

	for (; code == CC_OK && env && *env; env++)
		for (size_t i = 0; code == CC_OK && i < CC_COUNT(names); i++)
			if (strncmp(*env, names[i], strlen(names[i])) == 0)
				code = cc_strv_push(out_env, *env, err);
	return code;
}

static enum cc_code run_git(char *const *argv, const char *dir, char *const *env, struct cc_buf *out, int *out_status,
			    struct cc_err *err)
{
	struct cc_strv mine = {0};
	enum cc_code code = git_env(env, &mine, err);

	if (code == CC_OK)
		code = cc_proc_capture(argv, mine.items, dir, GIT_TIMEOUT_MS, out, out_status, err);
	cc_strv_done(&mine);
	return code;
}

/* scope NUL origin NUL key LF value NUL ...; a key without a value has no LF. */
static enum cc_code take_all(struct cc_git_settings *settings, struct cc_buf *text, const char *dir, const char *home,
			     struct cc_err *err)
{
	char *at = text->data;
	char *end = text->data + text->len;
	enum cc_code code = CC_OK;

	while (code == CC_OK && at < end) {
		char *field[3];
		char *value;

		for (int i = 0; i < 3; i++) {
			field[i] = at;
			at = at < end ? at + strlen(at) + 1 : end;
		}
		if (at > end || field[2] >= end)
			return cc_fail(err, CC_EPROTO, 0, "git config answered in an unknown form");
		value = strchr(field[2], '\n');
		if (value)
			*value++ = '\0';
		code = cc_git_settings_take(settings, field[0], field[1], field[2], value ? value : "true", dir, home,
					    err);
	}
	return code;
}

enum cc_code cc_git_settings_ask(const char *dir, char *const *env, struct cc_capture *out_asked, struct cc_err *err)
{
	char git[PATH_MAX];
	char *argv[] = {git, "config", "--list", "--show-scope", "--show-origin", "-z", NULL};
	struct cc_strv mine = {0};
	enum cc_code code;

	if (cc_proc_which("git", CC_PATH_SYSTEM, git, sizeof(git), NULL) != CC_OK)
		return CC_OK;
	code = git_env(env, &mine, err);
	if (code == CC_OK)
		code = cc_capture_start(argv, mine.items, dir, out_asked, err);
	cc_strv_done(&mine);
	return code;
}

enum cc_code cc_git_settings_answer(struct cc_capture *asked, const char *dir, const char *home,
				    struct cc_git_settings *out_settings, struct cc_err *err)
{
	struct cc_git_settings settings = {0};
	struct cc_buf text;
	int status = 0;
	enum cc_code code;

	*out_settings = settings;
	if (!asked->running)
		return CC_OK;
	cc_buf_init(&text, SETTINGS_MAX);
	code = cc_capture_finish(asked, GIT_TIMEOUT_MS, &text, &status, err);
	if (code == CC_OK && status != 0)
		code = cc_fail(err, CC_EPROTO, 0,
			       "`git config --list` fails in %s: repair the git configuration first, since "
			       "the paths it executes must be known",
			       dir);
	if (code == CC_OK && text.len)
		code = take_all(&settings, &text, dir, home, err);
	cc_buf_done(&text);
	if (code != CC_OK) {
		cc_git_settings_done(&settings);
		return code;
	}
	*out_settings = settings;
	return CC_OK;
}

void cc_git_settings_done(struct cc_git_settings *settings)
{
	cc_strv_done(&settings->lend);
	cc_strv_done(&settings->paths);
}

static enum cc_code take_names(struct cc_buf *text, struct cc_strv *names, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (char *at = text->data; code == CC_OK && text->len && at < text->data + text->len; at += strlen(at) + 1)
		code = cc_strv_push(names, at, err);
	return code;
}

enum cc_code cc_git_tracked_names(const char *dir, char *const *env, struct cc_strv *out_names, struct cc_err *err)
{
	char git[PATH_MAX];
	char *refs_argv[] = {git, "for-each-ref", "--format=%(objectname)", NULL};
	struct cc_buf refs;
	struct cc_buf text;
	int status = 0;
	int count = 0;
	enum cc_code code = cc_proc_which("git", CC_PATH_SYSTEM, git, sizeof(git), err);

	cc_buf_init(&refs, SETTINGS_MAX);
	if (code == CC_OK)
		code = run_git(refs_argv, dir, env, &refs, &status, err);
	for (char *line = refs.data; code == CC_OK && refs.len && line && *line && count < REFS_MAX; count++) {
		char *end = strchr(line, '\n');
		char *argv[] = {git, "ls-tree", "-r", "--name-only", "-z", "--full-tree", line, NULL};

		if (end)
			*end = '\0';
		cc_buf_init(&text, 256 << 20);
		code = run_git(argv, dir, env, &text, &status, err);
		if (code == CC_OK && status == 0)
			code = take_names(&text, out_names, err);
		cc_buf_done(&text);
		line = end ? end + 1 : NULL;
	}
	cc_buf_done(&refs);
	return code;
}
