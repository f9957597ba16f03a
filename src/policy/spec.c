#include "policy/spec.h"

#include "base/mem.h"
#include "policy/names.h"

#include <string.h>

static const char *const backend_names[] = {"unset", "microvm", "native", "none"};
static const char *const mode_names[] = {"unset", "chat", "review", "plan", "orchestrate"};

enum cc_backend_kind cc_backend_from_name(const char *stored)
{
	if (!stored)
		return CC_BACKEND_NONE;
	if (strcmp(stored, "docker") == 0)
		return CC_BACKEND_NATIVE;
	for (size_t i = CC_BACKEND_MICROVM; i < CC_COUNT(backend_names); i++)
		if (strcmp(stored, backend_names[i]) == 0)
			return (enum cc_backend_kind)i;
	return CC_BACKEND_NONE;
}

enum cc_code cc_backend_parse(const char *name, enum cc_backend_kind *out_kind, struct cc_err *err)
{
	for (size_t i = CC_BACKEND_MICROVM; name && i < CC_COUNT(backend_names); i++) {
		if (strcmp(name, backend_names[i]) == 0) {
			*out_kind = (enum cc_backend_kind)i;
			return CC_OK;
		}
	}
	return cc_fail(err, CC_EINVAL, 0, "unknown backend \"%.60s\": microvm, native or none", name ? name : "");
}

const char *cc_backend_name(enum cc_backend_kind kind)
{
	return (size_t)kind < CC_COUNT(backend_names) ? backend_names[kind] : "unset";
}

enum cc_code cc_mode_parse(const char *name, enum cc_mode *out_mode, struct cc_err *err)
{
	for (size_t i = CC_MODE_CHAT; name && i < CC_COUNT(mode_names); i++) {
		if (strcmp(name, mode_names[i]) == 0) {
			*out_mode = (enum cc_mode)i;
			return CC_OK;
		}
	}
	return cc_fail(err, CC_EINVAL, 0, "unknown mode \"%.60s\": chat, review, plan or orchestrate",
		       name ? name : "");
}

bool cc_mode_writes(enum cc_mode mode)
{
	return mode == CC_MODE_CHAT;
}

/* The lists of a policy, so that freeing, joining and checking name each of them once. */
#define POLICY_LISTS(X)                                                                                                \
	X(allow_write)                                                                                                 \
	X(deny_write)                                                                                                  \
	X(deny_read)                                                                                                   \
	X(allow_read)                                                                                                  \
	X(allow_names)                                                                                                 \
	X(allow_paths)                                                                                                 \
	X(allow_sockets)                                                                                               \
	X(actions)                                                                                                     \
	X(presets)                                                                                                     \
	X(allowed_domains)                                                                                             \
	X(denied_domains)                                                                                              \
	X(private_names)                                                                                               \
	X(private_cidrs)                                                                                               \
	X(env)

void cc_static_hosts_free(struct cc_static_host *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(hosts[i].name);
		cc_strv_done(&hosts[i].addresses);
	}
	free(hosts);
}

void cc_policy_init(struct cc_policy *policy)
{
	*policy = (struct cc_policy){.network = -1, .ech = -1};
}

void cc_policy_done(struct cc_policy *policy)
{
#define DONE(list) cc_strv_done(&policy->list);
	POLICY_LISTS(DONE)
#undef DONE
	cc_static_hosts_free(policy->hosts, policy->host_count);
	free(policy->parent_proxy);
	cc_policy_init(policy);
}

enum cc_code cc_policy_add_host(struct cc_policy *policy, const char *name, struct cc_static_host **out_host,
				struct cc_err *err)
{
	struct cc_static_host *grown = realloc(policy->hosts, (policy->host_count + 1) * sizeof(*grown));
	struct cc_static_host host = {.name = cc_str_copy(name)};

	if (grown)
		policy->hosts = grown;
	if (!grown || !host.name) {
		free(host.name);
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	*out_host = &grown[policy->host_count++];
	**out_host = host;
	return CC_OK;
}

static enum cc_code join(struct cc_strv *into, const struct cc_strv *from, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < from->count; i++)
		code = cc_strv_add(into, from->items[i], err);
	return code;
}

static enum cc_code join_host(struct cc_policy *into, const struct cc_static_host *host, struct cc_err *err)
{
	struct cc_static_host *added;
	enum cc_code code;

	for (size_t i = 0; i < into->host_count; i++)
		if (cc_view_eq_nocase(cc_view_of(into->hosts[i].name), cc_view_of(host->name)))
			return join(&into->hosts[i].addresses, &host->addresses, err);
	code = cc_policy_add_host(into, host->name, &added, err);
	return code == CC_OK ? cc_strv_copy(&added->addresses, &host->addresses, err) : code;
}

enum cc_code cc_policy_merge(struct cc_policy *into, const struct cc_policy *from, struct cc_err *err)
{
	enum cc_code code = CC_OK;

#define JOIN(list)                                                                                                     \
	if (code == CC_OK)                                                                                             \
		code = join(&into->list, &from->list, err);
	POLICY_LISTS(JOIN)
#undef JOIN
	for (size_t i = 0; code == CC_OK && i < from->host_count; i++)
		code = join_host(into, &from->hosts[i], err);
	if (from->network == 0 || into->network == -1)
		into->network = from->network;
	if (from->ech == 0 || into->ech == -1)
		into->ech = from->ech;
	if (from->max_connections && (!into->max_connections || from->max_connections < into->max_connections))
		into->max_connections = from->max_connections;
	if (code == CC_OK && from->parent_proxy) {
		free(into->parent_proxy);
		into->parent_proxy = cc_str_copy(from->parent_proxy);
		if (!into->parent_proxy)
			code = cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	return code;
}

void cc_spec_init(struct cc_spec *spec)
{
	*spec = (struct cc_spec){
		.network_enabled = true, .mode = CC_MODE_CHAT, .transparent = 1 /* CC_TRANSPARENT_TRY */};
	cc_policy_init(&spec->policy);
}

void cc_spec_done(struct cc_spec *spec)
{
	free(spec->session_id);
	free(spec->workspace_id);
	free(spec->agent_id);
	for (size_t i = 0; i < spec->bind_count; i++) {
		free(spec->binds[i].host_path);
		free(spec->binds[i].guest_path);
	}
	free(spec->binds);
	cc_strv_done(&spec->egress_allowlist);
	free(spec->guest_workdir);
	cc_strv_done(&spec->protected_paths);
	cc_strv_done(&spec->private_dirs);
	cc_strv_done(&spec->runner_state_dirs);
	cc_strv_done(&spec->exec_grant_roots);
	cc_strv_done(&spec->publish);
	cc_strv_done(&spec->host_ports);
	cc_strv_done(&spec->owner_ports);
	cc_policy_done(&spec->policy);
	*spec = (struct cc_spec){0};
}

enum cc_code cc_spec_add_bind(struct cc_spec *spec, const char *host_path, bool read_only, struct cc_err *err)
{
	struct cc_bind *grown = realloc(spec->binds, (spec->bind_count + 1) * sizeof(*grown));
	struct cc_bind bind = {cc_str_copy(host_path), cc_str_copy(host_path), read_only};

	if (grown)
		spec->binds = grown;
	if (!grown || !bind.host_path || !bind.guest_path) {
		free(bind.host_path);
		free(bind.guest_path);
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	grown[spec->bind_count++] = bind;
	return CC_OK;
}

static enum cc_code check_id(const char *what, const char *id, struct cc_err *err)
{
	size_t len = id ? strlen(id) : 0;

	if (len == 0 || len > 200)
		return cc_fail(err, CC_EINVAL, 0, "%s must have 1 to 200 characters", what);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)id[i] <= 0x20 || id[i] == 0x7f || id[i] == '/' || id[i] == '\\')
			return cc_fail(err, CC_EINVAL, 0, "%s must not hold spaces, slashes or control characters",
				       what);
	if (id[0] == '.' || id[0] == '-')
		return cc_fail(err, CC_EINVAL, 0, "%s must not start with '%c'", what, id[0]);
	return CC_OK;
}

/* attacks 1: a bind that is or contains one of these would hand the host's kernel or devices to the session. */
static enum cc_code check_place(const char *path, struct cc_err *err)
{
	static const char *const closed[] = {"/proc", "/sys", "/dev", "/run"};

	if (path[0] == '/' && path[1] == '\0')
		return cc_fail(err, CC_EINVAL, 0,
			       "the whole file system cannot be bound; name the directory that is worked in");
	for (size_t i = 0; i < CC_COUNT(closed); i++) {
		struct cc_view mine = cc_view_of(closed[i]);
		bool inside = cc_path_within(cc_view_of(path), mine) && strlen(path) > mine.len;

		if (cc_path_within(mine, cc_view_of(path)) || (inside && strcmp(closed[i], "/run") != 0))
			return cc_fail(err, CC_EINVAL, 0, "a bind must not be, contain or lie in %s: \"%.200s\"",
				       closed[i], path);
	}
	return CC_OK;
}

static enum cc_code check_bind(const struct cc_spec *spec, size_t number, struct cc_err *err)
{
	const struct cc_bind *bind = &spec->binds[number];
	enum cc_code code = cc_path_check("a bind's host path", bind->host_path, err);

	if (code == CC_OK)
		code = cc_path_check("a bind's guest path", bind->guest_path, err);
	if (code == CC_OK)
		code = check_place(bind->host_path, err);
	if (code == CC_OK)
		code = check_place(bind->guest_path, err);
	for (size_t i = 0; code == CC_OK && i < number; i++)
		if (strcmp(spec->binds[i].guest_path, bind->guest_path) == 0 &&
		    spec->binds[i].read_only != bind->read_only)
			return cc_fail(err, CC_EINVAL, 0, "\"%.200s\" is bound both read-only and writable",
				       bind->guest_path);
	return code;
}

static enum cc_code check_list(const char *what, const struct cc_strv *list, bool globs, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < list->count; i++)
		if (!globs || !cc_path_is_glob(list->items[i]))
			code = cc_path_check(what, list->items[i], err);
	return code;
}

enum cc_code cc_spec_check(const struct cc_spec *spec, struct cc_err *err)
{
	enum cc_code code = check_id("the session id", spec->session_id, err);

	if (code == CC_OK && spec->workspace_id)
		code = check_id("the workspace id", spec->workspace_id, err);
	if (code == CC_OK && spec->agent_id)
		code = check_id("the agent id", spec->agent_id, err);
	if (code == CC_OK && (spec->mode == CC_MODE_UNSET || (size_t)spec->mode >= CC_COUNT(mode_names)))
		code = cc_fail(err, CC_EINVAL, 0, "the mode is not set");
	for (size_t i = 0; code == CC_OK && i < spec->bind_count; i++)
		code = check_bind(spec, i, err);
	if (code == CC_OK && spec->guest_workdir)
		code = cc_path_check("the working directory", spec->guest_workdir, err);
	if (code == CC_OK)
		code = check_list("a protected path", &spec->protected_paths, false, err);
	if (code == CC_OK)
		code = check_list("a private directory", &spec->private_dirs, false, err);
	if (code == CC_OK)
		code = check_list("a runner state directory", &spec->runner_state_dirs, false, err);
	for (size_t i = 0; code == CC_OK && i < spec->runner_state_dirs.count; i++)
		code = check_place(spec->runner_state_dirs.items[i], err);
	if (code == CC_OK)
		code = check_list("an exec grant", &spec->exec_grant_roots, false, err);
	return code;
}
