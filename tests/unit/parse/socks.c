/* The rows of spec/egress 3.4 that the parser alone decides; bytes in hex, numbers are the vectors'. */
#include "../t.h"

#include "parse/socks.h"

static const struct {
	const char *label;
	const char *in;
	const char *out; /* what was answered */
	enum cc_socks_step want;
	const char *host; /* with REQUEST */
	uint16_t port;
	size_t rest; /* payload left over */
} rows[] = {
	{"123", "050100", "0500", CC_SOCKS_MORE, NULL, 0, 0},
	{"124 the greeting", "050102", "0502", CC_SOCKS_MORE, NULL, 0, 0},
	{"124 any password", "0501020101750170", "05020100", CC_SOCKS_MORE, NULL, 0, 0},
	{"124 version 2", "05010202", "05020101", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"none is preferred", "05020200", "0500", CC_SOCKS_MORE, NULL, 0, 0},
	{"125", "050101", "05ff", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"126", "0500", "05ff", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"127 payload behind the request", "050100050100017f0000011b6368656c6c6f", "0500", CC_SOCKS_REQUEST,
	 "127.0.0.1", 7011, 5},
	{"128 a literal as text", "0501000501000309" /* 127.0.0.1 */ "3132372e302e302e3101bb", "0500", CC_SOCKS_REQUEST,
	 "127.0.0.1", 443, 0},
	{"a bare v6 as text", "0501000501000303" /* ::1 */ "3a3a3101bb", "0500", CC_SOCKS_REQUEST, "::1", 443, 0},
	{"129 length 0", "050100050100030001bb", "050005010001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"130 BIND", "050100050200017f00000101bb", "050005070001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"131 UDP ASSOCIATE", "050100050300017f00000101bb", "050005070001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"131 0xf0", "05010005f000", "050005070001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"132 type 9", "05010005010009", "050005080001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"133 v6", "050100050100040000000000000000000000000000000101bb", "0500", CC_SOCKS_REQUEST, "::1", 443, 0},
	{"134 v4-mapped", "0501000501000400000000000000000000ffff7f00000101bb", "0500", CC_SOCKS_REQUEST, "127.0.0.1",
	 443, 0},
	{"135 NUL inside", "050100050100030e" /* 127.0.0.1 \0 evil */ "3132372e302e302e31006576696c01bb",
	 "050005010001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"136 port 0", "050100050100017f0000010000", "050005010001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"137 RSV 7", "050100050107017f00000101bb", "0500", CC_SOCKS_REQUEST, "127.0.0.1", 443, 0},
	{"a request of version 4 in 5", "0501000401", "050005010001000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"141 4a", "040101bb00000001006e616d6500" /* name */ "ffff", "", CC_SOCKS_REQUEST, "name", 443, 2},
	{"4 with an address", "040101bb7f00000175696400", "", CC_SOCKS_REQUEST, "127.0.0.1", 443, 0},
	{"4 BIND", "040201bb7f00000100", "005b000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"4a not complete", "040101bb00000001006e61", "", CC_SOCKS_MORE, NULL, 0, 11},
	{"4a with an empty name", "040101bb000000010000", "005b000000000000", CC_SOCKS_REFUSE, NULL, 0, 0},
	{"not SOCKS", "47", "", CC_SOCKS_REFUSE, NULL, 0, 1},
};

static size_t from_hex(const char *hex, char *out)
{
	size_t len = 0;

	for (; hex[0] && hex[1]; hex += 2) {
		unsigned byte;

		if (sscanf(hex, "%2x", &byte) != 1)
			fail_msg("bad hex %s", hex);
		out[len++] = (char)byte;
	}
	return len;
}

/* piece: how many bytes arrive at a time */
static enum cc_socks_step feed(struct cc_socks *socks, const char *bytes, size_t len, size_t piece, size_t *rest,
			       struct cc_buf *out)
{
	enum cc_socks_step step = CC_SOCKS_MORE;
	size_t at = 0;
	size_t seen = 0;

	while (step == CC_SOCKS_MORE && seen < len) {
		size_t used;

		seen = seen + piece > len ? len : seen + piece;
		step = cc_socks_step(socks, (struct cc_view){bytes + at, seen - at}, &used, out);
		at += used;
	}
	*rest = len - at;
	return step;
}

static void requests_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows) * 2; i++) {
		const char *label = rows[i / 2].label;
		char bytes[600];
		char want[600];
		size_t len = from_hex(rows[i / 2].in, bytes);
		size_t want_len = from_hex(rows[i / 2].out, want);
		struct cc_socks socks = {0};
		struct cc_buf out;
		size_t rest;
		enum cc_socks_step step;

		cc_buf_init(&out, 600);
		step = feed(&socks, bytes, len, i % 2 ? 1 : len, &rest, &out);
		T_ROW(step == rows[i / 2].want, label);
		T_ROW(out.len == want_len && (want_len == 0 || memcmp(out.data, want, want_len) == 0), label);
		if (step == CC_SOCKS_REQUEST)
			T_ROW(strcmp(socks.host.text, rows[i / 2].host) == 0 && socks.port == rows[i / 2].port &&
				      (i % 2 || rest == rows[i / 2].rest),
			      label);
		cc_buf_done(&out);
	}
}

static void long_names_are_refused(void **state)
{
	char bytes[3 + 4 + 1 + 255 + 2];
	struct cc_socks socks = {0};
	struct cc_buf out;
	size_t rest;

	(void)state;
	memcpy(bytes, "\5\1\0\5\1\0\3\xff", 8);
	memset(bytes + 8, 'a', 255); /* 140 */
	for (size_t i = 50; i < 255; i += 50)
		bytes[8 + i] = '.';
	memcpy(bytes + 8 + 255, "\1\xbb", 2);
	cc_buf_init(&out, 100);
	assert_int_equal(feed(&socks, bytes, sizeof(bytes), sizeof(bytes), &rest, &out), CC_SOCKS_REFUSE);
	assert_int_equal(out.data[3], CC_SOCKS_FAILURE);
	cc_buf_done(&out);
}

static void a_user_id_has_a_limit(void **state)
{
	char bytes[8 + 300];
	struct cc_socks socks = {0};
	struct cc_buf out;
	size_t rest;

	(void)state;
	memset(bytes, 'u', sizeof(bytes));
	memcpy(bytes, "\4\1\1\xbb\0\0\0\1", 8);
	cc_buf_init(&out, 100);
	assert_int_equal(feed(&socks, bytes, sizeof(bytes), 1, &rest, &out), CC_SOCKS_REFUSE);
	cc_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_read),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(a_user_id_has_a_limit),
	};

	return cmocka_run_group_tests_name("socks", tests, NULL, NULL);
}
