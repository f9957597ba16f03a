/* open.c - the open family. Writing opens are always performed here; reading ones only in sessions whose rules judge
 * reads. The descriptor goes into the target by ADDFD, so what was judged is what it gets. */
#define _GNU_SOURCE
#include "gate/judge.h"
#include "gate/open.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool writes(const struct want *want)
{
	return want->flags & (ACCESS | O_CREAT | O_TRUNC | BARE_TMPFILE);
}

/* The verbs an open comes to. */
static int permit_open(struct cc_call *call, const struct want *want, const struct cc_loc *loc)
{
	const struct cc_view nothing = {0};
	int result = 0;

	if (want->flags & O_CREAT)
		result = cc_permit_name(call, CC_VERB_CREATE, loc, CC_OBJECT_FILE, nothing);
	if (result == 0 && (want->flags & (O_TRUNC | ACCESS)))
		result = cc_permit_name(call, CC_VERB_WRITE, loc, CC_OBJECT_FILE, nothing);
	return result;
}

/* An existing object by its descriptor: /proc/self/fd/N and everything outside our mounts. */
static int open_object(struct cc_call *call, const struct want *want, struct cc_obj *obj)
{
	char path[CC_K_FDLINK];
	int result = 0, fd;

	if (cc_is_special(call->gate, obj))
		return cc_open_special(call, want, obj);
	if ((want->flags & O_CREAT) && (want->flags & O_EXCL))
		return -EEXIST;
	if (want->flags & O_DIRECTORY && !S_ISDIR(obj->st.mode))
		return -ENOTDIR;
	if (writes(want) && S_ISDIR(obj->st.mode))
		return -EISDIR;
	if (writes(want))
		result = cc_permit_obj(call, CC_VERB_WRITE, obj);
	else
		result = cc_judge_read(call, obj);
	if (result < 0)
		return result;
	if (!cc_alive(call))
		return -ENOENT;
	if (S_ISFIFO(obj->st.mode) && !(want->flags & O_NONBLOCK))
		return cc_open_wait_for_peer(call, want, cc_fd_take(&obj->fd));
	cc_k_fdlink(obj->fd, path);
	fd = open(path, (int)(want->flags & KNOWN & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY |
				O_NONBLOCK);
	return fd < 0 ? -errno : cc_open_hand_over(call, want, fd);
}

/* One try at the pinned place. CC_CALL_EXCLUSIVE is passed on; -ELOOP: the name is a link. */
static int open_here(struct cc_call *call, const struct want *want, struct cc_loc *loc)
{
	bool creates = want->flags & O_CREAT;
	/* No setuid, setgid or sticky bit on what the gate makes (attacks 14). */
	uint64_t mode = creates ? want->mode & 0777 : 0;
	int result, fd = creates ? cc_judge_first(call, loc, mode) : -ENOENT;

	if (fd >= 0)
		return cc_open_hand_over(call, want, fd);
	result = permit_open(call, want, loc);
	if (result)
		return result;
	if (creates)
		cc_wear_umask(call);
	if (!cc_alive(call))
		return -ENOENT;
	fd = cc_k_openat2(loc->parent, loc->name, (want->flags & KNOWN & ~(uint64_t)O_NOFOLLOW) | O_NONBLOCK | O_NOCTTY,
			  mode, CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_XDEV);
	if (fd >= 0)
		return cc_open_hand_over(call, want, fd);
	if (fd == -ENXIO && !(want->flags & O_NONBLOCK))
		return cc_open_wait_at(call, want, loc);
	if (fd == -EXDEV) /* another mount lies on the name: none of ours */
		return cc_refuse(call, CC_VERB_WRITE, (struct cc_view){loc->path, loc->len}, "mount:outside",
				 "another mount");
	return fd;
}

/* The text of the link at loc; the next round starts at its directory. */
static int follow(struct cc_loc *loc, char path[PATH_MAX], int *base)
{
	ssize_t len;

	if (loc->slash)
		loc->name[strlen(loc->name) - 1] = '\0';
	len = readlinkat(loc->parent, loc->name, path, PATH_MAX - 1);
	if (len < 0)
		return -errno;
	if (len == 0)
		return -ENOENT;
	path[len] = '\0';
	cc_fd_close(base);
	if (*path == '/')
		cc_loc_done(loc);
	else
		*base = cc_loc_take(loc);
	return 0;
}

/* Outside our mounts nothing is made; what is there is opened by descriptor. */
static int open_outside(struct cc_call *call, const struct want *want, struct cc_loc *loc)
{
	unsigned follow_last =
		want->flags & O_NOFOLLOW || (want->flags & O_CREAT && want->flags & O_EXCL) ? 0 : CC_FOLLOW;
	CC_AUTO_OBJ obj = {.fd = -1};
	struct cc_statx st;
	int result = cc_k_statx(loc->parent, loc->name, &st);

	if (result == -ENOENT && !(want->flags & O_CREAT))
		return -ENOENT;
	if (result < 0 && result != -ENOENT)
		return result;
	if (result == -ENOENT) {
		result = permit_open(call, want, loc);
		return result < 0 ? result : -EACCES;
	}
	if (S_ISLNK(st.mode) && follow_last && !cc_on_proc(call->gate, &loc->at))
		return -ELOOP;
	result = cc_find_at(call, loc, follow_last, &obj);
	if (result < 0)
		return result;
	if (S_ISLNK(obj.st.mode))
		return want->flags & O_EXCL ? -EEXIST : -ELOOP;
	return open_object(call, want, &obj);
}

/* Reads, where they are judged: the object is found first, then opened by descriptor. */
static int open_read(struct cc_call *call, int dirfd, const char *path, const struct want *want)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = cc_find(call, dirfd, path, want->flags & O_NOFOLLOW ? 0 : CC_FOLLOW, &obj);

	if (result < 0)
		return result;
	if (S_ISLNK(obj.st.mode))
		return -ELOOP;
	return open_object(call, want, &obj);
}

static int open_tmpfile(struct cc_call *call, int dirfd, const char *path, const struct want *want)
{
	CC_AUTO_OBJ dir = {.fd = -1};
	struct cc_wish wish = {.verb = CC_VERB_CREATE, .object = CC_OBJECT_FILE};
	char inside[PATH_MAX + 16];
	int fd, result = cc_find(call, dirfd, path, CC_FOLLOW, &dir);

	if (result < 0)
		return result;
	if (!S_ISDIR(dir.st.mode))
		return -ENOTDIR;
	/* It has no name yet; linkat is judged when it gets one. Here only the directory counts. */
	wish.path = (struct cc_view){inside, (size_t)snprintf(inside, sizeof(inside), "%s/#tmpfile", dir.path)};
	wish.mount = dir.mount;
	result = cc_permit(call, &wish, NULL);
	if (result < 0)
		return result;
	cc_wear_umask(call);
	if (!cc_alive(call))
		return -ENOENT;
	fd = cc_k_openat2(dir.fd, ".", (want->flags & KNOWN & ~(uint64_t)O_NOFOLLOW) | O_NONBLOCK, want->mode & 0777,
			  CC_RESOLVE_NO_SYMLINKS);
	return fd < 0 ? fd : cc_open_hand_over(call, want, fd);
}

/* openat2 with a scope: a link in the last place would have to be followed inside it, so the kernel finds the object
 * and it is opened by descriptor. */
static int open_scoped_link(struct cc_call *call, int base, const char *path, const struct want *want)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int fd;

	if (want->resolve & CC_RESOLVE_NO_SYMLINKS || want->flags & O_NOFOLLOW)
		return -ELOOP;
	fd = cc_k_openat2(base < 0 ? AT_FDCWD : base, path, O_PATH, 0, want->resolve | CC_RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return fd;
	fd = cc_describe(call->gate, fd, &obj);
	return fd < 0 ? fd : open_object(call, want, &obj);
}

static int open_scoped(struct cc_call *call, int dirfd, const char *path, const struct want *want)
{
	CC_AUTO_FD base = -1;
	CC_AUTO_FD scope = -1;
	CC_AUTO_LOC loc = {.parent = -1};
	/* IN_ROOT makes an absolute path relative to dirfd. */
	int result = cc_base(call, dirfd, want->resolve & CC_RESOLVE_IN_ROOT ? "." : path, &base);

	if (result < 0)
		return result;
	if (base >= 0)
		scope = fcntl(base, F_DUPFD_CLOEXEC, 0);
	if (!writes(want))
		return open_scoped_link(call, scope, path, want);
	if (strcmp(path, "..") == 0)
		return want->resolve & (CC_RESOLVE_BENEATH | CC_RESOLVE_IN_ROOT) ? -EXDEV : -EISDIR;
	result = cc_locate_from(call, &base, path, want->resolve, &loc);
	if (result < 0)
		return result;
	if (!loc.mount) {
		result = permit_open(call, want, &loc);
		return result < 0 ? result : -EACCES;
	}
	result = open_here(call, want, &loc);
	return result == -ELOOP ? open_scoped_link(call, scope, path, want) : result;
}

static int open_any(struct cc_call *call, int dirfd, const char *given, const struct want *want)
{
	char path[PATH_MAX];
	CC_AUTO_FD base = -1;
	int result;

	for (int hops = 0; hops <= CC_LINKS_MAX; hops++) {
		CC_AUTO_LOC loc;

		result = hops ? cc_locate_from(call, &base, path, 0, &loc) : cc_locate(call, dirfd, given, &loc);
		if (result < 0)
			return result;
		result = loc.mount ? open_here(call, want, &loc) : open_outside(call, want, &loc);
		if (result == -ELOOP && want->flags & O_CREAT && want->flags & O_EXCL)
			return -EEXIST;
		if (result != -ELOOP || want->flags & O_NOFOLLOW)
			return result;
		result = follow(&loc, path, &base);
		if (result == -EINVAL) { /* changed under us: no link any more */
			if (!cc_str_put(path, sizeof(path), loc.name))
				return -ENAMETOOLONG;
			cc_fd_close(&base);
			base = cc_loc_take(&loc);
		} else if (result < 0) {
			return result;
		}
	}
	return -ELOOP;
}

static int open_it(struct cc_call *call, int dirfd, uint64_t path_at, struct want *want)
{
	char path[PATH_MAX];
	int result = cc_target_path(call, path_at, path);

	if (result < 0)
		return result;
	call->spelled = path;
	if (want->resolve & CC_RESOLVE_CACHED)
		result = -EAGAIN; /* what the kernel says when it would have to wait */
	else if (want->flags & BARE_TMPFILE)
		result = (want->flags & ACCESS) == O_RDONLY || !(want->flags & O_DIRECTORY)
				 ? -EINVAL
				 : open_tmpfile(call, dirfd, path, want);
	else if (want->resolve & ~(uint64_t)CC_RESOLVE_NO_MAGICLINKS)
		result = open_scoped(call, dirfd, path, want);
	else if (writes(want))
		result = open_any(call, dirfd, path, want);
	else
		result = open_read(call, dirfd, path, want);
	call->spelled = "";
	return result;
}

int cc_do_open(struct cc_call *call, const uint64_t *arg)
{
	struct want want = {.flags = arg[1] & KNOWN, .mode = arg[2]};

	return open_it(call, AT_FDCWD, arg[0], &want);
}

int cc_do_openat(struct cc_call *call, const uint64_t *arg)
{
	struct want want = {.flags = arg[2] & KNOWN, .mode = arg[3]};

	return open_it(call, (int)arg[0], arg[1], &want);
}

int cc_do_creat(struct cc_call *call, const uint64_t *arg)
{
	struct want want = {.flags = O_CREAT | O_WRONLY | O_TRUNC, .mode = arg[1]};

	return open_it(call, AT_FDCWD, arg[0], &want);
}

int cc_do_openat2(struct cc_call *call, const uint64_t *arg)
{
	struct cc_open_how how;
	struct want want;
	int result;

	if (arg[3] < sizeof(how))
		return -EINVAL;
	if (arg[3] > sizeof(how))
		return -E2BIG; /* a newer caller tries again with the structure we know */
	result = cc_target_read(call, &how, arg[2], sizeof(how));
	if (result < 0)
		return result;
	want = (struct want){.flags = how.flags, .mode = how.mode, .resolve = how.resolve, .raced = true};
	if (want.flags & ~(uint64_t)(KNOWN | O_PATH) || want.resolve & ~(uint64_t)63 ||
	    (want.mode && !(want.flags & (O_CREAT | BARE_TMPFILE))) || want.mode & ~(uint64_t)07777)
		return -EINVAL;
	if (want.flags & O_PATH)
		return -ENOSYS; /* the kernel hands no such descriptor over, and a raced call may not go on */
	return open_it(call, (int)arg[0], arg[1], &want);
}
