/* launch.c - from the daemon's launch document to a prepared session. */
#define _GNU_SOURCE
#include "owner/owner.h"

#include "cli/config.h"
#include "plan/env.h"
#include "policy/names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool lies_in_bind(const struct cc_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->bind_count; i++)
		if (cc_path_within(cc_view_of(path), cc_view_of(spec->binds[i].host_path)))
			return true;
	return false;
}

static enum cc_code add_all(const struct cc_json *list, struct cc_strv *to, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (const struct cc_json *m = list ? list->child : NULL; code == CC_OK && m; m = m->next)
		code = cc_strv_add(to, m->text.ptr ? m->text.ptr : "", err);
	return code;
}

/* What the daemon adds to what the client asked: its own ports, the checkouts of the workspace, its own directory (only
 * where it would be seen: judged reads cost something). */
static enum cc_code add_daemons(const struct cc_json *root, struct cc_spec *spec, struct cc_err *err)
{
	const struct cc_json *closed = cc_json_get(root, "denyRead");
	enum cc_code code = add_all(cc_json_get(root, "ownerPorts"), &spec->owner_ports, err);

	spec->gateway = cc_json_bool(root, "gateway", false);
	if (code == CC_OK)
		code = add_all(cc_json_get(root, "protect"), &spec->protected_paths, err);
	for (const struct cc_json *m = closed ? closed->child : NULL; code == CC_OK && m; m = m->next)
		if (m->text.ptr && lies_in_bind(spec, m->text.ptr)) {
			code = cc_strv_add(&spec->policy.deny_read, m->text.ptr, err);
			if (code == CC_OK)
				code = cc_strv_add(&spec->policy.deny_write, m->text.ptr, err);
		}
	return code;
}

static enum cc_code settle_binds(struct cc_spec *spec, struct cc_err *err)
{
	if (spec->bind_count == 0)
		return cc_fail(err, CC_EINVAL, 0, "bindMounts is empty: a sandbox sees only what is listed there");
	for (size_t i = 0; i < spec->bind_count; i++) {
		char path[PATH_MAX];
		struct cc_bind *bind = &spec->binds[i];

		bind->read_only |= !cc_mode_writes(spec->mode);
		if (bind->host_path[0] != '/')
			continue; /* said by the checks that follow */
		if (!realpath(bind->host_path, path))
			return cc_fail(err, CC_ENOTFOUND, errno, "the bind %s", bind->host_path);
		free(bind->host_path);
		free(bind->guest_path);
		bind->host_path = cc_str_copy(path);
		bind->guest_path = cc_str_copy(path);
		if (!bind->host_path || !bind->guest_path)
			return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	return CC_OK;
}

static enum cc_code read_ask(struct cc_owner *owner, const struct cc_json *root, char **out_agent, struct cc_err *err)
{
	struct cc_launch_request request;
	const char *id = cc_json_str(root, "sessionId", NULL);
	enum cc_code code;

	cc_launch_request_init(&request);
	code = cc_launch_request_read(cc_json_get(root, "ask"), &request, err);
	if (code == CC_OK && id) {
		free(request.spec.session_id);
		request.spec.session_id = cc_str_copy(id);
	}
	if (code == CC_OK)
		code = cc_backend_parse(cc_json_str(root, "backend", ""), &owner->ask.backend, err);
	if (code != CC_OK) {
		cc_launch_request_done(&request);
		return code;
	}
	cc_spec_done(&owner->ask.spec);
	owner->ask.spec = request.spec;
	owner->limits = request.limits;
	owner->sanitised = request.sanitised;
	*out_agent = request.agent;
	return CC_OK;
}

enum cc_code cc_owner_prepare(struct cc_owner *owner, struct cc_view text, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_spec *spec = &owner->ask.spec;
	struct cc_prepare_ask ask = {.spec = spec, .env = owner->env};
	enum cc_code code = cc_json_parse("launch", text, 0, &doc, err);

	if (code == CC_OK)
		code = read_ask(owner, cc_json_root(doc), &owner->ask.agent, err);
	if (code == CC_OK)
		code = settle_binds(spec, err);
	if (code != CC_OK)
		return code;
	ask.cwd = spec->binds[0].host_path;
	ask.backend = owner->ask.backend;
	ask.agent = owner->ask.agent ? owner->ask.agent : "none";
#ifdef CC_TWIN
	ask.init = "cc-init-twin";
#endif
	code = cc_config_files(owner->env, ask.cwd, &spec->policy, err);
	if (code == CC_OK)
		code = cc_config_settle(&owner->ask, ask.cwd, owner->env, err);
	if (code == CC_OK)
		code = add_daemons(cc_json_root(doc), spec, err);
	if (code == CC_OK)
		code = cc_prepare(&ask, &owner->prepared, err);
	return code;
}

enum cc_code cc_owner_environment(struct cc_owner *owner, struct cc_err *err)
{
	const struct cc_prepared *prepared = &owner->prepared;

	if (prepared->backend->kind != CC_BACKEND_NONE)
		return cc_strv_copy(&owner->env_base, &prepared->plan.env, err);
	return owner->sanitised ? cc_plan_env_sanitise(&prepared->facts.env, &owner->env_base, err)
				: cc_strv_copy(&owner->env_base, &prepared->facts.env, err);
}

static bool is_passed(const struct cc_strv *env, const char *item)
{
	size_t len = strcspn(item, "=");

	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->items[i], item, len) == 0 && env->items[i][len] == '=')
			return true;
	return false;
}

void cc_owner_write_environment(const struct cc_owner *owner, struct cc_jsonw *w)
{
	const struct cc_strv *host = &owner->prepared.facts.env;
	bool none = owner->prepared.backend->kind == CC_BACKEND_NONE;
	size_t told = 0;

	cc_jsonw_kstr(w, "environment", !none ? "built" : owner->sanitised ? "sanitised" : "inherited");
	cc_jsonw_key(w, "dropped");
	cc_jsonw_array(w);
	for (size_t i = 0; i < host->count && told < CC_OWNER_DROPPED; i++) {
		struct cc_view name = {host->items[i], strcspn(host->items[i], "=")};

		if (name.len > 64 || is_passed(&owner->env_base, host->items[i]))
			continue;
		cc_jsonw_view(w, name);
		told++;
	}
	cc_jsonw_end(w);
}
