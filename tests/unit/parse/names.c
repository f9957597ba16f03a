/* Which address stands for which name. */
#include "../t.h"

#include "parse/names.h"

static void a_name_keeps_its_address(void **state)
{
	CC_AUTO(cc_names) names = cc_names_new();
	uint8_t one[4];
	uint8_t two[4];

	(void)state;
	assert_true(cc_names_address(names, "a.test", one));
	assert_true(cc_names_address(names, "b.test", two));
	assert_memory_equal(one, "\xc6\x12\0\1", 4);
	assert_memory_equal(two, "\xc6\x12\0\2", 4);
	assert_true(cc_names_address(names, "a.test", two));
	assert_memory_equal(one, two, 4);
	assert_string_equal(cc_names_at(names, one), "a.test");
}

static void an_address_of_nobody_has_no_name(void **state)
{
	static const uint8_t strangers[][4] = {{198, 18, 0, 9},  {198, 18, 0, 0},  {198, 18, 0, 255}, {198, 17, 0, 1},
					       {198, 19, 99, 1}, {198, 255, 9, 9}, {127, 0, 0, 1},    {0, 0, 0, 0}};
	CC_AUTO(cc_names) names = cc_names_new();
	uint8_t addr[4];

	(void)state;
	assert_true(cc_names_address(names, "a.test", addr));
	for (size_t i = 0; i < CC_COUNT(strangers); i++)
		assert_null(cc_names_at(names, strangers[i]));
}

/* An agent may ask for as many allowed names as it likes: memory stays bounded, and no address means two names. */
static void the_oldest_name_gives_way(void **state)
{
	CC_AUTO(cc_names) names = cc_names_new();
	uint8_t first[4];
	uint8_t addr[4];
	char name[32];

	(void)state;
	assert_true(cc_names_address(names, "n0.test", first));
	for (int i = 1; i < 3 * CC_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "n%d.test", i);
		assert_true(cc_names_address(names, name, addr));
		assert_string_equal(cc_names_at(names, addr), name);
	}
	for (int i = 2 * CC_NAMES_MAX; i < 3 * CC_NAMES_MAX; i++) {
		uint8_t again[4];

		snprintf(name, sizeof(name), "n%d.test", i);
		assert_true(cc_names_address(names, name, again));
		assert_string_equal(cc_names_at(names, again), name);
	}
	assert_string_not_equal(cc_names_at(names, first), "n0.test");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_address),
		cmocka_unit_test(an_address_of_nobody_has_no_name),
		cmocka_unit_test(the_oldest_name_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
