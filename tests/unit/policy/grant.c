#include "../t.h"

#include "policy/decide.h"

/* The flag that a refusal prints really allows what was refused. */
static const struct {
	const char *label, *path, *want;
} rows[] = {
	{"a plain name", "/p/a/b.pem", "--allow-name '**/b.pem'"},
	{"a quote in it", "/p/it's.pem", "--allow-name '**/it'\\''s.pem'"},
	{"bytes that are no text", "/p/\377\376.pem", "--allow-name '**/?\?.pem'"},
	{"a control byte", "/p/\033x.key", "--allow-name '**/?x.key'"},
};

static struct cc_rules *compile(const char *allow)
{
	struct cc_rules *rules = NULL;
	struct cc_spec spec;
	struct cc_err err = {0};

	cc_spec_init(&spec);
	spec.session_id = cc_str_copy("t");
	T_OK(cc_spec_add_bind(&spec, "/p", false, &err), err);
	if (allow)
		T_OK(cc_strv_push(&spec.policy.allow_names, allow, &err), err);
	T_OK(cc_rules_compile(&spec, NULL, &rules, &err), err);
	cc_spec_done(&spec);
	return rules;
}

/* What a shell makes of the quoted word. */
static void unquote(const char *quoted, char *out)
{
	for (; *quoted; quoted++)
		if (strncmp(quoted, "'\\''", 4) == 0) {
			*out++ = '\'';
			quoted += 3;
		} else if (*quoted != '\'') {
			*out++ = *quoted;
		}
	*out = '\0';
}

static void the_printed_flag_allows_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_ask ask = {.verb = CC_VERB_CREATE, .path = cc_view_of(rows[i].path)};
		CC_AUTO(cc_rules) strict = compile(NULL);
		CC_AUTO(cc_rules) open = NULL;
		struct cc_decision decision = cc_decide(strict, &ask);
		struct cc_buf grant;
		char glob[300];

		cc_buf_init(&grant, 4096);
		T_ROW(decision.verdict == CC_DENY, rows[i].label);
		cc_decision_grant(&decision, &ask, &grant);
		T_ROW(grant.data && strcmp(grant.data, rows[i].want) == 0, rows[i].label);
		unquote(grant.data + strlen("--allow-name "), glob);
		open = compile(glob);
		T_ROW(cc_decide(open, &ask).verdict == CC_ALLOW, rows[i].label);
		cc_buf_done(&grant);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_printed_flag_allows_it)};

	return cmocka_run_group_tests_name("grant", tests, NULL, NULL);
}
