/* open.c - the open family. Writing opens are always performed here; reading ones only in sessions whose rules judge
 * reads. The descriptor goes into the target by ADDFD, so what was judged is what it gets. */
#define _GNU_SOURCE
#include "gate/judge.h"
#include "gate/resolve.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LINKS_MAX = 40,
	ACCESS = 3, /* musl's O_ACCMODE holds O_PATH too */
	BARE_TMPFILE = 020000000,
	/* What open(2) knows; it ignores the rest, openat2 refuses it. */
	KNOWN = 03 | 0100 | 0200 | 0400 | 01000 | 02000 | 04000 | 010000 | 020000 | 040000 | 0100000 | 0200000 |
		0400000 | 01000000 | 02000000 | 04000000 | BARE_TMPFILE,
	CLEARABLE = O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME,
};

struct want {
	uint64_t flags, mode, resolve;
};

static bool writes(const struct want *want)
{
	return want->flags & (ACCESS | O_CREAT | O_TRUNC | BARE_TMPFILE);
}

/* The verbs an open comes to. */
static int permit_open(struct cc_call *call, const struct want *want, const struct cc_loc *loc)
{
	enum cc_judge judge = CC_JUDGE_NONE;
	int result = 0;

	if (want->flags & O_CREAT)
		result = cc_permit_loc(call, CC_VERB_CREATE, loc, CC_OBJECT_FILE, NULL, &judge);
	if (result == 0 && judge != CC_JUDGE_NONE)
		result = cc_judge_name(call, judge, CC_VERB_CREATE, loc);
	if (result == 0 && (want->flags & (O_TRUNC | ACCESS)))
		result = cc_permit_loc(call, CC_VERB_WRITE, loc, CC_OBJECT_FILE, NULL, NULL);
	return result;
}

/* Gives the target its descriptor, without the O_NONBLOCK that kept this thread from waiting. */
static int hand_over(struct cc_call *call, const struct want *want, int fd)
{
	if (!(want->flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, (int)(want->flags & (CLEARABLE & ~O_NONBLOCK)));
	return cc_send_fd(call->gate, call->notif->id, fd, want->flags & O_CLOEXEC);
}

/* A FIFO whose other end is not there yet: tried again by the waiter. */
struct fifo {
	uint64_t id;
	int fd;  /* O_PATH, pinned */
	int end; /* a reading end, held until there is something to read: then a writer has come */
	int flags;
};

static int fifo_step(struct cc_gate *gate, void *state)
{
	struct fifo *fifo = state;
	struct pollfd ready = {.events = POLLIN};
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fifo->fd);
	if (fifo->end < 0)
		fifo->end = open(path, fifo->flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fifo->end < 0)
		return errno == ENXIO ? CC_JOB_AGAIN : -errno;
	ready.fd = fifo->end;
	if ((fifo->flags & ACCESS) == O_RDONLY && poll(&ready, 1, 0) == 0)
		return CC_JOB_AGAIN;
	fd = cc_fd_take(&fifo->end);
	fcntl(fd, F_SETFL, fifo->flags & (CLEARABLE & ~O_NONBLOCK));
	return cc_send_fd(gate, fifo->id, fd, fifo->flags & O_CLOEXEC);
}

static void fifo_drop(void *state)
{
	struct fifo *fifo = state;

	cc_fd_close(&fifo->end);
	cc_fd_close(&fifo->fd);
	free(fifo);
}

/* Takes fd, the O_PATH descriptor of a FIFO. */
static int wait_for_peer(struct cc_call *call, const struct want *want, int fd)
{
	struct fifo *fifo = calloc(1, sizeof(*fifo));

	if (!fifo) {
		close(fd);
		return -ENOMEM;
	}
	fifo->id = call->notif->id;
	fifo->flags = (int)(want->flags & KNOWN & ~(uint64_t)(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW));
	fifo->fd = fd;
	fifo->end = -1;
	return cc_wait_for(call, fifo_step, fifo_drop, fifo);
}

static int wait_at(struct cc_call *call, const struct want *want, const struct cc_loc *loc)
{
	CC_AUTO_FD fd = cc_k_openat2(loc->parent, loc->name, O_PATH | O_NOFOLLOW, 0, CC_RESOLVE_NO_XDEV);
	struct cc_statx st;

	if (fd < 0 || cc_k_statx(fd, "", &st) < 0 || !S_ISFIFO(st.mode))
		return -ENXIO;
	return wait_for_peer(call, want, cc_fd_take(&fd));
}

/* Where reads are judged, what lies in procfs is opened by PID 1, which may see more than the caller: only what is
 * the caller's own, and of others what everybody may read. Never a memory or environment of PID 1 or the zygote. */
static int permit_proc(struct cc_call *call, const struct cc_obj *obj)
{
	static const char *const common[] = {"", "stat", "status", "statm", "comm", "cmdline", "task", "cgroup"};
	char *rest;
	long pid = strncmp(obj->path, "/proc/", 6) == 0 ? strtol(obj->path + 6, &rest, 10) : 0;

	if (pid <= 0)
		return 0; /* of nobody */
	if (pid > call->gate->last_reserved && cc_k_leader((pid_t)pid) == cc_k_leader(call->tid))
		return 0;
	rest += *rest == '/';
	for (size_t i = 0; i < CC_COUNT(common); i++)
		if (strcmp(rest, common[i]) == 0)
			return 0;
	return -EACCES;
}

/* /dev/tty is the terminal of whoever opens it: PID 1 has none, so the caller's is looked up. */
static int own_terminal(const struct cc_call *call, char path[32])
{
	char text[512], *at;
	long number = 0;
	ssize_t got;

	snprintf(path, 32, "/proc/%d/stat", (int)call->tid);
	{
		CC_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);

		got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	}
	text[got > 0 ? got : 0] = '\0';
	at = strrchr(text, ')'); /* ") S ppid pgrp session tty_nr" */
	for (int i = 0; at && i < 5; i++)
		at = strchr(at + 1, ' ');
	if (at)
		number = strtol(at + 1, NULL, 10);
	if (number >> 8 < 136 || number >> 8 > 143)
		return -ENXIO;
	snprintf(path, 32, "/dev/pts/%ld", ((number >> 8) - 136) * 256 + (number & 0xff));
	return 0;
}

/* What a special object is answered with: the kernel opens it in the target, and the floor judges it. Where reads
 * are judged that would be a race for a denied file, because the floor knows no reading: so it is opened here. */
static int open_special(struct cc_call *call, const struct want *want, struct cc_obj *obj)
{
	char path[32];
	int fd, result = 0;

	if (!call->gate->rules->reads_judged)
		return CC_CALL_CONTINUE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", obj->fd);
	if (cc_on_proc(call->gate, &obj->st))
		result = permit_proc(call, obj);
	else if (S_ISCHR(obj->st.mode) && obj->st.rdev_major == 5 && obj->st.rdev_minor == 0)
		result = own_terminal(call, path);
	if (result < 0)
		return result;
	if (!cc_alive(call))
		return -ENOENT;
	fd = open(path, (int)(want->flags & KNOWN & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY |
				O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : hand_over(call, want, fd);
}

static bool is_special(const struct cc_gate *gate, const struct cc_obj *obj)
{
	if (obj->path[0] != '/' || strncmp(obj->path, "/memfd:", 7) == 0)
		return true; /* pipes, sockets, memory files */
	return cc_on_proc(gate, &obj->st) || S_ISCHR(obj->st.mode) || S_ISBLK(obj->st.mode) ||
	       (!obj->mount && (S_ISFIFO(obj->st.mode) || S_ISSOCK(obj->st.mode)));
}

/* An existing object by its descriptor: /proc/self/fd/N and everything outside our mounts. */
static int open_object(struct cc_call *call, const struct want *want, struct cc_obj *obj)
{
	char path[32];
	int result = 0, fd;

	if (is_special(call->gate, obj))
		return open_special(call, want, obj);
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
		return wait_for_peer(call, want, cc_fd_take(&obj->fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", obj->fd);
	fd = open(path, (int)(want->flags & KNOWN & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY |
				O_NONBLOCK);
	return fd < 0 ? -errno : hand_over(call, want, fd);
}

/* libgit2 makes an empty configuration before it fills it by rename: that much is given, with a descriptor that cannot
 * write. Only where none stands; -ENOENT: this is not such a case. */
static int open_empty_config(struct cc_call *call, const struct want *want, const struct cc_loc *loc)
{
	struct cc_ask ask = {.verb = CC_VERB_CREATE, .path = {loc->path, loc->len}, .object = CC_OBJECT_FILE};
	struct cc_decision decision;
	struct cc_statx st;
	int fd;

	if (!(want->flags & O_CREAT) || !loc->mount || loc->special || strcmp(loc->name, "config") != 0 ||
	    cc_k_statx(loc->parent, loc->name, &st) != -ENOENT)
		return -ENOENT;
	decision = cc_decide(call->gate->rules, &ask);
	if (decision.verdict != CC_DENY || decision.match != CC_MATCH_EXACT || !decision.rule ||
	    decision.rule->effect != CC_EFFECT_JUDGE || decision.rule->judge != CC_JUDGE_CONFIG || !cc_alive(call))
		return -ENOENT;
	cc_wear_umask(call);
	fd = cc_k_openat2(loc->parent, loc->name, O_RDONLY | O_CREAT | O_EXCL | O_NOCTTY, want->mode & 0666,
			  CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_XDEV);
	return fd < 0 ? -ENOENT : hand_over(call, want, fd);
}

/* One try at the pinned place. CC_CALL_EXCLUSIVE is passed on; -ELOOP: the name is a link. */
static int open_here(struct cc_call *call, const struct want *want, struct cc_loc *loc)
{
	bool creates = want->flags & O_CREAT;
	/* No setuid, setgid or sticky bit on what the gate makes (attacks 14). */
	uint64_t mode = creates ? want->mode & 0777 : 0;
	int fd, result = open_empty_config(call, want, loc);

	if (result != -ENOENT)
		return result;
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
		return hand_over(call, want, fd);
	if (fd == -ENXIO && !(want->flags & O_NONBLOCK))
		return wait_at(call, want, loc);
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
		cc_fd_close(&loc->parent);
	else
		*base = cc_fd_take(&loc->parent);
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
	return fd < 0 ? fd : hand_over(call, want, fd);
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
	int result = cc_base(call, dirfd, given, &base);

	if (!*given)
		return -ENOENT;
	if (result < 0)
		return result;
	if (!cc_str_put(path, sizeof(path), given))
		return -ENAMETOOLONG;
	for (int hops = 0; hops <= LINKS_MAX; hops++) {
		CC_AUTO_LOC loc = {.parent = -1};

		result = cc_locate_from(call, &base, path, 0, &loc);
		if (result < 0)
			return result;
		result = loc.mount ? open_here(call, want, &loc) : open_outside(call, want, &loc);
		if (result != -ELOOP || want->flags & O_NOFOLLOW)
			return result == -ELOOP && want->flags & O_EXCL && want->flags & O_CREAT ? -EEXIST : result;
		if (want->flags & O_CREAT && want->flags & O_EXCL)
			return -EEXIST;
		result = follow(&loc, path, &base);
		if (result == -EINVAL) { /* changed under us: no link any more */
			if (!cc_str_put(path, sizeof(path), loc.name))
				return -ENAMETOOLONG;
			cc_fd_close(&base);
			base = cc_fd_take(&loc.parent);
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
	struct want want;
	int result;

	if (arg[3] < sizeof(want))
		return -EINVAL;
	if (arg[3] > sizeof(want))
		return -E2BIG; /* a newer caller tries again with the structure we know */
	result = cc_target_read(call, &want, arg[2], sizeof(want));
	if (result < 0)
		return result;
	if (want.flags & O_PATH || (!writes(&want) && !call->gate->rules->reads_judged))
		/* The floor judges a raced write. A raced read must not happen where reads are judged. */
		return call->gate->rules->reads_judged ? -ENOSYS : CC_CALL_CONTINUE;
	if (want.flags & ~(uint64_t)(KNOWN | 0100000) || want.resolve & ~(uint64_t)63 ||
	    (want.mode && !(want.flags & (O_CREAT | BARE_TMPFILE))) || want.mode & ~(uint64_t)07777)
		return -EINVAL;
	return open_it(call, (int)arg[0], arg[1], &want);
}
