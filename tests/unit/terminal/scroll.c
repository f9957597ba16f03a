#include "../t.h"

#include "terminal/scroll.h"

static void numbers_run_on_and_old_bytes_go(void **state)
{
	struct cc_scroll ring;
	struct cc_err err;
	struct cc_view at;

	(void)state;
	T_OK(cc_scroll_init(&ring, 8, &err), err);
	assert_int_equal(cc_scroll_oldest(&ring), 0);
	cc_scroll_add(&ring, "abcde", 5);
	at = cc_scroll_at(&ring, 0, 99);
	assert_true(cc_view_is(at, "abcde"));
	at = cc_scroll_at(&ring, 3, 1);
	assert_true(cc_view_is(at, "d"));
	cc_scroll_add(&ring, "fghij", 5);
	assert_int_equal(ring.end, 10);
	assert_int_equal(cc_scroll_oldest(&ring), 2);
	assert_int_equal(cc_scroll_at(&ring, 1, 99).len, 0);
	assert_int_equal(cc_scroll_at(&ring, 10, 99).len, 0);
	assert_int_equal(cc_scroll_at(&ring, 11, 99).len, 0);
	/* in two parts where it wraps */
	at = cc_scroll_at(&ring, 2, 99);
	assert_true(cc_view_is(at, "cdefgh"));
	at = cc_scroll_at(&ring, 8, 99);
	assert_true(cc_view_is(at, "ij"));
	cc_scroll_done(&ring);
}

static void more_than_it_holds_leaves_the_end(void **state)
{
	struct cc_scroll ring;
	struct cc_err err;

	(void)state;
	T_OK(cc_scroll_init(&ring, 4, &err), err);
	cc_scroll_add(&ring, "x", 1);
	cc_scroll_add(&ring, "0123456789", 10);
	assert_int_equal(ring.end, 11);
	assert_int_equal(cc_scroll_oldest(&ring), 7);
	{
		char got[8] = "";
		size_t len = 0;

		for (uint64_t from = 7; from < 11;) {
			struct cc_view at = cc_scroll_at(&ring, from, 99);

			assert_true(at.len > 0);
			memcpy(got + len, at.ptr, at.len);
			len += at.len;
			from += at.len;
		}
		assert_string_equal(got, "6789");
	}
	cc_scroll_done(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_run_on_and_old_bytes_go),
		cmocka_unit_test(more_than_it_holds_leaves_the_end),
	};

	return cmocka_run_group_tests_name("scroll", tests, NULL, NULL);
}
