#include "../t.h"

#include "terminal/message.h"

#include <stdlib.h>

static const struct {
	const char *label, *text;
	enum cc_term_kind want; /* NOTHING: refused */
	int first, second;
} texts[] = {
	{"resize", "{\"type\":\"resize\",\"rows\":40,\"cols\":120}", CC_TERM_RESIZE, 40, 120},
	{"in any order", "{\"cols\":120,\"type\":\"resize\",\"rows\":1}", CC_TERM_RESIZE, 1, 120},
	{"ack", "{\"type\":\"ack\",\"seq\":123456}", CC_TERM_ACK, 123456, 0},
	{"no rows", "{\"type\":\"resize\",\"cols\":120}", CC_TERM_NOTHING, 0, 0},
	{"no room", "{\"type\":\"resize\",\"rows\":0,\"cols\":120}", CC_TERM_NOTHING, 0, 0},
	{"too large", "{\"type\":\"resize\",\"rows\":24,\"cols\":65536}", CC_TERM_NOTHING, 0, 0},
	{"a fraction", "{\"type\":\"resize\",\"rows\":24.5,\"cols\":80}", CC_TERM_NOTHING, 0, 0},
	{"a string", "{\"type\":\"resize\",\"rows\":\"24\",\"cols\":80}", CC_TERM_NOTHING, 0, 0},
	{"twice the same key", "{\"type\":\"ack\",\"seq\":1,\"seq\":2}", CC_TERM_NOTHING, 0, 0},
	{"a key too many", "{\"type\":\"ack\",\"seq\":1,\"x\":2}", CC_TERM_NOTHING, 0, 0},
	{"a negative number", "{\"type\":\"ack\",\"seq\":-1}", CC_TERM_NOTHING, 0, 0},
	{"an unknown type", "{\"type\":\"exec\"}", CC_TERM_NOTHING, 0, 0},
	{"the server's own type", "{\"type\":\"badge\",\"backend\":\"native\"}", CC_TERM_NOTHING, 0, 0},
	{"no type", "{}", CC_TERM_NOTHING, 0, 0},
	{"no object", "[1]", CC_TERM_NOTHING, 0, 0},
	{"no JSON", "resize", CC_TERM_NOTHING, 0, 0},
	{"nothing", "", CC_TERM_NOTHING, 0, 0},
	{"a comment", "{\"type\":\"ack\",/**/\"seq\":1}", CC_TERM_NOTHING, 0, 0},
	{"more after it", "{\"type\":\"ack\",\"seq\":1}{}", CC_TERM_NOTHING, 0, 0},
};

static void text_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(texts); i++) {
		struct cc_term_decoder decoder = {0};
		struct cc_term_msg msg = {0};
		enum cc_term_close close = 0;
		struct cc_err err = {0};
		enum cc_code code = cc_term_decode(&decoder, false, cc_view_of(texts[i].text), &msg, &close, &err);

		T_ROW(msg.kind == texts[i].want, texts[i].label);
		T_ROW((code == CC_OK) == (texts[i].want != CC_TERM_NOTHING), texts[i].label);
		T_ROW(code == CC_OK || (close == CC_CLOSE_BAD && err.what[0]), texts[i].label);
		if (msg.kind == CC_TERM_RESIZE)
			T_ROW(msg.rows == texts[i].first && msg.cols == texts[i].second, texts[i].label);
		if (msg.kind == CC_TERM_ACK)
			T_ROW(msg.seq == (uint64_t)texts[i].first, texts[i].label);
	}
}

static enum cc_code type_in(struct cc_term_decoder *decoder, uint64_t seq, const char *text, size_t len,
			    enum cc_term_close *close)
{
	char *frame = malloc(len + CC_TERM_HEAD);
	struct cc_term_msg msg = {0};
	struct cc_err err = {0};
	enum cc_code code;

	assert_non_null(frame);
	cc_term_head(seq, (unsigned char *)frame);
	memcpy(frame + CC_TERM_HEAD, text, len);
	*close = 0;
	code = cc_term_decode(decoder, true, (struct cc_view){frame, len + CC_TERM_HEAD}, &msg, close, &err);
	assert_true(code != CC_OK || (msg.kind == CC_TERM_INPUT && msg.input.len == len));
	free(frame);
	return code;
}

static void input_comes_once_and_in_order(void **state)
{
	struct cc_term_decoder decoder = {0};
	enum cc_term_close close;

	(void)state;
	assert_int_equal(type_in(&decoder, 0, "abc", 3, &close), CC_OK);
	assert_int_equal(type_in(&decoder, 3, "d", 1, &close), CC_OK);
	assert_int_equal(type_in(&decoder, 3, "d", 1, &close), CC_EPROTO);
	assert_int_equal(close, CC_CLOSE_ORDER);
	assert_int_equal(type_in(&decoder, 5, "f", 1, &close), CC_EPROTO);
	assert_int_equal(close, CC_CLOSE_ORDER);
	assert_int_equal(type_in(&decoder, 4, "e", 1, &close), CC_OK);
}

static void sizes_are_bounded(void **state)
{
	static char large[CC_TERM_INPUT_MAX + 1];
	struct cc_term_decoder decoder = {0};
	struct cc_term_msg msg;
	enum cc_term_close close;
	struct cc_err err;

	(void)state;
	assert_int_equal(type_in(&decoder, 0, large, CC_TERM_INPUT_MAX + 1, &close), CC_ELIMIT);
	assert_int_equal(close, CC_CLOSE_TOO_BIG);
	assert_int_equal(type_in(&decoder, 0, large, CC_TERM_INPUT_MAX, &close), CC_OK);
	assert_int_equal(type_in(&decoder, CC_TERM_INPUT_MAX, "", 0, &close), CC_EINVAL);
	assert_int_equal(cc_term_decode(&decoder, true, cc_view_of("short"), &msg, &close, &err), CC_EINVAL);
	assert_int_equal(close, CC_CLOSE_BAD);
	assert_int_equal(
		cc_term_decode(&decoder, false, (struct cc_view){large, CC_TERM_TEXT_MAX + 1}, &msg, &close, &err),
		CC_ELIMIT);
	assert_int_equal(close, CC_CLOSE_TOO_BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_messages),
		cmocka_unit_test(input_comes_once_and_in_order),
		cmocka_unit_test(sizes_are_bounded),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
