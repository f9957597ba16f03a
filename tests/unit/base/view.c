#include "../t.h"

#include "base/view.h"

/* The table of RFC 3629, section 4: the first bytes of a row, what its second byte may be, and its length. */
static void a_sequence_is_utf8_exactly_when_the_standard_says_so(void **state)
{
	static const struct {
		unsigned first, last, low, high;
		size_t len;
	} rows[] = {
		{0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	(void)state;
	for (unsigned first = 0; first < 256; first++)
		for (unsigned second = 0; second < 256; second++) {
			const unsigned char bytes[] = {(unsigned char)first, (unsigned char)second, 0x80, 0xbf};
			const unsigned char bent[] = {(unsigned char)first, (unsigned char)second, 0x80, 0xc0};
			size_t want = 0;

			for (size_t i = 0; i < CC_COUNT(rows); i++)
				if (first >= rows[i].first && first <= rows[i].last && second >= rows[i].low &&
				    second <= rows[i].high)
					want = rows[i].len;
			assert_int_equal(cc_utf8_len(bytes, 4), want);
			assert_int_equal(cc_utf8_len(bent, 4), want == 4 ? 0 : want);
			for (size_t left = 1; left < 4; left++)
				assert_int_equal(cc_utf8_len(bytes, left), want <= left ? want : 0);
		}
}

static void a_hexadecimal_digit_has_a_value_and_nothing_else_has(void **state)
{
	static const char small[] = "0123456789abcdef";
	static const char large[] = "0123456789ABCDEF";

	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		const char *low = byte ? strchr(small, byte) : NULL;
		const char *high = byte ? strchr(large, byte) : NULL;
		int want = low ? (int)(low - small) : high ? (int)(high - large) : -1;

		assert_int_equal(cc_hex_value((char)byte), want);
	}
}

static void what_a_list_has_is_not_added_again(void **state)
{
	static const char *const words[] = {"a", "A", "a", "", "b", ""};
	struct cc_strv list = {0};
	struct cc_err err;

	(void)state;
	for (size_t i = 0; i < CC_COUNT(words); i++)
		T_OK(cc_strv_add(&list, words[i], &err), err);
	assert_int_equal(list.count, 4);
	assert_string_equal(list.items[2], "");
	assert_string_equal(list.items[3], "b");
	cc_strv_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sequence_is_utf8_exactly_when_the_standard_says_so),
		cmocka_unit_test(a_hexadecimal_digit_has_a_value_and_nothing_else_has),
		cmocka_unit_test(what_a_list_has_is_not_added_again),
	};

	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
