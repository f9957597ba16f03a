#include "../t.h"

#include "policy/spec.h"

static void stored_names_and_requests_differ(void **state)
{
	static const struct {
		const char *name;
		enum cc_backend_kind stored;
		bool request;
	} rows[] = {
		{"microvm", CC_BACKEND_MICROVM, true}, {"native", CC_BACKEND_NATIVE, true},
		{"none", CC_BACKEND_NONE, true},       {"docker", CC_BACKEND_NATIVE, false},
		{"Native", CC_BACKEND_NONE, false},    {"", CC_BACKEND_NONE, false},
		{"unset", CC_BACKEND_NONE, false},
	};
	enum cc_backend_kind kind = CC_BACKEND_UNSET;
	struct cc_err err;

	(void)state;
	assert_int_equal(cc_backend_from_name(NULL), CC_BACKEND_NONE);
	assert_int_equal(cc_backend_parse(NULL, &kind, &err), CC_EINVAL);
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		T_ROW(cc_backend_from_name(rows[i].name) == rows[i].stored, rows[i].name);
		T_ROW((cc_backend_parse(rows[i].name, &kind, &err) == CC_OK) == rows[i].request, rows[i].name);
	}
	assert_string_equal(cc_backend_name(CC_BACKEND_MICROVM), "microvm");
	assert_string_equal(cc_backend_name(CC_BACKEND_UNSET), "unset");
}

static void only_chat_writes(void **state)
{
	static const char *const names[] = {"unset", "chat", "review", "plan", "orchestrate"};
	enum cc_mode mode = CC_MODE_UNSET;
	struct cc_err err;

	(void)state;
	for (enum cc_mode m = CC_MODE_CHAT; m <= CC_MODE_ORCHESTRATE; m++) {
		T_OK(cc_mode_parse(names[m], &mode, &err), err);
		assert_int_equal(mode, m);
		assert_int_equal(cc_mode_writes(m), m == CC_MODE_CHAT);
	}
	assert_int_equal(cc_mode_parse("write", &mode, &err), CC_EINVAL);
	assert_false(cc_mode_writes(CC_MODE_UNSET));
}

static const struct {
	const char *label, *id, *bind;
	enum cc_code want;
} specs[] = {
	{"an id of the origin", "agent-x::conv::chat", "/home/u/p", CC_OK},
	{"a bind below /run", "s", "/run/user/1000/p", CC_OK},
	{"no id", NULL, "/p", CC_EINVAL},
	{"an empty id", "", "/p", CC_EINVAL},
	{"an id with a slash", "a/b", "/p", CC_EINVAL},
	{"an id with a newline", "a\nb", "/p", CC_EINVAL},
	{"an id that is an option", "-a", "/p", CC_EINVAL},
	{"an id that is a parent", "..", "/p", CC_EINVAL},
	{"the root", "s", "/", CC_EINVAL},
	{"/proc", "s", "/proc", CC_EINVAL},
	{"below /proc", "s", "/proc/1", CC_EINVAL},
	{"/sys", "s", "/sys", CC_EINVAL},
	{"/dev", "s", "/dev", CC_EINVAL},
	{"/run", "s", "/run", CC_EINVAL},
	{"a relative bind", "s", "p", CC_EINVAL},
	{"a bind with ..", "s", "/p/../q", CC_EINVAL},
	{"a bind with a newline", "s", "/p\nq", CC_EINVAL},
};

static void a_spec_is_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(specs); i++) {
		struct cc_spec spec;
		struct cc_err err;

		cc_spec_init(&spec);
		spec.session_id = cc_str_copy(specs[i].id);
		T_OK(cc_spec_add_bind(&spec, specs[i].bind, false, &err), err);
		T_ROW(cc_spec_check(&spec, &err) == specs[i].want, specs[i].label);
		cc_spec_done(&spec);
	}
}

static void two_modes_for_one_path_are_refused(void **state)
{
	struct cc_spec spec;
	struct cc_err err;

	(void)state;
	cc_spec_init(&spec);
	spec.session_id = cc_str_copy("s");
	assert_true(spec.network_enabled);
	T_OK(cc_spec_add_bind(&spec, "/p", false, &err), err);
	T_OK(cc_spec_add_bind(&spec, "/p", false, &err), err);
	T_OK(cc_spec_check(&spec, &err), err);
	T_OK(cc_spec_add_bind(&spec, "/p", true, &err), err);
	assert_int_equal(cc_spec_check(&spec, &err), CC_EINVAL);
	cc_spec_done(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_names_and_requests_differ),
		cmocka_unit_test(only_chat_writes),
		cmocka_unit_test(a_spec_is_checked),
		cmocka_unit_test(two_modes_for_one_path_are_refused),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
