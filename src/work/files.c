#define _GNU_SOURCE
#include "work/files.h"

#include "os/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PASSES = 64 };

enum cc_code cc_files_private(const char *path, struct cc_err *err)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return cc_fail(err, CC_ESYS, errno, "%.300s", path);
	if (lstat(path, &st) < 0)
		return cc_fail(err, CC_ESYS, errno, "%.300s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return cc_fail(err, CC_EPOLICY, 0, "%.300s is not a directory of yours alone (mode 0700)", path);
	return CC_OK;
}

enum cc_code cc_files_write(const char *dir, const char *name, struct cc_view text, struct cc_err *err)
{
	char fresh[NAME_MAX + 1];
	CC_AUTO_FD at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CC_AUTO_FD fd = -1;
	enum cc_code code;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", name) >= sizeof(fresh))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", name);
	if (at >= 0) {
		unlinkat(at, fresh, 0);
		fd = openat(at, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "%.200s/%.100s", dir, name);
	code = cc_fd_write_all(fd, text.ptr, text.len, err);
	if (code == CC_OK && renameat(at, fresh, at, name) < 0)
		code = cc_fail(err, CC_ESYS, errno, "%.200s/%.100s", dir, name);
	return code;
}

int cc_files_open(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned long long)(flags | O_NONBLOCK | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

enum cc_code cc_files_read(int dir, const char *path, size_t max, struct cc_buf *out, struct cc_err *err)
{
	CC_AUTO_FD fd = cc_files_open(dir, path, O_RDONLY);
	struct stat st;

	cc_buf_init(out, max);
	if (fd < 0 || fstat(fd, &st) < 0)
		return cc_fail(err, CC_ENOTFOUND, errno, "%.200s", path);
	if (!S_ISREG(st.st_mode))
		return cc_fail(err, CC_ENOTFOUND, 0, "%.200s is no regular file", path);
	return cc_fd_read_all(fd, out, err);
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A directory that somebody locked is still a directory of ours. */
static int open_whatever(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, 0700);
	return fd;
}

/* Empties the directory name of trash and removes it. Directories that hold something move up into trash, under the
 * next number: so depth costs neither descriptors nor stack, and no path is ever longer than two names. */
static int empty(int trash, const char *name, unsigned *next)
{
	int fd = open_whatever(trash, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool more = dir != NULL;

	for (int pass = 0; more && pass < PASSES; pass++) {
		more = false;
		rewinddir(dir);
		while ((entry = readdir(dir))) {
			char number[16];

			if (is_dots(entry->d_name))
				continue;
			more = true;
			if (unlinkat(fd, entry->d_name, 0) == 0 || unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0)
				continue;
			if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
				continue;
			snprintf(number, sizeof(number), "%u", *next);
			/* it is a directory: the first unlink said so */
			if (fchmodat(fd, entry->d_name, 0700, 0) == 0 &&
			    renameat(fd, entry->d_name, trash, number) == 0)
				++*next;
		}
	}
	if (dir)
		closedir(dir);
	return unlinkat(trash, name, AT_REMOVEDIR);
}

enum cc_code cc_files_remove(const char *dir, const char *name, struct cc_err *err)
{
	char path[PATH_MAX], number[16];
	CC_AUTO_FD at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CC_AUTO_FD trash = -1;
	unsigned next = 1;
	struct stat st;

	if (at < 0)
		return cc_fail(err, CC_ESYS, errno, "%.300s", dir);
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? CC_OK : cc_fail(err, CC_ESYS, errno, "%.200s/%.100s", dir, name);
	if (!S_ISDIR(st.st_mode))
		return unlinkat(at, name, 0) == 0 ? CC_OK : cc_fail(err, CC_ESYS, errno, "%.200s/%.100s", dir, name);
	if ((size_t)snprintf(path, sizeof(path), "%s/" CC_FILES_TRASH "XXXXXX", dir) >= sizeof(path) || !mkdtemp(path))
		return cc_fail(err, CC_ESYS, errno, "a directory in %.300s", dir);
	trash = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (trash < 0 || fchmodat(at, name, 0700, 0) < 0 || renameat(at, name, trash, "0") < 0)
		return cc_fail(err, CC_ESYS, errno, "%.200s/%.100s cannot be taken away", dir, name);
	for (unsigned i = 0; i < next; i++) {
		snprintf(number, sizeof(number), "%u", i);
		if (empty(trash, number, &next) < 0)
			return cc_fail(err, CC_ESYS, errno, "%.200s cannot be emptied", path);
	}
	return rmdir(path) == 0 ? CC_OK : cc_fail(err, CC_ESYS, errno, "%.300s", path);
}
