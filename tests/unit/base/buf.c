#include "../t.h"

#include "base/buf.h"

static void a_buffer_keeps_its_maximum(void **state)
{
	struct cc_buf buf;
	struct cc_err err;

	(void)state;
	cc_buf_init(&buf, 10);
	cc_buf_adds(&buf, "12345");
	cc_buf_addf(&buf, "%d", 67890);
	assert_false(buf.failed);
	assert_string_equal(buf.data, "1234567890");
	cc_buf_adds(&buf, "x");
	assert_true(buf.failed);
	assert_int_equal(cc_buf_check(&buf, "it", &err), CC_ELIMIT);
	assert_int_equal(buf.len, 10);
	cc_buf_done(&buf);
}

static void eating_moves_the_rest_forward(void **state)
{
	struct cc_buf buf;

	(void)state;
	cc_buf_init(&buf, 100);
	cc_buf_adds(&buf, "abcdef");
	cc_buf_eat(&buf, 2);
	assert_string_equal(buf.data, "cdef");
	cc_buf_eat(&buf, 99);
	assert_int_equal(buf.len, 0);
	cc_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_keeps_its_maximum),
		cmocka_unit_test(eating_moves_the_rest_forward),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
