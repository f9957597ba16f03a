#define _GNU_SOURCE
#include "gate/resolve.h"

#include "kernel/memory.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cc_target_read(const struct cc_call *call, void *to, uint64_t from, size_t len)
{
	return cc_memory_read(call->tid, to, from, len);
}

int cc_target_path(const struct cc_call *call, uint64_t from, char path[PATH_MAX])
{
	return cc_memory_path(call->tid, from, path);
}

int cc_base(struct cc_call *call, int dirfd, const char *path, int *out_fd)
{
	char name[CC_TASK_NAME];
	int result;

	cc_hold(call);
	if (*path == '/') {
		*out_fd = -1;
		return 0;
	}
	result = cc_task_name(dirfd, name);
	if (result == 0)
		result = cc_task_open(&call->worker->tasks, call->tid, name);
	if (result < 0)
		return result == -ENOENT && dirfd != AT_FDCWD ? -EBADF : result;
	*out_fd = result;
	return 0;
}

/* The walk: what the kernel's own resolution cannot do for somebody else. /proc/self means the target, and a magic
 * link jumps, but never one of PID 1, its threads or the zygote (spec/names case 51). */
struct walk {
	const struct cc_call *call;
	int at;
	int links;
	bool follow_last, no_magic;
	char left[2 * PATH_MAX]; /* what remains */
};

static int step_to(struct walk *walk, int fd)
{
	if (fd < 0)
		return fd == -1 ? -errno : fd;
	cc_fd_close(&walk->at);
	walk->at = fd;
	return 0;
}

static int is_ours(const struct walk *walk)
{
	char path[PATH_MAX], *end;
	int len = cc_k_fdpath(walk->at, path, sizeof(path));
	long pid;

	if (len < 0)
		return len;
	if (strncmp(path, "/proc/", 6) != 0)
		return 0;
	pid = strtol(path + 6, &end, 10);
	return end != path + 6 && pid > 0 && pid <= walk->call->gate->last_reserved;
}

static int proc_link(struct walk *walk, const char *name)
{
	struct cc_statx here;
	int result = cc_k_statx(walk->at, "", &here);

	if (result < 0)
		return result;
	if (here.ino == 1 && (strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0)) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", (int)walk->call->tid);
		return step_to(walk, openat(walk->at, pid, O_PATH | O_DIRECTORY | O_CLOEXEC));
	}
	if (here.ino == 1)
		return CC_CALL_CONTINUE; /* /proc/mounts, /proc/net: ordinary links */
	if (walk->no_magic)
		return -ELOOP;
	result = is_ours(walk);
	if (result)
		return result < 0 ? result : -EACCES;
	return step_to(walk, openat(walk->at, name, O_PATH | O_CLOEXEC));
}

static int text_link(struct walk *walk, int fd, const char *rest)
{
	char target[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);
	int written;

	if (len <= 0)
		return -ENOENT;
	target[len] = '\0';
	written = snprintf(joined, sizeof(joined), "%s%s", target, rest);
	if (written < 0 || (size_t)written >= sizeof(joined) - 1)
		return -ENAMETOOLONG;
	memcpy(walk->left, joined, (size_t)written + 1);
	if (target[0] == '/')
		return step_to(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	return 0;
}

/* Takes one component; rest is what follows it. */
static int take(struct walk *walk, const char *name, const char *rest)
{
	bool last = rest[strspn(rest, "/")] == '\0', must_dir = *rest == '/';
	CC_AUTO_FD fd = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct cc_statx st;
	int result;

	if (fd < 0)
		return -errno;
	result = cc_k_statx(fd, "", &st);
	if (result < 0)
		return result;
	if (S_ISLNK(st.mode) && (!last || walk->follow_last || must_dir)) {
		if (++walk->links > CC_LINKS_MAX)
			return -ELOOP;
		result = cc_on_proc(walk->call->gate, &st) ? proc_link(walk, name) : CC_CALL_CONTINUE;
		if (result == CC_CALL_CONTINUE)
			return text_link(walk, fd, rest);
		if (result < 0)
			return result;
	} else {
		if ((!last || must_dir) && !S_ISDIR(st.mode))
			return -ENOTDIR;
		step_to(walk, cc_fd_take(&fd));
	}
	memmove(walk->left, rest, strlen(rest) + 1);
	return 0;
}

static int walk(const struct cc_call *call, int base, const char *path, bool follow_last, bool no_magic)
{
	struct walk walk = {.call = call, .follow_last = follow_last, .no_magic = no_magic};
	int result = 0;

	if (strlen(path) >= PATH_MAX || !cc_str_put(walk.left, sizeof(walk.left), path))
		return -ENAMETOOLONG;
	walk.at = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : fcntl(base, F_DUPFD_CLOEXEC, 0);
	if (walk.at < 0)
		return -errno;
	while (result == 0) {
		const char *at = walk.left + strspn(walk.left, "/"), *rest = at + strcspn(at, "/");
		char name[NAME_MAX + 1];

		if (!*at)
			return walk.at;
		if (rest - at > NAME_MAX) {
			result = faccessat(walk.at, ".", F_OK, 0) < 0 ? -errno : -ENAMETOOLONG;
			break;
		}
		memcpy(name, at, (size_t)(rest - at));
		name[rest - at] = '\0';
		result = take(&walk, name, rest);
	}
	cc_fd_close(&walk.at);
	return result;
}

/* The kernel first; the walk where it failed or may have used PID 1's own /proc entries. */
static int reach(const struct cc_call *call, int base, const char *path, uint64_t flags, uint64_t resolve,
		 struct cc_statx *out_st)
{
	int from = base < 0 ? AT_FDCWD : base;
	int fd = cc_k_openat2(from, path, flags | O_PATH, 0, resolve | CC_RESOLVE_NO_MAGICLINKS);
	int result;

	if (fd >= 0) {
		result = cc_k_statx(fd, "", out_st);
		if (result == 0 && !cc_on_proc(call->gate, out_st))
			return fd;
		close(fd);
	}
	if (resolve & ~(uint64_t)CC_RESOLVE_NO_MAGICLINKS)
		return fd < 0 ? fd : -EXDEV; /* scoped resolutions do not go through procfs */
	fd = walk(call, base, path, !(flags & O_NOFOLLOW), resolve);
	if (fd < 0)
		return fd;
	result = cc_k_statx(fd, "", out_st);
	if (result == 0 && (flags & O_DIRECTORY) && !S_ISDIR(out_st->mode))
		result = -ENOTDIR;
	if (result < 0) {
		close(fd);
		return result;
	}
	return fd;
}

static int split(const char *path, struct cc_loc *out, char parent[PATH_MAX])
{
	size_t len = strlen(path), start;

	if (len == 0)
		return -ENOENT;
	while (len > 1 && path[len - 1] == '/') {
		len--;
		out->slash = true;
	}
	if (len == 1 && *path == '/') {
		out->special = true;
		memcpy(out->name, ".", 2);
		memcpy(parent, "/", 2);
		return 0;
	}
	for (start = len; start > 0 && path[start - 1] != '/';)
		start--;
	memcpy(parent, path, start);
	parent[start] = '\0';
	if (len - start > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(out->name, path + start, len - start);
	out->name[len - start] = '\0';
	out->special = strcmp(out->name, ".") == 0 || strcmp(out->name, "..") == 0;
	return 0;
}

static int pin_parent(const struct cc_call *call, int *base, const char *parent, uint64_t resolve, struct cc_loc *out)
{
	int result;

	if (*parent) {
		out->parent = reach(call, *base, parent, O_DIRECTORY, resolve, &out->at);
		return out->parent < 0 ? out->parent : 0;
	}
	out->parent = cc_fd_take(base);
	result = cc_k_statx(out->parent, "", &out->at);
	if (result < 0)
		return result;
	return S_ISDIR(out->at.mode) ? 0 : -ENOTDIR;
}

/* The canonical path of the parent is known, len bytes of out->path; the name follows. */
static void spell(struct cc_loc *out, size_t len)
{
	size_t name_len = strlen(out->name);

	if (len > 1)
		out->path[len++] = '/';
	memcpy(out->path + len, out->name, name_len + 1);
	out->len = len + name_len;
	if (out->slash)
		memcpy(out->name + name_len, "/", 2);
}

/* The rest of a location whose parent was pinned. */
static int complete(struct cc_call *call, struct cc_loc *out, const char *known, size_t from)
{
	int len;

	if (out->at.nlink == 0 && !out->special) /* a deleted directory takes no names */
		return faccessat(out->parent, ".", F_OK, 0) < 0 ? -errno : -ENOENT;
	len = cc_k_fdpath(out->parent, out->path, PATH_MAX);
	if (len < 0)
		return len;
	if (out->path[0] != '/')
		return -EACCES;
	out->mount = cc_gate_mount_of(call->gate, &out->at, out->path, (size_t)len);
	if (known && strcmp(known, out->path) == 0)
		out->kept = cc_dirs_put(&call->worker->dirs, call->notif->id, known, (size_t)len,
					&(struct cc_dir){
						.epoch = call->epoch,
						.fd = out->parent,
						.st = out->at,
						.mount = out->mount,
						.from = from,
					});
	spell(out, (size_t)len);
	return 0;
}

static void begin(struct cc_loc *out)
{
	out->parent = -1;
	out->spelled = NULL;
	out->kept = out->slash = out->special = false;
}

int cc_locate_from(struct cc_call *call, int *base, const char *path, uint64_t resolve, struct cc_loc *out)
{
	char parent[PATH_MAX];
	int result, too_long;

	begin(out);
	too_long = split(path, out, parent);
	if (too_long && too_long != -ENAMETOOLONG)
		return too_long;
	result = pin_parent(call, base, parent, resolve, out);
	if (result < 0)
		return result;
	if (too_long) /* said to whoever may search there */
		return faccessat(out->parent, ".", F_OK, 0) < 0 ? -errno : out->at.nlink ? too_long : -ENOENT;
	return complete(call, out, NULL, 0);
}

/* Adds the parts of path to the len bytes of out. 0 where one goes back up: over a link that is not the way it came. */
static size_t add_parts(char out[PATH_MAX], size_t len, const char *path)
{
	while (*path) {
		const char *at = path + strspn(path, "/");
		size_t part = strcspn(at, "/");

		path = at + part;
		if (part == 0 || (part == 1 && *at == '.'))
			continue;
		if ((part == 2 && at[0] == '.' && at[1] == '.') || len + part + 2 > PATH_MAX)
			return 0;
		if (len != 1)
			out[len++] = '/';
		memcpy(out + len, at, part);
		len += part;
	}
	out[len] = '\0';
	return len;
}

/* The path of the parent as it would be if no link lay on the way; its length, 0 where that cannot be said. */
static size_t guess(struct cc_call *call, int dirfd, const char *parent, char out[PATH_MAX], size_t *out_from)
{
	static const char deleted[] = " (deleted)";
	char name[CC_TASK_NAME];
	int result;

	*out_from = 0;
	if (*parent == '/') {
		*out = '/';
		return add_parts(out, 1, parent);
	}
	result = cc_task_name(dirfd, name);
	if (result == 0)
		result = cc_task_link(&call->worker->tasks, call->tid, name, out, PATH_MAX);
	if (result <= 0 || *out != '/')
		return 0;
	if ((size_t)result >= sizeof(deleted) && strcmp(out + result - (sizeof(deleted) - 1), deleted) == 0)
		return 0;
	*out_from = (size_t)result;
	return add_parts(out, (size_t)result, parent);
}

int cc_locate(struct cc_call *call, int dirfd, const char *path, struct cc_loc *out)
{
	char parent[PATH_MAX], known[PATH_MAX];
	CC_AUTO_FD base = -1;
	const struct cc_dir *dir;
	size_t len, from;
	int result;

	begin(out);
	cc_hold(call);
	result = split(path, out, parent);
	if (result == -ENAMETOOLONG) {
		result = cc_base(call, dirfd, path, &base);
		return result < 0 ? result : cc_locate_from(call, &base, path, 0, out);
	}
	if (result < 0)
		return result;
	len = guess(call, dirfd, parent, known, &from);
	dir = len ? cc_dirs_get(&call->worker->dirs, call->epoch, call->notif->id, known, len, from) : NULL;
	if (dir) {
		out->parent = dir->fd;
		out->kept = true;
		out->at = dir->st;
		out->mount = dir->mount;
		memcpy(out->path, known, len);
		spell(out, len);
		return 0;
	}
	result = cc_base(call, dirfd, path, &base);
	if (result == 0)
		result = pin_parent(call, &base, parent, 0, out);
	return result < 0 ? result : complete(call, out, len ? known : NULL, from);
}

int cc_describe(const struct cc_gate *gate, int fd, struct cc_obj *out)
{
	static const char deleted[] = " (deleted)";
	size_t tail = sizeof(deleted) - 1;
	int len, result;

	out->fd = fd;
	result = cc_k_statx(fd, "", &out->st);
	if (result < 0)
		return result;
	len = cc_k_fdpath(fd, out->path, sizeof(out->path));
	if (len < 0)
		return len;
	out->len = (size_t)len;
	/* Both say it: some FUSE file systems count no links at all. */
	out->unnamed = out->st.nlink == 0 && out->len > tail && strcmp(out->path + out->len - tail, deleted) == 0;
	if (out->unnamed) {
		out->len -= tail;
		out->path[out->len] = '\0';
	}
	out->mount = out->path[0] == '/' ? cc_gate_mount_of(gate, &out->st, out->path, out->len) : NULL;
	return 0;
}

int cc_find_fd(struct cc_call *call, int fd, struct cc_obj *out)
{
	int given, result;

	out->fd = -1;
	out->own = true;
	cc_hold(call);
	given = fd < 0 ? -EBADF : cc_task_fd(&call->worker->tasks, call->tid, fd);
	if (given >= 0)
		return cc_describe(call->gate, given, out);
	if (given != -EPERM && given != -ENOSYS)
		return given;
	/* Where descriptors may not be duplicated (Docker's own filter), procfs leads to the same object. */
	out->own = false;
	result = cc_base(call, fd, "", &given);
	return result < 0 ? result : cc_describe(call->gate, given, out);
}

/* What lies in a directory of our mounts under its own name: no link to follow, no mount to cross. */
static bool find_near(struct cc_call *call, int dirfd, const char *path, unsigned flags, struct cc_obj *out)
{
	CC_AUTO_LOC loc;
	CC_AUTO_FD fd = -1;

	if (cc_locate(call, dirfd, path, &loc) < 0 || !loc.mount || loc.special || loc.slash)
		return false;
	fd = cc_k_openat2(loc.parent, loc.name, O_PATH | O_NOFOLLOW, 0, CC_RESOLVE_NO_XDEV);
	if (fd < 0 || loc.len >= sizeof(out->path) || cc_k_statx(fd, "", &out->st) < 0 ||
	    (S_ISLNK(out->st.mode) && flags & CC_FOLLOW) || out->st.mnt_id != loc.mount->id)
		return false;
	out->fd = cc_fd_take(&fd);
	out->mount = loc.mount;
	out->unnamed = false;
	out->len = loc.len;
	memcpy(out->path, loc.path, loc.len + 1);
	return true;
}

int cc_find(struct cc_call *call, int dirfd, const char *path, unsigned flags, struct cc_obj *out)
{
	CC_AUTO_FD base = -1;
	struct cc_statx st;
	int fd, result;

	out->fd = -1;
	if (!*path && !(flags & CC_EMPTY_OK))
		return -ENOENT;
	if (*path && !(flags & CC_NO_MAGIC) && find_near(call, dirfd, path, flags, out))
		return 0;
	result = cc_base(call, dirfd, path, &base);
	if (result < 0)
		return result;
	if (!*path)
		return cc_describe(call->gate, cc_fd_take(&base), out);
	fd = reach(call, base, path, flags & CC_FOLLOW ? 0 : O_NOFOLLOW,
		   flags & CC_NO_MAGIC ? CC_RESOLVE_NO_MAGICLINKS : 0, &st);
	return fd < 0 ? fd : cc_describe(call->gate, fd, out);
}

int cc_find_at(struct cc_call *call, const struct cc_loc *loc, unsigned flags, struct cc_obj *out)
{
	struct cc_statx st;
	int fd = reach(call, loc->parent, loc->name, flags & CC_FOLLOW ? 0 : O_NOFOLLOW,
		       flags & CC_NO_MAGIC ? CC_RESOLVE_NO_MAGICLINKS : 0, &st);

	out->fd = -1;
	return fd < 0 ? fd : cc_describe(call->gate, fd, out);
}
