/* open.c - the open family, with what the descriptor that came is like. */
#define _GNU_SOURCE
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BARE_TMPFILE = 020000000 };

static const mode_t modes[] = {0644, 0600, 0666, 0, 0444, 0777};

static bool may_be_read_only(const struct spot *spot)
{
	return strncmp(spot->path, getenv("READONLY"), strlen(getenv("READONLY"))) == 0 ||
	       strncmp(spot->path, "/proc/self/fd/", 14) == 0;
}

/* Type, mode, size and flags of a descriptor; then it takes the place of another. */
static void keep(enum call call, const struct spot *spot, const char *tag, long fd, uint64_t flags, uint64_t resolve)
{
	char text[128] = "";
	struct stat st;
	int error = errno;

	if ((!*tag || strcmp(tag, "nofollow-flag") == 0) && (flags & 3) == 3 && may_be_read_only(spot))
		tag = "access-3";
	else if (!*tag && flags & O_NOFOLLOW && may_be_read_only(spot))
		tag = "nofollow-flag";
	if (fd >= 0 && fstat((int)fd, &st) == 0)
		snprintf(text, sizeof(text), "%o size %lld flags %x cloexec %d", st.st_mode,
			 S_ISREG(st.st_mode) ? (long long)st.st_size : 0, fcntl((int)fd, F_GETFL) & ~0100000,
			 fcntl((int)fd, F_GETFD));
	errno = error;
	told(call, spot, tag, fd, "flags %llo resolve %llx: %s", (unsigned long long)flags, (unsigned long long)resolve,
	     text);
	if (fd >= 0 && *tag && strcmp(tag, "nofollow-flag") != 0) {
		close((int)fd); /* the other run may have none */
	} else if (fd >= 0) {
		int *slot = &run.slots[pick(SLOTS)];

		if (*slot >= 0)
			close(*slot);
		*slot = (int)fd;
	} else {
		pick(SLOTS);
	}
}

static uint64_t some_flags(void)
{
	static const int access[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR, 3};
	static const int more[] = {O_CREAT,   O_CREAT,   O_CREAT,    O_CREAT | O_EXCL, O_TRUNC,
				   O_APPEND,  O_CLOEXEC, O_NOFOLLOW, O_DIRECTORY,      O_NONBLOCK,
				   O_NOATIME, O_SYNC,    O_PATH,     O_DSYNC,          O_NOCTTY};
	uint64_t flags = (uint64_t)ONE_OF(access);

	for (unsigned i = pick(4); i; i--)
		flags |= (uint64_t)ONE_OF(more);
	return run.fifos ? flags | O_NONBLOCK : flags;
}

static void op_open(void)
{
	uint64_t flags = some_flags();
	mode_t mode = ONE_OF(modes);
	unsigned kind = pick(5);
	struct spot spot;

	choose(&spot, kind > 1, flags & O_CREAT || kind == 0);
	if (kind == 0 && run.fifos)
		kind = 1; /* creat could wait for a reader */
	if (kind == 0)
		keep(CALL_creat, &spot, "", syscall(SYS_creat, spot.text, mode), O_CREAT, 0);
	else if (kind == 1)
		keep(CALL_open, &spot, "", syscall(SYS_open, spot.text, flags, mode), flags, 0);
	else
		keep(CALL_openat, &spot, "", syscall(SYS_openat, spot.dirfd, spot.text, flags, mode), flags, 0);
}

/* Bits that the gate leaves out: what came into being goes at once. */
static void op_special_bits(void)
{
	static const mode_t special[] = {04755, 02755, 01644, 06711};
	mode_t mode = ONE_OF(special);
	struct spot spot;
	long fd;

	choose(&spot, true, true);
	fd = syscall(SYS_openat, spot.dirfd, spot.text, O_CREAT | O_EXCL | O_RDWR, mode);
	told(CALL_openat, &spot, "", fd, "mode %o", mode);
	if (fd >= 0) {
		syscall(SYS_unlinkat, spot.dirfd, spot.text, 0);
		close((int)fd);
	}
}

static void op_openat2(void)
{
	static const uint64_t resolves[] = {0, 0, 1, 2, 4, 8, 8, 16, 16, 4 | 8, 2 | 8, 1 | 16, 8 | 16, 64, 32};
	struct {
		uint64_t flags, mode, resolve, more;
	} how = {.flags = some_flags(), .resolve = ONE_OF(resolves)};
	static const size_t sizes[] = {24, 24, 24, 24, 24, 24, 24, 24, 32, 16};
	size_t size = ONE_OF(sizes);
	const char *tag = how.flags & O_PATH       ? "openat2-path"
			  : how.resolve & 32       ? "cached"
			  : how.flags & O_NOFOLLOW ? "nofollow-flag"
						   : "";
	struct spot spot;
	int tries = 0;
	long fd;

	if (how.flags & (O_CREAT | BARE_TMPFILE) || pick(20) == 0)
		how.mode = ONE_OF(modes);
	if (pick(30) == 0)
		how.flags |= 1ull << 40;
	if (size == 32 && pick(2))
		how.more = 1;
	choose(&spot, true, how.flags & O_CREAT);
	do /* a rename anywhere on the machine makes the kernel ask for another try */
		fd = syscall(437, spot.dirfd, spot.text, &how, size);
	while (fd < 0 && errno == EAGAIN && how.resolve & (8 | 16) && !(how.resolve & 32) && tries++ < 1000);
	keep(CALL_openat2, &spot, tag, fd, how.flags, how.resolve);
}

static void op_tmpfile(void)
{
	static const uint64_t access[] = {O_RDWR, O_WRONLY, O_RDWR, O_RDONLY};
	uint64_t flags = ONE_OF(access) | (pick(8) ? O_TMPFILE : BARE_TMPFILE) | (pick(4) ? 0 : O_EXCL) |
			 (pick(8) ? 0 : O_CREAT) | (pick(8) ? 0 : O_NOFOLLOW);
	struct spot spot, to;
	long fd, result;
	char path[64];

	choose(&spot, true, false);
	fd = syscall(SYS_openat, spot.dirfd, spot.text, flags, 0644);
	keep(CALL_tmpfile, &spot, "", fd, flags, 0);
	if (fd < 0)
		return;
	choose(&to, true, true);
	if (write((int)fd, "tmp", 3) < 0)
		errno = 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%ld", fd);
	result = pick(2) ? syscall(SYS_linkat, AT_FDCWD, path, to.dirfd, to.text, AT_SYMLINK_FOLLOW)
			 : syscall(SYS_linkat, fd, "", to.dirfd, to.text, AT_EMPTY_PATH);
	told(CALL_linkat, &to, "", result, "%s", "of an O_TMPFILE");
}

/* No room for the descriptor: here the file is made before that shows. */
static void op_full_table(void)
{
	struct spot spot = {.form = FORM_DIRFD, .dirfd = ROOT_FD, .path = "full"};
	struct rlimit before, none;
	int error, lowest = dup(ROOT_FD);
	long fd;

	spot.text = spot.path;
	close(lowest);
	getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){(rlim_t)lowest, before.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	fd = syscall(SYS_openat, ROOT_FD, "full", O_CREAT | O_RDWR, 0600);
	error = errno;
	setrlimit(RLIMIT_NOFILE, &before);
	syscall(SYS_unlinkat, ROOT_FD, "full", 0);
	errno = error;
	told(CALL_openat, &spot, "full-table", fd, "%s", "no descriptor left");
	if (fd >= 0)
		close((int)fd);
}

static void op_handle(void)
{
	struct {
		uint32_t bytes;
		int32_t type;
		unsigned char handle[128];
	} what = {.bytes = 128};
	struct spot spot;
	int mount;
	long result;

	choose(&spot, true, false);
	result = syscall(SYS_name_to_handle_at, spot.dirfd, spot.text, &what, &mount, 0);
	told(CALL_handle, &spot, "handle", result, "%s", "name_to_handle_at");
	memset(&what, 0, sizeof(what));
	what.bytes = 8;
	what.type = 1;
	result = syscall(SYS_open_by_handle_at, ROOT_FD, &what, O_RDONLY);
	told(CALL_handle, &spot, "handle", result, "%s", "open_by_handle_at");
	if (result >= 0)
		close((int)result);
}

static void op_device(void)
{
	struct spot spot = {.form = FORM_ABSOLUTE, .dirfd = AT_FDCWD, .path = "/dev/null"};
	uint64_t flags = some_flags();
	long fd;

	spot.text = spot.path;
	fd = syscall(SYS_openat, spot.dirfd, spot.text, flags, 0600);
	told(CALL_openat, &spot, flags & O_TRUNC && (flags & 3) % 3 == 0 ? "device-truncated" : "", fd, "flags %llo",
	     (unsigned long long)flags);
	close((int)fd); /* not kept: its mode could be changed by a later call */
}

void do_open(void)
{
	unsigned what = pick(100);

	if (what == 0) {
		if (pick(2))
			op_device();
		else
			op_full_table();
		return;
	}
	if (what < 55)
		op_open();
	else if (what < 80)
		op_openat2();
	else if (what < 92)
		op_tmpfile();
	else if (what < 97)
		op_special_bits();
	else
		op_handle();
}
