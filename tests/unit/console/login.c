#include "../t.h"

#include "console/login.h"

static void a_key_works_once_and_not_for_long(void **state)
{
	struct cc_login_secret table[3] = {{"", 0}};
	char key[sizeof(table->text)];

	(void)state;
	assert_false(cc_login_know(table, 3, "", 0, true));
	memcpy(key, cc_login_add(table, 3, 1000), sizeof(key));
	assert_int_equal(strlen(key), 2 * CC_LOGIN_BYTES);
	assert_false(cc_login_know(table, 3, "0", 0, true));
	assert_true(cc_login_know(table, 3, key, 999, false));
	assert_true(cc_login_know(table, 3, key, 999, true));
	assert_false(cc_login_know(table, 3, key, 999, true));
	memcpy(key, cc_login_add(table, 3, 1000), sizeof(key));
	assert_false(cc_login_know(table, 3, key, 1000, false));
	assert_false(cc_login_know(table, 3, key, 1000, true));
}

static void the_one_that_ends_first_makes_room(void **state)
{
	struct cc_login_secret table[3] = {{"", 0}};
	char key[4][sizeof(table->text)];

	(void)state;
	for (int i = 0; i < 4; i++)
		memcpy(key[i], cc_login_add(table, 3, 100 + i), sizeof(key[i]));
	assert_false(cc_login_know(table, 3, key[0], 0, false));
	for (int i = 1; i < 4; i++)
		assert_true(cc_login_know(table, 3, key[i], 0, false));
	assert_string_not_equal(key[1], key[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_works_once_and_not_for_long),
		cmocka_unit_test(the_one_that_ends_first_makes_room),
	};

	return cmocka_run_group_tests_name("login", tests, NULL, NULL);
}
