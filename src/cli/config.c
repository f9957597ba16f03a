#define _GNU_SOURCE
#include "cli/config.h"

#include "guard/actions.h"
#include "os/fd.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLICY_MAX = 1 << 20 };

static bool home_path(char *const *env, const char *variable, const char *fallback, const char *rest, char *out,
		      size_t cap)
{
	const char *base = cc_env_get(env, variable);
	const char *home = cc_env_get(env, "HOME");

	if (base && base[0] == '/')
		return (size_t)snprintf(out, cap, "%s/%s", base, rest) < cap;
	return home && home[0] == '/' && (size_t)snprintf(out, cap, "%s/%s/%s", home, fallback, rest) < cap;
}

bool cc_state_home(char *const *env, char *out, size_t cap)
{
	return home_path(env, "XDG_STATE_HOME", ".local/state", "ccbox", out, cap);
}

/* A link that leads nowhere is a file that cannot be read, not one that is absent. */
static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Names of classes are the guard's, which the reader of files does not know. */
static enum cc_code check_actions(const char *path, enum cc_policy_source source, const struct cc_strv *actions,
				  struct cc_err *err)
{
	struct cc_action_rule rule;
	struct cc_err why;

	for (size_t i = 0; i < actions->count; i++) {
		if (cc_action_stored(actions->items[i], &rule, &why) != CC_OK)
			return cc_fail(err, CC_EINVAL, 0, "%s: actions: %.300s", path, why.what);
		if (source == CC_POLICY_PROJECT && rule.verdict == CC_GUARD_ALLOW)
			return cc_fail(err, CC_EINVAL, 0, "%s: actions: a project file may only tighten, not say %s",
				       path, actions->items[i]);
	}
	return CC_OK;
}

enum cc_code cc_config_read(const char *path, enum cc_policy_source source, bool must, struct cc_policy *policy,
			    struct cc_err *err)
{
	struct cc_policy read;
	struct cc_buf text;
	enum cc_code code;

	cc_policy_init(&read);
	cc_buf_init(&text, POLICY_MAX);
	code = cc_fd_read_file(path, &text, err);
	if (code == CC_OK) {
		code = cc_policyfile_parse(path, cc_buf_view(&text), source, &read, err);
		if (code == CC_OK)
			code = check_actions(path, source, &read.actions, err);
		if (code == CC_OK)
			code = cc_policy_merge(policy, &read, err);
	} else if (code == CC_ENOTFOUND && !must && !is_there(path))
		code = CC_OK;
	cc_buf_done(&text);
	cc_policy_done(&read);
	return code;
}

/* The project's own file: the nearest one upwards from where the person stands, up to the git top. */
static enum cc_code read_project(const char *cwd, struct cc_policy *policy, struct cc_err *err)
{
	char dir[PATH_MAX];
	char path[PATH_MAX + 32];

	if (!realpath(cwd, dir))
		return cc_fail(err, CC_ENOTFOUND, errno, "the current directory");
	for (;;) {
		char *slash = strrchr(dir, '/');

		snprintf(path, sizeof(path), "%s/.ccbox.jsonc", dir);
		if (is_there(path))
			return cc_config_read(path, CC_POLICY_PROJECT, true, policy, err);
		snprintf(path, sizeof(path), "%s/.git", dir);
		if (access(path, F_OK) == 0 || slash == dir)
			return CC_OK;
		*slash = '\0';
	}
}

/* "~/x" and relative paths become absolute; what exists is resolved. */
static enum cc_code absolute(const char *text, const char *cwd, char *const *env, char out[PATH_MAX],
			     struct cc_err *err)
{
	char joined[PATH_MAX];
	const char *home = cc_env_get(env, "HOME");
	int len;

	if (text[0] == '~' && (text[1] == '/' || !text[1]) && home)
		len = snprintf(joined, sizeof(joined), "%s%s", home, text + 1);
	else
		len = snprintf(joined, sizeof(joined), "%s%s%s", text[0] == '/' ? "" : cwd, text[0] == '/' ? "" : "/",
			       text);
	if (len < 0 || (size_t)len >= sizeof(joined))
		return cc_fail(err, CC_EINVAL, 0, "the path %.80s... is too long", text);
	if (!realpath(joined, out))
		memcpy(out, joined, (size_t)len + 1);
	return CC_OK;
}

static enum cc_code make_absolute(struct cc_strv *list, const char *cwd, char *const *env, struct cc_err *err)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < list->count; i++) {
		enum cc_code code;
		char *copy;

		if (strpbrk(list->items[i], "*?"))
			continue;
		code = absolute(list->items[i], cwd, env, path, err);
		if (code != CC_OK)
			return code;
		copy = cc_str_copy(path);
		if (!copy)
			return cc_fail(err, CC_ELIMIT, 0, "out of memory");
		free(list->items[i]);
		list->items[i] = copy;
	}
	return CC_OK;
}

static enum cc_code add_binds(struct cc_ask_run *ask, const struct cc_strv *list, bool read_only, const char *cwd,
			      char *const *env, struct cc_err *err)
{
	char path[PATH_MAX];
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < list->count; i++) {
		char *text = list->items[i];
		size_t len = strlen(text);
		bool ro = len > 3 && strcmp(text + len - 3, ":ro") == 0;

		if (ro)
			text[len - 3] = '\0';
		code = absolute(text, cwd, env, path, err);
		if (code == CC_OK)
			code = cc_spec_add_bind(&ask->spec, path, ro || read_only || !cc_mode_writes(ask->spec.mode),
						err);
	}
	return code;
}

enum cc_code cc_config_settle(struct cc_ask_run *ask, const char *cwd, char *const *env, struct cc_err *err)
{
	struct cc_policy *policy = &ask->spec.policy;
	struct cc_strv *lists[] = {&ask->spec.protected_paths, &ask->spec.runner_state_dirs, &policy->deny_write,
				   &policy->deny_read,         &policy->allow_paths,         &policy->allow_sockets};
	enum cc_code code = CC_OK;
	char path[PATH_MAX];

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(lists); i++)
		code = make_absolute(lists[i], cwd, env, err);
	if (code == CC_OK)
		code = add_binds(ask, &ask->binds, false, cwd, env, err);
	if (code == CC_OK)
		code = add_binds(ask, &policy->allow_write, false, cwd, env, err);
	if (code == CC_OK)
		code = add_binds(ask, &policy->allow_read, true, cwd, env, err);
	if (code == CC_OK && ask->workdir) {
		code = absolute(ask->workdir, cwd, env, path, err);
		ask->spec.guest_workdir = code == CC_OK ? cc_str_copy(path) : NULL;
	}
	return code;
}

enum cc_code cc_config_files(char *const *env, const char *cwd, struct cc_policy *policy, struct cc_err *err)
{
	char path[PATH_MAX];
	enum cc_code code = cc_config_read("/etc/ccbox/policy.jsonc", CC_POLICY_OPERATOR, false, policy, err);

	if (code == CC_OK && home_path(env, "XDG_CONFIG_HOME", ".config", "ccbox/policy.jsonc", path, sizeof(path)))
		code = cc_config_read(path, CC_POLICY_OPERATOR, false, policy, err);
	return code == CC_OK ? read_project(cwd, policy, err) : code;
}

enum cc_code cc_config_gather(unsigned verb, char *const *argv, char *const *env, const char *cwd,
			      struct cc_ask_run *ask, size_t *out_used, struct cc_err *err)
{
	struct cc_policy *policy = &ask->spec.policy;
	enum cc_code code = cc_config_files(env, cwd, policy, err);

	if (code == CC_OK)
		code = cc_options_env(verb, env, ask, err);
	if (code == CC_OK)
		code = cc_options_parse(verb, argv, ask, out_used, err);
	for (size_t i = 0; code == CC_OK && i < ask->policies.count; i++)
		code = cc_config_read(ask->policies.items[i], CC_POLICY_OPERATOR, true, policy, err);
	if (code == CC_OK)
		code = cc_config_settle(ask, cwd, env, err);
	return code;
}
