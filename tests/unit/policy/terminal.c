#include "../t.h"

#include "policy/decide.h"

static const struct {
	const char *label;
	enum cc_verb verb;
	const char *path;
	enum cc_verdict want;
} rows[] = {
	{"HOME is writable", CC_VERB_CREATE, "/home/ann/notes", CC_ALLOW},
	{"the working directory is writable", CC_VERB_CREATE, "/srv/work/a", CC_ALLOW},
	{"no name rule", CC_VERB_CREATE, "/srv/work/.env", CC_ALLOW},
	{"no deny-write: shell files", CC_VERB_WRITE, "/home/ann/.bashrc", CC_ALLOW},
	{"no deny-write: hooks", CC_VERB_CREATE, "/srv/work/.git/hooks/pre-commit", CC_ALLOW},
	{"ssh keys are not read", CC_VERB_READ, "/home/ann/.ssh/id_rsa", CC_DENY},
	{"nor aws", CC_VERB_READ, "/home/ann/.aws/credentials", CC_DENY},
	{"nor gnupg", CC_VERB_READ, "/home/ann/.gnupg/secring", CC_DENY},
	{"nor gh", CC_VERB_READ, "/home/ann/.config/gh/hosts.yml", CC_DENY},
	{"the rest of the secrets is: the list is the seed's", CC_VERB_READ, "/home/ann/.netrc", CC_ALLOW},
	{"a secret gets no other name", CC_VERB_LINK_FROM, "/home/ann/.ssh/id_rsa", CC_DENY},
	{"nor is what holds it moved away", CC_VERB_RENAME_FROM, "/home/ann/.config", CC_DENY},
	{"the daemon's token is not read", CC_VERB_READ, "/home/ann/.local/share/ccbox/token", CC_DENY},
};

static void the_terminal_profile_is_the_seeds(void **state)
{
	const struct cc_rule_facts facts = {.home = "/home/ann"};
	CC_AUTO(cc_rules) rules = NULL;
	struct cc_strv daemon = {0};
	struct cc_err err;

	(void)state;
	T_OK(cc_strv_push(&daemon, "/home/ann/.local/share/ccbox", &err), err);
	T_OK(cc_rules_terminal("term-tty1-space", "/srv/work", &daemon, &facts, &rules, &err), err);
	assert_true(rules->network_open);
	assert_true(rules->reads_judged);
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_ask ask = {.verb = rows[i].verb, .path = cc_view_of(rows[i].path)};

		T_ROW(cc_decide(rules, &ask).verdict == rows[i].want, rows[i].label);
	}
	cc_strv_done(&daemon);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_terminal_profile_is_the_seeds)};

	return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
