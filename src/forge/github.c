/* GitHub Apps: the installation that holds a repository is looked up, then a token of it is asked for, for some of its
 * repositories with some of its permissions. The token itself asks to be taken back. */
#include "forge/kind.h"

static void head(struct cc_forge_call *call, const char *method, const char *authority)
{
	call->method = method;
	cc_forge_header(call, authority);
	cc_forge_header(call, "Accept: application/vnd.github+json");
	cc_forge_header(call, "X-GitHub-Api-Version: 2022-11-28");
}

static void find(const struct cc_forge *forge, const struct cc_forge_want *want, int64_t found, const char *authority,
		 struct cc_forge_call *call)
{
	const struct cc_repo *repo = &want->repos[0];

	(void)found;
	head(call, "GET", authority);
	cc_buf_addf(&call->url, "%s/repos/%.*s/%.*s/installation", forge->api, (int)repo->owner.len, repo->owner.ptr,
		    (int)repo->name.len, repo->name.ptr);
}

static const char *level(const struct cc_forge_want *want)
{
	return want->write ? "write" : "read";
}

static void ask(const struct cc_forge *forge, const struct cc_forge_want *want, int64_t found, const char *authority,
		struct cc_forge_call *call)
{
	struct cc_jsonw w;

	head(call, "POST", authority);
	cc_forge_header(call, "Content-Type: application/json");
	cc_buf_addf(&call->url, "%s/app/installations/%lld/access_tokens", forge->api, (long long)found);
	cc_jsonw_init(&w, &call->body);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "repositories");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < want->count; i++)
		cc_jsonw_view(&w, want->repos[i].name);
	cc_jsonw_end(&w);
	cc_jsonw_key(&w, "permissions");
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "contents", level(want));
	cc_jsonw_kstr(&w, "metadata", "read");
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
}

static enum cc_code check(const struct cc_json *answer, const struct cc_forge_want *want, struct cc_err *err)
{
	const struct cc_json *permissions = cc_json_get(answer, "permissions");
	const struct cc_json *repos = cc_json_get(answer, "repositories");

	if (!permissions || permissions->kind != CC_JSON_OBJECT)
		return cc_fail(err, CC_EPROTO, 0, "the forge does not say what its token may do");
	for (const struct cc_json *m = permissions->child; m; m = m->next) {
		bool asked = cc_view_is(m->key, "contents") || cc_view_is(m->key, "metadata");

		if (!asked || m->kind != CC_JSON_STRING ||
		    (!cc_view_is(m->text, "read") &&
		     !(want->write && cc_view_is(m->key, "contents") && cc_view_is(m->text, "write"))))
			return cc_fail(err, CC_EPOLICY, 0, "the forge's token may do more than was asked for (%.40s)",
				       m->key.ptr);
	}
	if (!cc_view_is(cc_view_of(cc_json_str(permissions, "contents", "")), level(want)))
		return cc_fail(err, CC_EPOLICY, 0, "the forge's token may not %s", want->write ? "push" : "read");
	if (!cc_view_is(cc_view_of(cc_json_str(answer, "repository_selection", "")), "selected"))
		return cc_fail(err, CC_EPOLICY, 0, "the forge's token is not for the run's repositories alone");
	if (repos && repos->count > want->count)
		return cc_fail(err, CC_EPOLICY, 0, "the forge's token reaches more repositories than the run's");
	return CC_OK;
}

static void take_back(const struct cc_forge *forge, const struct cc_forge_token *token, const char *from,
		      const char *authority, struct cc_forge_call *call)
{
	struct cc_buf line;

	(void)from;
	(void)authority;
	cc_buf_init(&line, CC_FORGE_SECRET_MAX);
	cc_buf_addf(&line, "Authorization: Bearer %s", token->secret);
	head(call, "DELETE", line.data ? line.data : "");
	call->url.failed |= line.failed;
	cc_forge_wipe_buf(&line);
	cc_buf_addf(&call->url, "%s/installation/token", forge->api);
}

const struct cc_forge_kind cc_kind_github = {
	.name = "github",
	.api = "/api/v3",
	.reach = CC_REACH_OWNER,
	.signs = true,
	.find = find,
	.ask = ask,
	.secret_key = "token",
	.expires_key = "expires_at",
	.check = check,
	.take_back = take_back,
	.by_itself = true,
	.gone = 401,
	.default_user = "x-access-token",
};
