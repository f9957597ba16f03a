#define _GNU_SOURCE
#include "../t.h"

#include "gate/call.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/ccbox-pins-XXXXXX";
static struct cc_gate_pins pins;

/* A new directory, and its descriptor. */
static int made(const char *name)
{
	int top = open(dir, O_PATH), fd;

	assert_int_equal(mkdirat(top, name, 0700), 0);
	fd = openat(top, name, O_PATH);
	close(top);
	return fd;
}

static void removed(const char *name)
{
	int top = open(dir, O_PATH);

	assert_int_equal(unlinkat(top, name, AT_REMOVEDIR), 0);
	close(top);
}

static struct cc_statx seen(int fd)
{
	struct cc_statx st;

	assert_int_equal(cc_k_statx(fd, "", &st), 0);
	return st;
}

static void a_full_table_keeps_what_it_has_until_that_is_removed(void **state)
{
	int fd[4] = {made("a"), made("b"), made("c"), made("d")};
	struct cc_statx st[4];

	(void)state;
	cc_pins_init(&pins, 2);
	for (int i = 0; i < 4; i++)
		st[i] = seen(fd[i]);
	for (int i = 0; i < 3; i++)
		cc_pins_add(&pins, fd[i], S_IFDIR);
	assert_true(cc_pins_have(&pins, &st[0]) && cc_pins_have(&pins, &st[1]));
	assert_false(cc_pins_have(&pins, &st[2]));
	assert_int_equal(fcntl(fd[2], F_GETFD), -1); /* closed, not lost */
	removed("a");
	cc_pins_add(&pins, fd[3], S_IFDIR);
	assert_false(cc_pins_have(&pins, &st[0]));
	assert_true(cc_pins_have(&pins, &st[1]) && cc_pins_have(&pins, &st[3]));
	removed("b");
	removed("c");
	removed("d");
}

static void only_what_is_of_the_type_is_kept(void **state)
{
	int fd = made("a");
	struct cc_statx st = seen(fd);

	(void)state;
	cc_pins_init(&pins, 2);
	cc_pins_add(&pins, -1, S_IFDIR);
	cc_pins_add(&pins, fd, S_IFSOCK);
	assert_false(cc_pins_have(&pins, &st));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	removed("a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_table_keeps_what_it_has_until_that_is_removed),
		cmocka_unit_test(only_what_is_of_the_type_is_kept),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests_name("pins", tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
