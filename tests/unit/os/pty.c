#include "../t.h"

#include "os/pty.h"

static const struct {
	const char *label, *in, *want;
} rows[] = {
	{"plain text", "hello\r\n", "hello\r\n"},
	{"colours pass", "\033[31mred\033[0m", "\033[31mred\033[0m"},
	{"title passes", "\033]0;title\a", "\033]0;title\a"},
	{"hyperlink passes", "\033]8;;http://x.test\033\\x\033]8;;\033\\",
	 "\033]8;;http://x.test\033\\x\033]8;;\033\\"},
	{"clipboard is dropped (BEL)", "a\033]52;c;ZWNobw==\ab", "ab"},
	{"clipboard is dropped (ST)", "a\033]52;c;ZWNobw==\033\\b", "ab"},
	{"clipboard by C1 character", "a\302\23552;c;ZWNobw==\ab", "ab"},
	{"iTerm file transfer is dropped", "a\033]1337;File=:AAAA\ab", "ab"},
	{"shell integration is dropped", "a\033]133;A\ab\033]633;A\ac", "abc"},
	{"another number with the same start", "a\033]521;x\ab", "a\033]521;x\ab"},
	{"kitty remote control", "a\033P@kitty-cmd{}\033\\b", "ab"},
	{"tmux passthrough", "a\033Ptmux;\033\033]52;c;x\a\033\\b", "ab"},
	{"other DCS passes", "\033P$qm\033\\", "\033P$qm\033\\"},
	{"title report is dropped", "a\033[21tb\033[20tc", "abc"},
	{"window size request passes", "\033[14t", "\033[14t"},
	{"UTF-8 is kept", "\303\251\302\251", "\303\251\302\251"},
	{"a number with zeros in front", "a\033]052;c;x\ab\033]00000000000000000052;c;x\ac\033[0021td", "abcd"},
	{"a number that is made to wrap", "a\033]4294967348;c;x\ab", "ab"},
	{"more digits than are held", "a\033[0000000000000000000000000000000000000000000000000000000000000000021tb",
	 "a00021tb"},
	{"a control character in the middle", "a\033\n]52;c;x\ab\033]5\0012;c;x\ac\033[2\n1td", "a\nbc\nd"},
	{"a sequence cut short by another", "a\033[\033]52;c;x\ab\033]5\033]52;c;x\ac", "ab\033]5c"},
	{"tmux passthrough behind a parameter", "a\033P1;2tmux;\033\033]52;c;x\a\033\\b", "ab"},
	{"the other clipboard, vterm's evaluation", "a\033]5522;x\ab\033]51;Ex\ac", "abc"},
	{"reset of a colour passes", "\033]104\033\\x", "\033]104\033\\x"},
	{"a long colour passes", "\033[38;2;255;255;255;48;2;255;255;255;1;2;3;4;5;6;7;8;9;21;22;23;24;25;26mx",
	 "\033[38;2;255;255;255;48;2;255;255;255;1;2;3;4;5;6;7;8;9;21;22;23;24;25;26mx"},
	{"escape before a refused sequence", "\033\033]52;c;x\ab", "\033b"},
};

static void each_row_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_pty_filter filter = {0};
		struct cc_buf out;

		cc_buf_init(&out, 4096);
		cc_pty_filter(&filter, rows[i].in, strlen(rows[i].in), &out);
		cc_pty_filter_end(&filter, &out);
		T_ROW(out.len == strlen(rows[i].want) && memcmp(out.data, rows[i].want, out.len) == 0, rows[i].label);
		cc_buf_done(&out);
	}
}

static void each_row_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_pty_filter filter = {0};
		struct cc_buf out;

		cc_buf_init(&out, 4096);
		for (const char *at = rows[i].in; *at; at++)
			cc_pty_filter(&filter, at, 1, &out);
		cc_pty_filter_end(&filter, &out);
		T_ROW(out.len == strlen(rows[i].want) && memcmp(out.data, rows[i].want, out.len) == 0, rows[i].label);
		cc_buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_whole),
		cmocka_unit_test(each_row_byte_by_byte),
	};

	return cmocka_run_group_tests_name("pty", tests, NULL, NULL);
}
