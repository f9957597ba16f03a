#define _GNU_SOURCE
#include "session/prepare.h"

#include "backend/linux/facts.h"
#include "backend/pick.h"
#include "base/mem.h"
#include "session/gitsettings.h"
#include "session/probe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool resolve_path(void *context, const char *path, char *out, size_t cap)
{
	char resolved[PATH_MAX];

	(void)context;
	if (!realpath(path, resolved) || strlen(resolved) >= cap)
		return false;
	memcpy(out, resolved, strlen(resolved) + 1);
	return true;
}

static bool below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool bound(const struct cc_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->bind_count; i++)
		if (below(path, spec->binds[i].host_path))
			return true;
	return false;
}

/* A person who stands here as root would hand the machine over. */
static const char *const system_dirs[] = {
	"/etc",
	"/boot",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/usr/bin",
	"/usr/sbin",
	"/usr/lib",
	"/usr/libexec",
	"/usr/local/bin",
	"/usr/local/sbin",
	"/usr/local/lib",
	"/usr/local/etc",
};

/* No bind was named: the work tree people stand in, never their whole home directory by accident. */
static enum cc_code add_default_bind(const struct cc_prepare_ask *ask, struct cc_prepared *prepared, const char *cwd,
				     struct cc_err *err)
{
	const char *top = prepared->git.found ? prepared->git.top : cwd;

	if (strcmp(top, prepared->facts.home) == 0 || below(prepared->facts.home, top))
		return cc_fail(err, CC_EPOLICY, 0,
			       "%s is %syour home directory: everything in it would be shown. Go to "
			       "a project, or name what to show with --bind DIR",
			       top, strcmp(top, prepared->facts.home) == 0 ? "" : "above ");
	for (size_t i = 0; i < CC_COUNT(system_dirs); i++)
		if (below(top, system_dirs[i]))
			return cc_fail(err, CC_EPOLICY, 0,
				       "%s belongs to the system, whose programs read or run what lies there. Go to a "
				       "project, or name what to show with --bind DIR",
				       top);
	return cc_spec_add_bind(ask->spec, top, !cc_mode_writes(ask->spec->mode), err);
}

/* Commits of a linked work tree go into the common directory of its repository. */
static enum cc_code add_common_dir(const struct cc_prepare_ask *ask, struct cc_prepared *prepared, struct cc_err *err)
{
	if (!prepared->git.linked || bound(ask->spec, prepared->git.common_dir) || !bound(ask->spec, prepared->git.top))
		return CC_OK;
	return cc_spec_add_bind(ask->spec, prepared->git.common_dir, !cc_mode_writes(ask->spec->mode), err);
}

static enum cc_code check_directory(const char *flag, const char *path, struct cc_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return cc_fail(err, CC_ENOTFOUND, errno, "%s %s", flag, path);
	if (!S_ISDIR(st.st_mode))
		return cc_fail(err, CC_EINVAL, 0, "%s %s is not a directory: name the directory it lies in", flag,
			       path);
	return CC_OK;
}

static enum cc_code check_binds(const struct cc_spec *spec, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < spec->bind_count; i++)
		code = check_directory("--bind", spec->binds[i].host_path, err);
	for (size_t i = 0; code == CC_OK && i < spec->runner_state_dirs.count; i++)
		code = check_directory("--state-dir", spec->runner_state_dirs.items[i], err);
	return code;
}

static enum cc_code find_binds(const struct cc_prepare_ask *ask, struct cc_prepared *prepared, struct cc_err *err)
{
	char cwd[PATH_MAX];
	bool named = ask->spec->bind_count != 0;
	enum cc_code code;

	if (!realpath(ask->cwd, cwd))
		return cc_fail(err, CC_ENOTFOUND, errno, "the current directory");
	code = cc_git_place_find(cwd, &prepared->git, err);
	if (code == CC_EPOLICY && named)
		code = CC_OK; /* the person said what to show: nothing is derived from the pointer */
	if (ask->foreign)
		return code == CC_EPOLICY || code == CC_OK ? cc_spec_check(ask->spec, err) : code;
	if (code == CC_OK && !named)
		code = add_default_bind(ask, prepared, cwd, err);
	if (code == CC_OK)
		code = add_common_dir(ask, prepared, err);
	if (code == CC_OK)
		code = check_binds(ask->spec, err);
	if (code == CC_OK)
		code = cc_spec_check(ask->spec, err);
	return code;
}

static enum cc_code find_workdir(const struct cc_prepare_ask *ask, struct cc_prepared *prepared, struct cc_err *err)
{
	char path[PATH_MAX];
	const char *wish = ask->spec->guest_workdir ? ask->spec->guest_workdir : ask->cwd;

	if (!realpath(wish, path))
		return cc_fail(err, CC_ENOTFOUND, errno, "the working directory %s", wish);
	if (bound(ask->spec, path) || ask->foreign || (prepared->backend->kind == CC_BACKEND_NONE))
		prepared->workdir = cc_str_copy(path);
	else if (ask->spec->guest_workdir)
		return cc_fail(err, CC_EINVAL, 0, "the working directory %s is not in any bind; add --bind %s", path,
			       path);
	else {
		prepared->workdir = cc_str_copy(ask->spec->binds[0].host_path);
		if (cc_strv_pushf(&prepared->said, err, "starting in %s: %s is in no bind; add --bind %s to work there",
				  ask->spec->binds[0].host_path, path, path) != CC_OK)
			return CC_ELIMIT;
	}
	return prepared->workdir ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static enum cc_code say_binds(const struct cc_prepare_ask *ask, struct cc_prepared *prepared, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < ask->spec->bind_count; i++)
		code = cc_strv_pushf(&prepared->said, err, "%s %s",
				     ask->spec->binds[i].read_only ? "read-only" : "writable",
				     ask->spec->binds[i].host_path);
	if (code == CC_OK)
		code = cc_strv_copy(&prepared->said, &prepared->lend.said, err);
	return code;
}

/* Inside a bind, in either spelling, or above one. */
static bool touches_bind(const struct cc_spec *spec, const char *path)
{
	char resolved[PATH_MAX];
	const char *spellings[] = {path, realpath(path, resolved) ? resolved : path};

	for (size_t i = 0; i < spec->bind_count; i++)
		for (size_t k = 0; k < CC_COUNT(spellings); k++)
			if (below(spellings[k], spec->binds[i].host_path) ||
			    below(spec->binds[i].host_path, spellings[k]))
				return true;
	for (size_t i = 0; i < spec->runner_state_dirs.count; i++)
		for (size_t k = 0; k < CC_COUNT(spellings); k++)
			if (below(spellings[k], spec->runner_state_dirs.items[i]))
				return true;
	return false;
}

static const char *git_dir(const struct cc_prepared *prepared)
{
	if (prepared->git.found)
		return prepared->git.top;
	return prepared->ask.spec->bind_count ? prepared->ask.spec->binds[0].host_path : prepared->ask.cwd;
}

static enum cc_code compile(struct cc_prepared *prepared, struct cc_rule_facts *facts, struct cc_err *err)
{
	const struct cc_agent *agent = prepared->lend.agent;
	struct cc_rules *rules = NULL;
	enum cc_code code = CC_OK;

	facts->home = prepared->facts.home;
	facts->resolve = resolve_path;
	for (size_t i = 0; agent && code == CC_OK && i < CC_COUNT(agent->hosts) && agent->hosts[i]; i++)
		code = cc_strv_push(&facts->agent_hosts, agent->hosts[i], err);
	for (size_t i = 0; agent && code == CC_OK && i < CC_COUNT(agent->names) && agent->names[i]; i++)
		code = cc_strv_push(&facts->agent_names, agent->names[i], err);
	if (code == CC_OK)
		code = cc_rules_compile(prepared->ask.spec, facts, &rules, err);
	if (code == CC_OK) {
		cc_rules_free(prepared->rules);
		prepared->rules = rules;
	}
	cc_strv_done(&facts->git_paths);
	cc_strv_done(&facts->tracked);
	cc_strv_done(&facts->agent_names);
	cc_strv_done(&facts->agent_hosts);
	return code;
}

/* The mounts, which the plan needs, do not depend on git; what git executes becomes rules when it has answered. */
static enum cc_code compile_without_git(struct cc_prepared *prepared, struct cc_err *err)
{
	struct cc_rule_facts facts = {0};
	enum cc_code code = cc_git_settings_ask(git_dir(prepared), prepared->ask.env, &prepared->asked, err);

	return code == CC_OK ? compile(prepared, &facts, err) : code;
}

static enum cc_code fill_gitconfig(struct cc_prepared *prepared, const struct cc_strv *lines, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, 1 << 20);
	for (size_t i = 0; i < lines->count; i++)
		cc_buf_addf(&text, "%s\n", lines->items[i]);
	code = cc_buf_check(&text, "the git settings", err);
	for (size_t i = 0; code == CC_OK && i < prepared->plan.file_count; i++)
		if (prepared->plan.files[i].late && text.data)
			prepared->plan.files[i].content = cc_str_copy(text.data);
	cc_buf_done(&text);
	return code;
}

static void keep_bound(const struct cc_prepared *prepared, struct cc_strv *paths)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths->count; i++) {
		if (touches_bind(prepared->ask.spec, paths->items[i]))
			paths->items[kept++] = paths->items[i];
		else
			free(paths->items[i]);
	}
	paths->count = kept;
}

enum cc_code cc_prepare_finish(void *context, struct cc_err *err)
{
	struct cc_prepared *prepared = context;
	struct cc_rule_facts facts = {0};
	struct cc_git_settings settings;
	const char *dir = git_dir(prepared);
	enum cc_code code = cc_git_settings_answer(&prepared->asked, dir, prepared->facts.home, &settings, err);

	if (code != CC_OK)
		return code;
	code = fill_gitconfig(prepared, &settings.lend, err);
	facts.git_paths = settings.paths;
	settings.paths = (struct cc_strv){0};
	cc_git_settings_done(&settings);
	if (code == CC_OK && prepared->git.found && cc_strv_has(&prepared->ask.spec->policy.presets, "tracked"))
		code = cc_git_tracked_names(dir, prepared->ask.env, &facts.tracked, err);
	/* Most of what git names lies outside of every bind, where nothing can be written: then the rules stand as they
	 * are. */
	if (code == CC_OK)
		code = cc_git_place_content(&prepared->git, &facts.git_paths, err);
	keep_bound(prepared, &facts.git_paths);
	if (code == CC_OK && (facts.git_paths.count || facts.tracked.count))
		return compile(prepared, &facts, err);
	cc_strv_done(&facts.git_paths);
	cc_strv_done(&facts.tracked);
	return code;
}

static enum cc_code make_plan(const struct cc_prepare_ask *ask, struct cc_prepared *prepared, struct cc_err *err)
{
	struct cc_linux_ask linux_ask = {.env = &ask->spec->policy.env,
					 .all_proxy_socks = ask->all_proxy_socks,
					 .ssh_socket = ask->ssh_agent ? cc_facts_env(&prepared->facts, "SSH_AUTH_SOCK")
								      : NULL,
					 .bridge_dir = ask->bridge_dir,
					 .agent_env = &prepared->lend.env_pass,
					 .agent_set = &prepared->lend.env_set,
					 .files = prepared->lend.files,
					 .file_count = prepared->lend.file_count,
					 .foreign = ask->foreign};

	return cc_linux_plan_make(prepared->rules, &prepared->facts, &linux_ask, &prepared->plan, err);
}

/* What is ours, where a variable puts it elsewhere than the defaults say: who writes the policy of the next session is
 * in no sandbox, and the daemon's token is the daemon. */
static const struct {
	const char *variable, *name;
	bool read;
} own_places[] = {
	{"XDG_CONFIG_HOME", "/ccbox", true},
	{"XDG_STATE_HOME", "/ccbox", true},
	{"XDG_DATA_HOME", "/ccbox-server", false},
	{"CC_SERVER_DATA_DIR", "", false},
};

static enum cc_code close_own_places(const struct cc_prepare_ask *ask, struct cc_err *err)
{
	struct cc_policy *policy = &ask->spec->policy;
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(own_places); i++) {
		const char *base = cc_env_get(ask->env, own_places[i].variable);
		char resolved[PATH_MAX], path[PATH_MAX + 32];

		if (!base || base[0] != '/' || !realpath(base, resolved) || strcmp(resolved, "/") == 0)
			continue;
		snprintf(path, sizeof(path), "%s%s", resolved, own_places[i].name);
		code = cc_strv_add(&policy->deny_write, path, err);
		if (code == CC_OK && !own_places[i].read)
			code = cc_strv_add(&policy->deny_read, path, err);
	}
	return code;
}

/* The agent's socket is shown under a name of ours and granted: the gate pins its inode at the start. */
static enum cc_code grant_ssh(const struct cc_prepare_ask *ask, const struct cc_prepared *prepared, struct cc_err *err)
{
	const char *path = cc_facts_env(&prepared->facts, "SSH_AUTH_SOCK");
	struct stat st;

	if (!ask->ssh_agent)
		return CC_OK;
	if (!path || path[0] != '/' || stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return cc_fail(err, CC_ENOTFOUND, 0,
			       "--ssh-agent: SSH_AUTH_SOCK names no socket; is an ssh agent running?");
	return cc_strv_push(&ask->spec->policy.allow_sockets, CC_SSH_SOCKET, err);
}

static enum cc_code name_session(const struct cc_prepare_ask *ask, struct cc_err *err)
{
	struct cc_spec *spec = ask->spec;

	if (!spec->session_id)
		spec->session_id = cc_str_copy("local");
	if (!spec->workspace_id)
		spec->workspace_id = cc_str_copy("local");
	return spec->session_id && spec->workspace_id ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

enum cc_code cc_prepare(const struct cc_prepare_ask *ask, struct cc_prepared *out_prepared, struct cc_err *err)
{
	struct cc_prepared prepared = {.ask = *ask};
	enum cc_code code = name_session(ask, err);

	if (code == CC_OK && !ask->rules_only && ask->backend != CC_BACKEND_NONE)
		code = cc_probe_kernel(err);
	if (code == CC_OK)
		code = cc_facts_collect(ask->env, ask->init ? ask->init : "cc-init", &prepared.facts, err);

	if (code == CC_OK)
		code = close_own_places(ask, err);
	if (code == CC_OK)
		code = grant_ssh(ask, &prepared, err);
	if (code == CC_OK)
		code = find_binds(ask, &prepared, err);
	if (code == CC_OK)
		code = cc_lend_collect(ask->agent, ask->program, &prepared.facts, &prepared.lend, err);
	if (code == CC_OK)
		code = compile_without_git(&prepared, err);
	if (code == CC_OK && ask->rules_only)
		code = cc_prepare_finish(&prepared, err);
	if (code == CC_OK && ask->rules_only) {
		*out_prepared = prepared;
		return CC_OK;
	}
	if (code == CC_OK)
		code = cc_backend_pick(ask->backend, cc_needs_of(prepared.rules), &prepared.backend, &prepared.unheld,
				       err);
	if (code == CC_OK)
		code = find_workdir(ask, &prepared, err);
	if (code == CC_OK && prepared.backend->kind != CC_BACKEND_NONE)
		code = make_plan(ask, &prepared, err);
	if (code == CC_OK)
		code = say_binds(ask, &prepared, err);
	if (code != CC_OK) {
		cc_prepared_done(&prepared);
		return code;
	}
	*out_prepared = prepared;
	return CC_OK;
}

static enum cc_code find_programs(struct cc_prepared *prepared, struct cc_err *err)
{
	char bwrap[PATH_MAX];
	char proxy[PATH_MAX];
	enum cc_code code = cc_facts_bwrap(prepared->ask.env, bwrap, sizeof(bwrap), err);

	if (code == CC_OK)
		code = cc_facts_helper("cc-proxy", proxy, sizeof(proxy), err);
	if (code != CC_OK)
		return code;
	free(prepared->bwrap);
	free(prepared->proxy);
	prepared->bwrap = cc_str_copy(bwrap);
	prepared->proxy = cc_str_copy(proxy);
	return prepared->bwrap && prepared->proxy ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

enum cc_code cc_prepare_launch(struct cc_prepared *prepared, struct cc_launch *out, struct cc_err *err)
{
	enum cc_code code = prepared->backend->kind == CC_BACKEND_NONE ? CC_OK : find_programs(prepared, err);

	if (code != CC_OK)
		return code;
	*out = (struct cc_launch){
		.rules = &prepared->rules,
		.finish = cc_prepare_finish,
		.context = prepared,
		.plan = &prepared->plan,
		.bwrap_path = prepared->bwrap,
		.proxy_path = prepared->proxy,
	};
	return CC_OK;
}

void cc_prepared_done(struct cc_prepared *prepared)
{
	free(prepared->bwrap);
	free(prepared->proxy);
	cc_capture_drop(&prepared->asked);
	cc_facts_done(&prepared->facts);
	cc_git_place_done(&prepared->git);
	cc_lend_done(&prepared->lend);
	cc_rules_free(prepared->rules);
	cc_linux_plan_done(&prepared->plan);
	free(prepared->workdir);
	cc_strv_done(&prepared->said);
	*prepared = (struct cc_prepared){0};
}
