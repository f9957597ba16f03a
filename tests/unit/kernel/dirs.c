#define _GNU_SOURCE
#include "../t.h"

#include "kernel/dirs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct cc_dirs dirs;
static int mount;

static bool put(uint64_t call, unsigned epoch, const char *path)
{
	struct cc_dir what = {.epoch = epoch, .fd = open("/", O_PATH), .mount = &mount};

	if (cc_dirs_put(&dirs, call, path, strlen(path), &what))
		return true;
	close(what.fd);
	return false;
}

static const struct cc_dir *get(uint64_t call, unsigned epoch, const char *path)
{
	return cc_dirs_get(&dirs, epoch, call, path, strlen(path), 0);
}

static void test_is_found_by_path_and_epoch(void **state)
{
	(void)state;
	assert_null(get(1, 0, "/w"));
	assert_true(put(1, 0, "/w"));
	assert_non_null(get(2, 0, "/w"));
	assert_null(get(2, 0, "/w/"));
	assert_null(get(2, 1, "/w")); /* something was moved meanwhile */
}

/* What was reached through a descriptor says nothing about the directories above it: chmod 0 of one of them, and a walk
 * from the root must be refused. */
static void test_where_the_walk_began(void **state)
{
	struct cc_dir what = {.epoch = 0, .fd = open("/", O_PATH), .mount = &mount, .from = 2};

	(void)state;
	assert_true(cc_dirs_put(&dirs, 8, "/p/q/r", 6, &what));
	assert_null(cc_dirs_get(&dirs, 0, 9, "/p/q/r", 6, 0));
	assert_null(cc_dirs_get(&dirs, 0, 9, "/p/q/r", 6, 1));
	assert_non_null(cc_dirs_get(&dirs, 0, 9, "/p/q/r", 6, 2));
	assert_non_null(cc_dirs_get(&dirs, 0, 9, "/p/q/r", 6, 4));
}

static void test_time_out(void **state)
{
	(void)state;
	assert_true(put(3, 0, "/old"));
	usleep((CC_DIRS_MS + 20) * 1000);
	assert_null(get(4, 0, "/old"));
}

/* Every path shares its slot with others: the second end of a call must not close the first one's. */
static void test_in_use_stays(void **state)
{
	char path[32];
	unsigned refused = 0;

	(void)state;
	for (int i = 0; i < 8 * CC_DIRS; i++) {
		snprintf(path, sizeof(path), "/many/%d", i);
		refused += !put(5, 0, path);
	}
	assert_int_equal(refused, 7 * CC_DIRS);
	for (int i = 0; i < CC_DIRS; i++)
		assert_int_equal(fcntl(dirs.items[i].fd, F_GETFD) >= 0, 1);
	assert_true(put(6, 0, path));
}

static void test_what_is_not_kept(void **state)
{
	struct cc_dir nowhere = {.fd = -1};
	char path[CC_DIRS_PATH + 2];

	(void)state;
	assert_false(cc_dirs_put(&dirs, 7, "/x", 2, &nowhere)); /* on no mount of ours */
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_false(put(7, 0, path)); /* too long */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_found_by_path_and_epoch),
		cmocka_unit_test(test_where_the_walk_began),
		cmocka_unit_test(test_time_out),
		cmocka_unit_test(test_in_use_stays),
		cmocka_unit_test(test_what_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
