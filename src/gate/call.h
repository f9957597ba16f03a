/* call.h - one trapped call: the objects a handler works with, and the only way to a side effect.
 *
 * Theory of operation. A handler copies what the target points at once (resolve.h), turns it into a pinned object (a
 * directory descriptor and one name, or a descriptor of the object), asks cc_permit, checks that the notification is
 * still alive (cc_alive), and then acts on exactly that pinned object. Nothing after the copy reads target memory for
 * the same decision; no error ever becomes "let the kernel go on". */
#ifndef CC_GATE_CALL_H
#define CC_GATE_CALL_H

#include "gate/gate.h"
#include "gate/report.h"
#include "kernel/calls.h"
#include "kernel/dirs.h"
#include "kernel/task.h"
#include "policy/decide.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* Results of a handler beside a value >= 0 or -errno. */
enum {
	CC_CALL_CONTINUE = 1 << 20, /* only where the floor would judge the raced call too (spec/names 7.3) */
	CC_CALL_SENT,               /* answered already, or left to the waiter */
	CC_CALL_EXCLUSIVE,          /* must be done again with the name space held exclusively */
};

struct cc_gate_mount {
	uint64_t id;
	enum cc_mount_mode mode;
	const char *path;
	size_t len;
	bool may_fold; /* its file system knows directories that fold case */
};

enum { CC_GATE_SOCKETS = 256, CC_GATE_REPOS = 128 };

struct cc_worker {
	struct cc_gate *gate;
	pthread_t thread;
	unsigned index;
	atomic_bool turn;            /* it receives; given and taken by the watcher */
	atomic_uint_fast64_t serial; /* of its calls; odd while at one */
	uint64_t seen;               /* the watcher's: serial when it looked last */
	pthread_cond_t called;       /* it has a turn */
	mode_t mask;                 /* this thread's own, to save a call */
	struct cc_tasks tasks;
	struct cc_dirs dirs;
};

/* What was made in this session and is known again by its inode: sockets that were bound, git directories. Each
 * descriptor pins its inode, so that the number cannot be used again while it is here. */
struct cc_gate_pins {
	pthread_mutex_t lock;
	struct cc_gate_pin {
		uint64_t ino;
		uint32_t dev_major, dev_minor;
		int fd;
	} items[CC_GATE_SOCKETS]; /* the larger of the two */
	size_t count, max;
};
void cc_pins_init(struct cc_gate_pins *pins, size_t max);
/* Takes fd. What is not of that type (S_IFDIR, S_IFSOCK), cannot be looked at or finds the table full is not kept;
 * what was removed since makes room. */
void cc_pins_add(struct cc_gate_pins *pins, int fd, unsigned type);
bool cc_pins_have(struct cc_gate_pins *pins, const struct cc_statx *st);

struct cc_waiter;

/* Who receives: turns.h */
struct cc_turns {
	pthread_t watcher;
	pthread_mutex_t lock;
	pthread_cond_t work;
	atomic_bool resting;      /* the watcher sleeps until there is work */
	unsigned least, most;     /* receivers */
	unsigned queued, without; /* looks in succession that found calls waiting, or none */
};

struct cc_gate {
	const struct cc_rules *rules;
	struct cc_report *report;
	struct cc_gate_mount *mounts;
	size_t mount_count;
	unsigned off;
	int listener;
	uint32_t proc_major, proc_minor; /* procfs' device */
	pid_t last_reserved;
	pthread_rwlock_t names; /* shared: resolve and act; exclusive: directories move, or surroundings are judged */
	pthread_mutex_t start_lock;
	pthread_cond_t start, all_here;
	char *stacks; /* of all threads */
	struct cc_worker *workers;
	unsigned worker_count;
	unsigned arrived; /* threads that run, with their tids known */
	struct cc_turns turns;
	struct cc_umasks umasks;
	atomic_uint epoch; /* of every kept directory */
	struct cc_waiter *waiter;
	struct cc_gate_pins sockets; /* that may be connected to; one too many is not */
	struct cc_gate_pins repos;   /* git directories that this session made; one too many stays */
};

struct cc_call {
	struct cc_gate *gate;
	struct cc_worker *worker;
	struct seccomp_notif *notif;
	const char *name; /* of the system call */
	pid_t tid;
	bool exclusive;      /* it is to hold the name space exclusively */
	bool holds;          /* it does hold the name space, one way or the other */
	int locked;          /* a directory that other sessions are kept out of; -1: none */
	unsigned epoch;      /* when the name space was taken hold of */
	const char *spelled; /* the path as the program wrote it, for events */
};

/* A name in a pinned directory. */
struct cc_loc {
	int parent;
	bool kept;          /* parent stays open: it is one of the worker's */
	struct cc_statx at; /* of the parent */
	const struct cc_gate_mount *mount;
	const char *spelled; /* as the program wrote it, for events; NULL: as the call has it */
	bool slash;          /* trailing slash */
	bool special;        /* "/", "." or "..": the kernel itself refuses to make, move or remove those */
	size_t len;
	char name[NAME_MAX + 2];            /* with the trailing slash if there was one */
	char path[PATH_MAX + NAME_MAX + 4]; /* canonical */
};

/* An object by descriptor: O_PATH, or the caller's own description of it. */
struct cc_obj {
	int fd;
	bool own; /* the caller's own */
	struct cc_statx st;
	const struct cc_gate_mount *mount;
	bool unnamed; /* deleted or never linked */
	size_t len;
	char path[PATH_MAX]; /* canonical, or the kernel's name of an object without a path ("pipe:[1]") */
};

void cc_loc_done(struct cc_loc *loc);
/* The parent as a descriptor of the caller's; -1 when there is none left. */
int cc_loc_take(struct cc_loc *loc);
void cc_obj_done(struct cc_obj *obj);
#define CC_AUTO_LOC __attribute__((cleanup(cc_loc_done))) struct cc_loc
#define CC_AUTO_OBJ __attribute__((cleanup(cc_obj_done))) struct cc_obj

enum cc_object cc_object_of(uint16_t mode);
bool cc_on_proc(const struct cc_gate *gate, const struct cc_statx *st);
const struct cc_gate_mount *cc_gate_mount_of(const struct cc_gate *gate, const struct cc_statx *st, const char *path,
					     size_t len);

/* The notification's caller still waits: tid means who it meant. Asked before every side effect. */
bool cc_alive(const struct cc_call *call);

/* The decision, with the positive object rule before it (attacks 2). 0 = go on, -errno = refused and reported.
 * *out_judge is set when the surroundings or the content decide. */
struct cc_wish {
	enum cc_verb verb;
	struct cc_view path;
	const struct cc_gate_mount *mount;
	enum cc_object object;
	struct cc_view from;
};
int cc_permit(struct cc_call *call, const struct cc_wish *wish, enum cc_judge *out_judge);
/* The same for a location: an answer the kernel would have given anyway (it exists, it does not exist) comes first. */
int cc_permit_loc(struct cc_call *call, enum cc_verb verb, const struct cc_loc *loc, enum cc_object object,
		  struct cc_view from, enum cc_judge *out_judge);
/* The same to its end: what the surroundings or the content decide is judged too. May be CC_CALL_EXCLUSIVE. */
int cc_permit_name(struct cc_call *call, enum cc_verb verb, const struct cc_loc *loc, enum cc_object object,
		   struct cc_view from);
int cc_permit_obj(struct cc_call *call, enum cc_verb verb, const struct cc_obj *obj);
/* The kernel's own answer where there is one without any rule; 0 where it would have gone on. */
int cc_natural(const struct cc_gate *gate, enum cc_verb verb, const struct cc_loc *loc);
/* The answer to making a device, which nobody here may. */
int cc_natural_device(const struct cc_gate *gate, const struct cc_loc *loc);
/* Two places between which nothing can be moved. */
int cc_natural_rename(const struct cc_loc *from, const struct cc_loc *to, bool replaces);
/* What stands at a place, whether it was written with a slash behind it or not. */
int cc_natural_look(const struct cc_loc *loc, struct cc_statx *out_st);
/* Do these bits of an open fit together? */
int cc_natural_open(uint64_t flags, uint64_t mode, uint64_t resolve);
/* A refusal that content or surroundings gave. */
int cc_refuse(struct cc_call *call, enum cc_verb verb, struct cc_view path, const char *rule, const char *why);

/* Allowed, and the person is told why it is not all that was asked for. */
void cc_remark(struct cc_call *call, enum cc_verb verb, struct cc_view path, const char *rule, const char *why);

int cc_refuse_folded(struct cc_call *call, enum cc_verb verb, struct cc_view path);

/* A canonical path on one of our mounts, a part of which a directory that folds case could take for another. dir: the
 * one that the last part lies in; -1: by its path. */
bool cc_may_be_another_name(const struct cc_gate_mount *mount, int dir, const char *path, size_t len);

/* The thread takes on the target's umask. */
void cc_wear_umask(struct cc_call *call);

/* The name space stays as it is from here on: shared, or exclusively where the call asks for it. Taken by the first
 * look at a path (cc_base), after everything was copied from the target: a page of its that does not come must not keep
 * the others from moving directories. */
void cc_hold(struct cc_call *call);
void cc_let_go(struct cc_call *call);

/* A directory was moved or removed, or who may go through it has changed: nothing kept is believed any more. */
void cc_dirs_stale(struct cc_gate *gate);

/* Puts fd into the target and answers with its number; closes fd. */
int cc_send_fd(struct cc_gate *gate, uint64_t id, int fd, bool cloexec);
/* One of several: fd stays ours, the call is not answered. Its number there, or -errno. */
int cc_give_fd(struct cc_gate *gate, uint64_t id, int fd, bool cloexec);
void cc_answer(struct cc_gate *gate, uint64_t id, int result);

typedef int cc_handler(struct cc_call *call, const uint64_t *arg);
/* clang-format off */
#define CC_HANDLERS(X) \
	X(open) X(openat) X(openat2) X(creat) X(mkdir) X(mkdirat) X(mknod) X(mknodat) X(rename) X(renameat) \
	X(renameat2) X(link) X(linkat) X(symlink) X(symlinkat) X(unlink) X(unlinkat) X(rmdir) X(truncate) \
	X(chmod) X(fchmod) X(fchmodat) X(fchmodat2) X(chown) X(lchown) X(fchown) X(fchownat) X(utime) X(utimes) \
	X(futimesat) X(utimensat) X(setxattr) X(lsetxattr) X(fsetxattr) X(removexattr) X(lremovexattr) \
	X(fremovexattr) X(setxattrat) X(removexattrat) X(bind) X(connect) X(socketpair) X(pidfd_send_signal) X(umask)
/* clang-format on */
#define CC_HANDLER_DECLARE(call_name) cc_handler cc_do_##call_name;
CC_HANDLERS(CC_HANDLER_DECLARE)
#undef CC_HANDLER_DECLARE

/* The waiter: one thread that finishes what would block, bounded (spec/names 7.7). */
typedef int cc_job_step(struct cc_gate *gate, void *state); /* CC_JOB_AGAIN, or a result to answer; SENT: answered */
enum { CC_JOB_AGAIN = 1 << 24, CC_JOBS_MAX = 128 };
/* Takes state (freed with drop) in every case; -EAGAIN when there are too many. */
int cc_wait_for(struct cc_call *call, cc_job_step *step, void (*drop)(void *state), void *state);

#endif
