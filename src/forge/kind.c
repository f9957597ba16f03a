#define _GNU_SOURCE
#include "forge/kind.h"

#include <stdio.h>
#include <string.h>

enum { WORD_SECRET = 12, DAY = 86400 };

/* Without a way to ask for less, there is only what was configured. */
const struct cc_forge_kind cc_kind_personal = {
	.name = "token",
	.reach = CC_REACH_HOST,
	.nested = true,
	.note = "a personal token cannot be narrowed: the agent can write with it what its owner can, so the push rule "
		"is only advisory",
	.default_user = "x-access-token",
};

void cc_forge_wipe(char *secret)
{
	if (!secret)
		return;
	explicit_bzero(secret, strlen(secret));
	free(secret);
}

void cc_forge_wipe_buf(struct cc_buf *buf)
{
	if (buf->data)
		explicit_bzero(buf->data, buf->cap);
	cc_buf_done(buf);
}

void cc_forge_token_done(struct cc_forge_token *token)
{
	cc_forge_wipe(token->secret);
	free(token->number);
	*token = (struct cc_forge_token){0};
}

void cc_forge_call_init(struct cc_forge_call *call)
{
	*call = (struct cc_forge_call){.method = "GET"};
	cc_buf_init(&call->url, 4096);
	cc_buf_init(&call->body, CC_FORGE_BODY_MAX);
}

void cc_forge_call_done(struct cc_forge_call *call)
{
	cc_forge_wipe_buf(&call->url);
	cc_forge_wipe_buf(&call->body);
	for (size_t i = 0; i < call->headers.count; i++)
		explicit_bzero(call->headers.items[i], strlen(call->headers.items[i]));
	cc_strv_done(&call->headers);
}

void cc_forge_header(struct cc_forge_call *call, const char *line)
{
	/* A call without one of its headers is none. */
	if (call->headers.count >= CC_FORGE_HEADERS_MAX || cc_strv_push(&call->headers, line, NULL) != CC_OK)
		call->url.failed = true;
}

void cc_forge_basic(const struct cc_forge *forge, const char *secret, struct cc_buf *out)
{
	struct cc_buf pair;

	cc_buf_init(&pair, 2 * CC_FORGE_SECRET_MAX);
	cc_buf_addf(&pair, "%s:%s", forge->user, secret);
	cc_buf_adds(out, "Authorization: Basic ");
	cc_base64(out, pair.data, pair.len, false);
	out->failed |= pair.failed;
	cc_forge_wipe_buf(&pair);
}

void cc_forge_authority(const struct cc_forge *forge, struct cc_buf *out)
{
	if (forge->kind == &cc_kind_gitea)
		cc_forge_basic(forge, forge->secret, out);
	else
		cc_buf_addf(out, "PRIVATE-TOKEN: %s", forge->secret);
}

enum cc_code cc_forge_read_found(struct cc_view body, int64_t *out_found, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *id;
	enum cc_code code = cc_json_parse("the answer", body, 0, &doc, err);

	if (code != CC_OK) /* what is wrong with it is told, what it says is not */
		return cc_fail(err, CC_EPROTO, 0, "the forge's answer is not JSON");
	id = cc_json_get(cc_json_root(doc), "id");
	if (!id || id->kind != CC_JSON_INT || id->integer <= 0)
		return cc_fail(err, CC_EPROTO, 0, "the forge's answer has no id");
	*out_found = id->integer;
	return CC_OK;
}

/* It goes into headers, an environment and a configuration: one word, nothing that ends a line or a string there. */
static bool secret_good(const char *secret)
{
	size_t len = secret ? strlen(secret) : 0;

	for (size_t i = 0; i < len; i++)
		if (secret[i] <= ' ' || secret[i] > '~' || strchr("\"'\\`$<>", secret[i]))
			return false;
	return len > 0 && len <= CC_FORGE_SECRET_MAX / 2;
}

enum cc_code cc_forge_read_token(const struct cc_forge *forge, const struct cc_json *answer,
				 struct cc_forge_token *out_token, struct cc_err *err)
{
	const char *secret = cc_json_str(answer, forge->kind->secret_key, NULL);
	const struct cc_json *number = forge->kind->number_key ? cc_json_get(answer, forge->kind->number_key) : NULL;
	struct cc_forge_token token = {0};

	if (!secret_good(secret))
		return cc_fail(err, CC_EPROTO, 0, "the answer of %.100s has no usable token", forge->host);
	if (forge->kind->number_key && (!number || number->kind != CC_JSON_INT || number->integer <= 0))
		return cc_fail(err, CC_EPROTO, 0, "the answer of %.100s does not say which token it is", forge->host);
	if (forge->kind->expires_key)
		token.expires = cc_forge_time(cc_view_of(cc_json_str(answer, forge->kind->expires_key, "")));
	token.secret = cc_str_copy(secret);
	token.number = number ? strndup(number->text.ptr, number->text.len) : NULL;
	if (!token.secret || (number && !token.number)) {
		cc_forge_token_done(&token);
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	*out_token = token;
	return CC_OK;
}

enum cc_code cc_forge_check_token(const struct cc_forge *forge, const struct cc_json *answer,
				  const struct cc_forge_want *want, const struct cc_forge_token *token,
				  struct cc_err *err)
{
	if (forge->kind->expires_key && token->expires <= want->now)
		return cc_fail(err, CC_EPROTO, 0, "the token that %.100s gave does not end in the future", forge->host);
	return forge->kind->check(answer, want, err);
}

/* Days since 1970 of a date of the Gregorian calendar: years are counted from March, so that the odd day is their last.
 */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

/* Each letter of form stands for a digit of that field. */
static bool read_fields(struct cc_view text, const char *form, int64_t fields[6])
{
	static const char names[] = "YMDhms";

	for (size_t i = 0; form[i]; i++) {
		const char *field = strchr(names, form[i]);
		char byte = i < text.len ? text.ptr[i] : '\0';

		if (!field && byte != form[i])
			return false;
		if (field && (byte < '0' || byte > '9'))
			return false;
		if (field)
			fields[field - names] = fields[field - names] * 10 + (byte - '0');
	}
	return true;
}

int64_t cc_forge_time(struct cc_view text)
{
	static const char day[] = "YYYY-MM-DD", moment[] = "YYYY-MM-DDThh:mm:ss";
	int64_t fields[6] = {0};
	bool whole = text.len > strlen(day);

	if (!read_fields(text, whole ? moment : day, fields))
		return -1;
	/* A fraction is of no interest; another zone than UTC is used by none of them. */
	if (whole &&
	    (text.ptr[text.len - 1] != 'Z' || (text.ptr[strlen(moment)] != 'Z' && text.ptr[strlen(moment)] != '.')))
		return -1;
	if (fields[0] < 1970 || fields[1] < 1 || fields[1] > 12 || fields[2] < 1 || fields[2] > 31 || fields[3] > 23 ||
	    fields[4] > 59 || fields[5] > 60)
		return -1;
	return days_of(fields[0], fields[1], fields[2]) * DAY + fields[3] * 3600 + fields[4] * 60 + fields[5];
}

void cc_forge_day(int64_t seconds, char out[16])
{
	int64_t day = seconds / DAY, year = 1970, month = 1;

	while (days_of(year + 1, 1, 1) <= day && year < 9998)
		year++;
	while (month < 12 && days_of(year, month + 1, 1) <= day)
		month++;
	snprintf(out, 16, "%04d-%02d-%02d", (int)year, (int)month, (int)(day - days_of(year, month, 1) + 1) % 100);
}

static bool token_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       (byte && strchr("_-+/=~.%:", byte));
}

/* Any long word could be a token, whole or in part. One of small letters is a word of a language, or an error's name.
 */
static size_t hidden_word(const char *from, size_t left)
{
	size_t len = 0, others = 0;

	while (len < left && token_byte(from[len])) {
		others += !strchr("abcdefghijklmnopqrstuvwxyz_-.", from[len]);
		len++;
	}
	return len >= 2 * WORD_SECRET || (len >= WORD_SECRET && others) ? len : 0;
}

void cc_forge_quote(struct cc_view body, char *out, size_t cap)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_view said = body;
	size_t at = 0;

	/* Most say it in one member; of anything else the beginning is told. */
	if (cc_json_parse("answer", body, 0, &doc, NULL) == CC_OK) {
		const char *text = cc_json_str(cc_json_root(doc), "message", NULL);

		if (!text)
			text = cc_json_str(cc_json_root(doc), "error", NULL);
		said = cc_view_of(text ? text : "");
	}
	for (size_t i = 0; i < said.len && at + 8 < cap && at < CC_FORGE_QUOTE_MAX;) {
		size_t hidden = hidden_word(said.ptr + i, said.len - i);

		if (hidden) {
			memcpy(out + at, "[...]", 5);
			at += 5;
			i += hidden;
			continue;
		}
		/* a word that is shown is shown whole, or its rest would be judged anew */
		do {
			out[at++] = said.ptr[i] >= ' ' && said.ptr[i] <= '~' ? said.ptr[i] : ' ';
			i++;
		} while (i < said.len && at + 8 < cap && token_byte(said.ptr[i]) && token_byte(said.ptr[i - 1]));
	}
	out[at] = '\0';
}

enum cc_code cc_forge_refusal(const char *host, const char *what, long status, struct cc_view body, struct cc_err *err)
{
	static const struct {
		long from, to;
		enum cc_code code;
		const char *text;
	} table[] = {
		{300, 399, CC_EPROTO, "answers with a redirect, which is not followed"},
		{401, 401, CC_EPOLICY, "does not accept what we identify ourselves with"},
		{403, 403, CC_EPOLICY, "forbids it"},
		{404, 404, CC_ENOTFOUND, "knows nothing of that name, or does not show it to us"},
		{422, 422, CC_EPOLICY, "does not grant that"},
		{429, 429, CC_ELIMIT, "has had too many calls"},
		{500, 599, CC_EPROTO, "has an error of its own"},
	};
	const char *text = "answers with an unexpected status";
	enum cc_code code = CC_EPROTO;
	char quoted[CC_FORGE_QUOTE_MAX + 16];

	for (size_t i = 0; i < CC_COUNT(table); i++)
		if (status >= table[i].from && status <= table[i].to) {
			text = table[i].text;
			code = table[i].code;
			break;
		}
	cc_forge_quote(body, quoted, sizeof(quoted));
	return cc_fail(err, code, 0, "%s: %.100s %s (%ld%s%s)", what, host, text, status, quoted[0] ? ": " : "",
		       quoted);
}

bool cc_forge_together(const struct cc_forge *forge, const struct cc_repo *left, const struct cc_repo *right)
{
	if (forge->kind->reach == CC_REACH_HOST)
		return true;
	if (!cc_view_eq_nocase(left->owner, right->owner))
		return false;
	return forge->kind->reach == CC_REACH_OWNER || cc_view_eq_nocase(left->name, right->name);
}

enum cc_code cc_forge_env(const struct cc_forge *forge, const char *secret, struct cc_strv *env, struct cc_err *err)
{
	/* gh sends the first two to github.com whatever the checkout's host is: another host's token is not for it. */
	static const struct {
		enum cc_forge_family family;
		bool own; /* on a host of somebody's own */
		const char *names[2];
	} table[] = {
		{CC_FAMILY_GITHUB, false, {"GH_TOKEN", "GITHUB_TOKEN"}},
		{CC_FAMILY_GITHUB, true, {"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}},
		{CC_FAMILY_GITLAB, false, {"GITLAB_TOKEN"}},
		{CC_FAMILY_GITLAB, true, {"GITLAB_TOKEN"}},
		{CC_FAMILY_GITEA, false, {"GITEA_TOKEN"}},
		{CC_FAMILY_GITEA, true, {"GITEA_TOKEN"}},
	};
	struct cc_view host = cc_view_of(forge->host);
	bool own = !cc_view_is(host, "github.com") && !cc_view_ends(host, ".ghe.com");
	enum cc_code code = CC_OK;

	for (size_t i = 0; i < CC_COUNT(table); i++)
		for (size_t j = 0; j < 2 && code == CC_OK; j++)
			if (table[i].family == forge->family && table[i].own == own && table[i].names[j])
				code = cc_strv_pushf(env, err, "%s=%s", table[i].names[j], secret);
	if (code == CC_OK && forge->family == CC_FAMILY_GITHUB && own)
		code = cc_strv_pushf(env, err, "GH_HOST=%s", forge->host);
	if (code == CC_OK && forge->family == CC_FAMILY_GITLAB && !cc_view_is(host, "gitlab.com"))
		code = cc_strv_pushf(env, err, "GITLAB_HOST=https://%s", forge->host);
	return code;
}

enum cc_code cc_forge_git(const struct cc_forge *forge, const struct cc_repo *repo, bool apart, const char *secret,
			  struct cc_strv *git, struct cc_err *err)
{
	/* git takes the setting for what is below the address, name by name: NAME and NAME.git are two of them. */
	static const char *const endings[] = {"", ".git"};
	bool by_repo = apart && forge->kind->reach == CC_REACH_REPO;
	enum cc_code code = CC_OK;
	struct cc_buf value;

	cc_buf_init(&value, 4 * CC_FORGE_SECRET_MAX);
	cc_forge_basic(forge, secret, &value);
	code = cc_buf_check(&value, "the token", err);
	for (size_t i = 0; code == CC_OK && i < (by_repo ? CC_COUNT(endings) : 1); i++) {
		if (by_repo)
			code = cc_strv_pushf(git, err, "http.https://%s/%.*s/%.*s%s.extraHeader", forge->host,
					     (int)repo->owner.len, repo->owner.ptr, (int)repo->name.len, repo->name.ptr,
					     endings[i]);
		else if (apart)
			code = cc_strv_pushf(git, err, "http.https://%s/%.*s/.extraHeader", forge->host,
					     (int)repo->owner.len, repo->owner.ptr);
		else
			code = cc_strv_pushf(git, err, "http.https://%s/.extraHeader", forge->host);
		if (code == CC_OK)
			code = cc_strv_push(git, value.data, err);
	}
	cc_forge_wipe_buf(&value);
	return code;
}
