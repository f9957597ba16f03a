#include "rig.h"

#include "policy/defaults.h"

/* A resolver with two links: /home/u/link -> /real/link, /r/ln -> /r/real */
static bool resolve_links(void *context, const char *path, char *out, size_t cap)
{
	static const struct {
		const char *from, *to;
	} links[] = {{"/r/ln", "/r/real"}, {"/r/l2", "/r/other"}, {"/home/u", "/homes/u"}};

	(void)context;
	for (size_t i = 0; i < CC_COUNT(links); i++) {
		size_t len = strlen(links[i].from);

		if (strstr(path, "absent"))
			return false;
		if (strncmp(path, links[i].from, len) == 0 && (path[len] == '/' || path[len] == '\0')) {
			snprintf(out, cap, "%s%s", links[i].to, path + len);
			return true;
		}
	}
	return false;
}

static void both_spellings_are_denied(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/ln/x", "deny protected:/r/ln"),
		ASK(CREATE, "/r/real/x", "deny protected:/r/ln"),
		ASK(RENAME_FROM, "/r/real", "deny protected:/r/ln"),
		ASK(CREATE, "/r/other/absent/deep", "deny deny-write:/r/l2/absent/deep"),
		ASK(CREATE, "/homes/u/p/.ssh/x", "allow"),
		ASK(CREATE, "/homes/u/p/a", "allow"),
		ASK(CREATE, "/homes/u/other", "allow"),
	};
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig.facts.resolve = resolve_links;
	rig_add(&rig, &rig.spec.protected_paths, "/r/ln");
	rig_add(&rig, &rig.spec.policy.deny_write, "/r/l2/absent/deep");
	T_OK(cc_spec_add_bind(&rig.spec, "/home/u/p", false, &rig.err), rig.err);
	rig_compile(&rig);
	rig_check(&rig, rows, CC_COUNT(rows));
	rig_done(&rig);
}

/* HOME itself bound: the mandatory lists hold, secrets are not even read. */
static void a_bound_home_keeps_its_secrets(void **state)
{
	static const struct rig_row rows[] = {
		ASK(READ, "/home/u/.ssh/id_rsa", "deny secret:.ssh"),
		ASK(LINK_FROM, "/home/u/.ssh/id_rsa", "deny secret:.ssh"),
		ASK(RENAME_FROM, "/home/u/.ssh", "deny secret:.ssh"),
		ASK(READ, "/home/u/.config/gh/hosts.yml", "deny secret:.config/gh"),
		ASK(RENAME_FROM, "/home/u/.config", "deny secret:.config/gh"),
		ASK(READ, "/home/u/.config/other", "allow"),
		ASK(MKDIR, "/home/u/.config", "allow"),
		ASK(CREATE, "/home/u/.claude/settings.json", "deny home:.claude/settings.json"),
		ASK(CREATE, "/home/u/.bashrc", "deny home:.bashrc"),
		ASK(CREATE, "/home/u/.config/git/config", "deny home:.config/git"),
		ASK(READ, "/home/u/.bashrc", "allow"),
		ASK(CREATE, "/home/u/x", "allow"),
	};
	struct rig rig;

	(void)state;
	rig_init(&rig);
	T_OK(cc_spec_add_bind(&rig.spec, "/home/u", false, &rig.err), rig.err);
	rig_compile(&rig);
	assert_true(rig.rules->reads_judged);
	rig_check(&rig, rows, CC_COUNT(rows));
	rig_done(&rig);
}

static void reads_are_judged_only_where_it_matters(void **state)
{
	static const struct {
		const char *label, *bind, *deny_read;
		bool want;
	} rows[] = {
		{"secrets lie in a private HOME", "/p", NULL, false},
		{"a bind below HOME without secrets", "/home/u/p", NULL, false},
		{"a bind inside a secret directory", "/home/u/.ssh/x", NULL, true},
		{"a bind above HOME", "/home", NULL, true},
		{"a denied path elsewhere", "/p", "/q/secret", false},
		{"a denied path inside", "/p", "/p/secret", true},
		{"a glob", "/p", "**/secret", true},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct rig rig;

		rig_init(&rig);
		T_OK(cc_spec_add_bind(&rig.spec, rows[i].bind, false, &rig.err), rig.err);
		if (rows[i].deny_read)
			rig_add(&rig, &rig.spec.policy.deny_read, rows[i].deny_read);
		rig_compile(&rig);
		T_ROW(rig.rules->reads_judged == rows[i].want, rows[i].label);
		rig_done(&rig);
	}
}

static void only_chat_has_writable_binds(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/a", "deny mount:read-only"),
		ASK(CREATE, "/w/a", "deny mount:read-only"),
		ASK(CREATE, "/home/u/.state/a", "allow"),
		ASK(CREATE, "/tmp/a", "allow"),
	};

	(void)state;
	for (enum cc_mode mode = CC_MODE_REVIEW; mode <= CC_MODE_ORCHESTRATE; mode++) {
		struct rig rig;

		rig_init(&rig);
		rig.spec.mode = mode;
		rig_add(&rig, &rig.spec.policy.allow_write, "/w");
		rig_compile(&rig);
		rig_check(&rig, rows, CC_COUNT(rows));
		rig_done(&rig);
	}
}

static void tooling_opens_project_tools_with_an_event(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/.vscode/tasks.json", "flag tool:editor"),
		ASK(CREATE, "/r/.husky/pre-commit", "flag tool:hooks"),
		ASK(CREATE, "/r/.npmrc", "flag tool:package-manager"),
		ASK(CREATE, "/r/.git/hooks/pre-commit", "deny git:hooks"),
		ASK(CREATE, "/r/.mcp.json", "deny agent:config"),
		ASK(CREATE, "/r/.bashrc", "deny shell:start-up"),
		ASK(CREATE, "/r/.ccbox.jsonc", "deny ccbox:policy"),
	};
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_add(&rig, &rig.spec.policy.presets, "tooling");
	rig_compile(&rig);
	rig_check(&rig, rows, CC_COUNT(rows));
	rig_done(&rig);
}

static const struct {
	enum cc_verb verb;
	const char *path, *want;
} grants[] = {
	{CC_VERB_CREATE, "/r/a/.env", "--allow-name '**/.env'"},
	{CC_VERB_CREATE, "/r/x.pem/y", "--allow-name '**/x.pem'"},
	{CC_VERB_CREATE, "/r/it's.pem", "--allow-name '**/it'\\''s.pem'"},
	{CC_VERB_CREATE, "/r/.vscode/tasks.json", "--allow-path '/r/.vscode/tasks.json'"},
	{CC_VERB_WRITE, "/r/.git/config", "--allow-path '/r/.git/config'"},
	{CC_VERB_MKDIR, "/r/.git/worktrees/w", "--allow-path '/r/.git/worktrees'"},
	{CC_VERB_CREATE, "/r/.git/worktrees/w/commondir", "--allow-path '/r/.git/worktrees'"},
	{CC_VERB_CREATE, "/r/sub/.git", "--allow-path '/r/sub/.git'"},
	{CC_VERB_UNLINK, "/r/sub/.git", "--allow-path '/r/sub/.git'"},
	{CC_VERB_MKDIR, "/r/.git/modules/m", "--allow-path '/r/.git/modules'"},
	{CC_VERB_RENAME_FROM, "/r/.claude", ""},
	{CC_VERB_CREATE, "/r/prot/x", ""},
	{CC_VERB_CREATE, "/r/.ccbox.jsonc", ""},
	{CC_VERB_CREATE, "/ro/x", ""},
	{CC_VERB_CREATE, "/elsewhere", ""},
	{CC_VERB_MKNOD, "/r/fifo", ""},
};

/* The grant that a refusal names does open it, and nothing is named where nothing would. */
static void a_grant_opens_what_was_refused(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_add(&rig, &rig.spec.protected_paths, "/r/prot");
	rig_compile(&rig);
	for (size_t i = 0; i < CC_COUNT(grants); i++) {
		struct cc_ask ask = {grants[i].verb, cc_view_of(grants[i].path), CC_OBJECT_UNKNOWN, {NULL, 0}};
		struct cc_decision decision = cc_decide(rig.rules, &ask);
		struct cc_buf out;
		struct rig again;
		char value[200];

		cc_buf_init(&out, 1000);
		cc_decision_grant(&decision, &ask, &out);
		T_ROW(decision.verdict == CC_DENY, grants[i].path);
		if (strcmp(out.len ? out.data : "", grants[i].want) != 0)
			fail_msg("%s: got %s", grants[i].path, out.data);
		if (out.len && !strchr(grants[i].path, '\'')) {
			bool name = strncmp(out.data, "--allow-name", 12) == 0;

			snprintf(value, sizeof(value), "%.*s", (int)(out.len - 15), out.data + 14);
			rig_init(&again);
			rig_add(&again, name ? &again.spec.policy.allow_names : &again.spec.policy.allow_paths, value);
			rig_compile(&again);
			T_ROW(cc_decide(again.rules, &ask).verdict == CC_ALLOW, grants[i].path);
			rig_done(&again);
		}
		cc_buf_done(&out);
	}
	rig_done(&rig);
}

static void the_network_half_is_filled(void **state)
{
	struct rig rig;
	struct cc_host host;

	(void)state;
	rig_init(&rig);
	rig_add(&rig, &rig.spec.egress_allowlist, "extra.example");
	rig_add(&rig, &rig.spec.policy.allowed_domains, "mine.example");
	rig_add(&rig, &rig.facts.agent_hosts, "agent.example");
	rig_add(&rig, &rig.spec.policy.denied_domains, "api.github.com");
	rig_compile(&rig);
	assert_true(rig.rules->net->enabled);
	assert_true(cc_strv_has(&rig.rules->net->allow, "extra.example"));
	assert_true(cc_strv_has(&rig.rules->net->allow, "mine.example"));
	assert_true(cc_strv_has(&rig.rules->net->allow, "agent.example"));
	T_OK(cc_host_parse(cc_view_of("codeload.github.com"), CC_HOST_URI, &host, &rig.err), rig.err);
	assert_true(cc_net_decide(rig.rules->net, &host, 443).allowed);
	T_OK(cc_host_parse(cc_view_of("api.github.com"), CC_HOST_URI, &host, &rig.err), rig.err);
	assert_false(cc_net_decide(rig.rules->net, &host, 443).allowed);
	T_OK(cc_host_parse(cc_view_of("metadata.google.internal"), CC_HOST_URI, &host, &rig.err), rig.err);
	assert_false(cc_net_decide(rig.rules->net, &host, 80).allowed);
	rig_done(&rig);

	rig_init(&rig);
	rig.spec.network_enabled = false;
	rig_add(&rig, &rig.spec.policy.allowed_domains, "mine.example");
	rig_compile(&rig);
	assert_false(rig.rules->net->enabled);
	assert_int_equal(rig.rules->net->allow.count, 0);
	rig_done(&rig);

	rig_init(&rig);
	rig.spec.policy.network = 0;
	rig_compile(&rig);
	assert_false(rig.rules->net->enabled);
	rig_done(&rig);
}

static void bad_input_is_refused(void **state)
{
	static const struct {
		size_t list;
		const char *value;
	} rows[] = {
		{offsetof(struct cc_spec, policy.presets), "everything"},
		{offsetof(struct cc_spec, policy.allow_names), "a//b"},
		{offsetof(struct cc_spec, policy.allow_paths), "relative"},
		{offsetof(struct cc_spec, policy.deny_write), "/a/../b"},
		{offsetof(struct cc_spec, protected_paths), "/"},
		{offsetof(struct cc_spec, policy.allowed_domains), "*.*"},
		{offsetof(struct cc_spec, runner_state_dirs), "/proc"},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct rig rig;

		rig_init(&rig);
		rig_add(&rig, (struct cc_strv *)(void *)((char *)&rig.spec + rows[i].list), rows[i].value);
		T_ROW(cc_rules_compile(&rig.spec, &rig.facts, &rig.rules, &rig.err) == CC_EINVAL, rows[i].value);
		T_ROW(rig.rules == NULL, rows[i].value);
		rig_done(&rig);
	}
}

/* Every mandatory row: its own pattern, with stars made names, meets it. */
static void every_mandatory_row_is_met(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig);
	rig_compile(&rig);
	for (size_t i = 0; i < cc_default_rule_count; i++) {
		const struct cc_default_rule *row = &cc_default_rules[i];
		char path[300] = "/r/sub/";
		size_t len = strlen(path);
		bool met = false;

		for (const char *c = row->pattern; *c; c++) {
			if (*c == '*' && c[1] == '*')
				c++;
			path[len++] = *c == '*' || *c == '?' ? 'x' : *c;
		}
		path[len] = '\0';
		for (enum cc_verb verb = CC_VERB_CREATE; verb < CC_VERB_CONNECT; verb++) {
			struct cc_decision d = rig_ask(&rig, verb, path, CC_OBJECT_UNKNOWN, NULL);

			met |= d.rule && strcmp(d.rule->id, row->id) == 0;
		}
		T_ROW(met || row->effect == CC_EFFECT_ALLOW, row->pattern);
	}
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_spellings_are_denied),
		cmocka_unit_test(a_bound_home_keeps_its_secrets),
		cmocka_unit_test(reads_are_judged_only_where_it_matters),
		cmocka_unit_test(only_chat_has_writable_binds),
		cmocka_unit_test(tooling_opens_project_tools_with_an_event),
		cmocka_unit_test(a_grant_opens_what_was_refused),
		cmocka_unit_test(the_network_half_is_filled),
		cmocka_unit_test(bad_input_is_refused),
		cmocka_unit_test(every_mandatory_row_is_met),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
