#include "../t.h"

#include "wire/policyfile.h"

static const struct {
	const char *label, *text;
	enum cc_policy_source source;
	const char *error; /* NULL: accepted */
} files[] = {
	{"everything at once",
	 "{\"$schema\":\"x\",\"filesystem\":{\"allowWrite\":[\"/w\",\"~/x\"],\"denyWrite\":[\"**/*.sql\",\"/a/b\"],"
	 "\"denyRead\":[\"~/.secrets\"],\"allowRead\":[\"/lib2\"],\"allowNames\":[\"**/testdata/**\"],"
	 "\"allowPaths\":[\"/r/.vscode\"],\"allowSockets\":[\"/r/s.sock\"],\"presets\":[\"packages\"]},"
	 "\"network\":{\"enabled\":true,\"ech\":false,\"allowedDomains\":[\"*.example.com\"],\"deniedDomains\":[\"bad.example\"],"
	 "\"privateNames\":[\"db.internal\"],\"privateCidrs\":[\"10.0.0.0/8\"],\"hosts\":{\"db.internal\":[\"10.0.0.1\"],"
	 "\"x.internal\":\"10.0.0.2\"},\"maxConnections\":300,\"parentProxy\":\"http://p.test:3128\"},\"actions\":[\"gitPush=deny\"],\"env\":[\"FOO\",\"BAR=baz\"]}",
	 CC_POLICY_OPERATOR, NULL},
	{"an empty object", "{}", CC_POLICY_OPERATOR, NULL},
	{"comments", "// c\n{\"network\":{\"enabled\":false,},}", CC_POLICY_PROJECT, NULL},
	{"a project file may deny",
	 "{\"filesystem\":{\"denyWrite\":[\"db/**\"],\"denyRead\":[\"secrets\"]},\"network\":{\"deniedDomains\":[\"x.y\"]}}",
	 CC_POLICY_PROJECT, NULL},
	{"an empty file", "", CC_POLICY_OPERATOR, "p:1:1: the text ends where a value is expected"},
	{"a list at the top", "[]", CC_POLICY_OPERATOR, "p:1:1: an object is expected here"},
	{"an unknown key", "{\"filesystem\":{\n \"allowWrites\":[]}}", CC_POLICY_OPERATOR,
	 "p:2:2: unknown key \"allowWrites\""},
	{"an unknown section", "{\"files\":{}}", CC_POLICY_OPERATOR, "p:1:2: unknown key \"files\""},
	{"a wrong type", "{\"filesystem\":{\"allowWrite\":\"/w\"}}", CC_POLICY_OPERATOR,
	 "p:1:29: a list of strings is expected here"},
	{"a wrong element", "{\"filesystem\":{\"allowWrite\":[1]}}", CC_POLICY_OPERATOR,
	 "p:1:30: a string is expected here"},
	{"a duplicate key", "{\"env\":[],\"env\":[]}", CC_POLICY_OPERATOR, "p:1:11: \"env\" is here twice"},
	{"a relative bind", "{\"filesystem\":{\"allowWrite\":[\"w\"]}}", CC_POLICY_OPERATOR,
	 "p:1:30: a path must be absolute: \"w\""},
	{"a glob as a bind", "{\"filesystem\":{\"allowWrite\":[\"/w/*\"]}}", CC_POLICY_OPERATOR,
	 "p:1:30: no wildcard is possible here: \"/w/*\""},
	{"another person's home", "{\"filesystem\":{\"allowRead\":[\"~x/a\"]}}", CC_POLICY_OPERATOR,
	 "p:1:29: only \"~/\" is understood, not \"~x/a\""},
	{"a glob that never matches", "{\"filesystem\":{\"allowNames\":[\"a//b\"]}}", CC_POLICY_OPERATOR,
	 "p:1:30: glob \"a//b\" can never match: an empty part"},
	{"a glob with ..", "{\"filesystem\":{\"denyWrite\":[\"../x*\"]}}", CC_POLICY_OPERATOR,
	 "p:1:29: glob \"../x*\" can never match: \".\" or \"..\" in it"},
	{"an empty glob", "{\"filesystem\":{\"allowNames\":[\"\"]}}", CC_POLICY_OPERATOR, "p:1:30: a glob is empty"},
	{"an unknown preset", "{\"filesystem\":{\"presets\":[\"all\"]}}", CC_POLICY_OPERATOR,
	 "p:1:27: unknown preset \"all\": packages, tracked or tooling"},
	{"a variable without a name", "{\"env\":[\"=x\"]}", CC_POLICY_OPERATOR,
	 "p:1:9: \"=x\" is neither NAME nor NAME=VALUE"},
	{"a host without addresses", "{\"network\":{\"hosts\":{\"a.b\":[]}}}", CC_POLICY_OPERATOR,
	 "p:1:28: at least one address is expected here"},
	{"a project file that opens a name", "{\"filesystem\":{\"allowNames\":[\"x\"]}}", CC_POLICY_PROJECT,
	 "p:1:16: a project file may only tighten: not allowed here"},
	{"a project file that opens a host", "{\"network\":{\"allowedDomains\":[\"x.y\"]}}", CC_POLICY_PROJECT,
	 "p:1:13: a project file may only tighten: not allowed here"},
	{"a project file that turns the network on", "{\"network\":{\"enabled\":true}}", CC_POLICY_PROJECT,
	 "p:1:23: a project file may only tighten: not allowed here"},
	{"a project file may refuse encrypted names", "{\"network\":{\"ech\":false}}", CC_POLICY_PROJECT, NULL},
	{"a project file that lets them through", "{\"network\":{\"ech\":true}}", CC_POLICY_PROJECT,
	 "p:1:19: a project file may only tighten: not allowed here"},
	{"a project file that passes a variable", "{\"env\":[\"X\"]}", CC_POLICY_PROJECT,
	 "p:1:2: a project file may only tighten: not allowed here"},
	{"a project file may bound its connections", "{\"network\":{\"maxConnections\":8}}", CC_POLICY_PROJECT, NULL},
	{"a project file that names a parent", "{\"network\":{\"parentProxy\":\"http://p.test:1\"}}", CC_POLICY_PROJECT,
	 "p:1:13: a project file may only tighten: not allowed here"},
	{"no connections at all", "{\"network\":{\"maxConnections\":0}}", CC_POLICY_OPERATOR,
	 "p:1:30: a number from 1 to 16384 is expected here"},
	{"a parent without a port", "{\"network\":{\"parentProxy\":\"http://p.test\"}}", CC_POLICY_OPERATOR,
	 "p:1:27: the parent proxy is written http://HOST:PORT"},
	{"a project file that names hosts", "{\"network\":{\"hosts\":{\"a.b\":\"10.0.0.1\"}}}", CC_POLICY_PROJECT,
	 "p:1:13: a project file may only tighten: not allowed here"},
};

static void files_are_taken_or_refused_with_a_position(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(files); i++) {
		struct cc_policy policy;
		struct cc_err err = {0};
		enum cc_code code;

		cc_policy_init(&policy);
		code = cc_policyfile_parse("p", cc_view_of(files[i].text), files[i].source, &policy, &err);
		if ((code == CC_OK) != !files[i].error || (files[i].error && strcmp(err.what, files[i].error) != 0))
			fail_msg("row \"%s\": got \"%s\"", files[i].label, err.what);
		if (code != CC_OK)
			assert_true(policy.network == -1 && policy.allow_write.count == 0);
		cc_policy_done(&policy);
	}
}

static void bad_network_entries_are_refused(void **state)
{
	static const char *const bad[] = {
		"{\"network\":{\"allowedDomains\":[\"*.*.com\"]}}",
		"{\"network\":{\"allowedDomains\":[\"a b\"]}}",
		"{\"network\":{\"privateCidrs\":[\"10.0.0.0/99\"]}}",
		"{\"network\":{\"hosts\":{\"a.b\":\"nonsense\"}}}",
		"{\"network\":{\"hosts\":{\"a.b\":[1]}}}",
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(bad); i++) {
		struct cc_policy policy;
		struct cc_err err = {0};

		cc_policy_init(&policy);
		T_ROW(cc_policyfile_parse("p", cc_view_of(bad[i]), CC_POLICY_OPERATOR, &policy, &err) == CC_EINVAL,
		      bad[i]);
		T_ROW(strncmp(err.what, "p:1:", 4) == 0, bad[i]);
		cc_policy_done(&policy);
	}
}

static void what_is_written_reads_the_same(void **state)
{
	struct cc_policy one;
	struct cc_policy two;
	struct cc_buf first;
	struct cc_buf second;
	struct cc_err err;

	(void)state;
	cc_policy_init(&one);
	cc_policy_init(&two);
	cc_buf_init(&first, 65536);
	cc_buf_init(&second, 65536);
	T_OK(cc_policyfile_parse("p", cc_view_of(files[0].text), CC_POLICY_OPERATOR, &one, &err), err);
	cc_policyfile_write(&one, &first);
	T_OK(cc_policyfile_parse("q", cc_buf_view(&first), CC_POLICY_OPERATOR, &two, &err), err);
	cc_policyfile_write(&two, &second);
	assert_string_equal(first.data, second.data);
	assert_int_equal(two.host_count, 2);
	assert_int_equal(two.network, 1);
	assert_int_equal(two.ech, 0);
	assert_int_equal(two.max_connections, 300);
	assert_string_equal(two.parent_proxy, "http://p.test:3128");
	cc_buf_done(&first);
	cc_buf_done(&second);
	cc_policy_done(&one);
	cc_policy_done(&two);
}

static void off_wins_in_a_merge(void **state)
{
	struct cc_policy policy;
	struct cc_err err;

	(void)state;
	cc_policy_init(&policy);
	T_OK(cc_policyfile_parse("a", cc_view_of("{\"network\":{\"enabled\":false}}"), CC_POLICY_PROJECT, &policy,
				 &err),
	     err);
	T_OK(cc_policyfile_parse("b", cc_view_of("{\"network\":{\"enabled\":true}}"), CC_POLICY_OPERATOR, &policy,
				 &err),
	     err);
	T_OK(cc_policyfile_parse("c", cc_view_of("{}"), CC_POLICY_OPERATOR, &policy, &err), err);
	assert_int_equal(policy.network, 0);
	assert_int_equal(policy.ech, -1);
	cc_policy_done(&policy);
}

static void the_schema_is_json_and_names_every_key(void **state)
{
	struct cc_buf out;

	(void)state;
	cc_buf_init(&out, 65536);
	cc_policyfile_schema(&out);
	assert_non_null(strstr(out.data, "\"allowNames\""));
	assert_non_null(strstr(out.data, "\"privateCidrs\""));
	assert_non_null(strstr(out.data, "\"additionalProperties\":false"));
	assert_non_null(strstr(out.data, "\"pattern\":\"^(packages|tracked|tooling)$\""));
	cc_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_taken_or_refused_with_a_position),
		cmocka_unit_test(bad_network_entries_are_refused),
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(off_wins_in_a_merge),
		cmocka_unit_test(the_schema_is_json_and_names_every_key),
	};

	return cmocka_run_group_tests_name("policyfile", tests, NULL, NULL);
}
