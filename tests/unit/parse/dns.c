/* The session's own resolver, packet by packet. */
#include "../t.h"

#include "parse/dns.h"

#define PACKET(text)                                                                                                   \
	{                                                                                                              \
		text, sizeof(text) - 1                                                                                 \
	}
#define HEAD(flags, questions) "\x12\x34" flags questions "\0\0\0\0\0\0"

static const struct {
	const char *label;
	struct cc_view packet;
	const char *name; /* NULL: not even an answer; "-": an answer that it is malformed */
	unsigned type;
} rows[] = {
	{"a plain question", PACKET(HEAD("\x01\0", "\0\1") "\3api\7example\4test\0\0\1\0\1"), "api.example.test", 1},
	{"the case is kept", PACKET(HEAD("\x01\0", "\0\1") "\3aPi\4TEST\0\0\x1c\0\1"), "aPi.TEST", 28},
	{"the root", PACKET(HEAD("\x01\0", "\0\1") "\0\0\1\0\1"), "", 1},
	{"EDNS behind it",
	 PACKET("\x12\x34\1\0\0\1\0\0\0\0\0\1"
		"\1a\0\0\1\0\1"
		"\0\0\x29\x10\0\0\0\0\0\0\0"),
	 "a", 1},
	{"an answer is no question", PACKET(HEAD("\x81\0", "\0\1") "\1a\0\0\1\0\1"), NULL, 0},
	{"a head cut short", PACKET("\x12\x34\1\0\0\1"), NULL, 0},
	{"no question", PACKET(HEAD("\x01\0", "\0\0")), "-", 0},
	{"two questions", PACKET(HEAD("\x01\0", "\0\2") "\1a\0\0\1\0\1\1b\0\0\1\0\1"), "-", 0},
	{"another operation", PACKET(HEAD("\x29\0", "\0\1") "\1a\0\0\1\0\1"), "-", 0},
	{"another class", PACKET(HEAD("\x01\0", "\0\1") "\1a\0\0\1\0\3"), "-", 0},
	{"a pointer", PACKET(HEAD("\x01\0", "\0\1") "\xc0\x0c\0\1\0\1"), "-", 0},
	{"a label that runs out", PACKET(HEAD("\x01\0", "\0\1") "\7exam"), "-", 0},
	{"no type", PACKET(HEAD("\x01\0", "\0\1") "\1a\0\0\1"), "-", 0},
	{"a dot inside a label", PACKET(HEAD("\x01\0", "\0\1") "\3a.b\0\0\1\0\1"), "-", 0},
};

static void questions_are_read_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_dns_query query;
		bool parsed = cc_dns_parse(rows[i].packet, &query);

		T_ROW(parsed == (rows[i].name != NULL), rows[i].label);
		if (!parsed)
			continue;
		T_ROW(query.plain == (strcmp(rows[i].name, "-") != 0), rows[i].label);
		if (query.plain) {
			T_ROW(strcmp(query.name, rows[i].name) == 0, rows[i].label);
			T_ROW(query.type == rows[i].type, rows[i].label);
		}
	}
}

static void a_name_of_255_bytes_fits_and_a_longer_one_does_not(void **state)
{
	uint8_t packet[400];
	uint8_t out[CC_DNS_MAX];
	struct cc_dns_query query;
	static const uint8_t addr[4] = {198, 18, 0, 1};
	size_t len = 12;

	(void)state;
	memset(packet, 0, sizeof(packet));
	packet[5] = 1;
	for (int i = 0; i < 4; i++) {
		packet[len] = i == 3 ? 61 : 63;
		memset(packet + len + 1, 'a', packet[len]);
		len += packet[len] + 1u;
	}
	memcpy(packet + len, "\0\0\1\0\1", 5);
	assert_true(cc_dns_parse((struct cc_view){(char *)packet, len + 5}, &query));
	assert_true(query.plain);
	assert_int_equal(query.name_len, 253);
	assert_int_equal(cc_dns_answer(&query, CC_DNS_OK, addr, NULL, out), 12 + 259 + 16);
	memcpy(packet + len, "\1b\0\0\1\0\1", 7);
	assert_true(cc_dns_parse((struct cc_view){(char *)packet, len + 7}, &query));
	assert_false(query.plain);
}

static void an_answer_repeats_the_question(void **state)
{
	static const uint8_t addr[4] = {198, 18, 3, 4};
	struct cc_view packet = PACKET(HEAD("\x01\0", "\0\1") "\1a\4tESt\0\0\1\0\1");
	static const char want[] =
		"\x12\x34\x85\x80\0\1\0\1\0\0\0\0\1a\4tESt\0\0\1\0\1\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\xc6\x12\3\4";
	static const char none[] = "\x12\x34\x85\x83\0\1\0\0\0\0\0\0\1a\4tESt\0\0\1\0\1";
	uint8_t out[CC_DNS_MAX];
	struct cc_dns_query query;

	(void)state;
	assert_true(cc_dns_parse(packet, &query));
	assert_int_equal(cc_dns_answer(&query, CC_DNS_OK, addr, NULL, out), sizeof(want) - 1);
	assert_memory_equal(out, want, sizeof(want) - 1);
	assert_int_equal(cc_dns_answer(&query, CC_DNS_NO_NAME, addr, NULL, out), sizeof(none) - 1);
	assert_memory_equal(out, none, sizeof(none) - 1);
}

static void an_address_is_asked_back(void **state)
{
	struct cc_view packet = PACKET(HEAD("\x01\0", "\0\1") "\1"
							      "4\1"
							      "3\2"
							      "18\3"
							      "198\7in-addr\4arpa\0\0\x0c\0\1");
	struct cc_dns_query query;
	uint8_t out[CC_DNS_MAX];
	uint8_t addr[4];
	size_t len;

	(void)state;
	assert_true(cc_dns_parse(packet, &query));
	assert_true(cc_dns_reverse(&query, addr));
	assert_memory_equal(addr, "\xc6\x12\3\4", 4);
	len = cc_dns_answer(&query, CC_DNS_OK, NULL, "up.test", out);
	assert_memory_equal(out + len - 9, "\2up\4test", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_are_read_or_refused),
		cmocka_unit_test(a_name_of_255_bytes_fits_and_a_longer_one_does_not),
		cmocka_unit_test(an_answer_repeats_the_question),
		cmocka_unit_test(an_address_is_asked_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
