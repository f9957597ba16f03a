#include "../t.h"

#include "forge/kind.h"

static struct cc_forge hub = {.kind = &cc_kind_github,
			      .family = CC_FAMILY_GITHUB,
			      .host = "hub.test",
			      .api = "https://hub.test/api/v3",
			      .user = "x-access-token"};
static struct cc_forge lab = {.kind = &cc_kind_gitlab,
			      .family = CC_FAMILY_GITLAB,
			      .host = "lab.test",
			      .api = "https://lab.test/api/v4",
			      .user = "oauth2",
			      .secret = "maker"};
static struct cc_forge tea = {.kind = &cc_kind_gitea,
			      .family = CC_FAMILY_GITEA,
			      .host = "tea.test",
			      .api = "https://tea.test/api/v1",
			      .user = "robot",
			      .secret = "word"};

/* One asking, as text: METHOD URL, its headers, its body. */
static void spell(const struct cc_forge_call *call, struct cc_buf *out)
{
	assert_false(call->url.failed);
	assert_false(call->body.failed);
	cc_buf_addf(out, "%s %s\n", call->method, call->url.data);
	for (size_t i = 0; i < call->headers.count; i++)
		cc_buf_addf(out, "%s\n", call->headers.items[i]);
	cc_buf_addf(out, "%s", call->body.data ? call->body.data : "");
}

static void what_is_asked(void **state)
{
	static const struct {
		struct cc_forge *forge;
		bool write, find;
		const char *repo, *text;
	} table[] = {
		{&hub, false, true, "hub.test/owner/one",
		 "GET https://hub.test/api/v3/repos/owner/one/installation\nA: b\nAccept: application/vnd.github+json\n"
		 "X-GitHub-Api-Version: 2022-11-28\n"},
		{&hub, false, false, "hub.test/owner/one",
		 "POST https://hub.test/api/v3/app/installations/12/access_tokens\nA: b\n"
		 "Accept: application/vnd.github+json\nX-GitHub-Api-Version: 2022-11-28\nContent-Type: application/json\n"
		 "{\"repositories\":[\"one\"],\"permissions\":{\"contents\":\"read\",\"metadata\":\"read\"}}"},
		{&hub, true, false, "hub.test/owner/one",
		 "POST https://hub.test/api/v3/app/installations/12/access_tokens\nA: b\n"
		 "Accept: application/vnd.github+json\nX-GitHub-Api-Version: 2022-11-28\nContent-Type: application/json\n"
		 "{\"repositories\":[\"one\"],\"permissions\":{\"contents\":\"write\",\"metadata\":\"read\"}}"},
		{&lab, false, false, "lab.test/a/b/one",
		 "POST https://lab.test/api/v4/projects/a%2Fb%2Fone/access_tokens\nA: b\nContent-Type: application/json\n"
		 "{\"name\":\"ccbox-run-1\",\"scopes\":[\"read_repository\"],\"access_level\":20,"
		 "\"expires_at\":\"2023-11-16\"}"},
		{&lab, true, false, "lab.test/a/one",
		 "POST https://lab.test/api/v4/projects/a%2Fone/access_tokens\nA: b\nContent-Type: application/json\n"
		 "{\"name\":\"ccbox-run-1\",\"scopes\":[\"write_repository\"],\"access_level\":30,"
		 "\"expires_at\":\"2023-11-16\"}"},
		{&tea, false, false, "tea.test/a/one",
		 "POST https://tea.test/api/v1/users/robot/tokens\nA: b\nContent-Type: application/json\n"
		 "{\"name\":\"ccbox-run-1\",\"scopes\":[\"read:repository\"]}"},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++) {
		struct cc_forge_want want = {
			.count = 1, .write = table[i].write, .name = "ccbox-run-1", .now = 1700000000};
		struct cc_forge_call call;
		struct cc_err err = {0};
		struct cc_repo repo;
		struct cc_buf text;

		T_OK(cc_repo_read(table[i].repo, &repo, &err), err);
		want.repos = &repo;
		cc_forge_call_init(&call);
		(table[i].find ? table[i].forge->kind->find : table[i].forge->kind->ask)(table[i].forge, &want, 12,
											 "A: b", &call);
		cc_buf_init(&text, 4096);
		spell(&call, &text);
		assert_string_equal(text.data, table[i].text);
		cc_buf_done(&text);
		cc_forge_call_done(&call);
	}
}

static void what_takes_it_back(void **state)
{
	static const struct {
		struct cc_forge *forge;
		const char *text;
	} table[] = {
		{&hub, "DELETE https://hub.test/api/v3/installation/token\nAuthorization: Bearer the-token\n"
		       "Accept: application/vnd.github+json\nX-GitHub-Api-Version: 2022-11-28\n"},
		{&lab, "DELETE https://lab.test/api/v4/projects/a%2Fone/access_tokens/9\nA: b\n"},
		{&tea, "DELETE https://tea.test/api/v1/users/robot/tokens/9\nA: b\n"},
	};
	const struct cc_forge_token token = {.secret = "the-token", .number = "9"};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++) {
		struct cc_forge_call call;
		struct cc_buf text;

		cc_forge_call_init(&call);
		table[i].forge->kind->take_back(table[i].forge, &token, "a/one", "A: b", &call);
		cc_buf_init(&text, 4096);
		spell(&call, &text);
		assert_string_equal(text.data, table[i].text);
		cc_buf_done(&text);
		cc_forge_call_done(&call);
	}
}

static void authorities(void **state)
{
	struct cc_buf out;

	(void)state;
	cc_buf_init(&out, 256);
	cc_forge_authority(&lab, &out);
	assert_string_equal(out.data, "PRIVATE-TOKEN: maker");
	cc_buf_reset(&out);
	cc_forge_authority(&tea, &out);
	assert_string_equal(out.data, "Authorization: Basic cm9ib3Q6d29yZA==");
	cc_buf_done(&out);
}

#define GOOD                                                                                                           \
	"\"permissions\":{\"contents\":\"read\",\"metadata\":\"read\"},\"repository_selection\":\"selected\","         \
	"\"expires_at\":\"2031-01-31T12:00:00Z\""

static const struct {
	const char *label;
	struct cc_forge *forge;
	bool write;
	const char *text;
	bool token, good; /* there is a token in it; it is the right one */
} answers[] = {
	{"GitHub's", &hub, false, "{\"token\":\"t\"," GOOD "}", true, true},
	{"a token for more", &hub, true, "{\"token\":\"t\"," GOOD "}", true, false},
	{"no expiry", &hub, false,
	 "{\"token\":\"t\",\"permissions\":{\"contents\":\"read\"},\"repository_selection\":\"selected\"}", true,
	 false},
	{"a permission twice", &hub, false, "{\"token\":\"t\",\"token\":\"u\"," GOOD "}", false, false},
	{"write where read was asked", &hub, false,
	 "{\"token\":\"t\",\"permissions\":{\"contents\":\"write\"},\"repository_selection\":\"selected\","
	 "\"expires_at\":\"2031-01-31T12:00:00Z\"}",
	 true, false},
	{"admin of metadata", &hub, true,
	 "{\"token\":\"t\",\"permissions\":{\"contents\":\"write\",\"metadata\":\"write\"},"
	 "\"repository_selection\":\"selected\",\"expires_at\":\"2031-01-31T12:00:00Z\"}",
	 true, false},
	{"no token", &hub, false, "{" GOOD "}", false, false},
	{"a token with a quote", &hub, false, "{\"token\":\"a'b\"," GOOD "}", false, false},
	{"a token with a line", &hub, false, "{\"token\":\"a\\nb\"," GOOD "}", false, false},
	{"GitLab's", &lab, false,
	 "{\"token\":\"t\",\"id\":5,\"scopes\":[\"read_repository\"],\"access_level\":20,\"expires_at\":\"2031-01-31\"}",
	 true, true},
	{"GitLab's to push", &lab, true,
	 "{\"token\":\"t\",\"id\":5,\"scopes\":[\"write_repository\"],\"access_level\":30,\"expires_at\":\"2031-01-31\"}",
	 true, true},
	{"without its number", &lab, false,
	 "{\"token\":\"t\",\"scopes\":[\"read_repository\"],\"access_level\":20,\"expires_at\":\"2031-01-31\"}", false,
	 false},
	{"a number that is none", &lab, false,
	 "{\"token\":\"t\",\"id\":\"5/../6\",\"scopes\":[\"read_repository\"],\"expires_at\":\"2031-01-31\"}", false,
	 false},
	{"no role", &lab, false,
	 "{\"token\":\"t\",\"id\":5,\"scopes\":[\"read_repository\"],\"expires_at\":\"2031-01-31\"}", true, false},
	{"Gitea's", &tea, false, "{\"sha1\":\"t\",\"id\":5,\"scopes\":[\"read:repository\"]}", true, true},
	{"Gitea's, of before there were scopes", &tea, false, "{\"sha1\":\"t\",\"id\":5}", true, false},
	{"Gitea's, for all", &tea, false, "{\"sha1\":\"t\",\"id\":5,\"scopes\":[\"all\"]}", true, false},
};

static void what_is_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(answers); i++) {
		struct cc_repo repo;
		struct cc_forge_want want = {.repos = &repo, .count = 1, .write = answers[i].write, .now = 1700000000};
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_forge_token token = {0};
		bool read = cc_json_parse("a", cc_view_of(answers[i].text), 0, &doc, NULL) == CC_OK &&
			    cc_forge_read_token(answers[i].forge, cc_json_root(doc), &token, NULL) == CC_OK;

		T_ROW(cc_repo_read("h.test/o/n", &repo, NULL) == CC_OK, answers[i].label);
		T_ROW(read == answers[i].token, answers[i].label);
		if (!read)
			continue;
		T_ROW((cc_forge_check_token(answers[i].forge, cc_json_root(doc), &want, &token, NULL) == CC_OK) ==
			      answers[i].good,
		      answers[i].label);
		cc_forge_token_done(&token);
	}
}

static void times(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} table[] = {
		{"1970-01-01", 0},
		{"1970-01-01T00:00:00Z", 0},
		{"2000-02-29T23:59:59Z", 951868799},
		{"2031-01-31T12:00:00Z", 1927627200},
		{"2031-01-31T12:00:00.123Z", 1927627200},
		{"2100-03-01", 4107542400},
		{"2031-01-31T12:00:00", -1},
		{"2031-01-31T12:00:00+02:00", -1},
		{"2031-13-31", -1},
		{"2031-1-31", -1},
		{"1969-12-31", -1},
		{"31.1.2031", -1},
		{"", -1},
		{"x", -1},
		{"2031-01-31Z", -1},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++)
		T_ROW(cc_forge_time(cc_view_of(table[i].text)) == table[i].seconds, table[i].text);
	/* each day, there and back */
	for (int64_t day = 0; day < 60000; day++) {
		char text[16];

		cc_forge_day(day * 86400 + 86399, text);
		T_ROW(cc_forge_time(cc_view_of(text)) == day * 86400, text);
	}
}

static void what_is_quoted(void **state)
{
	static const struct {
		const char *body, *text;
	} table[] = {
		{"{\"message\":\"Not Found\",\"documentation_url\":\"x\"}", "Not Found"},
		{"{\"error\":\"insufficient_scope\"}", "insufficient_scope"},
		{"{\"error\":\"no scope\"}", "no scope"},
		{"{\"other\":\"secret\"}", ""},
		{"{\"message\":\"bad ghs_0123456789abcdef token\"}", "bad [...] token"},
		{"{\"message\":\"a\\nb\\u001b[31m\"}", "a b [31m"},
		{"<html>ghp_abcdefghijklm8nop</html>", "<html>[...]</html>"},
		{"plain words stay understandable", "plain words stay understandable"},
		{"", ""},
	};
	char out[CC_FORGE_QUOTE_MAX + 16], body[4096];

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++) {
		cc_forge_quote(cc_view_of(table[i].body), out, sizeof(out));
		T_ROW(strcmp(out, table[i].text) == 0, table[i].body);
	}
	/* after a NUL, too (found by fuzz-forge) */
	cc_forge_quote((struct cc_view){"a \0ghs_0123456789abcdef", 23}, out, sizeof(out));
	assert_string_equal(out, "a  [...]");
	for (size_t i = 0; i + 1 < sizeof(body); i++)
		body[i] = i % 5 == 4 ? ' ' : 'a';
	body[sizeof(body) - 1] = '\0';
	cc_forge_quote(cc_view_of(body), out, sizeof(out));
	assert_true(strlen(out) < sizeof(out));
	assert_true(strlen(out) >= 100);
}

static void what_a_token_becomes(void **state)
{
	static const struct {
		const char *host;
		enum cc_forge_family family;
		const char *env[4];
	} table[] = {
		{"github.com", CC_FAMILY_GITHUB, {"GH_TOKEN=t", "GITHUB_TOKEN=t"}},
		{"corp.ghe.com", CC_FAMILY_GITHUB, {"GH_TOKEN=t", "GITHUB_TOKEN=t"}},
		{"hub.test",
		 CC_FAMILY_GITHUB,
		 {"GH_ENTERPRISE_TOKEN=t", "GITHUB_ENTERPRISE_TOKEN=t", "GH_HOST=hub.test"}},
		{"gitlab.com", CC_FAMILY_GITLAB, {"GITLAB_TOKEN=t"}},
		{"lab.test", CC_FAMILY_GITLAB, {"GITLAB_TOKEN=t", "GITLAB_HOST=https://lab.test"}},
		{"tea.test", CC_FAMILY_GITEA, {"GITEA_TOKEN=t"}},
		{"other.test", CC_FAMILY_NONE, {NULL}},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++) {
		struct cc_forge forge = {
			.kind = &cc_kind_personal, .family = table[i].family, .host = (char *)(size_t)table[i].host};
		struct cc_strv env = {0};
		struct cc_err err = {0};
		size_t count = 0;

		T_OK(cc_forge_env(&forge, "t", &env, &err), err);
		while (count < 4 && table[i].env[count])
			count++;
		T_ROW(env.count == count, table[i].host);
		for (size_t j = 0; j < count; j++)
			T_ROW(cc_strv_has(&env, table[i].env[j]), table[i].env[j]);
		cc_strv_done(&env);
	}
}

static void what_one_token_reaches(void **state)
{
	struct cc_repo one, two, other;
	struct cc_err err = {0};

	(void)state;
	T_OK(cc_repo_read("h.test/owner/one", &one, &err), err);
	T_OK(cc_repo_read("h.test/Owner/two", &two, &err), err);
	T_OK(cc_repo_read("h.test/other/one", &other, &err), err);
	assert_true(cc_forge_together(&hub, &one, &two));
	assert_false(cc_forge_together(&hub, &one, &other));
	assert_true(cc_forge_together(&lab, &one, &one));
	assert_false(cc_forge_together(&lab, &one, &two));
	assert_true(cc_forge_together(&tea, &one, &other));
}

static void refusals(void **state)
{
	static const struct {
		long status;
		enum cc_code code;
		const char *word;
	} table[] = {
		{302, CC_EPROTO, "redirect"}, {401, CC_EPOLICY, "401"}, {403, CC_EPOLICY, "forbids"},
		{404, CC_ENOTFOUND, "404"},   {418, CC_EPROTO, "418"},  {429, CC_ELIMIT, "429"},
		{503, CC_EPROTO, "503"},
	};
	struct cc_err err;

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++) {
		assert_int_equal(cc_forge_refusal("h.test", "a token", table[i].status, cc_view_of("{}"), &err),
				 table[i].code);
		assert_non_null(strstr(err.what, table[i].word));
		assert_non_null(strstr(err.what, "a token: h.test"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked),
		cmocka_unit_test(what_takes_it_back),
		cmocka_unit_test(authorities),
		cmocka_unit_test(what_is_answered),
		cmocka_unit_test(times),
		cmocka_unit_test(what_is_quoted),
		cmocka_unit_test(what_a_token_becomes),
		cmocka_unit_test(what_one_token_reaches),
		cmocka_unit_test(refusals),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
