#include "../t.h"

#include "wire/event.h"

static const struct {
	const char *label;
	struct cc_event event;
	const char *want; /* after the common beginning */
} rows[] = {
	{"exit carries its code",
	 {.type = CC_EVENT_EXIT, .exec = 1, .exit_code = 7},
	 "\"type\":\"exit\",\"exec\":1,\"exitCode\":7}\n"},
	{"text is text",
	 {.type = CC_EVENT_STDOUT, .exec = 1, .content = {"hi\n", 3}},
	 "\"type\":\"stdout\",\"exec\":1,\"content\":\"hi\\n\"}\n"},
	{"bytes are base64 and say so",
	 {.type = CC_EVENT_STDERR, .exec = 1, .content = {"\377x", 2}},
	 "\"type\":\"stderr\",\"exec\":1,\"encoding\":\"base64\",\"content\":\"/3g=\"}\n"},
	{"an overlong encoding is no UTF-8",
	 {.type = CC_EVENT_STDOUT, .exec = 1, .content = {"\xc0\x80", 2}},
	 "\"type\":\"stdout\",\"exec\":1,\"encoding\":\"base64\",\"content\":\"wIA=\"}\n"},
	{"a surrogate is no UTF-8",
	 {.type = CC_EVENT_STDOUT, .content = {"\xed\xa0\x80", 3}},
	 "\"type\":\"stdout\",\"encoding\":\"base64\",\"content\":\"7aCA\"}\n"},
	{"a violation names rule and grant",
	 {.type = CC_EVENT_VIOLATION,
	  .violation = {.action = "file-write-create",
			.target = "/p/.env",
			.rule = "name:**/.env",
			.grant = "--allow-name '**/.env'",
			.pid = 3}},
	 "\"type\":\"violation\",\"violation\":{\"action\":\"file-write-create\",\"target\":\"/p/.env\",\"rule\":\"name:**/.env\",\"grant\":\"--allow-name '**/.env'\",\"pid\":3,\"count\":1}}\n"},
};

static void each_type_in_one_line(void **state)
{
	static const char begin[] = "{\"v\":1,\"seq\":0,\"time\":0,\"session\":\"s\",";

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_event event = rows[i].event;
		struct cc_buf out;

		event.session = "s";
		cc_buf_init(&out, 4096);
		cc_event_write(&event, &out);
		T_ROW(strncmp(out.data, begin, sizeof(begin) - 1) == 0, rows[i].label);
		T_ROW(strcmp(out.data + sizeof(begin) - 1, rows[i].want) == 0, rows[i].label);
		cc_buf_done(&out);
	}
}

static void the_names_are_the_contract(void **state)
{
	static const char *const names[] = {"stdout", "stderr", "exit", "starting", "ready", "killed", "violation"};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(names); i++)
		assert_string_equal(cc_event_type_name((enum cc_event_type)i), names[i]);
}

static void a_line_for_a_person_holds_no_control_byte(void **state)
{
	struct cc_event event = {
		.type = CC_EVENT_VIOLATION,
		.violation = {.action = "file-write-create",
			      .target = "/p/\033]0;x\a\n\302\233.env",
			      .rule = "r",
			      /* right-to-left, isolate, no width, a tag, a soft hyphen */
			      .grant = "\342\200\256 \342\201\246 \342\200\213 \363\240\200\201 \302\255"}};
	struct cc_event content = {.type = CC_EVENT_STDOUT, .content = cc_view_of("\033]52;c;x\a\342\200\256")};
	struct cc_buf out;

	(void)state;
	cc_buf_init(&out, 4096);
	cc_event_say(&event, &out);
	for (size_t i = 0; i < out.len; i++)
		assert_true((unsigned char)out.data[i] >= 0x20 && (unsigned char)out.data[i] < 0x7f);
	assert_non_null(strstr(out.data, "\\x1b]0;x\\x07\\x0a"));
	cc_buf_done(&out);
	cc_buf_init(&out, 4096);
	cc_event_say(&content, &out);
	for (size_t i = 0; i < out.len; i++)
		assert_true((unsigned char)out.data[i] >= 0x20 && (unsigned char)out.data[i] < 0x7f);
	cc_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_in_one_line),
		cmocka_unit_test(the_names_are_the_contract),
		cmocka_unit_test(a_line_for_a_person_holds_no_control_byte),
	};

	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
