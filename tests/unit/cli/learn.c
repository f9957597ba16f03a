#include "../t.h"

#include "cli/learn.h"
#include "wire/policyfile.h"

#include <string.h>

static void take(struct cc_learn *learn, const char *target, const char *grant)
{
	struct cc_event event = {
		.type = CC_EVENT_VIOLATION,
		.violation = {.action = "file-write-create", .target = target, .rule = "r", .grant = grant},
	};

	cc_learn_take(learn, &event);
}

/* The file is one that ccbox reads, and says what is wanted. */
static void assert_written(const struct cc_learn *learn, const char *const *parts)
{
	struct cc_policy policy;
	struct cc_err err = {0};
	struct cc_buf text;

	cc_buf_init(&text, 1 << 20);
	cc_policy_init(&policy);
	assert_true(cc_learn_write(learn, &text));
	assert_int_equal(cc_policyfile_parse("learned", cc_buf_view(&text), CC_POLICY_OPERATOR, &policy, &err), CC_OK);
	for (; *parts; parts++)
		T_ROW(strstr(text.data, *parts) != NULL, *parts);
	cc_policy_done(&policy);
	cc_buf_done(&text);
}

static void flags_become_one_file(void **state)
{
	struct cc_learn learn;

	(void)state;
	cc_learn_init(&learn);
	take(&learn, "/t/.env", "--allow-name '**/.env'");
	take(&learn, "/t/a/.env", "--allow-name '**/.env'");
	take(&learn, "/t/it's.key", "--allow-name '**/it'\\''s.key'");
	take(&learn, "h:443", "--allow-host h.example");
	take(&learn, "/t/s", "--allow-socket '/t/s'");
	assert_written(&learn, (const char *const[]){"\"**/.env\",\"**/it's.key\"", "\"h.example\"", "\"/t/s\"", NULL});
	cc_learn_done(&learn);
}

static void what_another_path_opens_is_left_out(void **state)
{
	struct cc_learn learn;
	struct cc_buf text;

	(void)state;
	cc_learn_init(&learn);
	take(&learn, "/t/.vscode/a", "--allow-path '/t/.vscode/a'");
	take(&learn, "/t/.vscode", "--allow-path '/t/.vscode'");
	take(&learn, "/t/.vscode2", "--allow-path '/t/.vscode2'");
	cc_buf_init(&text, 1 << 16);
	assert_true(cc_learn_write(&learn, &text));
	assert_non_null(strstr(text.data, "[\"/t/.vscode\",\"/t/.vscode2\"]"));
	cc_buf_done(&text);
	cc_learn_done(&learn);
}

/* No flag, one that no file can say, and words that are no flag of ours: said, not proposed. */
static void what_nothing_opens_is_a_comment(void **state)
{
	static const char *const grants[] = {NULL,
					     "",
					     "--allow-path '/t/a*b'",
					     "--backend none",
					     "--allow-name",
					     "--allow-name 'x",
					     "--allow-name a b",
					     "--bind /",
					     "--allow-host *"};
	struct cc_learn learn;
	struct cc_buf text;

	(void)state;
	cc_learn_init(&learn);
	for (size_t i = 0; i < CC_COUNT(grants); i++) {
		char target[32];

		snprintf(target, sizeof(target), "/t/\x1b[2Jnumber\n%zu", i);
		take(&learn, target, grants[i]);
	}
	cc_buf_init(&text, 1 << 16);
	assert_true(cc_learn_write(&learn, &text));
	assert_non_null(strstr(text.data, "// Nothing of what this run was refused can be opened.\n{}\n"));
	for (size_t i = 0; i < CC_COUNT(grants); i++) {
		char line[96];

		snprintf(line, sizeof(line), "//   refused file-write-create /t/\\x1b[2Jnumber\\x0a%zu; rule r", i);
		T_ROW(strstr(text.data, line) != NULL, line);
	}
	cc_buf_done(&text);
	cc_learn_done(&learn);
}

static void nothing_refused_is_no_file(void **state)
{
	struct cc_event event = {.type = CC_EVENT_NOTICE, .violation = {.grant = "--allow-name x"}};
	struct cc_learn learn;
	struct cc_buf text;

	(void)state;
	cc_learn_init(&learn);
	cc_learn_take(&learn, &event);
	cc_buf_init(&text, 1 << 16);
	assert_false(cc_learn_write(&learn, &text));
	cc_buf_done(&text);
	cc_learn_done(&learn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_become_one_file),
		cmocka_unit_test(what_another_path_opens_is_left_out),
		cmocka_unit_test(what_nothing_opens_is_a_comment),
		cmocka_unit_test(nothing_refused_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
