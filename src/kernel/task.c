#define _GNU_SOURCE
#include "kernel/task.h"

#include "kernel/calls.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void forget(struct cc_task *task)
{
	cc_fd_close(&task->dir);
	cc_fd_close(&task->status);
	cc_fd_close(&task->pidfd);
	task->tid = 0;
}

static int look_up(struct cc_task *task, pid_t tid)
{
	char path[CC_TASK_NAME];

	if (task->tid)
		forget(task);
	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	task->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (task->dir < 0)
		return -errno;
	task->tid = tid;
	task->status = task->pidfd = -1;
	task->mask_at = 0;
	return 0;
}

/* tid's entry. fresh: what is kept was found to be somebody else's. */
static int entry_of(struct cc_tasks *tasks, pid_t tid, bool fresh, struct cc_task **out)
{
	struct cc_task *task = &tasks->items[(unsigned)tid % CC_TASKS];

	*out = task;
	return task->tid == tid && !fresh ? 0 : look_up(task, tid);
}

int cc_task_link(struct cc_tasks *tasks, pid_t tid, const char *name, char *out, size_t cap)
{
	for (int tries = 0;; tries++) {
		struct cc_task *task;
		int result = entry_of(tasks, tid, tries > 0, &task);
		ssize_t len = result < 0 ? -1 : readlinkat(task->dir, name, out, cap - 1);

		if (len >= 0 && (size_t)len < cap - 1) {
			out[len] = '\0';
			tasks->seen = task;
			return (int)len;
		}
		if (len >= 0)
			return -ENAMETOOLONG;
		if (result < 0 || tries)
			return result < 0 ? result : -errno;
	}
}

int cc_task_open(struct cc_tasks *tasks, pid_t tid, const char *name)
{
	for (int tries = 0;; tries++) {
		struct cc_task *task;
		int result = entry_of(tasks, tid, tries > 0, &task);
		int fd = result < 0 ? -1 : openat(task->dir, name, O_PATH | O_CLOEXEC);

		if (fd >= 0) {
			tasks->seen = task;
			return fd;
		}
		if (result < 0 || tries)
			return result < 0 ? result : -errno;
	}
}

/* Kept only where it is of that very thread: before Linux 6.9 other threads than the first have but their process's,
 * and that says nothing about the thread. */
static int own_pidfd(struct cc_task *task)
{
	if (task->pidfd < 0)
		task->pidfd = cc_k_pidfd_thread(task->tid);
	return task->pidfd;
}

int cc_task_fd(struct cc_tasks *tasks, pid_t tid, int fd)
{
	for (int tries = 0;; tries++) {
		CC_AUTO_FD shared = -1;
		struct cc_task *task;
		int result = entry_of(tasks, tid, tries > 0, &task);

		if (result == 0)
			result = own_pidfd(task);
		if (result < 0)
			result = shared = cc_k_pidfd(tid);
		if (result >= 0)
			result = cc_k_pidfd_getfd(result, fd);
		if (result != -ESRCH || tries)
			return result;
	}
}

int cc_task_name(int dirfd, char out[CC_TASK_NAME])
{
	char digits[12];
	size_t at = sizeof(digits);

	if (dirfd == AT_FDCWD) {
		memcpy(out, "cwd", 4);
		return 0;
	}
	if (dirfd < 0)
		return -EBADF;
	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + dirfd % 10);
	while (dirfd /= 10);
	memcpy(out, "fd/", 3);
	memcpy(out + 3, digits + at, sizeof(digits) - at);
	return 0;
}

static long number_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

/* may_keep: nobody can take this number over. A thread that executes a program takes its first thread's, and may have
 * had a umask of its own; where there is but one thread, or this is not the first, that cannot happen. */
static int read_umask(int fd, bool *may_keep)
{
	char text[4096], *at;
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	if (got <= 0)
		return -1;
	text[got] = '\0';
	*may_keep = number_of(text, "\nThreads:") == 1 || number_of(text, "\nTgid:") != number_of(text, "\nPid:");
	at = strstr(text, "\nUmask:");
	return at ? (int)strtol(at + 7, NULL, 8) : -1;
}

bool cc_caller_alive(const struct cc_caller *caller)
{
	uint64_t id = caller->id;

	return ioctl(caller->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Is it still the task that the entry was made for? A pidfd knows where nothing else in this call has told. */
static bool is_same(const struct cc_tasks *tasks, const struct cc_task *task)
{
	return tasks->seen == task ||
	       (task->pidfd >= 0 && syscall(SYS_pidfd_send_signal, task->pidfd, 0, NULL, 0) == 0);
}

/* Has a thread whose umask call was let go returned from it? It is gone, or it waits in another call. */
static bool is_past(pid_t tid)
{
	char text[64];

	if (!cc_k_proc_text(text, sizeof(text), "/proc/%d/syscall", (int)tid))
		return true;
	return text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) != SYS_umask;
}

/* Strikes out tid, or with 0 whoever is past it. The lock is held. */
static void strike_out(struct cc_umasks *umasks, pid_t tid)
{
	for (unsigned i = 0; i < umasks->count;)
		if (umasks->pending[i] == tid || (!tid && is_past(umasks->pending[i])))
			umasks->pending[i] = umasks->pending[--umasks->count];
		else
			i++;
	atomic_store(&umasks->unsettled, umasks->count + umasks->overflowed);
}

static void settle(struct cc_umasks *umasks, pid_t tid)
{
	pthread_mutex_lock(&umasks->lock);
	strike_out(umasks, tid);
	pthread_mutex_unlock(&umasks->lock);
}

void cc_umasks_init(struct cc_umasks *umasks)
{
	*umasks = (struct cc_umasks){0};
	pthread_mutex_init(&umasks->lock, NULL);
}

void cc_umask_changes(struct cc_umasks *umasks, pid_t tid)
{
	pthread_mutex_lock(&umasks->lock);
	atomic_fetch_add(&umasks->changes, 1);
	if (umasks->count == CC_UMASKS_PENDING)
		strike_out(umasks, 0);
	if (umasks->count < CC_UMASKS_PENDING)
		umasks->pending[umasks->count++] = tid;
	else
		umasks->overflowed = true; /* from now on every value is asked for */
	atomic_store(&umasks->unsettled, umasks->count + umasks->overflowed);
	pthread_mutex_unlock(&umasks->lock);
}

void cc_umask_settles(struct cc_umasks *umasks, pid_t tid)
{
	if (atomic_load(&umasks->unsettled))
		settle(umasks, tid);
}

static int read_status(struct cc_task *task, bool *may_keep)
{
	if (task->status < 0)
		task->status = openat(task->dir, "status", O_RDONLY | O_CLOEXEC);
	return task->status < 0 ? -1 : read_umask(task->status, may_keep);
}

mode_t cc_task_umask(struct cc_tasks *tasks, struct cc_umasks *umasks, const struct cc_caller *caller)
{
	unsigned changes;
	struct cc_task *task;
	bool may_keep = false;
	int mask;

	if (entry_of(tasks, caller->tid, false, &task) < 0)
		return 077; /* it is gone, and the call with it */
	if (atomic_load(&umasks->unsettled))
		settle(umasks, 0);
	changes = atomic_load(&umasks->changes);
	if (!atomic_load(&umasks->unsettled) && task->mask_at == changes + 1 && is_same(tasks, task))
		return task->mask;
	mask = read_status(task, &may_keep);
	if (mask < 0 && entry_of(tasks, caller->tid, true, &task) == 0)
		mask = read_status(task, &may_keep);
	own_pidfd(task);
	if (mask < 0 || !cc_caller_alive(caller))
		return 077; /* else it was this caller that all of these are of */
	/* The value was read after this count was taken: who changes it later counts on. */
	task->mask = (mode_t)mask;
	task->mask_at = !may_keep || atomic_load(&umasks->unsettled) ? 0 : changes + 1;
	return task->mask;
}
