/* GitLab, Gitea and Forgejo: a token is made by who may make some, has a number or a name, and is taken back by it.
 *
 * GitLab: a token of one project, made by a configured token whose owner is its maintainer. GitLab knows days only, and
 * a token ends as its day begins. Gitea and Forgejo: the API makes a user's token only for the user's name and
 * password. Its scope can be narrowed to reading, its reach cannot: it is good for every repository that the user sees.
 * It never ends by itself,
 * but it is found by its name, so it is journalled before it is asked for. */
#include "forge/kind.h"

enum { LIFE = 36 * 3600, REPORTER = 20, DEVELOPER = 30 };

static void add_project(struct cc_buf *url, struct cc_view path)
{
	for (size_t i = 0; i < path.len; i++) {
		if (path.ptr[i] == '/')
			cc_buf_adds(url, "%2F");
		else
			cc_buf_add(url, path.ptr + i, 1);
	}
}

static const char *lab_scope(const struct cc_forge_want *want)
{
	return want->write ? "write_repository" : "read_repository";
}

static void lab_ask(const struct cc_forge *forge, const struct cc_forge_want *want, int64_t found,
		    const char *authority, struct cc_forge_call *call)
{
	const struct cc_repo *repo = &want->repos[0];
	struct cc_view path = {repo->owner.ptr, repo->owner.len + 1 + repo->name.len};
	char day[16];
	struct cc_jsonw w;

	(void)found;
	call->method = "POST";
	cc_forge_header(call, authority);
	cc_forge_header(call, "Content-Type: application/json");
	cc_buf_addf(&call->url, "%s/projects/", forge->api);
	add_project(&call->url, path);
	cc_buf_adds(&call->url, "/access_tokens");
	cc_forge_day(want->now + LIFE, day);
	cc_jsonw_init(&w, &call->body);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "name", want->name);
	cc_jsonw_key(&w, "scopes");
	cc_jsonw_array(&w);
	cc_jsonw_str(&w, lab_scope(want));
	cc_jsonw_end(&w);
	cc_jsonw_kint(&w, "access_level", want->write ? DEVELOPER : REPORTER);
	cc_jsonw_kstr(&w, "expires_at", day);
	cc_jsonw_end(&w);
}

/* Versions that do not know scopes do not name them, and their tokens can do everything. */
static enum cc_code check_scope(const struct cc_json *answer, const char *scope, struct cc_err *err)
{
	const struct cc_json *scopes = cc_json_get(answer, "scopes");

	if (!scopes || scopes->kind != CC_JSON_ARRAY || scopes->count != 1 || !scopes->child->text.ptr ||
	    !cc_view_is(scopes->child->text, scope))
		return cc_fail(err, CC_EPOLICY, 0, "the forge's token is not for what was asked (%s)", scope);
	return CC_OK;
}

static enum cc_code lab_check(const struct cc_json *answer, const struct cc_forge_want *want, struct cc_err *err)
{
	int64_t most = want->write ? DEVELOPER : REPORTER;

	if (cc_json_int(answer, "access_level", most + 1) > most)
		return cc_fail(err, CC_EPOLICY, 0, "the forge's token has a higher role than was asked for");
	return check_scope(answer, lab_scope(want), err);
}

static void lab_take_back(const struct cc_forge *forge, const struct cc_forge_token *token, const char *from,
			  const char *authority, struct cc_forge_call *call)
{
	call->method = "DELETE";
	cc_forge_header(call, authority);
	cc_buf_addf(&call->url, "%s/projects/", forge->api);
	add_project(&call->url, cc_view_of(from));
	cc_buf_addf(&call->url, "/access_tokens/%s", token->number);
}

const struct cc_forge_kind cc_kind_gitlab = {
	.name = "gitlab",
	.api = "/api/v4",
	.reach = CC_REACH_REPO,
	.nested = true,
	.ask = lab_ask,
	.secret_key = "token",
	.number_key = "id",
	.expires_key = "expires_at",
	.check = lab_check,
	.take_back = lab_take_back,
	.gone = 404,
	.default_user = "oauth2",
};

static const char *tea_scope(const struct cc_forge_want *want)
{
	return want->write ? "write:repository" : "read:repository";
}

static void tea_head(const struct cc_forge *forge, const char *method, const char *authority,
		     struct cc_forge_call *call)
{
	call->method = method;
	cc_forge_header(call, authority);
	cc_buf_addf(&call->url, "%s/users/%s/tokens", forge->api, forge->user);
}

static void tea_ask(const struct cc_forge *forge, const struct cc_forge_want *want, int64_t found,
		    const char *authority, struct cc_forge_call *call)
{
	struct cc_jsonw w;

	(void)found;
	tea_head(forge, "POST", authority, call);
	cc_forge_header(call, "Content-Type: application/json");
	cc_jsonw_init(&w, &call->body);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "name", want->name);
	cc_jsonw_key(&w, "scopes");
	cc_jsonw_array(&w);
	cc_jsonw_str(&w, tea_scope(want));
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
}

static enum cc_code tea_check(const struct cc_json *answer, const struct cc_forge_want *want, struct cc_err *err)
{
	return check_scope(answer, tea_scope(want), err);
}

static void tea_take_back(const struct cc_forge *forge, const struct cc_forge_token *token, const char *from,
			  const char *authority, struct cc_forge_call *call)
{
	(void)from;
	tea_head(forge, "DELETE", authority, call);
	cc_buf_addf(&call->url, "/%s", token->number);
}

const struct cc_forge_kind cc_kind_gitea = {
	.name = "gitea",
	.api = "/api/v1",
	.reach = CC_REACH_HOST,
	.ask = tea_ask,
	.secret_key = "sha1",
	.by_name = true,
	.check = tea_check,
	.take_back = tea_take_back,
	.gone = 404,
	.note = "Gitea and Forgejo narrow a token to reading, not to repositories: it reads everything that its user can",
	.default_user = "x-access-token",
};
