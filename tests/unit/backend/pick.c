#include "../t.h"

#include "backend/pick.h"

static void a_rule_nobody_holds_is_a_refusal_that_names_it(void **state)
{
	struct cc_err err;

	(void)state;
	for (int i = 0; i < CC_NEED_COUNT; i++) {
		struct cc_backend weak = cc_backend_native_linux;

		weak.enforces &= ~(1u << i);
		assert_int_equal(cc_backend_check(&weak, 1u << i, &err), CC_EUNENFORCED);
		assert_non_null(strstr(err.what, cc_need_name((enum cc_need_index)i)));
		assert_non_null(strstr(err.what, cc_need_text((enum cc_need_index)i)));
	}
}

static const struct {
	const char *label;
	enum cc_backend_kind asked;
	enum cc_code want;
	enum cc_backend_kind got;
} rows[] = {
	{"nobody said: native, never none", CC_BACKEND_UNSET, CC_OK, CC_BACKEND_NATIVE},
	{"native", CC_BACKEND_NATIVE, CC_OK, CC_BACKEND_NATIVE},
	{"none, when it is asked for by name", CC_BACKEND_NONE, CC_OK, CC_BACKEND_NONE},
	{"microvm is not built: a loud refusal, no step down", CC_BACKEND_MICROVM, CC_EUNSUPPORTED, CC_BACKEND_UNSET},
};

static void every_row_of_the_choice(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		const struct cc_backend *backend = NULL;
		unsigned unheld = 0;
		struct cc_err err;
		enum cc_code code =
			cc_backend_pick(rows[i].asked, CC_NEED_NAMES | CC_NEED_EGRESS, &backend, &unheld, &err);

		T_ROW(code == rows[i].want, rows[i].label);
		if (code == CC_OK)
			T_ROW(backend->kind == rows[i].got, rows[i].label);
		else
			T_ROW(backend == NULL, rows[i].label);
	}
}

static void none_says_everything_it_does_not_hold(void **state)
{
	const struct cc_backend *backend;
	unsigned unheld = 0;
	struct cc_err err;

	(void)state;
	assert_int_equal(cc_backend_pick(CC_BACKEND_NONE, CC_NEED_NAMES | CC_NEED_HIDDEN, &backend, &unheld, &err),
			 CC_OK);
	assert_int_equal(unheld, CC_NEED_NAMES | CC_NEED_HIDDEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_nobody_holds_is_a_refusal_that_names_it),
		cmocka_unit_test(every_row_of_the_choice),
		cmocka_unit_test(none_says_everything_it_does_not_hold),
	};

	return cmocka_run_group_tests_name("pick", tests, NULL, NULL);
}
