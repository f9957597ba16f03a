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

#define NO_MAGIC ((uint64_t)CC_RESOLVE_NO_MAGICLINKS)

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
	if (want->flags & (ACCESS | O_TRUNC))
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
	fd = cc_k_openat2(loc->parent, loc->name, (want->flags & KNOWN) | O_NONBLOCK | O_NOCTTY, mode,
			  CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_XDEV);
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
	len = readlinkat(loc->parent, loc->name, path, PATH_MAX - 2);
	if (len < 0)
		return -errno;
	if (len == 0)
		return -ENOENT;
	path[len] = '\0';
	if (loc->slash)
		memcpy(path + len, "/", 2);
	cc_fd_close(base);
	if (*path == '/')
		cc_loc_done(loc);
	else
		*base = cc_loc_take(loc);
	return 0;
}

/* The object is a link, and it is not to be followed. */
static int stops_at_link(const struct want *want)
{
	if (want->flags & O_CREAT && want->flags & O_EXCL)
		return -EEXIST;
	return want->flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
}

/* Outside our mounts nothing is made; what is there is opened by descriptor. */
static int open_outside(struct cc_call *call, const struct want *want, struct cc_loc *loc)
{
	unsigned follow_last =
		want->flags & O_NOFOLLOW || (want->flags & O_CREAT && want->flags & O_EXCL) ? 0 : CC_FOLLOW;
	CC_AUTO_OBJ obj = {.fd = -1};
	struct cc_statx st;
	int result = want->flags & O_CREAT && loc->slash ? -EISDIR : cc_k_statx(loc->parent, loc->name, &st);

	if (result == -ENOENT && !(want->flags & O_CREAT))
		return -ENOENT;
	if ((result < 0 && result != -ENOENT) || (result == -ENOENT && cc_on_proc(call->gate, &loc->at)))
		return result;
	if (result == -ENOENT) {
		result = permit_open(call, want, loc);
		return result < 0 ? result : -EACCES;
	}
	if (S_ISLNK(st.mode) && follow_last && !cc_on_proc(call->gate, &loc->at))
		return -ELOOP;
	result = cc_find_at(call, loc, follow_last | (want->resolve & NO_MAGIC ? CC_NO_MAGIC : 0), &obj);
	if (result < 0)
		return result;
	return S_ISLNK(obj.st.mode) ? stops_at_link(want) : open_object(call, want, &obj);
}

static unsigned lookup(const struct want *want)
{
	return (want->flags & O_NOFOLLOW ? 0 : CC_FOLLOW) | (want->resolve & NO_MAGIC ? CC_NO_MAGIC : 0);
}

/* Reads, where they are judged: the object is found first, then opened by descriptor. */
static int open_read(struct cc_call *call, int dirfd, const char *path, const struct want *want)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = cc_find(call, dirfd, path, lookup(want), &obj);

	if (result < 0)
		return result;
	return S_ISLNK(obj.st.mode) ? stops_at_link(want) : open_object(call, want, &obj);
}

/* openat2 with a scope: the kernel finds the object, and it is opened by descriptor. */
static int find_in(struct cc_call *call, int base, const char *path, const struct want *want, struct cc_obj *out)
{
	int fd = cc_k_openat2(base < 0 ? AT_FDCWD : base, path, O_PATH | (want->flags & O_NOFOLLOW), 0,
			      want->resolve | CC_RESOLVE_NO_MAGICLINKS);
	int result;

	if (fd < 0)
		return fd;
	result = cc_describe(call->gate, fd, out);
	/* /proc/self is another one here */
	return result == 0 && cc_on_proc(call->gate, &out->st) ? -EXDEV : result;
}

/* What scoped resolution starts from. IN_ROOT makes an absolute path relative to dirfd. */
static int scope_of(struct cc_call *call, int dirfd, const char *path, const struct want *want, int *out_fd)
{
	return cc_base(call, dirfd, want->resolve & CC_RESOLVE_IN_ROOT ? "." : path, out_fd);
}

static int find_scoped(struct cc_call *call, int dirfd, const char *path, const struct want *want, struct cc_obj *out)
{
	CC_AUTO_FD base = -1;
	int result = scope_of(call, dirfd, path, want, &base);

	out->fd = -1;
	return result < 0 ? result : find_in(call, base, path, want, out);
}

static int open_scoped_object(struct cc_call *call, int base, const char *path, const struct want *want)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = find_in(call, base, path, want, &obj);

	if (result == 0 && S_ISLNK(obj.st.mode))
		return stops_at_link(want);
	return result < 0 ? result : open_object(call, want, &obj);
}

/* One try; -ELOOP: the last name is a link that may be followed. */
static int open_scoped_once(struct cc_call *call, int scope, const char *path, const struct want *want)
{
	CC_AUTO_FD base = scope < 0 ? -1 : fcntl(scope, F_DUPFD_CLOEXEC, 0);
	CC_AUTO_LOC loc = {.parent = -1};
	struct cc_statx st;
	int result;

	if (scope >= 0 && base < 0)
		return -errno;
	result = cc_locate_from(call, &base, path, want->resolve, &loc);
	if (result < 0)
		return cc_is_late(result, &loc) && loc.slash && want->flags & O_CREAT ? -EISDIR : result;
	if (loc.special)
		return open_scoped_object(call, scope, path, want);
	if (loc.mount) {
		result = open_here(call, want, &loc);
		return result == -ELOOP && want->flags & O_CREAT && want->flags & O_EXCL ? -EEXIST : result;
	}
	if (cc_natural_look(&loc, &st) == 0)
		return open_scoped_object(call, scope, path, want);
	result = permit_open(call, want, &loc);
	return result < 0 ? result : -EACCES;
}

/* Puts a link's text in the place of its name. It is walked from the scope again, so the kernel holds it inside. */
static int expand(int scope, char path[PATH_MAX], const struct want *want)
{
	char text[PATH_MAX];
	size_t len = strlen(path), slash = 0;
	ssize_t got;
	CC_AUTO_FD fd = -1;

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0', slash = 1;
	fd = cc_k_openat2(scope < 0 ? AT_FDCWD : scope, path, O_PATH | O_NOFOLLOW, 0, want->resolve | NO_MAGIC);
	if (fd < 0)
		return fd;
	got = readlinkat(fd, "", text, sizeof(text));
	if (got <= 0)
		return -ENOENT;
	while (len > 0 && path[len - 1] != '/')
		len--;
	if (*text == '/' && (want->resolve & (CC_RESOLVE_NO_XDEV | CC_RESOLVE_IN_ROOT)) == CC_RESOLVE_NO_XDEV)
		return -EXDEV; /* the root is never a mount that this link lies on */
	if (*text == '/')
		len = 0;
	if (len + (size_t)got + slash >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path + len, text, (size_t)got);
	memcpy(path + len + (size_t)got, "/", slash);
	path[len + (size_t)got + slash] = '\0';
	return 0;
}

static int open_scoped(struct cc_call *call, int dirfd, char path[PATH_MAX], const struct want *want)
{
	CC_AUTO_FD scope = -1;
	int result = *path ? scope_of(call, dirfd, path, want, &scope) : -ENOENT;

	if (result < 0)
		return result;
	if (!writes(want))
		return open_scoped_object(call, scope, path, want);
	for (int hops = 0; hops <= CC_LINKS_MAX; hops++) {
		result = open_scoped_once(call, scope, path, want);
		if (result != -ELOOP || want->resolve & CC_RESOLVE_NO_SYMLINKS ||
		    (want->flags & O_NOFOLLOW && path[strlen(path) - 1] != '/'))
			return result;
		if (!(want->flags & O_CREAT))
			return open_scoped_object(call, scope, path, want);
		result = expand(scope, path, want);
		if (result < 0)
			return result;
	}
	return -ELOOP;
}

static int open_tmpfile(struct cc_call *call, int dirfd, const char *path, const struct want *want)
{
	CC_AUTO_OBJ dir = {.fd = -1};
	struct cc_wish wish = {.verb = CC_VERB_CREATE, .object = CC_OBJECT_FILE};
	char inside[PATH_MAX + 16];
	int fd, result = want->resolve & ~NO_MAGIC ? find_scoped(call, dirfd, path, want, &dir)
						   : cc_find(call, dirfd, path, lookup(want), &dir);

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
	fd = cc_k_openat2(dir.fd, ".", (want->flags & KNOWN) | O_NONBLOCK, want->mode & 0777, CC_RESOLVE_NO_SYMLINKS);
	return fd < 0 ? fd : cc_open_hand_over(call, want, fd);
}

static int open_any(struct cc_call *call, int dirfd, char path[PATH_MAX], const struct want *want)
{
	CC_AUTO_FD base = -1;
	int result = 0;

	if (!*path)
		return -ENOENT;
	if (want->resolve)
		result = cc_base(call, dirfd, path, &base);
	if (result < 0)
		return result;
	for (int hops = 0; hops <= CC_LINKS_MAX; hops++) {
		CC_AUTO_LOC loc;

		if (hops || want->resolve)
			result = cc_locate_from(call, &base, path, want->resolve, &loc);
		else
			result = cc_locate(call, dirfd, path, &loc);
		if (result < 0) /* "name/" is asked first, once its directory is found */
			return cc_is_late(result, &loc) && loc.slash && want->flags & O_CREAT ? -EISDIR : result;
		result = loc.mount ? open_here(call, want, &loc) : open_outside(call, want, &loc);
		if (result == -ELOOP && want->flags & O_CREAT && want->flags & O_EXCL)
			return -EEXIST;
		if (result != -ELOOP || (want->flags & O_NOFOLLOW && !loc.slash) || cc_on_proc(call->gate, &loc.at))
			return result;
		result = follow(&loc, path, &base);
		if (result == -EINVAL) { /* changed under us: no link any more */
			if (!cc_str_put(path, PATH_MAX, loc.name))
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
	char path[PATH_MAX], given[PATH_MAX]; /* path is worked on: links take the place of names */
	const bool odd =
		want->raced || want->flags & BARE_TMPFILE || (want->flags & O_CREAT && want->flags & O_DIRECTORY);
	int result = odd ? cc_natural_open(want->flags, want->mode, want->resolve) : 0;

	if (result == 0)
		result = cc_target_path(call, path_at, path);
	if (result < 0)
		return result;
	memcpy(given, path, strlen(path) + 1);
	call->spelled = given;
	if (want->resolve & CC_RESOLVE_CACHED)
		result = -EAGAIN; /* what the kernel says when it would have to wait */
	else if (want->flags & BARE_TMPFILE)
		result = open_tmpfile(call, dirfd, path, want);
	else if (want->resolve & ~NO_MAGIC)
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
	enum { PAGE = 4096 };
	struct cc_open_how how;
	char more[PAGE] = "";
	struct want want;
	int result;

	if (arg[3] < sizeof(how))
		return -EINVAL;
	if (arg[3] > PAGE)
		return -E2BIG;
	result = cc_target_read(call, &how, arg[2], sizeof(how));
	if (result == 0 && arg[3] > sizeof(how))
		result = cc_target_read(call, more, arg[2] + sizeof(how), arg[3] - sizeof(how));
	if (result < 0)
		return result;
	for (size_t i = 0; i < arg[3] - sizeof(how); i++)
		if (more[i])
			return -E2BIG; /* a newer caller tries again with the structure we know */
	want = (struct want){.flags = how.flags, .mode = how.mode, .resolve = how.resolve, .raced = true};
	if (want.flags & ~(uint64_t)(KNOWN | O_PATH) || want.resolve & ~(uint64_t)63)
		return -EINVAL;
	result = want.flags & O_PATH ? cc_natural_open(want.flags, want.mode, want.resolve) : 0;
	if (result < 0)
		return result;
	if (want.flags & O_PATH)
		return -ENOSYS; /* the kernel hands no such descriptor over, and a raced call may not go on */
	return open_it(call, (int)arg[0], arg[1], &want);
}
