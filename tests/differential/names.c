/* names.c - calls that make, move, link and remove names. */
#define _GNU_SOURCE
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const mode_t modes[] = {0755, 0700, 0777, 0, 0555, 01777, 02755, 0644, 0600};

static void op_mkdir(void)
{
	bool at = pick(2);
	struct spot spot;
	mode_t mode = ONE_OF(modes);

	choose(&spot, at, true);
	if (at)
		told(CALL_mkdirat, &spot, "", syscall(SYS_mkdirat, spot.dirfd, spot.text, mode), "%o", mode);
	else
		told(CALL_mkdir, &spot, "", syscall(SYS_mkdir, spot.text, mode), "%o", mode);
}

/* A FIFO in a bind and a device are refused on purpose; what the other run made goes at once. */
static void op_mknod(void)
{
	static const mode_t types[] = {0,       S_IFREG, S_IFREG, S_IFSOCK, S_IFCHR,
				       S_IFBLK, S_IFDIR, S_IFLNK, 0170000,  S_IFIFO};
	mode_t type = run.fifos && pick(2) ? S_IFIFO : ONE_OF(types), mode = type | ONE_OF(modes);
	bool at = pick(2);
	const char *tag = "";
	dev_t dev = type == S_IFCHR || type == S_IFBLK ? makedev(1, 3) : 0;
	struct spot spot;
	long result;

	if (type == S_IFCHR && pick(2))
		dev = 0; /* a whiteout, which everybody may make */
	choose(&spot, at, true);
	if (type == S_IFIFO)
		mode &= ~(mode_t)07000;
	if (type == S_IFCHR && !dev)
		tag = "whiteout";
	else if (type == S_IFIFO)
		tag = "fifo";
	else if (type == S_IFCHR || type == S_IFBLK)
		tag = "device";
	else if ((type == 0 || type == S_IFREG || type == S_IFSOCK) && mode & 07000)
		tag = "special-bits";
	result = at ? syscall(SYS_mknodat, spot.dirfd, spot.text, mode, dev) : syscall(SYS_mknod, spot.text, mode, dev);
	told(at ? CALL_mknodat : CALL_mknod, &spot, tag, result, "%o", mode);
	if (*tag && result == 0 && strcmp(tag, "fifo") != 0)
		syscall(SYS_unlinkat, spot.dirfd, spot.text, 0);
	if (strcmp(tag, "fifo") == 0 && result == 0 &&
	    (!run.fifos || strncmp(spot.path, run.other, strlen(run.other)) == 0))
		syscall(SYS_unlinkat, spot.dirfd, spot.text, 0);
}

static void op_rename(void)
{
	static const unsigned flags[] = {0, 0, 1, 1, 2, 2, 3, 8};
	unsigned kind = pick(3), flag = ONE_OF(flags);
	struct spot from, to;
	long result;

	choose(&from, kind > 0, false);
	choose(&to, kind > 0, true);
	if (kind == 0)
		result = syscall(SYS_rename, from.text, to.text);
	else if (kind == 1)
		result = syscall(SYS_renameat, from.dirfd, from.text, to.dirfd, to.text);
	else
		result = syscall(SYS_renameat2, from.dirfd, from.text, to.dirfd, to.text, flag);
	told(kind == 0   ? CALL_rename
	     : kind == 1 ? CALL_renameat
			 : CALL_renameat2,
	     &from, "", result, "to %s %d %s flags %u", run.root == to.path ? "" : "", to.dirfd,
	     to.text == to.path ? to.path : "(nowhere)", kind == 2 ? flag : 0);
}

static void op_whiteout(void)
{
	static const char *const names[] = {"a", "b", "c"};
	struct spot from = {.form = FORM_DIRFD, .dirfd = ROOT_FD};
	long result;
	int error;

	from.text = strcpy(from.path, ONE_OF(names));
	/* Over nothing that is there, so that the run that may do it can undo it. */
	result = syscall(SYS_renameat2, ROOT_FD, from.text, ROOT_FD, "white", 4 | 1);
	error = errno;
	if (result == 0) {
		syscall(SYS_unlinkat, ROOT_FD, from.text, 0);
		syscall(SYS_renameat2, ROOT_FD, "white", ROOT_FD, from.text, 0);
	}
	errno = error;
	told(CALL_renameat2, &from, "whiteout", result, "%s", "RENAME_WHITEOUT");
}

static void op_link(void)
{
	static const int flags[] = {0, 0, AT_SYMLINK_FOLLOW, AT_SYMLINK_FOLLOW, AT_EMPTY_PATH, 0x100 | AT_EMPTY_PATH,
				    1};
	int flag = ONE_OF(flags);
	bool at = pick(3);
	struct spot from, to;
	long result;

	choose(&from, at, false);
	choose(&to, at, true);
	if (at && flag & AT_EMPTY_PATH && pick(2)) {
		from.dirfd = run.slots[pick(SLOTS)];
		from.path[0] = '\0';
		from.form = FORM_DIRFD;
	}
	result = at ? syscall(SYS_linkat, from.dirfd, from.text, to.dirfd, to.text, flag)
		    : syscall(SYS_link, from.text, to.text);
	told(at ? CALL_linkat : CALL_link, &from, "", result, "to %d %s flags %x", to.dirfd,
	     to.text == to.path ? to.path : "(nowhere)", at ? flag : 0);
}

static void op_symlink(void)
{
	static const char *const targets[] = {"a",  "b", "d0", "d0/a", "../w/b",  "nope",  "l1",   "l2",
					      "l0", "",  "d1", ".",    "d0/../a", "/nope", "../a", "b/"};
	const char *target = ONE_OF(targets);
	bool at = pick(2);
	struct spot spot;
	long result;

	choose(&spot, at, true);
	result = at ? syscall(SYS_symlinkat, target, spot.dirfd, spot.text) : syscall(SYS_symlink, target, spot.text);
	told(at ? CALL_symlinkat : CALL_symlink, &spot, "", result, "%s", target);
}

static void op_remove(void)
{
	static const int flags[] = {0, 0, AT_REMOVEDIR, AT_REMOVEDIR, 1};
	unsigned kind = pick(3);
	int flag = ONE_OF(flags);
	struct spot spot;

	choose(&spot, kind == 2, false);
	if (kind == 0)
		told(CALL_unlink, &spot, "", syscall(SYS_unlink, spot.text), "%s", "");
	else if (kind == 1)
		told(CALL_rmdir, &spot, "", syscall(SYS_rmdir, spot.text), "%s", "");
	else
		told(CALL_unlinkat, &spot, "", syscall(SYS_unlinkat, spot.dirfd, spot.text, flag), "%x", flag);
}

static void op_truncate(void)
{
	static const long sizes[] = {0, 0, 3, 100, 5000, -1};
	long size = ONE_OF(sizes);
	struct spot spot;

	choose(&spot, false, false);
	told(CALL_truncate, &spot, "", syscall(SYS_truncate, spot.text, size), "%ld", size);
}

void do_names(void)
{
	static void (*const ops[])(void) = {op_mkdir,   op_mkdir,  op_mknod,  op_mknod,   op_rename,
					    op_rename,  op_rename, op_link,   op_link,    op_symlink,
					    op_symlink, op_remove, op_remove, op_truncate};

	if (pick(60) == 0)
		op_whiteout();
	else
		ONE_OF(ops)();
}
