/* meta.c - mode, owner, times and extended attributes, by path and by descriptor. */
#define _GNU_SOURCE
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static const int lookups[] = {0, 0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, 1};

/* An *at call with AT_EMPTY_PATH is given a descriptor now and then. */
static int some_lookup(struct spot *spot)
{
	int flags = ONE_OF(lookups);

	if (flags & AT_EMPTY_PATH && pick(2)) {
		spot->form = FORM_DIRFD;
		spot->dirfd = pick(3) ? run.slots[pick(SLOTS)] : ROOT_PATH_FD;
		spot->path[0] = '\0';
	}
	return flags;
}

static void op_chmod(void)
{
	static const mode_t modes[] = {0644, 0600, 0755, 0, 0444, 0777, 01777, 02775};
	mode_t mode = ONE_OF(modes);
	unsigned kind = pick(4);
	struct spot spot;
	int fd, flags;

	if (kind == 3) {
		fd = choose_fd(&spot);
		told(CALL_fchmod, &spot, "", syscall(SYS_fchmod, fd, mode & 0777), "%o", mode & 0777);
		close(fd);
		return;
	}
	choose(&spot, kind > 0, false);
	flags = kind == 2 ? some_lookup(&spot) : 0;
	mode &= 0777;
	if (kind == 0)
		told(CALL_chmod, &spot, "", syscall(SYS_chmod, spot.text, mode), "%o", mode);
	else if (kind == 1)
		told(CALL_fchmodat, &spot, "", syscall(SYS_fchmodat, spot.dirfd, spot.text, mode), "%o", mode);
	else
		told(CALL_fchmodat2, &spot, "", syscall(452, spot.dirfd, spot.text, mode, flags), "%o %x", mode, flags);
}

/* Directories take setgid and sticky; files do not here, and lose them at once there. */
static void op_special_mode(void)
{
	static const mode_t special[] = {01777, 02775, 03770};
	mode_t mode = ONE_OF(special);
	struct spot spot;
	struct stat st;
	long result;

	choose(&spot, true, false);
	result = fstatat(spot.dirfd, spot.text, &st, 0);
	if (result == 0 && !S_ISDIR(st.st_mode))
		mode &= 0777;
	told(CALL_fchmodat, &spot, "", syscall(SYS_fchmodat, spot.dirfd, spot.text, mode), "%o", mode);
}

/* Bits of a file that are left out here, and what has no name. */
static void op_left_out(void)
{
	struct spot spot = {.form = FORM_DIRFD, .dirfd = -1};
	struct timespec times[2] = {{1000000000, 1}, {1000000000, 2}};
	struct stat st = {0};
	int ends[2] = {-1, -1}, file;
	long result;

	spot.text = spot.path;
	if (pipe2(ends, O_CLOEXEC) == 0) {
		told(CALL_fchmod, &spot, "pipe", syscall(SYS_fchmod, ends[0], 0600), "%s", "a pipe");
		told(CALL_fchown, &spot, "pipe", syscall(SYS_fchown, ends[1], -1, -1), "%s", "a pipe");
		told(CALL_utimensat, &spot, "pipe", syscall(SYS_utimensat, ends[1], NULL, times, 0), "%s", "a pipe");
		close(ends[0]);
		close(ends[1]);
	}
	file = openat(ROOT_FD, "special", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	result = syscall(SYS_fchmodat, ROOT_FD, "special", 07755);
	fstatat(ROOT_FD, "special", &st, 0);
	told(CALL_fchmodat, &spot, "special-bits", result, "%o", st.st_mode);
	unlinkat(ROOT_FD, "special", 0);
	close(file);
}

static void op_chown(void)
{
	static const unsigned owners[] = {~0u, ~0u, 0, 12345};
	unsigned uid = pick(3) ? ONE_OF(owners) : getuid(), gid = pick(3) ? ONE_OF(owners) : getgid(), kind = pick(4);
	struct spot spot;
	int fd, flags;

	if (kind == 3) {
		fd = choose_fd(&spot);
		told(CALL_fchown, &spot, "", syscall(SYS_fchown, fd, uid, gid), "%u %u", uid, gid);
		close(fd);
		return;
	}
	choose(&spot, kind == 2, false);
	flags = kind == 2 ? some_lookup(&spot) : 0;
	if (kind == 0)
		told(CALL_chown, &spot, "", syscall(SYS_chown, spot.text, uid, gid), "%u %u", uid, gid);
	else if (kind == 1)
		told(CALL_lchown, &spot, "", syscall(SYS_lchown, spot.text, uid, gid), "%u %u", uid, gid);
	else
		told(CALL_fchownat, &spot, "", syscall(SYS_fchownat, spot.dirfd, spot.text, uid, gid, flags),
		     "%u %u %x", uid, gid, flags);
}

/* The times as they are now, when they were given. */
static void times_told(enum call call, struct spot *spot, int fd, long result, bool given, int flags)
{
	char text[96] = "";
	struct stat st;
	int error = errno;

	if (result == 0 && given &&
	    (fd >= 0 ? fstat(fd, &st) : fstatat(spot->dirfd, spot->text, &st, flags & AT_SYMLINK_NOFOLLOW)) == 0)
		snprintf(text, sizeof(text), "%lld.%09ld %lld.%09ld", (long long)st.st_atim.tv_sec, st.st_atim.tv_nsec,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	errno = error;
	told(call, spot, "", result, "%s flags %x", text, flags);
}

static void op_times(void)
{
	long base = 1000000000 + (long)pick(1000000);
	struct timespec exact[2] = {{base, (long)pick(1000000000)}, {base + 5, pick(12) ? 7 : 2000000000}};
	struct timeval old[2] = {{base, (long)pick(1000000)}, {base + 9, pick(12) ? 77 : 1000000}};
	long seconds[2] = {base, base + 3};
	unsigned kind = pick(5);
	bool given = pick(3);
	struct spot spot;
	int flags = 0;
	long result;

	if (pick(10) == 0)
		exact[1].tv_nsec = pick(2) ? UTIME_OMIT : UTIME_NOW;
	choose(&spot, kind > 1, false);
	if (kind == 0) {
		result = syscall(SYS_utime, spot.text, given ? seconds : NULL);
		times_told(CALL_utime, &spot, -1, result, given, 0);
	} else if (kind == 1) {
		result = syscall(SYS_utimes, spot.text, given ? old : NULL);
		times_told(CALL_utimes, &spot, -1, result, given, 0);
	} else if (kind == 2) {
		bool no_path = pick(8) == 0;

		result = syscall(SYS_futimesat, spot.dirfd, no_path ? NULL : spot.text, given ? old : NULL);
		times_told(CALL_futimesat, &spot, no_path ? spot.dirfd : -1, result, given, 0);
	} else if (kind == 3) {
		int fd = choose_fd(&spot);

		result = syscall(SYS_utimensat, fd, NULL, given ? exact : NULL, 0);
		times_told(CALL_utimensat, &spot, fd, result, given && exact[1].tv_nsec == 7, 0);
		close(fd);
	} else {
		flags = some_lookup(&spot);
		result = syscall(SYS_utimensat, spot.dirfd, spot.text, given ? exact : NULL, flags);
		times_told(CALL_utimensat, &spot, *spot.path ? -1 : spot.dirfd, result,
			   given && exact[1].tv_nsec == 7 && spot.dirfd != -1, flags);
	}
}

/* u::rwx g::r-x o::r-x and, in the second, one named user: version 2, little endian */
static const unsigned char acl[2][4 + 5 * 8] = {
	{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 5, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255},
	{2, 0, 0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,   7,  0, 0, 0, 0,   0,   4,   0,
	 5, 0, 255, 255, 255, 255, 16, 0, 7,   0,   255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255},
};

struct attribute {
	const char *name;
	const void *value;
	size_t size;
	int flags;
};

static void some_attribute(struct attribute *out)
{
	static const char *const names[] = {"user.a",
					    "user.b",
					    "user.a",
					    "user.b",
					    "user.",
					    "user",
					    "trusted.x",
					    "security.x",
					    "nope.x",
					    "system.posix_acl_access",
					    "system.posix_acl_default",
					    "system.posix_acl_default",
					    ""};
	static const int flags[] = {0, 0, 0, 0, 1, 2, 3, 4};
	static char big[65537], long_name[300];

	*out = (struct attribute){ONE_OF(names), "value", pick(6), ONE_OF(flags)};
	if (strncmp(out->name, "system", 6) == 0 && pick(5)) {
		unsigned named = pick(2);

		out->value = acl[named];
		out->size = named ? sizeof(acl[1]) : 28;
	} else if (pick(25) == 0) {
		out->value = big;
		out->size = pick(2) ? sizeof(big) : 65536;
	} else if (pick(25) == 0) {
		memset(long_name, 'x', 256);
		memcpy(long_name, "user.", 5);
		long_name[pick(2) ? 255 : 256] = '\0';
		out->name = long_name;
	} else if (pick(40) == 0) {
		out->value = (void *)16;
		out->size = 4;
	} else if (pick(60) == 0) {
		out->name = (const char *)16;
	}
}

static void xattr_told(enum call call, const struct spot *spot, long result, const struct attribute *what, int flags)
{
	told(call, spot, "", result, "%.24s size %zu flags %d lookup %x",
	     (uintptr_t)what->name == 16 ? "(nowhere)" : what->name, what->size, what->flags, flags);
}

static void op_setxattr(void)
{
	struct attribute what;
	unsigned kind = pick(4);
	struct spot spot;
	int fd, lookup;

	some_attribute(&what);
	if (kind == 2) {
		fd = choose_fd(&spot);
		xattr_told(CALL_fsetxattr, &spot,
			   syscall(SYS_fsetxattr, fd, what.name, what.value, what.size, what.flags), &what, 0);
		close(fd);
		return;
	}
	choose(&spot, kind == 3, false);
	if (kind == 3) {
		struct {
			uint64_t value;
			uint32_t size, flags;
		} given = {(uintptr_t)what.value, (uint32_t)what.size, (uint32_t)what.flags};

		lookup = some_lookup(&spot);
		xattr_told(CALL_setxattrat, &spot,
			   syscall(463, spot.dirfd, spot.text, lookup, what.name, &given, pick(20) ? sizeof(given) : 8),
			   &what, lookup);
		return;
	}
	xattr_told(
		kind ? CALL_lsetxattr : CALL_setxattr, &spot,
		syscall(kind ? SYS_lsetxattr : SYS_setxattr, spot.text, what.name, what.value, what.size, what.flags),
		&what, 0);
}

static void op_removexattr(void)
{
	struct attribute what;
	unsigned kind = pick(4);
	struct spot spot;
	int fd, lookup;

	some_attribute(&what);
	what.size = 0;
	what.flags = 0;
	if (kind == 2) {
		fd = choose_fd(&spot);
		xattr_told(CALL_fremovexattr, &spot, syscall(SYS_fremovexattr, fd, what.name), &what, 0);
		close(fd);
		return;
	}
	choose(&spot, kind == 3, false);
	if (kind == 3) {
		lookup = some_lookup(&spot);
		xattr_told(CALL_removexattrat, &spot, syscall(466, spot.dirfd, spot.text, lookup, what.name), &what,
			   lookup);
		return;
	}
	xattr_told(kind ? CALL_lremovexattr : CALL_removexattr, &spot,
		   syscall(kind ? SYS_lremovexattr : SYS_removexattr, spot.text, what.name), &what, 0);
}

void do_meta(void)
{
	static void (*const ops[])(void) = {op_chmod,    op_chmod,    op_chmod,       op_special_mode, op_chown,
					    op_chown,    op_times,    op_times,       op_times,        op_setxattr,
					    op_setxattr, op_setxattr, op_removexattr, op_removexattr};

	if (pick(40) == 0)
		op_left_out();
	else
		ONE_OF(ops)();
}
