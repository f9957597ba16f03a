#define _GNU_SOURCE
#include "gate/call.h"

#include "gate/judge.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

void cc_loc_done(struct cc_loc *loc)
{
	if (!loc->kept)
		cc_fd_close(&loc->parent);
}

int cc_loc_take(struct cc_loc *loc)
{
	return loc->kept ? fcntl(loc->parent, F_DUPFD_CLOEXEC, 0) : cc_fd_take(&loc->parent);
}

void cc_obj_done(struct cc_obj *obj)
{
	cc_fd_close(&obj->fd);
}

enum cc_object cc_object_of(uint16_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return CC_OBJECT_FILE;
	case S_IFDIR:
		return CC_OBJECT_DIR;
	case S_IFLNK:
		return CC_OBJECT_SYMLINK;
	case S_IFIFO:
		return CC_OBJECT_FIFO;
	case S_IFSOCK:
		return CC_OBJECT_SOCKET;
	default:
		return CC_OBJECT_OTHER;
	}
}

bool cc_on_proc(const struct cc_gate *gate, const struct cc_statx *st)
{
	return st->dev_major == gate->proc_major && st->dev_minor == gate->proc_minor;
}

static bool lies_below(const struct cc_gate_mount *mount, const char *path, size_t len)
{
	return len >= mount->len && memcmp(path, mount->path, mount->len) == 0 &&
	       (len == mount->len || path[mount->len] == '/');
}

const struct cc_gate_mount *cc_gate_mount_of(const struct cc_gate *gate, const struct cc_statx *st, const char *path,
					     size_t len)
{
	static const struct cc_gate_mount anything = {.mode = CC_MOUNT_RW, .path = ""};

	/* Longest path first. A path alone proves nothing: a descriptor of a host directory has a path too (attacks 2).
	 */
	for (size_t i = 0; i < gate->mount_count; i++)
		if (gate->mounts[i].id == st->mnt_id && lies_below(&gate->mounts[i], path, len))
			return &gate->mounts[i];
	return gate->off & CC_OFF_MOUNTS ? &anything : NULL;
}

void cc_pins_init(struct cc_gate_pins *pins, size_t max)
{
	pthread_mutex_init(&pins->lock, NULL);
	pins->count = 0;
	pins->max = max < CC_COUNT(pins->items) ? max : CC_COUNT(pins->items);
}

void cc_pins_add(struct cc_gate_pins *pins, int fd, unsigned type)
{
	CC_AUTO_FD made = fd;
	struct cc_statx st, old;
	size_t kept = 0;

	if (made < 0 || cc_k_statx(made, "", &st) < 0 || (st.mode & S_IFMT) != type)
		return;
	pthread_mutex_lock(&pins->lock);
	for (size_t i = 0; i < pins->count; i++) {
		if (cc_k_statx(pins->items[i].fd, "", &old) < 0 || old.nlink == 0)
			cc_fd_close(&pins->items[i].fd); /* removed since */
		else
			pins->items[kept++] = pins->items[i];
	}
	if (kept < pins->max)
		pins->items[kept++] = (struct cc_gate_pin){st.ino, st.dev_major, st.dev_minor, cc_fd_take(&made)};
	pins->count = kept;
	pthread_mutex_unlock(&pins->lock);
}

bool cc_pins_have(struct cc_gate_pins *pins, const struct cc_statx *st)
{
	bool found = false;

	pthread_mutex_lock(&pins->lock);
	for (size_t i = 0; i < pins->count && !found; i++)
		found = pins->items[i].ino == st->ino && pins->items[i].dev_major == st->dev_major &&
			pins->items[i].dev_minor == st->dev_minor;
	pthread_mutex_unlock(&pins->lock);
	return found;
}

static struct cc_caller caller_of(const struct cc_call *call)
{
	return (struct cc_caller){call->tid, call->gate->listener, call->notif->id};
}

bool cc_alive(const struct cc_call *call)
{
	struct cc_caller caller = caller_of(call);

	return cc_caller_alive(&caller);
}

void cc_hold(struct cc_call *call)
{
	if (call->holds)
		return;
	if (call->exclusive)
		pthread_rwlock_wrlock(&call->gate->names);
	else
		pthread_rwlock_rdlock(&call->gate->names);
	call->holds = true;
	call->epoch = atomic_load(&call->gate->epoch);
}

void cc_let_go(struct cc_call *call)
{
	cc_fd_close(&call->locked);
	if (call->holds)
		pthread_rwlock_unlock(&call->gate->names);
	call->holds = false;
}

static void describe(const struct cc_call *call, enum cc_verb verb, struct cc_view path, struct cc_violation *out)
{
	*out = (struct cc_violation){
		.verb = verb,
		.target = path,
		.spelled = cc_view_of(call->spelled),
		.raw = call->name,
		.pid = call->tid,
	};
}

static void tell(struct cc_call *call, const struct cc_decision *decision, const struct cc_ask *ask, bool flagged)
{
	struct cc_violation what;
	struct cc_buf grant;

	describe(call, ask->verb, ask->path, &what);
	cc_buf_init(&grant, 8192);
	cc_decision_grant(decision, ask, &grant);
	what.rule = cc_decision_id(decision);
	what.grant = cc_buf_view(&grant);
	if (flagged)
		cc_report_flagged(call->gate->report, &what);
	else
		cc_report_violation(call->gate->report, &what);
	cc_buf_done(&grant);
}

int cc_refuse(struct cc_call *call, enum cc_verb verb, struct cc_view path, const char *rule, const char *why)
{
	struct cc_ask ask = {.verb = verb, .path = path};
	struct cc_decision decision = cc_decide(call->gate->rules, &ask);
	struct cc_violation what;
	struct cc_buf grant;

	describe(call, verb, path, &what);
	what.rule = rule;
	what.raw = why;
	cc_buf_init(&grant, 2 * PATH_MAX);
	/* What surroundings decide is opened by its path; judged content is not: that would be to open all of it. */
	if (decision.verdict == CC_JUDGE && decision.judge == CC_JUDGE_HISTORY) {
		decision.verdict = CC_DENY;
		cc_decision_grant(&decision, &ask, &grant);
	} else if (verb == CC_VERB_CONNECT && strcmp(rule, "socket:host") == 0) {
		cc_socket_grant(path, &grant);
	}
	what.grant = cc_buf_view(&grant);
	cc_report_violation(call->gate->report, &what);
	cc_buf_done(&grant);
	return -EACCES;
}

void cc_remark(struct cc_call *call, enum cc_verb verb, struct cc_view path, const char *rule, const char *why)
{
	struct cc_violation what;

	describe(call, verb, path, &what);
	what.rule = rule;
	what.raw = why;
	cc_report_flagged(call->gate->report, &what);
}

int cc_refuse_folded(struct cc_call *call, enum cc_verb verb, struct cc_view path)
{
	return cc_refuse(call, verb, path, "name:folded", "the directory takes other letters for these");
}

/* A read-only file system says so, as it would to anybody. */
static int refusal(const struct cc_decision *decision, struct cc_view path)
{
	char text[PATH_MAX + NAME_MAX + 4];
	struct statvfs fs;
	int result;

	if (decision->rule || path.len >= sizeof(text))
		return -EACCES;
	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	do { /* where it lies: the name itself may not be there, or be a link */
		char *slash = strrchr(text, '/');

		if (!slash)
			return -EACCES;
		slash[slash == text] = '\0';
		result = statvfs(text, &fs);
	} while (result < 0 && errno == ENOENT && text[1]);
	return result == 0 && fs.f_flag & ST_RDONLY ? -EROFS : -EACCES;
}

int cc_permit(struct cc_call *call, const struct cc_wish *wish, enum cc_judge *out_judge)
{
	struct cc_ask ask = {.verb = wish->verb, .path = wish->path, .object = wish->object, .from = wish->from};
	struct cc_decision decision = cc_decide(call->gate->rules, &ask);

	/* The positive rule comes first whatever the rules say: not in a writable mount of ours, no side effect. */
	if (call->gate->off & CC_OFF_MOUNTS && !decision.rule)
		return 0;
	if (!wish->mount && decision.verdict != CC_DENY) {
		decision = (struct cc_decision){.verdict = CC_DENY};
	} else if (decision.verdict == CC_JUDGE && out_judge) {
		*out_judge = decision.judge;
		return 0;
	} else if (decision.verdict == CC_ALLOW) {
		if (decision.flagged)
			tell(call, &decision, &ask, true);
		return 0;
	}
	tell(call, &decision, &ask, false);
	return refusal(&decision, wish->path);
}

/* What the kernel would have answered without any rule, in the order in which it looks. `mkdir -p` over what is there,
 * `rm -f` of what is not there and a rename to another mount are no violations, and a program that asks for several
 * wrong things at once hears of the same one as elsewhere (docs/decisions/errno.md).
 *
 * Verbs that need the name to be there, and those that need it not to be. */
static const struct {
	bool needs, excludes;
	int exists;
} naturals[CC_VERB_COUNT] = {
	[CC_VERB_WRITE] = {.needs = true},
	[CC_VERB_UNLINK] = {.needs = true},
	[CC_VERB_RMDIR] = {.needs = true},
	[CC_VERB_RENAME_FROM] = {.needs = true},
	[CC_VERB_MKDIR] = {.excludes = true, .exists = -EEXIST},
	[CC_VERB_MKNOD] = {.excludes = true, .exists = -EEXIST},
	[CC_VERB_SYMLINK] = {.excludes = true, .exists = -EEXIST},
	[CC_VERB_LINK_TO] = {.excludes = true, .exists = -EEXIST},
	[CC_VERB_BIND] = {.excludes = true, .exists = -EADDRINUSE},
};

static bool is_read_only(const struct cc_loc *loc)
{
	struct statvfs fs;

	return !loc->mount && fstatvfs(loc->parent, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

int cc_natural_look(const struct cc_loc *loc, struct cc_statx *out_st)
{
	char name[NAME_MAX + 2];
	size_t len = strlen(loc->name);

	if (!loc->slash || loc->special)
		return cc_k_statx(loc->parent, loc->name, out_st);
	memcpy(name, loc->name, len);
	name[len - 1] = '\0';
	return cc_k_statx(loc->parent, name, out_st);
}

int cc_natural(const struct cc_gate *gate, enum cc_verb verb, const struct cc_loc *loc)
{
	struct cc_statx st;
	int result;

	if (!naturals[verb].needs && !naturals[verb].excludes)
		return 0;
	result = cc_natural_look(loc, &st);
	if (result == 0)
		return naturals[verb].excludes ? naturals[verb].exists : 0;
	if (naturals[verb].needs)
		return verb != CC_VERB_WRITE && is_read_only(loc) ? -EROFS : result;
	if (result != -ENOENT)
		return result;
	/* procfs makes nothing up; "name/" is for directories */
	return cc_on_proc(gate, &loc->at) || (loc->slash && verb != CC_VERB_MKDIR) ? -ENOENT : 0;
}

int cc_natural_device(const struct cc_gate *gate, const struct cc_loc *loc)
{
	int result = cc_natural(gate, CC_VERB_MKNOD, loc);

	if (result)
		return result;
	if (is_read_only(loc))
		return -EROFS;
	return faccessat(loc->parent, ".", W_OK | X_OK, 0) < 0 ? -errno : -EPERM;
}

int cc_natural_rename(const struct cc_loc *from, const struct cc_loc *to, bool replaces)
{
	if (faccessat(from->parent, ".", F_OK, 0) < 0 || faccessat(to->parent, ".", F_OK, 0) < 0)
		return -errno; /* not even to be looked at */
	if (from->at.mnt_id != to->at.mnt_id)
		return -EXDEV;
	if (from->special)
		return -EBUSY;
	return !to->special ? 0 : replaces ? -EBUSY : -EEXIST;
}

int cc_natural_open(uint64_t flags, uint64_t mode, uint64_t resolve)
{
	/* The flags come first, and nothing has an empty name. */
	int result = cc_k_openat2(AT_FDCWD, "", flags, mode, resolve);

	return result == -ENOENT ? 0 : result < 0 ? result : -EINVAL;
}

/* An open that may create is a write to what is there already, and its event says so. */
static enum cc_verb refused_open(const struct cc_call *call, const struct cc_loc *loc, enum cc_object object)
{
	struct cc_ask ask = {.verb = CC_VERB_WRITE, .path = {loc->path, loc->len}, .object = object};
	struct cc_statx st;
	bool writes = cc_k_statx(loc->parent, loc->name, &st) == 0 &&
		      (!loc->mount || cc_decide(call->gate->rules, &ask).verdict == CC_DENY);

	return writes ? CC_VERB_WRITE : CC_VERB_CREATE;
}

int cc_permit_loc(struct cc_call *call, enum cc_verb verb, const struct cc_loc *loc, enum cc_object object,
		  struct cc_view from, enum cc_judge *out_judge)
{
	struct cc_wish wish = {
		.verb = verb,
		.path = {loc->path, loc->len},
		.mount = loc->mount,
		.object = object,
		.from = from,
	};
	struct cc_ask ask = {.verb = verb, .path = wish.path, .object = object, .from = from};
	struct cc_decision decision;
	int result;

	if (loc->spelled)
		call->spelled = loc->spelled;
	if (loc->special)
		return 0; /* "." and "..": the kernel refuses what would change them */
	if (cc_may_be_another_name(loc->mount, loc->parent, loc->path, loc->len))
		return cc_refuse_folded(call, verb, wish.path);
	decision = cc_decide(call->gate->rules, &ask);
	if (loc->mount && decision.verdict == CC_ALLOW && !decision.flagged)
		return 0;
	if (decision.verdict == CC_DENY || !loc->mount) {
		result = cc_natural(call->gate, verb, loc);
		if (result < 0)
			return result;
		if (cc_repo_may_go(call->gate, verb, loc, &decision))
			return 0;
		if (verb == CC_VERB_CREATE)
			wish.verb = refused_open(call, loc, object);
	}
	return cc_permit(call, &wish, out_judge);
}

int cc_permit_name(struct cc_call *call, enum cc_verb verb, const struct cc_loc *loc, enum cc_object object,
		   struct cc_view from)
{
	enum cc_judge judge = CC_JUDGE_NONE;
	int result = cc_permit_loc(call, verb, loc, object, from, &judge);

	return result ? result : cc_judge_name(call, judge, verb, loc);
}

int cc_permit_obj(struct cc_call *call, enum cc_verb verb, const struct cc_obj *obj)
{
	struct cc_wish wish = {
		.verb = verb,
		.path = {obj->path, obj->len},
		.mount = obj->mount,
		.object = cc_object_of(obj->st.mode),
	};
	enum cc_judge judge = CC_JUDGE_NONE;
	int result;

	if (obj->unnamed && obj->mount)
		return 0; /* it has no name that a rule could mean, and it is on a mount of ours */
	if (cc_may_be_another_name(obj->mount, -1, obj->path, obj->len))
		return cc_refuse_folded(call, verb, wish.path);
	result = cc_permit(call, &wish, verb == CC_VERB_WRITE ? &judge : NULL);
	return result == 0 && judge != CC_JUDGE_NONE ? cc_judge_obj(call, judge, verb, obj) : result;
}

void cc_wear_umask(struct cc_call *call)
{
	struct cc_caller caller = caller_of(call);
	mode_t mask = cc_task_umask(&call->worker->tasks, &call->gate->umasks, &caller);

	if (mask != call->worker->mask)
		umask(mask);
	call->worker->mask = mask;
}

int cc_do_umask(struct cc_call *call, const uint64_t *arg)
{
	(void)arg;
	cc_umask_changes(&call->gate->umasks, call->tid);
	return CC_CALL_CONTINUE; /* no path: nothing to race for */
}

void cc_dirs_stale(struct cc_gate *gate)
{
	atomic_fetch_add(&gate->epoch, 1);
}

int cc_give_fd(struct cc_gate *gate, uint64_t id, int fd, bool cloexec)
{
	struct seccomp_notif_addfd add = {
		.id = id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int given = ioctl(gate->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return given < 0 ? -errno : given;
}

int cc_send_fd(struct cc_gate *gate, uint64_t id, int fd, bool cloexec)
{
	struct seccomp_notif_resp answer = {.id = id};
	int given = cc_give_fd(gate, id, fd, cloexec);

	/* Closed before the answer goes out, not after: the caller may write, close and execute before this thread runs
	 * again, and a file that anybody has open for writing is not executed (ETXTBSY). */
	close(fd);
	if (given < 0)
		return given == -ENOENT ? CC_CALL_SENT : given; /* ENOENT: the caller is gone */
	answer.val = given;
	ioctl(gate->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return CC_CALL_SENT;
}

void cc_answer(struct cc_gate *gate, uint64_t id, int result)
{
	struct seccomp_notif_resp answer = {.id = id};

	if (result == CC_CALL_SENT)
		return;
	if (result == CC_CALL_CONTINUE)
		answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		answer.error = result;
	else if (result < CC_CALL_CONTINUE)
		answer.val = result;
	else
		answer.error = -EACCES; /* nothing else is an answer */
	ioctl(gate->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}
