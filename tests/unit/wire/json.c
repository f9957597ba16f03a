#include "../t.h"

#include "wire/json.h"

static const struct {
	const char *label, *text;
	unsigned flags;
	const char *error; /* NULL: accepted */
} texts[] = {
	{"an object", "{\"a\":1,\"b\":[true,false,null]}", 0, NULL},
	{"a bare number", "-0.5e+3", 0, NULL},
	{"a bare zero", "0", 0, NULL},
	{"an empty array", "[ ]", 0, NULL},
	{"comments and trailing commas", "// x\n{\"a\":[1,2,],/* y */}", CC_JSON_COMMENTS, NULL},
	{"a byte order mark in JSONC", "\xef\xbb\xbf{}", CC_JSON_COMMENTS, NULL},
	{"a surrogate pair", "\"\\ud83d\\ude00\"", 0, NULL},
	{"the empty text", "", 0, "t:1:1: the text ends where a value is expected"},
	{"comments are refused in plain JSON", "// x\n1", 0, "t:1:1: a value is expected here"},
	{"a trailing comma is refused in plain JSON", "[1,]", 0, "t:1:4: a value is expected here"},
	{"a comma alone", "[,]", CC_JSON_COMMENTS, "t:1:2: a value is expected here"},
	{"two values", "1 2", 0, "t:1:3: something follows the value"},
	{"a leading zero", "01", 0, "t:1:1: this is not a number"},
	{"a lone minus", "-", 0, "t:1:1: this is not a number"},
	{"a lone point", "1.", 0, "t:1:1: this is not a number"},
	{"a duplicate key", "{\"a\":1,\n \"b\":2, \"a\":3}", 0, "t:2:9: \"a\" is here twice"},
	{"a duplicate key in another spelling", "{\"a\":1,\"\\u0061\":3}", 0, "t:1:8: \"a\" is here twice"},
	{"columns count characters", "[\"\xc3\xa9\", x]", 0, "t:1:7: a value is expected here"},
	{"an unknown escape", "\"\\x\"", 0, "t:1:2: unknown escape"},
	{"a NUL by escape", "\"\\u0000\"", 0, "t:1:2: \\u0000 is not allowed"},
	{"a lone high surrogate", "\"\\ud800\"", 0, "t:1:2: half of a surrogate pair"},
	{"a lone low surrogate", "\"\\udc00\"", 0, "t:1:2: half of a surrogate pair"},
	{"a control character", "\"a\nb\"", 0, "t:1:3: a control character stands in a string"},
	{"an overlong sequence", "\"\xc0\xaf\"", 0, "t:1:2: this is not UTF-8"},
	{"an encoded surrogate", "\"\xed\xa0\x80\"", 0, "t:1:2: this is not UTF-8"},
	{"a cut sequence", "\"\xe2\x82\"", 0, "t:1:2: this is not UTF-8"},
	{"an open string", "\"abc", 0, "t:1:1: this string has no end"},
	{"an open string behind a backslash", "\"abc\\", 0, "t:1:5: this string has no end"},
	{"an open comment", "1 /* x", CC_JSON_COMMENTS, "t:1:3: this comment has no end"},
	{"an open object", "{\"a\":1", 0, "t:1:7: ',' or '}' is expected here"},
	{"a missing colon", "{\"a\" 1}", 0, "t:1:6: ':' is expected here"},
	{"a bare key", "{a:1}", 0, "t:1:2: a name in quotes is expected here"},
	{"the wrong bracket", "[1}", 0, "t:1:3: ',' or ']' is expected here"},
};

static void texts_are_taken_or_refused_with_a_position(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(texts); i++) {
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_err err = {0};
		enum cc_code code = cc_json_parse("t", cc_view_of(texts[i].text), texts[i].flags, &doc, &err);

		T_ROW((code == CC_OK) == !texts[i].error, texts[i].label);
		if (texts[i].error && strcmp(err.what, texts[i].error) != 0)
			fail_msg("row \"%s\": got \"%s\"", texts[i].label, err.what);
	}
}

static void members_are_found_with_their_types(void **state)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	const struct cc_json *root;

	(void)state;
	T_OK(cc_json_parse("t",
			   cc_view_of("{\"n\":-7,\"s\":\"a\\tb\",\"t\":true,\"r\":1.5,"
				      "\"big\":99999999999999999999,\"l\":[1,[2],3]}"),
			   0, &doc, &err),
	     err);
	root = cc_json_root(doc);
	assert_int_equal(cc_json_int(root, "n", 0), -7);
	assert_int_equal(cc_json_int(root, "r", 5), 5);
	assert_int_equal(cc_json_int(root, "big", 5), 5);
	assert_int_equal(cc_json_get(root, "big")->kind, CC_JSON_REAL);
	assert_string_equal(cc_json_str(root, "s", ""), "a\tb");
	assert_string_equal(cc_json_str(root, "n", "no"), "no");
	assert_true(cc_json_bool(root, "t", false));
	assert_null(cc_json_get(root, "absent"));
	assert_int_equal(cc_json_get(root, "l")->count, 3);
	assert_int_equal(cc_json_get(root, "l")->child->next->child->integer, 2);
	assert_string_equal(cc_json_get(root, "r")->text.ptr, "1.5");
}

static void depth_is_bounded(void **state)
{
	char text[2 * CC_JSON_DEPTH_MAX + 3];
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;

	(void)state;
	memset(text, '[', CC_JSON_DEPTH_MAX);
	memset(text + CC_JSON_DEPTH_MAX, ']', CC_JSON_DEPTH_MAX);
	T_OK(cc_json_parse("t", (struct cc_view){text, 2 * CC_JSON_DEPTH_MAX}, 0, &doc, &err), err);
	memset(text, '[', CC_JSON_DEPTH_MAX + 1);
	memset(text + CC_JSON_DEPTH_MAX + 1, ']', CC_JSON_DEPTH_MAX + 1);
	assert_int_equal(cc_json_parse("t", (struct cc_view){text, 2 * CC_JSON_DEPTH_MAX + 2}, 0, &doc, &err),
			 CC_EINVAL);
}

static void the_writer_keeps_commas_and_escapes(void **state)
{
	struct cc_buf buf;
	struct cc_jsonw w;
	struct cc_strv list = {0};
	struct cc_err err;

	(void)state;
	T_OK(cc_strv_push(&list, "x", &err), err);
	T_OK(cc_strv_push(&list, "y\n\"\\", &err), err);
	cc_buf_init(&buf, 1000);
	cc_jsonw_init(&w, &buf);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "a", "b\x1b\xff\xc2\x9b\xc3\xa9\x7f");
	cc_jsonw_kint(&w, "n", -3);
	cc_jsonw_kstrv(&w, "l", &list);
	cc_jsonw_key(&w, "o");
	cc_jsonw_array(&w);
	cc_jsonw_object(&w);
	cc_jsonw_end(&w);
	cc_jsonw_array(&w);
	cc_jsonw_end(&w);
	cc_jsonw_null(&w);
	cc_jsonw_bool(&w, true);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	assert_string_equal(buf.data, "{\"a\":\"b\\u001b\\u00ff\\u009b\xc3\xa9\\u007f\",\"n\":-3,"
				      "\"l\":[\"x\",\"y\\n\\\"\\\\\"],\"o\":[{},[],null,true]}");
	cc_buf_done(&buf);
	cc_strv_done(&list);
}

static void what_is_written_can_be_read(void **state)
{
	struct cc_buf buf;
	struct cc_jsonw w;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	char all[256];

	(void)state;
	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	cc_buf_init(&buf, 10000);
	cc_jsonw_init(&w, &buf);
	cc_jsonw_view(&w, (struct cc_view){all, 255});
	T_OK(cc_json_parse("t", cc_buf_view(&buf), 0, &doc, &err), err);
	assert_int_equal(cc_json_root(doc)->kind, CC_JSON_STRING);
	cc_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_taken_or_refused_with_a_position),
		cmocka_unit_test(members_are_found_with_their_types),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(the_writer_keeps_commas_and_escapes),
		cmocka_unit_test(what_is_written_can_be_read),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
