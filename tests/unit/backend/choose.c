#include "../t.h"

#include "backend/pick.h"

static const struct {
	const char *label, *asked;
	enum cc_backend_kind configured;
	bool native, microvm;
	enum cc_backend_kind want; /* UNSET: refused */
	bool stepped;
	const char *says;
} rows[] = {
	{"nobody said anything", NULL, CC_BACKEND_UNSET, true, false, CC_BACKEND_NONE, false, NULL},
	{"the server's default is none", NULL, CC_BACKEND_NONE, true, true, CC_BACKEND_NONE, false, NULL},
	{"native, held", "native", CC_BACKEND_NONE, true, false, CC_BACKEND_NATIVE, false, NULL},
	{"native, not held: no terminal", "native", CC_BACKEND_NONE, false, false, CC_BACKEND_UNSET, false,
	 "no Landlock"},
	{"native, not held, whatever else is there", "native", CC_BACKEND_NONE, false, true, CC_BACKEND_UNSET, false,
	 NULL},
	{"none, by name", "none", CC_BACKEND_MICROVM, true, true, CC_BACKEND_NONE, false, NULL},
	{"microvm by name fails loudly", "microvm", CC_BACKEND_NONE, true, false, CC_BACKEND_UNSET, false, "microvm"},
	{"also when it is the default", "microvm", CC_BACKEND_MICROVM, true, false, CC_BACKEND_UNSET, false, "microvm"},
	{"microvm, where there is one", "microvm", CC_BACKEND_NONE, true, true, CC_BACKEND_MICROVM, false, NULL},
	{"a default of microvm steps down", NULL, CC_BACKEND_MICROVM, true, false, CC_BACKEND_NATIVE, true, NULL},
	{"and no further", NULL, CC_BACKEND_MICROVM, false, false, CC_BACKEND_UNSET, false, "native"},
	{"nor when it need not", NULL, CC_BACKEND_MICROVM, true, true, CC_BACKEND_MICROVM, false, NULL},
	{"a default of native does not step down", NULL, CC_BACKEND_NATIVE, false, true, CC_BACKEND_UNSET, false, NULL},
	{"an unknown name lists the names", "firejail", CC_BACKEND_NONE, true, true, CC_BACKEND_UNSET, false,
	 "microvm, native or none"},
	{"stored names are not requests", "docker", CC_BACKEND_NONE, true, true, CC_BACKEND_UNSET, false, "docker"},
	{"nor is the empty one", "", CC_BACKEND_NONE, true, true, CC_BACKEND_UNSET, false, NULL},
	{"upper case is another name", "NATIVE", CC_BACKEND_NONE, true, true, CC_BACKEND_UNSET, false, NULL},
};

static void the_table_is_the_contract(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_choice_ask ask = {.asked = rows[i].asked,
					    .configured = rows[i].configured,
					    .native = rows[i].native,
					    .microvm = rows[i].microvm,
					    .why_not_native = "no Landlock"};
		struct cc_choice choice = {0};
		struct cc_err err = {0};
		enum cc_code code = cc_backend_choose(&ask, &choice, &err);

		T_ROW(choice.kind == rows[i].want, rows[i].label);
		T_ROW(choice.stepped_down == rows[i].stepped, rows[i].label);
		T_ROW((code == CC_OK) == (rows[i].want != CC_BACKEND_UNSET), rows[i].label);
		T_ROW(!rows[i].says || strstr(err.what, rows[i].says), rows[i].label);
	}
}

/* Whatever is asked: never less than what was named, and none only where none was meant. */
static void nothing_steps_down_to_none(void **state)
{
	static const char *const names[] = {NULL, "none", "native", "microvm"};

	(void)state;
	for (unsigned i = 0; i < CC_COUNT(names) * 4 * 4; i++) {
		struct cc_choice_ask ask = {.asked = names[i % 4],
					    .configured = (enum cc_backend_kind)(i / 4 % 4),
					    .native = i / 16 % 2,
					    .microvm = i / 32 % 2};
		struct cc_choice choice = {0};
		struct cc_err err;

		if (cc_backend_choose(&ask, &choice, &err) != CC_OK)
			continue;
		if (choice.kind == CC_BACKEND_NONE)
			assert_true(ask.asked
					    ? strcmp(ask.asked, "none") == 0
					    : ask.configured == CC_BACKEND_NONE || ask.configured == CC_BACKEND_UNSET);
		else
			assert_true(choice.kind == CC_BACKEND_NATIVE ? ask.native : ask.microvm);
		if (ask.asked)
			assert_string_equal(cc_backend_name(choice.kind), ask.asked);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_the_contract),
		cmocka_unit_test(nothing_steps_down_to_none),
	};

	return cmocka_run_group_tests_name("choose", tests, NULL, NULL);
}
