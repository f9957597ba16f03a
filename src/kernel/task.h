/* task.h - a caller seen through procfs: where its relative paths start, and its umask. Each caller's directory of
 * procfs is kept open: that names the task and not the number, so a number used again is noticed. */
#ifndef CC_KERNEL_TASK_H
#define CC_KERNEL_TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CC_TASKS = 32, CC_UMASKS_PENDING = 16 };

/* The callers one thread saw last. Zeroed, it holds none. */
struct cc_tasks {
	struct cc_task {
		pid_t tid;              /* 0: none */
		int dir, status, pidfd; /* /proc/TID, its status, that very thread; -1: not opened */
		mode_t mask;
		unsigned mask_at; /* the count of changes that mask was read at, plus one; 0: not kept */
	} items[CC_TASKS];
	const struct cc_task *seen; /* alive, in the call that is being answered */
};

/* Who is in the middle of changing its umask; shared by all. */
struct cc_umasks {
	pthread_mutex_t lock;
	atomic_uint changes, unsettled;
	pid_t pending[CC_UMASKS_PENDING];
	unsigned count;
	bool overflowed;
};

/* The notification that tid waits in, and whose it is. */
struct cc_caller {
	pid_t tid;
	int listener;
	uint64_t id;
};
bool cc_caller_alive(const struct cc_caller *caller);

/* The text of a magic link below the caller's directory ("cwd", "fd/3"): its length or -errno. */
int cc_task_link(struct cc_tasks *tasks, pid_t tid, const char *name, char *out, size_t cap);
/* What it leads to, as an O_PATH descriptor. */
int cc_task_open(struct cc_tasks *tasks, pid_t tid, const char *name);
/* A duplicate of the caller's descriptor, close-on-exec. -EPERM, -ENOSYS: the host forbids it. */
int cc_task_fd(struct cc_tasks *tasks, pid_t tid, int fd);
/* "cwd" or "fd/N"; -EBADF for what can be neither. */
enum { CC_TASK_NAME = 24 };
int cc_task_name(int dirfd, char out[CC_TASK_NAME]);

/* The caller's umask. Formatting a status file is the dearest thing that can be asked of procfs (6 us), so the value is
 * kept until somebody calls umask, which is trapped for that reason alone. The kernel sets the value after the call was
 * let go: until that thread is seen past it, nothing is kept, and the answer is exact all the time. */
mode_t cc_task_umask(struct cc_tasks *tasks, struct cc_umasks *umasks, const struct cc_caller *caller);
void cc_umasks_init(struct cc_umasks *umasks);
/* tid is about to change it. */
void cc_umask_changes(struct cc_umasks *umasks, pid_t tid);
/* tid calls again: if it was changing it, it has done so. */
void cc_umask_settles(struct cc_umasks *umasks, pid_t tid);

#endif
