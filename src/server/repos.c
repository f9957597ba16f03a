/* repos.c - workspaces, and the checkouts whose originals no session of theirs writes. */
#define _GNU_SOURCE
#include "server/server.h"

#include "os/clock.h"
#include "session/gitplace.h"
#include "wire/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 16 << 10, LIST_MAX = 4 << 20 };

/* An object of the named strings and nothing else; what is missing stays NULL. */
static enum cc_code read_strings(struct cc_call *call, struct cc_json_doc **out_doc, const char *const *names,
				 const char **values, size_t count, struct cc_err *err)
{
	const struct cc_json *root;
	enum cc_code code = cc_json_parse("body", cc_call_body(call), 0, out_doc, err);

	if (code != CC_OK)
		return code;
	root = cc_json_root(*out_doc);
	if (root->kind != CC_JSON_OBJECT)
		return cc_fail(err, CC_EINVAL, 0, "body:%u:%u: an object is expected here", root->line, root->column);
	for (const struct cc_json *m = root->child; m; m = m->next) {
		size_t at = 0;

		while (at < count && !cc_view_is(m->key, names[at]))
			at++;
		if (at == count || m->kind != CC_JSON_STRING || m->text.len == 0 || m->text.len >= PATH_MAX)
			return cc_fail(err, CC_EINVAL, 0, "body:%u:%u: unknown key, or no string", m->key_line,
				       m->key_column);
		values[at] = m->text.ptr;
	}
	return CC_OK;
}

static enum cc_code check_workspace(const char *id, struct cc_err *err)
{
	struct cc_spec spec;
	enum cc_code code;

	cc_spec_init(&spec);
	spec.session_id = cc_str_copy("x");
	spec.workspace_id = cc_str_copy(id);
	code = spec.session_id && spec.workspace_id ? cc_spec_check(&spec, err)
						    : cc_fail(err, CC_EINVAL, 0, "workspaceId is missing");
	cc_spec_done(&spec);
	return code;
}

/* Resolved, and the top of a work tree: a directory in the middle of one would leave the rest of it open. */
static enum cc_code check_checkout(const char *path, char out[PATH_MAX], struct cc_err *err)
{
	struct cc_git_place place = {0};
	enum cc_code code;

	if (!path || path[0] != '/')
		return cc_fail(err, CC_EINVAL, 0, "path has to be absolute");
	if (!realpath(path, out))
		return cc_fail(err, CC_ENOTFOUND, 0, "there is no %s", path);
	code = cc_git_place_find(out, &place, err);
	if (code == CC_OK && (!place.found || strcmp(place.top, out) != 0))
		code = cc_fail(err, CC_EINVAL, 0, "%s is not the top of a git checkout", path);
	cc_git_place_done(&place);
	return code;
}

static void reply_list(struct cc_call *call, const char *key, const char *workspace)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;
	enum cc_code code;

	cc_buf_init(&text, LIST_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, key);
	code = strcmp(key, "repos") == 0 ? cc_store_repos_write(server->store, workspace, &w, &err)
					 : cc_store_workspaces_write(server->store, &w, &err);
	cc_jsonw_end(&w);
	cc_reply_written(call, 200, code, &text, &err);
}

static void get_workspaces(struct cc_call *call)
{
	reply_list(call, "workspaces", NULL);
}

static void get_repos(struct cc_call *call)
{
	reply_list(call, "repos", cc_call_query(call, "workspace"));
}

static void reply_done(struct cc_call *call, enum cc_code code, const struct cc_err *err)
{
	if (code == CC_OK)
		cc_reply(call, 200, "application/json", "{}\n", 3);
	else
		cc_reply_fail(call, err);
}

static void post_workspace(struct cc_call *call)
{
	static const char *const names[] = {"workspaceId", "name"};
	struct cc_server *server = cc_call_context(call);
	CC_AUTO(cc_json_doc) doc = NULL;
	const char *values[2] = {NULL, NULL};
	struct cc_err err;
	enum cc_code code = read_strings(call, &doc, names, values, 2, &err);

	if (code == CC_OK)
		code = check_workspace(values[0], &err);
	if (code == CC_OK)
		code = cc_store_workspace_add(server->store, values[0], values[1], cc_clock_wall_ms(), &err);
	reply_done(call, code, &err);
}

static void delete_workspace(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_err err;

	reply_done(call, cc_store_workspace_remove(server->store, cc_call_param(call, 0), &err), &err);
}

static void post_repo(struct cc_call *call)
{
	static const char *const names[] = {"workspaceId", "path"};
	struct cc_server *server = cc_call_context(call);
	CC_AUTO(cc_json_doc) doc = NULL;
	const char *values[2] = {NULL, NULL};
	char path[PATH_MAX], text[64];
	int64_t n = 0;
	struct cc_err err;
	enum cc_code code = read_strings(call, &doc, names, values, 2, &err);
	int len;

	if (code == CC_OK && !values[0])
		values[0] = "default";
	if (code == CC_OK)
		code = check_workspace(values[0], &err);
	if (code == CC_OK)
		code = check_checkout(values[1], path, &err);
	if (code == CC_OK)
		code = cc_store_repo_add(server->store, values[0], path, cc_clock_wall_ms(), &n, &err);
	if (code != CC_OK) {
		cc_reply_fail(call, &err);
		return;
	}
	len = snprintf(text, sizeof(text), "{\"id\":%lld}\n", (long long)n);
	cc_reply(call, 201, "application/json", text, (size_t)len);
}

static void delete_repo(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	const char *text = cc_call_param(call, 0);
	struct cc_err err;
	enum cc_code code = strspn(text, "0123456789") == strlen(text) && strlen(text) < 18
				    ? cc_store_repo_remove(server->store, strtoll(text, NULL, 10), &err)
				    : cc_fail(&err, CC_ENOTFOUND, 0, "there is no such checkout");

	reply_done(call, code, &err);
}

const struct cc_route cc_routes_repos[] = {
	{"GET", "/v1/workspaces", 0, 0, get_workspaces},
	{"POST", "/v1/workspaces", 0, BODY_MAX, post_workspace},
	{"DELETE", "/v1/workspaces/{id}", 0, 0, delete_workspace},
	{"GET", "/v1/repos", 0, 0, get_repos},
	{"POST", "/v1/repos", 0, BODY_MAX, post_repo},
	{"DELETE", "/v1/repos/{id}", 0, 0, delete_repo},
	{0},
};
