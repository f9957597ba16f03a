/* stall.c - paths that lie in pages which do not come (attacks 19): each call that hands one over holds a gate thread,
 * and the calls of everybody else must go on. As many callers as may stall; the driver's own file system holds their
 * pages until this program says so. */
#define _GNU_SOURCE
#include "a.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { STALLS = 14, ROUNDS = 200, PAGE = 4096 };

static pid_t stalled[STALLS];

static void stall_in(const char *page, int number)
{
	stalled[number] = fork();
	if (stalled[number] == 0) {
		unlink(page + (size_t)number * PAGE);
		_exit(0);
	}
}

int main(void)
{
	struct stat st;
	unsigned failed = 0;
	int fd = open("slow/page", O_RDONLY);
	char *page = mmap(NULL, 64 * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (fd < 0 || page == MAP_FAILED) {
		skip("19-attacks", "no file system to stall in");
		return 0;
	}
	madvise(page, 64 * PAGE, MADV_RANDOM);
	for (int i = 0; i < STALLS; i++)
		stall_in(page, i);
	for (int i = 0; i < ROUNDS; i++) {
		int made = open("sub/goes-on", O_WRONLY | O_CREAT | O_EXCL, 0644);

		failed += made < 0 || unlink("sub/goes-on") < 0;
		close(made);
		failed += mkdir("sub/dir", 0755) < 0 || rename("sub/dir", "sub/moved") < 0 || rmdir("sub/moved") < 0;
	}
	say(failed == 0, "19-attacks", "other calls, directory moves among them, go on while callers stall", 0);
	say(stat("slow/late", &st) < 0, "19-attacks", "they did so before the pages came", 0);
	stat("slow/release", &st);
	for (int i = 0; i < STALLS; i++)
		waitpid(stalled[i], NULL, 0);
	say(open("sub/after", O_WRONLY | O_CREAT, 0644) >= 0, "19-attacks", "and afterwards all is as before", errno);
	return 0;
}
