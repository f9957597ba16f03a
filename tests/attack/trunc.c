/* trunc.c - truncation without write access: the one thing the floor does not hold (docs/decisions/truncate.md), so no
 * call that could come to it may be continued. The host looks whether .env still has its content. */
#define _GNU_SOURCE
#include "a.h"

#include <pthread.h>

static int tries = 6000; /* fewer by an argument, for a slow machine */

static char path[16] __attribute__((aligned(8))) = "/dev/null";
static struct a_how how;
static volatile bool stop;

/* "/dev/null" and "././/null", which is a link to .env; the flags ask for truncation or do not. */
static void *flip(void *context)
{
	(void)context;
	for (unsigned turn = 0; !stop; turn++) {
		put4(path, turn % 2 ? "/dev" : "././");
		__atomic_store_n(&how.flags, turn % 3 ? (unsigned long long)O_RDONLY : O_RDONLY | O_TRUNC,
				 __ATOMIC_SEQ_CST);
		for (volatile int wait = 0; wait < 300; wait++)
			;
	}
	return NULL;
}

static void race(const char *label, bool second)
{
	pthread_t thread;
	struct stat st;

	stop = false;
	pthread_create(&thread, NULL, flip, NULL);
	for (int i = 0; i < tries; i++) {
		long fd = second ? syscall(437, AT_FDCWD, path, &how, sizeof(how))
				 : syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_TRUNC);

		if (fd >= 0)
			close((int)fd);
	}
	stop = true;
	pthread_join(thread, NULL);
	say(stat(".env", &st) == 0 && st.st_size > 0, "9", label, 0);
}

int main(int argc, char **argv)
{
	struct stat st;
	char buffer[64];
	int fd;

	if (argc > 1)
		tries = atoi(argv[1]);
	symlink(".env", "null");
	denied("9", "open O_RDONLY|O_TRUNC", open(".env", O_RDONLY | O_TRUNC));
	denied("9", "openat2 O_RDONLY|O_TRUNC", openat2_(AT_FDCWD, ".env", O_RDONLY | O_TRUNC, 0, 0));
	denied("9", "access mode 3 with O_TRUNC", open(".env", 3 | O_TRUNC));
	denied("41", "truncate", truncate(".env", 0));
	fails("9", "a device opened for reading and truncated", open("/dev/null", O_RDONLY | O_TRUNC), EACCES);
	race("openat, the path changes", false);
	race("openat2, path and flags change", true);
	say(stat(".env", &st) == 0 && st.st_size > 0, "9", "the content is still there", 0);
	fd = works("12", "openat2 for reading", openat2_(AT_FDCWD, ".env", O_RDONLY, 0, 0));
	say(read(fd, buffer, sizeof(buffer)) > 0, "12", "and it reads", 0);
	fails("12", "openat2 for a place: the caller takes openat", openat2_(AT_FDCWD, ".env", O_PATH, 0, 0), ENOSYS);
	fd = works("12", "openat for a place", openat(AT_FDCWD, ".env", O_PATH));
	say(fstat(fd, &st) == 0 && st.st_size > 0, "12", "and it is that place", 0);
	works("12", "openat2 of its own memory map", openat2_(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0, 0));
	fails("12", "openat2 beneath, leaving", openat2_(AT_FDCWD, "../x", O_RDONLY, 0, 8), EXDEV);
	return 0;
}
