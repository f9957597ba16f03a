/* meta.c - case 68, FS-21, attacks 14 and 15: metadata of denied files, by path and by descriptor. */
#define _GNU_SOURCE
#include "a.h"

#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

struct xattr_args_ {
	unsigned long long value;
	unsigned size, flags;
};

int main(void)
{
	int fd = open(".env", O_RDONLY), good = open("plain.txt", O_RDONLY), flags = 0x10, tmp;
	struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}},
			old[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
	struct xattr_args_ args = {(unsigned long long)(size_t) "v", 1, 0};
	char fsx[28] = {0};
	struct stat st;

	printf("expect \"action\":\"file-write-mode\"\n");
	denied("68", "chmod", chmod(".env", 0777));
	denied("68", "fchmod", fchmod(fd, 0777));
	denied("68", "fchmodat", fchmodat(AT_FDCWD, ".env", 0777, 0));
	denied("68", "fchmodat2", syscall(452, AT_FDCWD, ".env", 0777, 0));
	denied("68", "fchmodat2 with an empty path", syscall(452, fd, "", 0777, AT_EMPTY_PATH));
	denied("15-attacks", "chown", chown(".env", getuid(), getgid()));
	denied("15-attacks", "fchown", fchown(fd, getuid(), getgid()));
	denied("15-attacks", "lchown", lchown(".env", getuid(), getgid()));
	denied("15-attacks", "fchownat by descriptor", fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH));
	denied("15-attacks", "utimensat", utimensat(AT_FDCWD, ".env", now, 0));
	denied("15-attacks", "futimens", futimens(fd, now));
	denied("15-attacks", "utimes", utimes(".env", NULL));
	denied("15-attacks", "utime", utime(".env", NULL));
	denied("15-attacks", "setxattr", setxattr(".env", "user.x", "v", 1, 0));
	denied("15-attacks", "fsetxattr", fsetxattr(fd, "user.x", "v", 1, 0));
	denied("15-attacks", "lsetxattr", lsetxattr(".env", "user.x", "v", 1, 0));
	denied("15-attacks", "removexattr", removexattr(".env", "user.x"));
	denied("15-attacks", "fremovexattr", fremovexattr(fd, "user.x"));
	denied("15-attacks", "setxattrat", syscall(463, AT_FDCWD, ".env", 0, "user.x", &args, sizeof(args)));
	denied("15-attacks", "removexattrat", syscall(466, AT_FDCWD, ".env", 0, "user.x"));
	denied("15-attacks", "file_setattr", syscall(469, AT_FDCWD, ".env", fsx, sizeof(fsx), 0));
	denied("15-attacks", "FS_IOC_SETFLAGS", ioctl(fd, 0x40086602, &flags));
	denied("15-attacks", "FS_IOC_FSSETXATTR", ioctl(fd, 0x401c5820, fsx));
	denied("15-attacks", "FS_IOC_SETVERSION", ioctl(fd, 0x40087602, &flags));
	symlink(".env", "to-env");
	denied("FS-21", "chmod through a symlink", chmod("to-env", 0777));
	works("68", "chmod of an ordinary file", chmod("plain.txt", 0600));
	say(stat("plain.txt", &st) == 0 && (st.st_mode & 0777) == 0600, "68", "it took", errno);
	works("68", "fchmod of one", fchmod(good, 0640));
	works("68", "chmod with setuid is masked", chmod("plain.txt", 06755));
	say(stat("plain.txt", &st) == 0 && (st.st_mode & 07777) == 0755, "14-attacks", "no setuid by chmod", errno);
	works("68", "futimens of one", futimens(good, old));
	say(stat("plain.txt", &st) == 0 && st.st_mtime == 2000, "68", "the times took", errno);
	works("68", "times of a symlink", utimensat(AT_FDCWD, "to-env", old, AT_SYMLINK_NOFOLLOW));
	works("68", "chown of one", chown("plain.txt", getuid(), getgid()));
	if (setxattr("plain.txt", "user.x", "v", 1, 0) < 0 && errno == EOPNOTSUPP)
		skip("68", "no user attributes on this file system");
	else
		works("68", "removexattr of one", removexattr("plain.txt", "user.x"));
	fails("68", "a missing path", chmod("none", 0600), ENOENT);
	fails("68", "a bad descriptor", fchmod(99, 0600), EBADF);
	fails("68", "a NULL path", setxattr(NULL, "user.x", "v", 1, 0), EFAULT);
	tmp = open(".", O_TMPFILE | O_RDWR, 0600);
	if (has_unnamed())
		works("68", "a file without a name", fchmod(tmp, 0644));
	return 0;
}
