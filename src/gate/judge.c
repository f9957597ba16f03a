#define _GNU_SOURCE
#include "gate/judge.h"

#include "base/mem.h"
#include "gate/resolve.h"
#include "os/fd.h"
#include "os/mount.h"
#include "policy/names.h"
#include "review/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CONTENT_MAX = CC_GITCONFIG_MAX };

void cc_repo_made(struct cc_gate *gate, const struct cc_loc *loc)
{
	if (strcmp(loc->name, ".git") != 0 && strcmp(loc->name, ".git/") != 0)
		return;
	cc_pins_add(&gate->repos, cc_k_openat2(loc->parent, ".git", O_PATH | O_NOFOLLOW | O_DIRECTORY, 0, 0), S_IFDIR);
}

static bool is_ours(struct cc_gate *gate, int dir)
{
	struct cc_statx st;

	return cc_k_statx(dir, "", &st) == 0 && cc_pins_have(&gate->repos, &st);
}

bool cc_repo_may_go(struct cc_gate *gate, enum cc_verb verb, const struct cc_loc *loc,
		    const struct cc_decision *decision)
{
	const struct cc_rule *rule = decision->rule;

	if ((verb != CC_VERB_UNLINK && verb != CC_VERB_RMDIR) || !loc->mount || !rule ||
	    decision->match != CC_MATCH_EXACT)
		return false;
	return (strcmp(rule->id, "git:skeleton") == 0 || strcmp(rule->id, "git:config") == 0) &&
	       is_ours(gate, loc->parent);
}

/* A guard against accidents, not against intent: whoever may run git may prune with it. So its name is enough, where
 * the session cannot have written the program. */
static bool is_git(const struct cc_call *call)
{
	char link[48];
	char path[PATH_MAX];
	const char *name;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)call->tid);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return false;
	path[len] = '\0';
	for (size_t i = 0; i < call->gate->mount_count; i++) {
		const struct cc_gate_mount *mount = &call->gate->mounts[i];

		if (strncmp(path, mount->path, mount->len) == 0 && path[mount->len] == '/')
			return false;
	}
	name = strrchr(path, '/');
	return name && strstr(name, "git");
}

/* The .git that loc lies below. */
static bool in_ours(const struct cc_call *call, const struct cc_loc *loc)
{
	char path[PATH_MAX];
	const char *at = strstr(loc->path, "/.git/");
	CC_AUTO_FD dir = -1;

	if (!at || (size_t)(at - loc->path) + sizeof("/.git") > sizeof(path))
		return false;
	snprintf(path, sizeof(path), "%.*s/.git", (int)(at - loc->path), loc->path);
	dir = cc_k_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_DIRECTORY, 0, CC_RESOLVE_NO_SYMLINKS);
	return dir >= 0 && is_ours(call->gate, dir);
}

bool cc_repo_may_prune(const struct cc_call *call, const struct cc_loc *loc)
{
	size_t len = strlen(loc->name);

	return strncmp(loc->name, "tmp_", 4) == 0 || strncmp(loc->name, ".tmp-", 5) == 0 ||
	       (len > 5 && strcmp(loc->name + len - 5, ".lock") == 0) || is_git(call) || in_ours(call, loc);
}

static const char *rule_of(enum cc_judge judge)
{
	return judge == CC_JUDGE_CONFIG ? "git:config" : judge == CC_JUDGE_TODO ? "git:operation" : "git:pointer";
}

static unsigned bare_parts(int dir, bool above)
{
	unsigned there = 0;

	for (const struct cc_bare_name *part = cc_bare_names; part->name; part++) {
		struct cc_statx st;
		char name[24];

		snprintf(name, sizeof(name), "%s%s", above ? "../" : "", part->name);
		if (cc_k_statx(dir, name, &st) == 0)
			there |= part->part;
	}
	return there;
}

/* Would the new name make its directory a repository whose configuration somebody else wrote (attacks 4)? And where a
 * repository is already, one that its host made: would the name be what git runs there? dir holds path's last name. */
/* Other sessions judge in the same tree: while one looks at a directory and acts, the others wait, or are refused. The
 * lock goes with the call. */
static bool keep_others_out(struct cc_call *call, int dir, bool above)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	int fd = call->gate->off & CC_OFF_LOCK
			 ? -1
			 : cc_k_openat2(dir, above ? ".." : ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, 0);

	for (int tries = 0; fd >= 0 && tries < 50; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			cc_fd_close(&call->locked);
			call->locked = fd;
			return true;
		}
		nanosleep(&pause, NULL);
	}
	cc_fd_close(&fd);
	return call->gate->off & CC_OFF_LOCK;
}

static int judge_bare(struct cc_call *call, enum cc_verb verb, int dir, struct cc_view path)
{
	const unsigned skeleton = CC_BARE_HEAD | CC_BARE_OBJECTS | CC_BARE_REFS;
	struct cc_view name = {path.ptr + path.len, 0};
	unsigned fresh, there;
	bool above;

	while (name.len < path.len && name.ptr[-1] != '/')
		name = (struct cc_view){name.ptr - 1, name.len + 1};
	fresh = cc_bare_part_of(name);
	if (!call->exclusive && verb != CC_VERB_WRITE && fresh & (skeleton | CC_BARE_COMMONDIR))
		return CC_CALL_EXCLUSIVE; /* two parts must not be judged at the same time */
	/* hooks/NAME: the repository is the directory above */
	above = !fresh && !cc_view_eq_nocase(name, cc_view_of("hooks")) &&
		!cc_view_eq_nocase(name, cc_view_of("config.worktree"));
	if (verb != CC_VERB_WRITE && !keep_others_out(call, dir, above))
		return cc_refuse(call, verb, path, "git:bare",
				 "another session is at work there, or it may not be listed");
	there = bare_parts(dir, above);
	if (there & fresh & skeleton)
		return 0; /* it is there already: nothing comes into being */
	if (cc_bare_completes(there | fresh))
		return cc_refuse(call, verb, path, "git:bare",
				 fresh & skeleton ? "it would complete a bare repository"
						  : "git would run it in this repository");
	return 0;
}

int cc_judge_obj(struct cc_call *call, enum cc_judge judge, enum cc_verb verb, const struct cc_obj *obj)
{
	char parent[PATH_MAX];
	struct cc_view path = {obj->path, obj->len};
	size_t len = obj->len;
	CC_AUTO_FD dir = -1;

	while (len > 1 && path.ptr[len - 1] != '/')
		len--;
	memcpy(parent, path.ptr, len);
	parent[len] = '\0';
	if (judge == CC_JUDGE_BARE)
		dir = cc_k_openat2(AT_FDCWD, parent, O_PATH | O_DIRECTORY, 0, CC_RESOLVE_NO_SYMLINKS);
	return dir < 0 ? cc_refuse(call, verb, path, "git:bare", "it cannot be judged by its descriptor")
		       : judge_bare(call, verb, dir, path);
}

int cc_judge_name(struct cc_call *call, enum cc_judge judge, enum cc_verb verb, const struct cc_loc *loc)
{
	switch (judge) {
	case CC_JUDGE_NONE:
		return 0;
	case CC_JUDGE_BARE:
		return judge_bare(call, verb, loc->parent, (struct cc_view){loc->path, loc->len});
	case CC_JUDGE_HISTORY:
		if (cc_repo_may_prune(call, loc))
			return 0;
		return cc_refuse(call, verb, (struct cc_view){loc->path, loc->len}, "git:history",
				 "only git itself takes objects and references of a repository away");
	case CC_JUDGE_CONFIG:
	case CC_JUDGE_POINTER:
	case CC_JUDGE_TODO:
		return cc_refuse(call, verb, (struct cc_view){loc->path, loc->len}, rule_of(judge),
				 "written only by renaming NAME.lock onto it");
	}
	return -EACCES;
}

/* What stands at the place now; empty where nothing does. */
static int read_before(const struct cc_loc *to, struct cc_buf *out)
{
	CC_AUTO_FD fd = cc_k_openat2(to->parent, to->name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
				     CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_XDEV);
	struct cc_statx st;
	int result;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	result = cc_k_statx(fd, "", &st);
	if (result == 0 && (!S_ISREG(st.mode) || cc_fd_read_all(fd, out, NULL) != CC_OK))
		result = -EACCES;
	return result;
}

static int judge_content(struct cc_call *call, enum cc_judge judge, const struct cc_loc *to, struct cc_view text)
{
	struct cc_view path = {to->path, to->len}, root = {to->mount->path, to->mount->len};
	struct cc_buf before;
	struct cc_err err = {0};
	enum cc_code code;
	int result;

	cc_buf_init(&before, CONTENT_MAX);
	result = judge == CC_JUDGE_CONFIG ? read_before(to, &before) : 0;
	if (judge == CC_JUDGE_CONFIG)
		code = cc_gitconfig_judge(path, text, cc_buf_view(&before), &err);
	else if (judge == CC_JUDGE_TODO)
		code = cc_gittodo_judge(text, &err);
	else
		code = cc_gitpointer_judge(path, text, root, &err);
	cc_buf_done(&before);
	if (result)
		return result;
	if (code == CC_OK)
		return 0;
	return cc_refuse(call, CC_VERB_RENAME_TO, path, rule_of(judge), err.what);
}

/* Writes what was judged to an inode nobody else has open, and puts it in place. */
static int install(struct cc_call *call, const struct cc_loc *to, mode_t mode, struct cc_view text)
{
	char name[48];
	CC_AUTO_FD fd = -1;
	int result = 0;

	snprintf(name, sizeof(name), ".ccbox-judged-%d-%u", (int)call->tid, call->worker->index);
	if (call->worker->mask)
		umask(0);
	fd = openat(to->parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0666);
	if (call->worker->mask)
		umask(call->worker->mask);
	if (fd < 0)
		return -errno;
	if (cc_fd_write_all(fd, text.ptr, text.len, NULL) != CC_OK)
		result = -ENOSPC;
	else if (renameat(to->parent, name, to->parent, to->name) < 0)
		result = -errno;
	if (result < 0)
		unlinkat(to->parent, name, 0);
	return result;
}

int cc_judge_install(struct cc_call *call, enum cc_judge judge, const struct cc_loc *from, const struct cc_loc *to)
{
	CC_AUTO_FD fd = cc_k_openat2(from->parent, from->name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
				     CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_XDEV);
	struct cc_view path = {to->path, to->len};
	struct cc_buf text;
	struct cc_statx st;
	int result;

	if (fd < 0)
		return fd;
	result = cc_k_statx(fd, "", &st);
	if (result < 0)
		return result;
	if (!S_ISREG(st.mode))
		return cc_refuse(call, CC_VERB_RENAME_TO, path, rule_of(judge), "not a regular file");
	cc_buf_init(&text, CONTENT_MAX);
	/* Read once: the agent may still hold the file open for writing, so what is installed is this copy. */
	if (cc_fd_read_all(fd, &text, NULL) != CC_OK)
		result = cc_refuse(call, CC_VERB_RENAME_TO, path, rule_of(judge), "too long to be judged");
	if (result == 0)
		result = judge_content(call, judge, to, cc_buf_view(&text));
	if (result == 0)
		result = install(call, to, st.mode, cc_buf_view(&text));
	if (result == 0)
		unlinkat(from->parent, from->name, 0);
	cc_buf_done(&text);
	return result;
}

int cc_judge_first(struct cc_call *call, const struct cc_loc *loc, uint64_t mode)
{
	struct cc_ask ask = {.verb = CC_VERB_CREATE, .path = {loc->path, loc->len}, .object = CC_OBJECT_FILE};
	struct cc_decision decision;
	struct cc_statx st;
	int fd;

	if (!loc->mount || loc->special || strcmp(loc->name, "config") != 0 ||
	    cc_k_statx(loc->parent, loc->name, &st) != -ENOENT)
		return -ENOENT;
	decision = cc_decide(call->gate->rules, &ask);
	if (decision.verdict != CC_DENY || decision.match != CC_MATCH_EXACT || !decision.rule ||
	    decision.rule->effect != CC_EFFECT_JUDGE || decision.rule->judge != CC_JUDGE_CONFIG || !cc_alive(call))
		return -ENOENT;
	cc_wear_umask(call);
	fd = cc_k_openat2(loc->parent, loc->name, O_RDONLY | O_CREAT | O_EXCL | O_NOCTTY, mode & 0666,
			  CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_XDEV);
	/* git and its libraries write it by config.lock afterwards; a program that copies a repository wonders. */
	if (fd >= 0 && !is_git(call))
		cc_remark(call, CC_VERB_CREATE, ask.path, "git:config",
			  "made empty and for reading: it is written by renaming config.lock onto it; use git clone");
	return fd;
}

/* Directories that fold case (ext4, f2fs and tmpfs with the casefold feature) find a file by names that nobody wrote:
 * U+017F is an s, U+212A a k, and characters without a shape are nothing. The kernel also keeps the spelling that was
 * used first, so the canonical path of a forbidden file may be one of those. Rules know ASCII letters in both cases;
 * what is not ASCII could be a name that they know (docs/decisions/folding.md). */
/* A directory that does not let itself be looked at is taken for one that folds, where its file system knows that. */
static bool directory_folds(const struct cc_gate_mount *mount, int at, const char *path)
{
	CC_AUTO_FD fd = cc_k_openat2(at, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0,
				     CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_MAGICLINKS);

	return fd < 0 ? mount->may_fold : cc_dir_folds(fd);
}

static bool is_ascii(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((signed char)at[i] < 0)
			return false;
	return true;
}

bool cc_may_be_another_name(const struct cc_gate_mount *mount, int dir, const char *path, size_t len)
{
	char parent[PATH_MAX + NAME_MAX + 4];
	size_t at, end;

	if (!mount || mount->mode == CC_MOUNT_PRIVATE || len <= mount->len || len >= sizeof(parent) ||
	    is_ascii(path + mount->len, len - mount->len))
		return false;
	/* each part that is not ASCII, in the directory that it lies in */
	for (at = mount->len; at < len; at = end) {
		while (at < len && path[at] == '/')
			at++;
		for (end = at; end < len && path[end] != '/';)
			end++;
		if (!cc_name_could_fold((struct cc_view){path + at, end - at}))
			continue;
		memcpy(parent, path, at);
		parent[at] = '\0';
		/* the last part's by its descriptor: the way there may be closed to us, and to the caller too */
		if (dir >= 0 && end == len ? directory_folds(mount, dir, ".")
					   : directory_folds(mount, AT_FDCWD, at ? parent : "/"))
			return true;
	}
	return false;
}

int cc_judge_read(struct cc_call *call, const struct cc_obj *obj)
{
	static const struct cc_gate_mount anywhere = {.mode = CC_MOUNT_RO, .path = "", .may_fold = true};
	struct cc_ask ask = {.verb = CC_VERB_READ, .path = {obj->path, obj->len}, .object = cc_object_of(obj->st.mode)};
	struct cc_decision decision = cc_decide(call->gate->rules, &ask);

	if (obj->path[0] == '/' && cc_may_be_another_name(obj->mount ? obj->mount : &anywhere, -1, obj->path, obj->len))
		return cc_refuse_folded(call, CC_VERB_READ, ask.path);
	/* Reads are not bound to our mounts: the rest of the view is there to be read. */
	if (decision.verdict == CC_ALLOW || !decision.rule)
		return 0;
	return cc_refuse(call, CC_VERB_READ, ask.path, cc_decision_id(&decision), call->name);
}
