/* names.c - calls that make, move, link or remove a name. Each acts on a pinned directory and one name. */
#define _GNU_SOURCE
#include "gate/judge.h"
#include "gate/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOREPLACE = 1, EXCHANGE = 2 };

/* A path that was copied, located. */
static int place(struct cc_call *call, int dirfd, const char *path, struct cc_loc *out)
{
	int result;

	call->spelled = path;
	result = cc_locate(call, dirfd, path, out);
	out->spelled = path;
	return result;
}

/* The only path of a call: copied, then located. */
static int place_only(struct cc_call *call, int dirfd, uint64_t path_at, char path[PATH_MAX], struct cc_loc *out)
{
	int result = cc_target_path(call, path_at, path);

	return result ? result : place(call, dirfd, path, out);
}

/* The old name of what has none. */
static const struct cc_view nothing;

static struct cc_view view(const struct cc_loc *loc)
{
	return (struct cc_view){loc->path, loc->len};
}

/* Verbs after which the kernel applies the umask. */
#define MODED                                                                                                          \
	(CC_VERB_BIT(CC_VERB_CREATE) | CC_VERB_BIT(CC_VERB_MKDIR) | CC_VERB_BIT(CC_VERB_MKNOD) |                       \
	 CC_VERB_BIT(CC_VERB_BIND))

/* Permission for a new name, surroundings included; the last thing that asks who the caller is. */
static int permit_new(struct cc_call *call, enum cc_verb verb, const struct cc_loc *loc, enum cc_object object,
		      struct cc_view from)
{
	int result = cc_permit_name(call, verb, loc, object, from);

	if (result == 0 && (CC_VERB_BIT(verb) & MODED))
		cc_wear_umask(call);
	if (result == 0 && !cc_alive(call))
		result = -ENOENT;
	return result;
}

static int make_dir(struct cc_call *call, int dirfd, uint64_t path_at, uint64_t mode)
{
	char path[PATH_MAX];
	CC_AUTO_LOC loc = {.parent = -1};
	int result = place_only(call, dirfd, path_at, path, &loc);

	if (result == 0)
		result = permit_new(call, CC_VERB_MKDIR, &loc, CC_OBJECT_DIR, nothing);
	if (result)
		return result;
	result = cc_k_done(mkdirat(loc.parent, loc.name, mode & 01777)); /* setgid is inherited, not asked for */
	if (result == 0 && loc.mount)
		cc_repo_made(call->gate, &loc);
	return result;
}

int cc_do_mkdir(struct cc_call *call, const uint64_t *arg)
{
	return make_dir(call, AT_FDCWD, arg[0], arg[1]);
}

int cc_do_mkdirat(struct cc_call *call, const uint64_t *arg)
{
	return make_dir(call, (int)arg[0], arg[1], arg[2]);
}

static const struct {
	mode_t type;
	enum cc_verb verb;
	enum cc_object object;
} nodes[] = {
	{0, CC_VERB_CREATE, CC_OBJECT_FILE},
	{S_IFREG, CC_VERB_CREATE, CC_OBJECT_FILE},
	{S_IFIFO, CC_VERB_MKNOD, CC_OBJECT_FIFO},
	{S_IFSOCK, CC_VERB_BIND, CC_OBJECT_SOCKET},
};

static int make_node(struct cc_call *call, int dirfd, uint64_t path_at, uint64_t mode)
{
	char path[PATH_MAX];
	CC_AUTO_LOC loc = {.parent = -1};
	const uint64_t type = mode & S_IFMT;
	const bool device = type == S_IFCHR || type == S_IFBLK;
	int result = type == S_IFDIR ? -EPERM : -EINVAL;

	for (size_t i = 0; i < CC_COUNT(nodes); i++) {
		if (type != nodes[i].type)
			continue;
		result = place_only(call, dirfd, path_at, path, &loc);
		if (result == 0 && !loc.mount)
			result = cc_natural(call->gate, CC_VERB_MKNOD, &loc);
		if (result == 0)
			result = permit_new(call, nodes[i].verb, &loc, nodes[i].object, nothing);
	}
	if (device) /* never */
		result = place_only(call, dirfd, path_at, path, &loc);
	if (device && result == 0)
		result = cc_natural_device(call->gate, &loc);
	if (result)
		return result;
	/* A FIFO in a bind would hang whoever reads it on the host (attacks 17). */
	if (type == S_IFIFO && !loc.special && loc.mount && loc.mount->mode != CC_MOUNT_PRIVATE)
		return cc_refuse(call, CC_VERB_MKNOD, view(&loc), "special:fifo", "mknod");
	return cc_k_done(mknodat(loc.parent, loc.name, (mode_t)(mode & (S_IFMT | 0777)), 0));
}

int cc_do_mknod(struct cc_call *call, const uint64_t *arg)
{
	return make_node(call, AT_FDCWD, arg[0], arg[1]);
}

int cc_do_mknodat(struct cc_call *call, const uint64_t *arg)
{
	return make_node(call, (int)arg[0], arg[1], arg[2]);
}

static int make_symlink(struct cc_call *call, uint64_t target_at, int dirfd, uint64_t path_at)
{
	char target[PATH_MAX], path[PATH_MAX];
	CC_AUTO_LOC loc = {.parent = -1};
	int result = cc_target_path(call, target_at, target);

	if (result == 0 && !*target)
		result = -ENOENT;
	if (result == 0)
		result = place_only(call, dirfd, path_at, path, &loc);
	/* Its own name only: what it points at is judged when somebody goes through it. */
	if (result == 0)
		result = permit_new(call, CC_VERB_SYMLINK, &loc, CC_OBJECT_SYMLINK, nothing);
	return result ? result : cc_k_done(symlinkat(target, loc.parent, loc.name));
}

int cc_do_symlink(struct cc_call *call, const uint64_t *arg)
{
	return make_symlink(call, arg[0], AT_FDCWD, arg[1]);
}

int cc_do_symlinkat(struct cc_call *call, const uint64_t *arg)
{
	return make_symlink(call, arg[0], (int)arg[1], arg[2]);
}

static int remove_name(struct cc_call *call, int dirfd, uint64_t path_at, uint64_t flags)
{
	enum cc_verb verb = flags & AT_REMOVEDIR ? CC_VERB_RMDIR : CC_VERB_UNLINK;
	char path[PATH_MAX];
	CC_AUTO_LOC loc = {.parent = -1};
	int result = flags & ~(uint64_t)AT_REMOVEDIR ? -EINVAL : cc_target_path(call, path_at, path);

	if (result == 0 && verb == CC_VERB_RMDIR && *path && path[strspn(path, "/")] == '\0')
		return -EBUSY; /* the root itself, which is "." from here on */
	if (result == 0)
		result = place(call, dirfd, path, &loc);
	if (result == 0)
		result = permit_new(call, verb, &loc, CC_OBJECT_UNKNOWN, nothing);
	if (result == 0)
		result = cc_k_done(unlinkat(loc.parent, loc.name, (int)flags));
	if (result == 0 && verb == CC_VERB_RMDIR)
		cc_dirs_stale(call->gate);
	return result;
}

int cc_do_unlink(struct cc_call *call, const uint64_t *arg)
{
	return remove_name(call, AT_FDCWD, arg[0], 0);
}

int cc_do_unlinkat(struct cc_call *call, const uint64_t *arg)
{
	return remove_name(call, (int)arg[0], arg[1], (uint32_t)arg[2]);
}

int cc_do_rmdir(struct cc_call *call, const uint64_t *arg)
{
	return remove_name(call, AT_FDCWD, arg[0], AT_REMOVEDIR);
}

/* Hard links: the inode that gets another name is judged by the name it has (spec/names cases 22-25). */
static int link_object(struct cc_call *call, struct cc_obj *from, const char *from_path, const struct cc_loc *to)
{
	char path[CC_K_FDLINK];
	int result;

	if (!from->mount || !to->mount || from->mount->id != to->mount->id) {
		result = cc_natural(call->gate, CC_VERB_LINK_TO, to);
		if (result)
			return result;
		if (!to->mount)
			result = permit_new(call, CC_VERB_LINK_TO, to, CC_OBJECT_FILE, nothing);
		return result == -EROFS ? result : -EXDEV;
	}
	call->spelled = from_path;
	result = cc_permit_obj(call, CC_VERB_LINK_FROM, from);
	if (result)
		return result;
	result = permit_new(call, CC_VERB_LINK_TO, to, cc_object_of(from->st.mode),
			    from->unnamed ? nothing : (struct cc_view){from->path, from->len});
	if (result)
		return result;
	/* Followed to the descriptor's own object and no further, be that a symlink. */
	cc_k_fdlink(from->fd, path);
	return cc_k_done(linkat(AT_FDCWD, path, to->parent, to->name, AT_SYMLINK_FOLLOW));
}

static int make_link(struct cc_call *call, int from_dir, uint64_t from_at, int to_dir, uint64_t to_at, int flags)
{
	char from_path[PATH_MAX], to_path[PATH_MAX];
	CC_AUTO_OBJ from = {.fd = -1};
	CC_AUTO_LOC to = {.parent = -1};
	int result = flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) ? -EINVAL : cc_target_path(call, from_at, from_path);
	int copied;

	/* Copied before anything is looked at; a fault in it is met at its turn. */
	copied = cc_target_path(call, to_at, to_path);
	if (result == 0)
		result = cc_find(
			call, from_dir, from_path,
			(flags & AT_SYMLINK_FOLLOW ? CC_FOLLOW : 0) | (flags & AT_EMPTY_PATH ? CC_EMPTY_OK : 0), &from);
	if (result == 0)
		result = copied;
	if (result == 0)
		result = place(call, to_dir, to_path, &to);
	return result ? result : link_object(call, &from, from_path, &to);
}

int cc_do_link(struct cc_call *call, const uint64_t *arg)
{
	return make_link(call, AT_FDCWD, arg[0], AT_FDCWD, arg[1], 0);
}

int cc_do_linkat(struct cc_call *call, const uint64_t *arg)
{
	return make_link(call, (int)arg[0], arg[1], (int)arg[2], arg[3], (int)arg[4]);
}

/* Both ends, and for an exchange both directions. */
static int permit_rename(struct cc_call *call, const struct cc_loc *from, const struct cc_loc *to,
			 const uint16_t *modes, unsigned flags, enum cc_judge *out_judge)
{
	enum cc_object object = cc_object_of(modes[0]), other = cc_object_of(modes[1]);
	enum cc_judge back = CC_JUDGE_NONE;
	int result = cc_permit_loc(call, CC_VERB_RENAME_FROM, from, object, nothing, NULL);

	if (result == 0)
		result = cc_permit_loc(call, CC_VERB_RENAME_TO, to, object, view(from), out_judge);
	if (result || !(flags & EXCHANGE))
		return result;
	result = cc_permit_loc(call, CC_VERB_RENAME_FROM, to, other, nothing, NULL);
	if (result == 0)
		result = cc_permit_loc(call, CC_VERB_RENAME_TO, from, other, view(to), &back);
	if (result == 0 && (back != CC_JUDGE_NONE || *out_judge != CC_JUDGE_NONE))
		result =
			cc_refuse(call, CC_VERB_RENAME_TO, view(to), "judged:exchange", "an exchange cannot be judged");
	return result;
}

static int rename_places(struct cc_call *call, const struct cc_loc *from, const struct cc_loc *to, unsigned flags)
{
	enum cc_judge judge = CC_JUDGE_NONE;
	uint16_t modes[2] = {0, 0};
	struct cc_statx st;
	int result = cc_natural_look(from, &st);

	if (result < 0 || from->at.mnt_id != to->at.mnt_id || from->special || to->special) {
		int first = cc_natural_rename(from, to, !(flags & NOREPLACE));

		result = first ? first : result;
	}
	if (result < 0)
		return from->mount || result != -ENOENT ? result : cc_natural(call->gate, CC_VERB_RENAME_FROM, from);
	modes[0] = st.mode;
	if (flags & EXCHANGE) {
		result = cc_natural_look(to, &st);
		if (result < 0)
			return to->mount ? result : cc_natural(call->gate, CC_VERB_RENAME_FROM, to);
		modes[1] = st.mode;
	}
	/* Directories move alone: nothing is being resolved through them meanwhile. */
	if ((S_ISDIR(modes[0]) || S_ISDIR(modes[1])) && !call->exclusive)
		return CC_CALL_EXCLUSIVE;
	result = permit_rename(call, from, to, modes, flags, &judge);
	if (result)
		return result;
	if (judge != CC_JUDGE_NONE && judge != CC_JUDGE_BARE && judge != CC_JUDGE_HISTORY) {
		if (!call->exclusive)
			return CC_CALL_EXCLUSIVE;
		if (flags & NOREPLACE && cc_k_statx(to->parent, to->name, &st) == 0)
			return -EEXIST;
		return cc_alive(call) ? cc_judge_install(call, judge, from, to) : -ENOENT;
	}
	if (judge != CC_JUDGE_NONE)
		result = cc_judge_name(call, judge, CC_VERB_RENAME_TO, to);
	if (result)
		return result;
	if (!cc_alive(call))
		return -ENOENT;
	result = cc_k_done(syscall(SYS_renameat2, from->parent, from->name, to->parent, to->name, flags));
	if (result == 0 && (S_ISDIR(modes[0]) || S_ISDIR(modes[1])))
		cc_dirs_stale(call->gate);
	return result;
}

static int rename_paths(struct cc_call *call, int from_dir, uint64_t from_at, int to_dir, uint64_t to_at,
			uint64_t flags)
{
	char from_path[PATH_MAX], to_path[PATH_MAX];
	CC_AUTO_LOC from = {.parent = -1};
	CC_AUTO_LOC to = {.parent = -1};
	/* No whiteouts: they are device nodes (attacks 14). */
	int result = flags & ~(uint64_t)(NOREPLACE | EXCHANGE) || flags == (NOREPLACE | EXCHANGE) ? -EINVAL : 0;
	int copied, first;

	if (result == 0)
		result = cc_target_path(call, from_at, from_path);
	copied = cc_target_path(call, to_at, to_path);
	if (result == 0)
		result = place(call, from_dir, from_path, &from);
	if (result == 0) {
		result = copied ? copied : place(call, to_dir, to_path, &to);
		if (cc_is_late(result, &to)) {
			first = cc_natural_rename(&from, &to, true);
			if (first == 0)
				first = cc_natural(call->gate, CC_VERB_RENAME_FROM, &from);
			return first ? first : result;
		}
		if (result && faccessat(from.parent, ".", F_OK, 0) < 0)
			return -errno; /* which the kernel meets first */
	} else if (cc_is_late(result, &from)) {
		first = copied ? copied : place(call, to_dir, to_path, &to);
		if (first == 0 || cc_is_late(first, &to))
			first = cc_natural_rename(&from, &to, !(flags & NOREPLACE));
		return first ? first : result;
	}
	return result ? result : rename_places(call, &from, &to, (unsigned)flags);
}

int cc_do_rename(struct cc_call *call, const uint64_t *arg)
{
	return rename_paths(call, AT_FDCWD, arg[0], AT_FDCWD, arg[1], 0);
}

int cc_do_renameat(struct cc_call *call, const uint64_t *arg)
{
	return rename_paths(call, (int)arg[0], arg[1], (int)arg[2], arg[3], 0);
}

int cc_do_renameat2(struct cc_call *call, const uint64_t *arg)
{
	return rename_paths(call, (int)arg[0], arg[1], (int)arg[2], arg[3], (uint32_t)arg[4]);
}

int cc_do_truncate(struct cc_call *call, const uint64_t *arg)
{
	char path[PATH_MAX], link[CC_K_FDLINK];
	CC_AUTO_OBJ obj = {.fd = -1};
	int result = (int64_t)arg[1] < 0 ? -EINVAL : cc_target_path(call, arg[0], path);

	call->spelled = path;
	if (result == 0)
		result = cc_find(call, AT_FDCWD, path, CC_FOLLOW, &obj);
	if (result == 0 && !S_ISREG(obj.st.mode))
		result = S_ISDIR(obj.st.mode) ? -EISDIR : -EINVAL;
	if (result == 0)
		result = cc_permit_obj(call, CC_VERB_WRITE, &obj);
	if (result == 0 && !cc_alive(call))
		result = -ENOENT;
	call->spelled = "";
	if (result)
		return result;
	cc_k_fdlink(obj.fd, link);
	return cc_k_done(truncate(link, (off_t)arg[1]));
}
