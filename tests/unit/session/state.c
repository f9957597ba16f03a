#include "../t.h"

#include "session/state.h"

static const struct {
	const char *from;
	const char *to; /* every state it may become, in the order of the enum */
} rows[] = {
	{"created", "warm destroyed error "},
	{"warm", "active suspended destroyed error "},
	{"active", "warm suspended destroyed error "},
	{"suspended", "warm active destroyed error "},
	{"destroyed", ""},
	{"error", "destroyed "},
};

static void the_table_is_the_contract(void **state)
{
	(void)state;
	for (int from = 0; from < CC_STATE_COUNT; from++) {
		char got[200] = "";

		for (int to = 0; to < CC_STATE_COUNT; to++)
			if (cc_state_may((enum cc_state)from, (enum cc_state)to)) {
				strncat(got, cc_state_name((enum cc_state)to), 20);
				strncat(got, " ", 2);
			}
		assert_string_equal(cc_state_name((enum cc_state)from), rows[from].from);
		T_ROW(strcmp(got, rows[from].to) == 0, rows[from].from);
	}
}

static void a_forbidden_move_changes_nothing_and_names_both(void **state)
{
	enum cc_state now = CC_STATE_DESTROYED;
	struct cc_err err;

	(void)state;
	assert_int_equal(cc_state_move(&now, CC_STATE_WARM, &err), CC_ESTATE);
	assert_int_equal(now, CC_STATE_DESTROYED);
	assert_non_null(strstr(err.what, "destroyed"));
	assert_non_null(strstr(err.what, "warm"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_the_contract),
		cmocka_unit_test(a_forbidden_move_changes_nothing_and_names_both),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
