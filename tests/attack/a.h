/* a.h - how an attack says what happened: one line for each case, with its number in spec/names 6 or its item in
 * spec/attacks. The driver numbers them for TAP. */
#ifndef CC_TESTS_ATTACK_A_H
#define CC_TESTS_ATTACK_A_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void say(bool good, const char *number, const char *label, int error)
{
	if (good)
		printf("ok %s: %s\n", number, label);
	else
		printf("not ok %s: %s (%s)\n", number, label, error ? strerror(error) : "it went through");
	fflush(stdout);
}

/* "D" of the cases: EACCES, EPERM, EROFS. A descriptor that was given is closed. */
static inline void denied(const char *number, const char *label, long result)
{
	int error = result < 0 ? errno : 0;

	say(error == EACCES || error == EPERM || error == EROFS, number, label, error);
}

static inline void fails(const char *number, const char *label, long result, int want)
{
	int error = result < 0 ? errno : 0;

	say(error == want, number, label, error);
}

static inline int works(const char *number, const char *label, long result)
{
	int error = result < 0 ? errno : 0;

	if (result >= 0)
		printf("ok %s: %s\n", number, label);
	else
		printf("not ok %s: %s (%s)\n", number, label, strerror(error));
	fflush(stdout);
	return (int)result;
}

static inline void skip(const char *number, const char *reason)
{
	printf("ok %s # SKIP %s\n", number, reason);
	fflush(stdout);
}

/* Makes a good file to work with. */
static inline void make(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0) {
		if (write(fd, "x\n", 2) < 0)
			perror(name);
		close(fd);
	}
}

static inline const char *in_tree(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned at;

	at = (at + 1) % 4;
	snprintf(path[at], PATH_MAX, "%s/%s", getenv("TREE"), name);
	return path[at];
}

/* O_TMPFILE works in the tree natively: the driver has looked. */
static inline bool has_unnamed(void)
{
	const char *said = getenv("UNNAMED");

	return !said || strcmp(said, "no") != 0;
}

/* Four bytes at once, seen by everybody: a plain copy could be kept back by the compiler. */
static inline void put4(char *to, const char *from)
{
	unsigned word;

	memcpy(&word, from, sizeof(word));
	__atomic_store_n((unsigned *)(void *)to, word, __ATOMIC_SEQ_CST);
}

struct a_how {
	unsigned long long flags, mode, resolve;
};

static inline long openat2_(int dir, const char *path, unsigned long long flags, unsigned long long mode,
			    unsigned long long resolve)
{
	struct a_how how = {flags, mode, resolve};

	return syscall(437, dir, path, &how, sizeof(how));
}

#endif
