#define _GNU_SOURCE
#include "gate/judge.h"

#include "gate/resolve.h"
#include "os/fd.h"
#include "review/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTENT_MAX = 1 << 20 };

static int no_direct_write(struct cc_call *call, enum cc_verb verb, const struct cc_loc *loc, const char *rule)
{
	return cc_refuse(call, verb, (struct cc_view){loc->path, loc->len}, rule,
			 "written only by renaming NAME.lock onto it");
}

/* The parts git takes for a repository when they lie together outside .git. */
enum { HEAD = 1, OBJECTS = 2, REFS = 4, CONFIG = 8, COMMONDIR = 16 };
static const struct {
	const char *name;
	unsigned bit;
} parts[] = {
	{"HEAD", HEAD}, {"objects", OBJECTS}, {"refs", REFS}, {"config", CONFIG}, {"commondir", COMMONDIR},
};

/* Would the new name make its directory a repository whose configuration somebody else wrote? config or commondir
 * beside any part, or the last part beside one of those (attacks 4). */
static bool completes(unsigned there, unsigned fresh)
{
	unsigned all = there | fresh, skeleton = HEAD | OBJECTS | REFS, control = CONFIG | COMMONDIR;

	if (fresh & control)
		return there & skeleton;
	if (all & COMMONDIR)
		return fresh & HEAD;
	return all & CONFIG && (all & skeleton) == skeleton;
}

static int judge_bare(struct cc_call *call, enum cc_verb verb, const struct cc_loc *loc)
{
	unsigned there = 0, fresh = 0;
	size_t len = strlen(loc->name) - (loc->slash ? 1 : 0);

	if (!call->exclusive)
		return CC_CALL_EXCLUSIVE; /* two parts must not be judged at the same time */
	for (size_t i = 0; i < CC_COUNT(parts); i++) {
		struct cc_statx st;

		if (cc_k_statx(loc->parent, parts[i].name, &st) == 0)
			there |= parts[i].bit;
		if (cc_view_eq_nocase((struct cc_view){loc->name, len}, cc_view_of(parts[i].name)))
			fresh = parts[i].bit;
	}
	if (there & fresh)
		return 0; /* it is there already: nothing comes into being */
	if (completes(there, fresh))
		return cc_refuse(call, verb, (struct cc_view){loc->path, loc->len}, "git:bare",
				 "it would complete a bare repository");
	return 0;
}

int cc_judge_name(struct cc_call *call, enum cc_judge judge, enum cc_verb verb, const struct cc_loc *loc)
{
	switch (judge) {
	case CC_JUDGE_NONE:
		return 0;
	case CC_JUDGE_BARE:
		return judge_bare(call, verb, loc);
	case CC_JUDGE_CONFIG:
		return no_direct_write(call, verb, loc, "git:config");
	case CC_JUDGE_POINTER:
		return no_direct_write(call, verb, loc, "git:pointer");
	}
	return -EACCES;
}

/* A path that a pointer file names, from the directory the file lies in: a directory of the same mount. */
static bool points_inside(struct cc_call *call, const struct cc_loc *to, struct cc_view text)
{
	static const char prefix[] = "gitdir:";
	CC_AUTO_OBJ obj = {.fd = -1};
	char path[PATH_MAX];
	int fd;

	if (cc_view_starts(text, prefix)) {
		text.ptr += sizeof(prefix) - 1;
		text.len -= sizeof(prefix) - 1;
	}
	while (text.len && (*text.ptr == ' ' || *text.ptr == '\t')) {
		text.ptr++;
		text.len--;
	}
	while (text.len && strchr(" \t\r\n", text.ptr[text.len - 1]))
		text.len--;
	if (text.len == 0 || text.len >= sizeof(path) || memchr(text.ptr, '\0', text.len) ||
	    memchr(text.ptr, '\n', text.len))
		return false;
	memcpy(path, text.ptr, text.len);
	path[text.len] = '\0';
	fd = cc_k_openat2(to->parent, path, O_PATH, 0, CC_RESOLVE_NO_MAGICLINKS);
	return fd >= 0 && cc_describe(call->gate, fd, &obj) == 0 && obj.mount && obj.mount == to->mount;
}

static int judge_content(struct cc_call *call, enum cc_judge judge, const struct cc_loc *to, struct cc_view text)
{
	struct cc_err err = {0};
	struct cc_view path = {to->path, to->len};

	if (judge == CC_JUDGE_CONFIG) {
		if (cc_config_judge(text, &err) == CC_OK)
			return 0;
		return cc_refuse(call, CC_VERB_RENAME_TO, path, "git:config", err.what);
	}
	if (points_inside(call, to, text))
		return 0;
	return cc_refuse(call, CC_VERB_RENAME_TO, path, "git:pointer", "it does not point inside the bind");
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
	struct cc_buf text;
	struct cc_statx st;
	int result;

	if (fd < 0)
		return fd;
	result = cc_k_statx(fd, "", &st);
	if (result < 0)
		return result;
	if (!S_ISREG(st.mode))
		return cc_refuse(call, CC_VERB_RENAME_TO, (struct cc_view){to->path, to->len}, "git:config",
				 "not a regular file");
	cc_buf_init(&text, CONTENT_MAX);
	/* Read once: the agent may still hold the file open for writing, so what is installed is this copy. */
	if (cc_fd_read_all(fd, &text, NULL) != CC_OK)
		result = cc_refuse(call, CC_VERB_RENAME_TO, (struct cc_view){to->path, to->len}, "git:config",
				   "too long to be judged");
	if (result == 0)
		result = judge_content(call, judge, to, cc_buf_view(&text));
	if (result == 0)
		result = install(call, to, st.mode, cc_buf_view(&text));
	if (result == 0)
		unlinkat(from->parent, from->name, 0);
	cc_buf_done(&text);
	return result;
}

int cc_judge_read(struct cc_call *call, const struct cc_obj *obj)
{
	struct cc_ask ask = {.verb = CC_VERB_READ, .path = {obj->path, obj->len}, .object = cc_object_of(obj->st.mode)};
	struct cc_decision decision = cc_decide(call->gate->rules, &ask);

	/* Reads are not bound to our mounts: the rest of the view is there to be read. */
	if (decision.verdict == CC_ALLOW || !decision.rule)
		return 0;
	return cc_refuse(call, CC_VERB_READ, ask.path, cc_decision_id(&decision), call->name);
}
