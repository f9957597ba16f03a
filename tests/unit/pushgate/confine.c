/* What a gateway gives up is gone for it, and for what it starts. In a child, since it does not come back. */
#define _GNU_SOURCE
#include "../t.h"

#include "os/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/ccbox-confine.XXXXXX";

/* 0, or the errno. */
static int opened(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int made_socket(int family, int type)
{
	int fd = socket(family, type, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* The number of the first step that is not as it should be. */
static int try_network(void)
{
	struct cc_err err;

	if (cc_confine_secrets(&err) != CC_OK || cc_confine_network(&err) != CC_OK)
		return 1;
	if (made_socket(AF_INET, SOCK_STREAM) != EAFNOSUPPORT || made_socket(AF_INET6, SOCK_DGRAM) != EAFNOSUPPORT)
		return 2;
	if (made_socket(AF_UNIX, SOCK_STREAM) != 0)
		return 3;
	if (syscall(SYS_io_uring_setup, 1, NULL) != -1 || errno != ENOSYS)
		return 4;
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 5;
}

static int try_writes(void)
{
	char inside[64], deeper[80];
	struct cc_err err;

	snprintf(inside, sizeof(inside), "%s/in", dir);
	snprintf(deeper, sizeof(deeper), "%s/in/file", dir);
	if (mkdir(inside, 0700) < 0 || cc_confine_secrets(&err) != CC_OK || cc_confine_writes(inside, &err) != CC_OK)
		return 1;
	if (opened(deeper, O_WRONLY | O_CREAT) != 0 || opened("/dev/null", O_WRONLY) != 0)
		return 2;
	snprintf(deeper, sizeof(deeper), "%s/out", dir);
	if (opened(deeper, O_WRONLY | O_CREAT) != EACCES || mkdir(deeper, 0700) == 0 || rename(inside, deeper) == 0)
		return 3;
	return opened("/etc/passwd", O_RDONLY) == 0 ? 0 : 4;
}

static int in_child(int (*try)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(try());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void no_network(void **state)
{
	(void)state;
	assert_int_equal(in_child(try_network), 0);
}

static void writes_in_one_place(void **state)
{
	(void)state;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 2)
		return; /* a kernel that sessions need has it; a newer one has the second kind */
	assert_non_null(mkdtemp(dir));
	assert_int_equal(in_child(try_writes), 0);
	assert_int_equal(unlinkat(AT_FDCWD, dir, AT_REMOVEDIR) == 0 ? 0 : errno, ENOTEMPTY);
	{
		char path[80];

		snprintf(path, sizeof(path), "%s/in/file", dir);
		unlink(path);
		snprintf(path, sizeof(path), "%s/in", dir);
		rmdir(path);
		rmdir(dir);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_network), cmocka_unit_test(writes_in_one_place)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
