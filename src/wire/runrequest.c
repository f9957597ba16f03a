#include "wire/runrequest.h"

#include <stdlib.h>
#include <string.h>

void cc_run_request_init(struct cc_run_request *request)
{
	*request = (struct cc_run_request){.mode = CC_MODE_CHAT};
}

void cc_run_request_done(struct cc_run_request *request)
{
	free(request->agent);
	free(request->prompt);
	free(request->model);
	free(request->workspace);
	free(request->repo);
	free(request->base);
	free(request->directory);
	cc_strv_done(&request->env);
	for (size_t i = 0; i < request->action_count; i++) {
		free(request->actions[i].action);
		free(request->actions[i].verdict);
	}
	*request = (struct cc_run_request){0};
}

static enum cc_code refuse(const struct cc_json *node, struct cc_err *err, const char *what)
{
	return cc_fail(err, CC_EINVAL, 0, "body:%u:%u: %s", node->line, node->column, what);
}

static enum cc_code copy(const struct cc_json *node, char **slot, struct cc_err *err)
{
	if (node->kind != CC_JSON_STRING || node->text.len == 0)
		return refuse(node, err, "a string is expected here, and not an empty one");
	free(*slot);
	*slot = cc_str_copy(node->text.ptr);
	return *slot ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static enum cc_code take_actions(const struct cc_json *node, struct cc_run_request *request, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (node->kind != CC_JSON_OBJECT)
		return refuse(node, err, "an object of actions and what holds for them is expected here");
	for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next) {
		size_t at = request->action_count;

		if (at == CC_RUN_ACTIONS)
			return refuse(m, err, "too many actions");
		request->action_count++;
		code = copy(m, &request->actions[at].verdict, err);
		request->actions[at].action = cc_str_copy(m->key.ptr);
		if (code == CC_OK && !request->actions[at].action)
			code = cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	return code;
}

/* A name, never a value: who may say what the daemon's own variable holds is the daemon's environment alone. */
static enum cc_code take_env(const struct cc_json *node, struct cc_run_request *request, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (node->kind != CC_JSON_ARRAY || node->count > 100)
		return refuse(node, err, "a list of names of variables is expected here");
	for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next) {
		if (m->kind != CC_JSON_STRING || m->text.len == 0 || m->text.len > 200 || strchr(m->text.ptr, '='))
			code = refuse(m, err, "a name of a variable is expected here, without a value");
		else
			code = cc_strv_push(&request->env, m->text.ptr, err);
	}
	return code;
}

static enum cc_code take_seconds(const struct cc_json *node, int64_t *slot, struct cc_err *err)
{
	if (node->kind != CC_JSON_INT || node->integer < 1 || node->integer > CC_RUN_SECONDS_MAX)
		return refuse(node, err, "seconds, from 1 to a day, are expected here");
	*slot = node->integer;
	return CC_OK;
}

static enum cc_code take_member(const struct cc_json *m, struct cc_run_request *request, struct cc_err *err)
{
	const struct {
		const char *key;
		char **slot;
	} texts[] = {
		{"agent", &request->agent},           {"prompt", &request->prompt}, {"model", &request->model},
		{"workspaceId", &request->workspace}, {"repo", &request->repo},     {"base", &request->base},
		{"directory", &request->directory},
	};
	size_t len = 0;

	for (size_t i = 0; i < CC_COUNT(texts); i++)
		if (cc_view_is(m->key, texts[i].key))
			return copy(m, texts[i].slot, err);
	if (cc_view_is(m->key, "mode"))
		return m->kind == CC_JSON_STRING ? cc_mode_parse(m->text.ptr, &request->mode, err)
						 : refuse(m, err, "a string is expected here");
	if (cc_view_is(m->key, "backend"))
		return m->kind == CC_JSON_STRING ? cc_backend_parse(m->text.ptr, &request->backend, err)
						 : refuse(m, err, "a string is expected here");
	if (cc_view_is(m->key, "env"))
		return take_env(m, request, err);
	if (cc_view_is(m->key, "actions"))
		return take_actions(m, request, err);
	if (cc_view_is(m->key, "silenceSeconds"))
		return take_seconds(m, &request->silence, err);
	if (cc_view_is(m->key, "approvalSeconds"))
		return take_seconds(m, &request->approval, err);
	while (len < m->key.len && len < 60 && m->key.ptr[len] > ' ' && m->key.ptr[len] < 0x7f)
		len++;
	return cc_fail(err, CC_EINVAL, 0, "body:%u:%u: unknown key \"%.*s\"", m->key_line, m->key_column, (int)len,
		       m->key.ptr);
}

static bool is_number(const char *text)
{
	return strspn(text, "0123456789") == strlen(text) && strlen(text) < 18;
}

enum cc_code cc_run_request_read(const struct cc_json *root, struct cc_run_request *request, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (!root || root->kind != CC_JSON_OBJECT)
		return cc_fail(err, CC_EINVAL, 0, "body: an object is expected");
	for (const struct cc_json *m = root->child; code == CC_OK && m; m = m->next)
		code = take_member(m, request, err);
	if (code != CC_OK)
		return code;
	if (!request->agent || !request->prompt)
		return cc_fail(err, CC_EINVAL, 0, "body: agent and prompt have to be there");
	if (!request->repo == !request->directory)
		return cc_fail(
			err, CC_EINVAL, 0,
			"body: either repo (a copy of a checkout) or directory (the place itself) has to be there");
	if (request->repo && request->repo[0] != '/' && !is_number(request->repo))
		return cc_fail(err, CC_EINVAL, 0, "body: repo is an absolute path, or a number of `ccbox repo ls`");
	if (request->directory && request->directory[0] != '/')
		return cc_fail(err, CC_EINVAL, 0, "body: directory has to be absolute");
	if (request->base && (request->directory || request->base[0] == '-'))
		return cc_fail(err, CC_EINVAL, 0, "body: base is a revision of repo");
	return CC_OK;
}
