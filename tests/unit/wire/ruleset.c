#include "../policy/rig.h"

#include "wire/ruleset.h"

static struct cc_rules *round_trip(const struct cc_rules *rules, struct cc_buf *text)
{
	struct cc_jsonw w;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_rules *again = NULL;
	struct cc_err err;

	cc_jsonw_init(&w, text);
	cc_ruleset_write(&w, rules);
	T_OK(cc_buf_check(text, "rules", &err), err);
	T_OK(cc_json_parse("rules", cc_buf_view(text), 0, &doc, &err), err);
	T_OK(cc_ruleset_read(cc_json_root(doc), &again, &err), err);
	return again;
}

static void full_rig(struct rig *rig)
{
	rig_init(rig);
	rig_add(rig, &rig->spec.policy.allow_names, "**/caf\xe9/**");
	rig_add(rig, &rig->spec.policy.deny_write, "/r/\xff\xfe");
	rig_add(rig, &rig->spec.policy.deny_read, "/r/secret");
	rig_add(rig, &rig->spec.policy.allow_sockets, "/r/s.sock");
	rig_add(rig, &rig->spec.policy.private_cidrs, "10.0.0.0/8");
	rig_add(rig, &rig->spec.publish, "3000");
	rig_add(rig, &rig->spec.host_ports, "5432");
	rig_add(rig, &rig->spec.owner_ports, "7777");
	rig->spec.policy.max_connections = 300;
	rig->spec.policy.parent_proxy = cc_str_copy("http://ann:secret@parent.test:8080/");
	rig->spec.gateway = true;
	rig_add(rig, &rig->spec.protected_paths, "/r/prot\xc3\xa9g\xc3\xa9");
	rig_compile(rig);
}

static void what_is_read_writes_the_same(void **state)
{
	struct rig rig;
	struct cc_buf one;
	struct cc_buf two;
	struct cc_jsonw w;
	CC_AUTO(cc_rules) again = NULL;

	(void)state;
	full_rig(&rig);
	cc_buf_init(&one, 1 << 20);
	cc_buf_init(&two, 1 << 20);
	again = round_trip(rig.rules, &one);
	cc_jsonw_init(&w, &two);
	cc_ruleset_write(&w, again);
	assert_string_equal(one.data, two.data);
	cc_buf_done(&one);
	cc_buf_done(&two);
	rig_done(&rig);
}

static void the_copy_decides_the_same(void **state)
{
	static const struct rig_row rows[] = {
		ASK(CREATE, "/r/.env", "deny name:**/.env"),
		ASK(CREATE, "/r/caf\xe9/.env", "allow"),
		ASK(CREATE, "/r/\xff\xfe/x", "deny deny-write:/r/\xff\xfe"),
		ASK(CREATE, "/r/\xff\xfd/x", "allow"),
		ASK(READ, "/r/secret/x", "deny deny-read:/r/secret"),
		ASK(CREATE, "/r/prot\xc3\xa9g\xc3\xa9/x", "deny protected:/r/prot\xc3\xa9g\xc3\xa9"),
		ASK(CREATE, "/ro/x", "deny mount:read-only"),
		ASK(CREATE, "/r/HEAD", "judge git:bare"),
		ASK(CREATE, "/r/CLAUDE.md", "flag flag:instructions"),
	};
	struct rig rig;
	struct rig copy;
	struct cc_buf text;

	(void)state;
	full_rig(&rig);
	cc_buf_init(&text, 1 << 20);
	copy = rig;
	copy.rules = round_trip(rig.rules, &text);
	rig_check(&copy, rows, CC_COUNT(rows));
	rig_check(&rig, rows, CC_COUNT(rows));
	assert_int_equal(copy.rules->sockets.count, 1);
	assert_true(copy.rules->reads_judged);
	assert_int_equal(copy.rules->net->conns_max, 300);
	assert_true(copy.rules->net->gateway);
	assert_int_equal(copy.rules->net->transparent, CC_TRANSPARENT_TRY);
	assert_string_equal(cc_net_parent(copy.rules->net)->host.text, "parent.test");
	assert_true(cc_net_is_owner_port(copy.rules->net, 7777));
	assert_true(cc_net_decide_port(copy.rules->net, &copy.rules->net->publish, 3000).allowed);
	assert_false(cc_net_decide_port(copy.rules->net, &copy.rules->net->host_ports, 3000).allowed);
	cc_rules_free(copy.rules);
	cc_buf_done(&text);
	rig_done(&rig);
}

/* Cuts or changes one field of a good rule set. */
static void a_rule_is_never_skipped(void **state)
{
	static const struct {
		const char *label, *from, *to;
	} changes[] = {
		{"another version", "\"v\":2", "\"v\":3"},
		{"an unknown kind", "\"kind\":\"tree\"", "\"kind\":\"free\""},
		{"an unknown effect", "\"effect\":\"judge\"", "\"effect\":\"nudge\""},
		{"a field in another name", "\"leaf\":", "\"lead\":"},
		{"a field too many", "\"leaf\":", "\"x\":1,\"leaf\":"},
		{"a field of another type", "\"whole\":false", "\"whole\":0"},
		{"too many verbs", "\"verbs\":32766", "\"verbs\":99999999"},
		{"no network", "\"net\":{", "\"net\":3,\"n\":{"},
		{"a relative mount", "\"path\":\"/ro\"", "\"path\":\"ro\""},
		{"an unknown mount mode", "\"mode\":\"rw\"", "\"mode\":\"wr\""},
		{"a mount twice", "\"path\":\"/ro\"", "\"path\":\"/r\""},
		{"an odd hex string", "\"hex\":\"", "\"hex\":\"1"},
		{"a NUL in hex", "\"hex\":\"", "\"hex\":\"00"},
		{"a pattern that cannot match", "\"pattern\":\".git/hooks/**\"", "\"pattern\":\".git/../x\""},
	};
	struct rig rig;
	struct cc_buf text;
	struct cc_jsonw w;

	(void)state;
	full_rig(&rig);
	cc_buf_init(&text, 1 << 20);
	cc_jsonw_init(&w, &text);
	cc_ruleset_write(&w, rig.rules);
	for (size_t i = 0; i < CC_COUNT(changes); i++) {
		const char *at = strstr(text.data, changes[i].from);
		struct cc_buf changed;
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_rules *rules = NULL;
		struct cc_err err;

		T_ROW(at != NULL, changes[i].label);
		cc_buf_init(&changed, 1 << 20);
		cc_buf_add(&changed, text.data, (size_t)(at - text.data));
		cc_buf_adds(&changed, changes[i].to);
		cc_buf_adds(&changed, at + strlen(changes[i].from));
		T_OK(cc_json_parse("r", cc_buf_view(&changed), 0, &doc, &err), err);
		T_ROW(cc_ruleset_read(cc_json_root(doc), &rules, &err) != CC_OK, changes[i].label);
		T_ROW(rules == NULL, changes[i].label);
		cc_buf_done(&changed);
	}
	cc_buf_done(&text);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_writes_the_same),
		cmocka_unit_test(the_copy_decides_the_same),
		cmocka_unit_test(a_rule_is_never_skipped),
	};

	return cmocka_run_group_tests_name("ruleset", tests, NULL, NULL);
}
