/* meta.c - mode, owner, times and extended attributes. Landlock does not cover them, so here is the only check, and
 * it is made on the pinned object, by path or by the target's own descriptor alike (attacks 15). */
#define _GNU_SOURCE
#include "gate/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

enum { XATTR_NAME = 256, XATTR_VALUE = 65536 };

static int permit(struct cc_call *call, struct cc_obj *obj)
{
	int result;

	if (S_ISCHR(obj->st.mode) && !obj->mount)
		return -EPERM; /* terminals: a refusal that programs expect and nobody needs to hear of */
	result = cc_permit_obj(call, CC_VERB_MODE, obj);
	return result == 0 && !cc_alive(call) ? -ENOENT : result;
}

static int by_path(struct cc_call *call, int dirfd, uint64_t path_at, unsigned flags, struct cc_obj *out)
{
	char path[PATH_MAX];
	int result = cc_target_path(call, path_at, path);

	out->fd = -1;
	call->spelled = path;
	if (result == 0)
		result = cc_find(call, dirfd, path, flags, out);
	if (result == 0)
		result = permit(call, out);
	call->spelled = "";
	return result;
}

/* What a descriptor may be asked: not one that only names a place (O_PATH). */
static bool is_open(const struct cc_call *call, int fd, const struct cc_obj *obj)
{
	char text[256], *at;

	if (obj->own)
		return !(fcntl(obj->fd, F_GETFL) & O_PATH);
	cc_k_proc_text(text, sizeof(text), "/proc/%d/fdinfo/%d", (int)call->tid, fd);
	at = strstr(text, "flags:");
	return at && !(strtoul(at + 6, NULL, 8) & O_PATH);
}

static bool is_memory(const struct cc_obj *obj)
{
	return strncmp(obj->path, "/memfd:", 7) == 0;
}

static int by_fd(struct cc_call *call, int fd, struct cc_obj *out)
{
	int result;

	out->fd = -1;
	if (fd < 0)
		return -EBADF; /* AT_FDCWD is no descriptor here */
	result = cc_find_fd(call, fd, out);
	if (result < 0)
		return result;
	if (!is_open(call, fd, out))
		return -EBADF;
	if (is_memory(out) && out->unnamed)
		return cc_alive(call) ? 0 : -ENOENT; /* no file system of anybody */
	if (out->path[0] != '/')
		return -EPERM; /* pipes and sockets: nobody needs their mode */
	return permit(call, out);
}

/* lookup flags of an *at call */
static unsigned lookup(uint64_t flags)
{
	return (flags & AT_SYMLINK_NOFOLLOW ? 0 : CC_FOLLOW) | (flags & AT_EMPTY_PATH ? CC_EMPTY_OK : 0);
}

/* Who may go through a directory has changed. */
static int changed(struct cc_call *call, const struct cc_obj *obj, int result)
{
	if (S_ISDIR(obj->st.mode))
		cc_dirs_stale(call->gate);
	return result;
}

/* No setuid and setgid on files; sticky and setgid stay possible on directories (attacks 14). */
static int set_mode(const struct cc_obj *obj, uint64_t mode)
{
	char link[CC_K_FDLINK];
	int result;

	mode &= S_ISDIR(obj->st.mode) ? 03777 : 0777;
	if (obj->own)
		return cc_k_done(fchmod(obj->fd, (mode_t)mode));
	result = cc_k_fchmod(obj->fd, (mode_t)mode);
	if (result != -ENOSYS)
		return result;
	cc_k_fdlink(obj->fd, link);
	return cc_k_done(chmod(link, (mode_t)mode));
}

static int chmod_path(struct cc_call *call, int dirfd, uint64_t path_at, uint64_t mode, uint64_t flags)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)
			     ? -EINVAL
			     : by_path(call, dirfd, path_at, lookup(flags), &obj);

	return result ? result : changed(call, &obj, set_mode(&obj, mode));
}

int cc_do_chmod(struct cc_call *call, const uint64_t *arg)
{
	return chmod_path(call, AT_FDCWD, arg[0], arg[1], 0);
}

int cc_do_fchmodat(struct cc_call *call, const uint64_t *arg)
{
	return chmod_path(call, (int)arg[0], arg[1], arg[2], 0);
}

int cc_do_fchmodat2(struct cc_call *call, const uint64_t *arg)
{
	return chmod_path(call, (int)arg[0], arg[1], arg[2], (uint32_t)arg[3]);
}

int cc_do_fchmod(struct cc_call *call, const uint64_t *arg)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = by_fd(call, (int)arg[0], &obj);

	return result ? result : changed(call, &obj, set_mode(&obj, arg[1]));
}

static int set_owner(const struct cc_obj *obj, uint64_t uid, uint64_t gid)
{
	if (obj->own)
		return cc_k_done(fchown(obj->fd, (uid_t)uid, (gid_t)gid));
	return cc_k_done(fchownat(obj->fd, "", (uid_t)uid, (gid_t)gid, AT_EMPTY_PATH));
}

static int chown_path(struct cc_call *call, int dirfd, uint64_t path_at, uint64_t uid, uint64_t gid, uint64_t flags)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)
			     ? -EINVAL
			     : by_path(call, dirfd, path_at, lookup(flags), &obj);

	return result ? result : changed(call, &obj, set_owner(&obj, uid, gid));
}

int cc_do_chown(struct cc_call *call, const uint64_t *arg)
{
	return chown_path(call, AT_FDCWD, arg[0], arg[1], arg[2], 0);
}

int cc_do_lchown(struct cc_call *call, const uint64_t *arg)
{
	return chown_path(call, AT_FDCWD, arg[0], arg[1], arg[2], AT_SYMLINK_NOFOLLOW);
}

int cc_do_fchownat(struct cc_call *call, const uint64_t *arg)
{
	return chown_path(call, (int)arg[0], arg[1], arg[2], arg[3], (uint32_t)arg[4]);
}

int cc_do_fchown(struct cc_call *call, const uint64_t *arg)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = by_fd(call, (int)arg[0], &obj);

	return result ? result : changed(call, &obj, set_owner(&obj, arg[1], arg[2]));
}

static int set_times(const struct cc_obj *obj, const struct timespec *times)
{
	if (obj->own)
		return cc_k_done(futimens(obj->fd, times));
	return cc_k_done(syscall(SYS_utimensat, obj->fd, "", times, AT_EMPTY_PATH));
}

static bool valid(const struct timespec *times)
{
	for (size_t i = 0; i < 2; i++)
		if (times[i].tv_nsec != UTIME_NOW && times[i].tv_nsec != UTIME_OMIT &&
		    (times[i].tv_nsec < 0 || times[i].tv_nsec >= 1000000000))
			return false;
	return true;
}

/* Path or, where the caller gave none, the descriptor itself (futimens). */
static int times_of(struct cc_call *call, int dirfd, uint64_t path_at, const struct timespec *times, uint64_t flags)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result;

	if (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!path_at && dirfd == AT_FDCWD)
		return -EFAULT;
	if (times && !valid(times)) { /* said after the object was found, before anything is asked about it */
		char path[PATH_MAX];

		result = path_at ? cc_target_path(call, path_at, path) : cc_find_fd(call, dirfd, &obj);
		if (result == 0)
			result = path_at                      ? cc_find(call, dirfd, path, lookup(flags), &obj)
				 : is_open(call, dirfd, &obj) ? 0
							      : -EBADF;
		return result ? result : -EINVAL;
	}
	result = path_at ? by_path(call, dirfd, path_at, lookup(flags), &obj) : by_fd(call, dirfd, &obj);
	return result ? result : set_times(&obj, times);
}

static int old_times(struct cc_call *call, int dirfd, uint64_t path_at, uint64_t times_at)
{
	struct timeval old[2];
	struct timespec times[2];

	if (!times_at)
		return times_of(call, dirfd, path_at, NULL, 0);
	if (cc_target_read(call, old, times_at, sizeof(old)) < 0)
		return -EFAULT;
	for (size_t i = 0; i < 2; i++) {
		if (old[i].tv_usec < 0 || old[i].tv_usec >= 1000000)
			return -EINVAL;
		times[i] = (struct timespec){.tv_sec = old[i].tv_sec, .tv_nsec = old[i].tv_usec * 1000};
	}
	return times_of(call, dirfd, path_at, times, 0);
}

int cc_do_utimes(struct cc_call *call, const uint64_t *arg)
{
	return old_times(call, AT_FDCWD, arg[0], arg[1]);
}

int cc_do_futimesat(struct cc_call *call, const uint64_t *arg)
{
	return old_times(call, (int)arg[0], arg[1], arg[2]);
}

int cc_do_utime(struct cc_call *call, const uint64_t *arg)
{
	int64_t old[2];
	struct timespec times[2];

	if (!arg[1])
		return times_of(call, AT_FDCWD, arg[0], NULL, 0);
	if (cc_target_read(call, old, arg[1], sizeof(old)) < 0)
		return -EFAULT;
	times[0] = (struct timespec){.tv_sec = (time_t)old[0]};
	times[1] = (struct timespec){.tv_sec = (time_t)old[1]};
	return times_of(call, AT_FDCWD, arg[0], times, 0);
}

int cc_do_utimensat(struct cc_call *call, const uint64_t *arg)
{
	struct timespec times[2];

	if (arg[2] && cc_target_read(call, times, arg[2], sizeof(times)) < 0)
		return -EFAULT;
	if (arg[2] && times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
		return 0; /* nothing to do, whatever the path */
	return times_of(call, (int)arg[0], arg[1], arg[2] ? times : NULL, (uint32_t)arg[3]);
}

/* Extended attributes: value NULL removes. */
struct xattr {
	char name[XATTR_NAME];
	char *value;
	size_t size;
	int flags;
};

static int set_xattr(const struct cc_obj *obj, const struct xattr *what)
{
	char link[CC_K_FDLINK];

	if (obj->own)
		return cc_k_done(what->value ? fsetxattr(obj->fd, what->name, what->value, what->size, what->flags)
					     : fremovexattr(obj->fd, what->name));
	cc_k_fdlink(obj->fd, link);
	if (!what->value)
		return cc_k_done(removexattr(link, what->name));
	return cc_k_done(setxattr(link, what->name, what->value, what->size, what->flags));
}

static int read_xattr(struct cc_call *call, uint64_t name_at, uint64_t value_at, uint64_t size, uint64_t flags,
		      struct xattr *out)
{
	char name[PATH_MAX];
	int result = flags & ~(uint64_t)(XATTR_CREATE | XATTR_REPLACE) ? -EINVAL : cc_target_path(call, name_at, name);

	out->value = NULL;
	if (result < 0)
		return result == -ENAMETOOLONG ? -ERANGE : result;
	if (!*name || !cc_str_put(out->name, sizeof(out->name), name))
		return -ERANGE;
	if (size > XATTR_VALUE)
		return -E2BIG;
	out->value = malloc(size + 1);
	if (!out->value)
		return -ENOMEM;
	out->size = (size_t)size;
	out->flags = (int)flags;
	return size ? cc_target_read(call, out->value, value_at, (size_t)size) : 0;
}

/* path_at 0: the descriptor itself. */
static int change_xattr(struct cc_call *call, int dirfd, uint64_t path_at, unsigned flags, const struct xattr *what)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result;

	if (!path_at && dirfd == AT_FDCWD)
		return -EFAULT;
	result = path_at ? by_path(call, dirfd, path_at, flags, &obj) : by_fd(call, dirfd, &obj);

	return result ? result : changed(call, &obj, set_xattr(&obj, what));
}

/* A descriptor, where AT_FDCWD is none. */
static int no_place(uint64_t fd)
{
	return (int)fd < 0 ? -1 : (int)fd;
}

static int put_xattr(struct cc_call *call, int dirfd, uint64_t path_at, unsigned lookup_flags, const uint64_t *arg)
{
	struct xattr what;
	int result = read_xattr(call, arg[1], arg[2], arg[3], (uint32_t)arg[4], &what);

	if (result == 0)
		result = change_xattr(call, dirfd, path_at, lookup_flags, &what);
	free(what.value);
	return result;
}

static int drop_xattr(struct cc_call *call, int dirfd, uint64_t path_at, unsigned lookup_flags, uint64_t name_at)
{
	struct xattr what;
	int result = read_xattr(call, name_at, 0, 0, 0, &what);

	free(what.value);
	what.value = NULL;
	return result ? result : change_xattr(call, dirfd, path_at, lookup_flags, &what);
}

int cc_do_setxattr(struct cc_call *call, const uint64_t *arg)
{
	return put_xattr(call, AT_FDCWD, arg[0], CC_FOLLOW, arg);
}

int cc_do_lsetxattr(struct cc_call *call, const uint64_t *arg)
{
	return put_xattr(call, AT_FDCWD, arg[0], 0, arg);
}

int cc_do_fsetxattr(struct cc_call *call, const uint64_t *arg)
{
	return put_xattr(call, no_place(arg[0]), 0, 0, arg);
}

int cc_do_removexattr(struct cc_call *call, const uint64_t *arg)
{
	return drop_xattr(call, AT_FDCWD, arg[0], CC_FOLLOW, arg[1]);
}

int cc_do_lremovexattr(struct cc_call *call, const uint64_t *arg)
{
	return drop_xattr(call, AT_FDCWD, arg[0], 0, arg[1]);
}

int cc_do_fremovexattr(struct cc_call *call, const uint64_t *arg)
{
	return drop_xattr(call, no_place(arg[0]), 0, 0, arg[1]);
}

/* With AT_EMPTY_PATH and no path these ask for the descriptor itself, and take one that is open. */
static uint64_t path_or_none(const struct cc_call *call, uint64_t path_at, uint64_t flags)
{
	char first = '\0';

	if (!(flags & AT_EMPTY_PATH) || (path_at && cc_target_read(call, &first, path_at, 1) < 0))
		return path_at;
	return first ? path_at : 0;
}

/* setxattrat(dirfd, path, at_flags, name, struct xattr_args { u64 value; u32 size, flags; }, size) */
int cc_do_setxattrat(struct cc_call *call, const uint64_t *arg)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} given;
	uint64_t plain[5];

	if (arg[2] & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) || arg[5] < sizeof(given))
		return -EINVAL;
	if (arg[5] > sizeof(given))
		return -E2BIG;
	if (cc_target_read(call, &given, arg[4], sizeof(given)) < 0)
		return -EFAULT;
	plain[1] = arg[3];
	plain[2] = given.value;
	plain[3] = given.size;
	plain[4] = given.flags;
	return put_xattr(call, (int)arg[0], (int)arg[0] < 0 ? arg[1] : path_or_none(call, arg[1], arg[2]),
			 lookup(arg[2]), plain);
}

int cc_do_removexattrat(struct cc_call *call, const uint64_t *arg)
{
	uint64_t path_at = path_or_none(call, arg[1], arg[2]);

	if (arg[2] & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	return drop_xattr(call, arg[1] && !path_at ? no_place(arg[0]) : (int)arg[0], path_at, lookup(arg[2]), arg[3]);
}
