#include "../t.h"

#include "terminal/title.h"

static const struct {
	const char *label, *output, *want;
} rows[] = {
	{"OSC 0, ended by BEL", "a\033]0;make\ab", "make"},
	{"OSC 2, ended by ESC \\", "\033]2;vim notes\033\\", "vim notes"},
	{"the last one counts", "\033]0;one\a\033]2;two\a", "two"},
	{"OSC 1 is an icon's name", "\033]1;icon\a", ""},
	{"OSC 52 is none", "\033]52;c;aGk=\a", ""},
	{"OSC 20 is none", "\033]20;x\a", ""},
	{"no number", "\033];x\a", ""},
	{"a number that never ends", "\033]0000000000000000000000;x\a", ""},
	{"CAN ends it", "\033]0;x\030y\a", ""},
	{"another escape ends it", "\033]0;x\033[1m\a", ""},
	{"another OSC ends it", "\033]0;x\033]0;y\a", "y"},
	{"controls are left out",
	 "\033]0;a\x01\x7f\xc2\x9b"
	 "b\a",
	 "ab"},
	{"bytes that are no UTF-8 are left out", "\033]0;a\xff\xc3z\a", "az"},
	{"letters of the world stay", "\033]0;caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x9a\x80\a",
	 "caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x9a\x80"},
	{"what reorders is left out",
	 "\033]0;a\xe2\x80\xae"
	 "b\xe2\x81\xa7\xe2\x80\x8b\a",
	 "ab"},
	{"an empty title is one", "\033]0;x\a\033]0;\a", ""},
	{"what has not ended is none", "\033]0;unfinished", ""},
};

static void titles_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_title whole = {0}, parts = {0};

		cc_title_feed(&whole, cc_view_of(rows[i].output));
		T_ROW(strcmp(whole.text, rows[i].want) == 0, rows[i].label);
		/* byte by byte it is the same */
		for (const char *at = rows[i].output; *at; at++)
			cc_title_feed(&parts, (struct cc_view){at, 1});
		T_ROW(strcmp(parts.text, rows[i].want) == 0, rows[i].label);
	}
}

static void a_change_is_told_once(void **state)
{
	struct cc_title title = {0};

	(void)state;
	assert_true(cc_title_feed(&title, cc_view_of("\033]0;a\a")));
	assert_false(cc_title_feed(&title, cc_view_of("\033]2;a\a")));
	assert_true(cc_title_feed(&title, cc_view_of("\033]0;b\a")));
}

static void it_is_bounded(void **state)
{
	struct cc_title title = {0};

	(void)state;
	cc_title_feed(&title, cc_view_of("\033]0;"));
	for (int i = 0; i < 1000; i++)
		cc_title_feed(&title, cc_view_of("x"));
	assert_true(cc_title_feed(&title, cc_view_of("\a")));
	assert_int_equal(strlen(title.text), CC_TITLE_MAX);
	cc_title_feed(&title, cc_view_of("\033]0;"));
	for (int i = 0; i < 5000; i++)
		cc_title_feed(&title, cc_view_of("y"));
	assert_false(cc_title_feed(&title, cc_view_of("\a")));
	assert_int_equal(title.text[0], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(titles_are_read),
		cmocka_unit_test(a_change_is_told_once),
		cmocka_unit_test(it_is_bounded),
	};

	return cmocka_run_group_tests_name("title", tests, NULL, NULL);
}
