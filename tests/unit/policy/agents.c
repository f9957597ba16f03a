#include "../t.h"

#include "policy/agents.h"
#include "policy/hosts.h"
#include "policy/names.h"

static void programs_are_found_by_their_base_name(void **state)
{
	(void)state;
	assert_string_equal(cc_agent_by_program("/usr/local/bin/claude")->name, "claude");
	assert_string_equal(cc_agent_by_program("codex")->name, "codex");
	assert_null(cc_agent_by_program("claude2"));
	assert_null(cc_agent_by_program("/claude/sh"));
	assert_null(cc_agent_by_program(NULL));
	assert_string_equal(cc_agent_by_name("goose")->name, "goose");
	assert_null(cc_agent_by_name("none"));
}

/* What names commands to run on the host is never written back (attacks 11). */
static void only_credentials_and_new_transcripts_leave(void **state)
{
	static const char *const back[] = {".credentials.json", "auth.json", "oauth_creds.json", "google_accounts.json",
					   "secrets.yaml"};
	const struct cc_agent *agent;

	(void)state;
	for (size_t i = 0; (agent = cc_agent_at(i)); i++) {
		for (size_t f = 0; f < CC_AGENT_LIST && agent->files[f].home; f++) {
			const struct cc_agent_file *file = &agent->files[f];
			bool credential = false;

			for (size_t b = 0; b < CC_COUNT(back); b++)
				credential |= cc_view_ends(cc_view_of(file->home), back[b]);
			T_ROW(credential || !(file->use & CC_AGENT_BACK), file->home);
			T_ROW(!(file->use & CC_AGENT_NEW) || file->use == CC_AGENT_NEW, file->home);
			T_ROW(file->home[0] != '/' && !strstr(file->home, ".."), file->home);
			T_ROW(file->copy && file->copy[0] != '/', file->home);
		}
	}
}

static void the_lists_are_well_formed(void **state)
{
	const struct cc_agent *agent;
	struct cc_err err;

	(void)state;
	for (size_t i = 0; (agent = cc_agent_at(i)); i++) {
		struct cc_strv hosts = {0};
		CC_AUTO(cc_hosts) compiled = NULL;

		assert_string_equal(cc_agent_by_name(agent->name)->name, agent->name);
		T_ROW(agent->programs[0] && agent->dirs[0].home && agent->keys[0], agent->name);
		T_ROW(!agent->keys[CC_AGENT_LIST - 1] && !agent->hosts[CC_AGENT_LIST - 1], agent->name);
		for (size_t h = 0; agent->hosts[h]; h++)
			T_OK(cc_strv_push(&hosts, agent->hosts[h], &err), err);
		T_OK(cc_hosts_compile(&hosts, &compiled, &err), err);
		cc_strv_done(&hosts);
		for (size_t n = 0; n < CC_COUNT(agent->names) && agent->names[n]; n++) {
			struct cc_pattern pattern;

			T_OK(cc_pattern_parse(agent->names[n], false, &pattern, &err), err);
			cc_pattern_done(&pattern);
		}
		for (size_t e = 0; e < CC_COUNT(agent->set_env) && agent->set_env[e]; e++)
			T_ROW(strchr(agent->set_env[e], '=') != NULL, agent->set_env[e]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_found_by_their_base_name),
		cmocka_unit_test(only_credentials_and_new_transcripts_leave),
		cmocka_unit_test(the_lists_are_well_formed),
	};

	return cmocka_run_group_tests_name("agents", tests, NULL, NULL);
}
