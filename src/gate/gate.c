#define _GNU_SOURCE
#include "gate/gate.h"

#include "gate/call.h"
#include "gate/sock.h"
#include "gate/turns.h"
#include "gate/wait.h"
#include "os/fd.h"
#include "os/mount.h"
#include "plan/filesystems.h"
#include "plan/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { STACK = 512 << 10, GUARD = 8 << 10 };

static const struct {
	const char *name;
	cc_handler *handler;
} handlers[] = {
#define CC_HANDLER_ROW(call_name) {#call_name, cc_do_##call_name},
	CC_HANDLERS(CC_HANDLER_ROW)
#undef CC_HANDLER_ROW
};

/* By number, filled once from the plan's table: a row that is notified and has no handler stops the start. */
static struct {
	const char *name;
	cc_handler *handler;
} by_nr[CC_SYSCALL_LAST + 1];

static enum cc_code bind_handlers(struct cc_err *err)
{
	enum cc_arch arch = cc_k_arch();

	if (arch >= CC_ARCH_COUNT)
		return cc_fail(err, CC_EUNSUPPORTED, 0, "the gate knows x86-64 and aarch64 only");
	for (size_t i = 0; i < cc_syscall_count; i++) {
		const struct cc_syscall *row = &cc_syscalls[i];

		if ((row->form != CC_SYS_NOTIFY && row->form != CC_SYS_OPEN && row->form != CC_SYS_SOCKETPAIR) ||
		    row->nr[arch] < 0)
			continue;
		for (size_t k = 0; k < CC_COUNT(handlers); k++)
			if (strcmp(handlers[k].name, row->name) == 0)
				by_nr[row->nr[arch]].handler = handlers[k].handler;
		by_nr[row->nr[arch]].name = row->name;
		if (!by_nr[row->nr[arch]].handler)
			return cc_fail(err, CC_ESTATE, 0, "the filter notifies %s and the gate has no answer",
				       row->name);
	}
	return CC_OK;
}

static enum cc_code look_up(const struct cc_mount *from, struct cc_gate_mount *to, struct cc_err *err)
{
	CC_AUTO_FD fd = open(from->path, O_PATH | O_CLOEXEC);
	char line[4096];
	struct cc_statx st;
	struct statfs fs;
	enum cc_fs is;

	if (fd < 0 || cc_k_statx(fd, "", &st) < 0 || fstatfs(fd, &fs) < 0)
		return cc_fail(err, CC_ESYS, errno, "writable mount %s", from->path);
	if (!cc_mount_line(fd, line, sizeof(line)))
		return cc_fail(err, CC_ESYS, errno, "the mount of %s is not in mountinfo", from->path);
	is = cc_fs_of((uint64_t)fs.f_type, line);
	if (cc_fs_refusal(is))
		return cc_fail(err, CC_EPOLICY, 0, "%s is on %s", from->path, cc_fs_refusal(is));
	*to = (struct cc_gate_mount){st.mnt_id, from->mode, from->path, strlen(from->path), is == CC_FS_FOLDING};
	return CC_OK;
}

static enum cc_code look_up_mounts(struct cc_gate *gate, struct cc_err *err)
{
	const struct cc_rules *rules = gate->rules;

	gate->mounts = calloc(rules->mount_count + 1, sizeof(*gate->mounts));
	if (!gate->mounts)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	for (size_t i = 0; i < rules->mount_count; i++) {
		enum cc_code code;

		if (rules->mounts[i].mode == CC_MOUNT_RO)
			continue;
		code = look_up(&rules->mounts[i], &gate->mounts[gate->mount_count], err);
		if (code != CC_OK)
			return code;
		gate->mount_count++;
	}
	return CC_OK;
}

enum { THREADS = CC_GATE_THREADS_MAX + 2 }; /* the workers, the waiter, the watcher */

void cc_gate_arrive(struct cc_gate *gate)
{
	pthread_mutex_lock(&gate->start_lock);
	if (++gate->arrived == THREADS)
		pthread_cond_signal(&gate->all_here);
	pthread_mutex_unlock(&gate->start_lock);
}

void cc_gate_park(struct cc_gate *gate)
{
	cc_gate_arrive(gate);
	pthread_mutex_lock(&gate->start_lock);
	while (gate->listener < 0)
		pthread_cond_wait(&gate->start, &gate->start_lock);
	pthread_mutex_unlock(&gate->start_lock);
}

static int run(struct cc_call *call)
{
	int nr = call->notif->data.nr;
	cc_handler *handler = nr >= 0 && nr <= CC_SYSCALL_LAST ? by_nr[nr].handler : NULL;
	const uint64_t *arg = (const uint64_t *)call->notif->data.args;
	int result;

	if (call->gate->off & CC_OFF_GATE)
		return CC_CALL_CONTINUE;
	if (!handler)
		return -ENOSYS;
	call->name = by_nr[nr].name;
	call->worker->tasks.seen = NULL;
	cc_umask_settles(&call->gate->umasks, call->tid);
	result = handler(call, arg);
	cc_let_go(call);
	if (result == CC_CALL_EXCLUSIVE) {
		/* Decided afresh from a fresh copy: nothing of the first try is used. */
		call->exclusive = true;
		call->spelled = "";
		result = handler(call, arg);
		cc_let_go(call);
	}
	return result;
}

static bool receive(struct cc_gate *gate, struct seccomp_notif *notif, size_t size)
{
	for (;;) {
		struct pollfd wait = {.fd = gate->listener, .events = POLLIN};

		memset(notif, 0, size);
		if (ioctl(gate->listener, SECCOMP_IOCTL_NOTIF_RECV, notif) == 0)
			return true;
		if (errno != EINTR && errno != ENOENT)
			return false;
		if (poll(&wait, 1, 0) == 1 && wait.revents & POLLHUP)
			return false; /* nobody has the filter any more */
	}
}

static void *work(void *context)
{
	struct cc_worker *worker = context;
	struct cc_gate *gate = worker->gate;
	union {
		struct seccomp_notif notif;
		char room[512]; /* a newer kernel's may be longer */
	} got;

	/* A working directory and a umask of its own, while PID 1 still may; the mask begins as everybody's. */
	if (unshare(CLONE_FS) < 0)
		_exit(CC_GATE_LOST);
	cc_gate_arrive(gate);
	cc_turn_await(worker);
	while (receive(gate, &got.notif, sizeof(got))) {
		struct cc_call call = {
			.gate = gate,
			.worker = worker,
			.notif = &got.notif,
			.tid = (pid_t)got.notif.pid,
			.locked = -1,
			.spelled = "",
		};

		cc_turn_begin(worker);
		cc_answer(gate, got.notif.id, run(&call));
		cc_turn_end(worker);
		cc_turn_await(worker);
	}
	return NULL;
}

/* One area for all of them, so that the zygote can give it back as one: see cc_gate_forget_threads. Each has a page or
 * two below it that nobody may touch. */
static enum cc_code make_stacks(struct cc_gate *gate, struct cc_err *err)
{
	char *area = mmap(NULL, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED)
		return cc_fail(err, CC_ESYS, errno, "gate stacks");
	gate->stacks = area;
	for (unsigned i = 0; i < THREADS; i++)
		if (mprotect(area + (size_t)i * STACK, GUARD, PROT_NONE) < 0)
			return cc_fail(err, CC_ESYS, errno, "gate stacks");
	return CC_OK;
}

static void take_stack(struct cc_gate *gate, pthread_attr_t *attr, unsigned index)
{
	pthread_attr_setstack(attr, gate->stacks + (size_t)index * STACK + GUARD, STACK - GUARD);
}

void cc_gate_forget_threads(struct cc_gate *gate)
{
	munmap(gate->stacks, (size_t)THREADS * STACK);
}

static enum cc_code make_threads(struct cc_gate *gate, unsigned receivers, struct cc_err *err)
{
	pthread_attr_t attr;
	enum cc_code code = make_stacks(gate, err);
	mode_t mask;

	gate->turns.least = receivers < CC_GATE_THREADS_MIN   ? CC_GATE_THREADS_MIN
			    : receivers > CC_GATE_THREADS_MAX ? CC_GATE_THREADS_MAX
							      : receivers;
	mask = umask(077);
	umask(mask);
	gate->workers = calloc(CC_GATE_THREADS_MAX, sizeof(*gate->workers));
	if (!gate->workers)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	pthread_attr_init(&attr);
	for (unsigned i = 0; i < CC_GATE_THREADS_MAX && code == CC_OK; i++) {
		struct cc_worker *worker = &gate->workers[i];
		int error;

		worker->gate = gate;
		worker->index = i;
		worker->mask = mask;
		pthread_cond_init(&worker->called, NULL);
		take_stack(gate, &attr, i);
		error = pthread_create(&worker->thread, &attr, work, worker);
		if (error)
			code = cc_fail(err, CC_ESYS, error, "gate thread");
		else
			gate->worker_count++;
	}
	take_stack(gate, &attr, CC_GATE_THREADS_MAX);
	if (code == CC_OK)
		code = cc_waiter_start(gate, &attr, err);
	take_stack(gate, &attr, CC_GATE_THREADS_MAX + 1);
	if (code == CC_OK)
		code = cc_turns_start(gate, &attr, err);
	pthread_attr_destroy(&attr);
	/* All of them have their ids before the first process is forked. */
	pthread_mutex_lock(&gate->start_lock);
	while (code == CC_OK && gate->arrived < THREADS)
		pthread_cond_wait(&gate->all_here, &gate->start_lock);
	pthread_mutex_unlock(&gate->start_lock);
	return code;
}

enum cc_code cc_gate_open(const struct cc_rules *rules, struct cc_report *report, unsigned receivers, unsigned off,
			  struct cc_gate **out_gate, struct cc_err *err)
{
	struct cc_gate *gate = calloc(1, sizeof(*gate));
	struct cc_statx st;
	enum cc_code code;
	int result;

	if (!gate)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	gate->rules = rules;
	gate->report = report;
	gate->off = off;
	gate->listener = -1;
	pthread_rwlock_init(&gate->names, NULL);
	pthread_mutex_init(&gate->start_lock, NULL);
	pthread_mutex_init(&gate->turns.lock, NULL);
	cc_umasks_init(&gate->umasks);
	pthread_cond_init(&gate->turns.work, NULL);
	cc_pins_init(&gate->sockets, CC_GATE_SOCKETS);
	cc_pins_init(&gate->repos, CC_GATE_REPOS);
	pthread_cond_init(&gate->start, NULL);
	pthread_cond_init(&gate->all_here, NULL);
	result = cc_k_statx(AT_FDCWD, "/proc", &st);
	if (result < 0)
		return cc_fail(err, CC_ESYS, -result, "/proc");
	gate->proc_major = st.dev_major;
	gate->proc_minor = st.dev_minor;
	code = bind_handlers(err);
	if (code == CC_OK)
		code = look_up_mounts(gate, err);
	if (code == CC_OK)
		cc_sock_grant(gate);
	if (code == CC_OK)
		code = make_threads(gate, receivers, err);
	if (code == CC_OK)
		*out_gate = gate; /* lives as long as PID 1 */
	return code;
}

enum cc_code cc_gate_start(struct cc_gate *gate, int listener, pid_t last_reserved, struct cc_err *err)
{
	if (listener < 0)
		return cc_fail(err, CC_EINVAL, 0, "no listener");
	cc_k_sync_wake_up(listener); /* Linux 6.6; slower without */
	pthread_mutex_lock(&gate->start_lock);
	gate->last_reserved = last_reserved;
	gate->listener = listener;
	pthread_cond_broadcast(&gate->start);
	pthread_mutex_unlock(&gate->start_lock);
	cc_turns_begin(gate); /* the spares sleep on */
	return CC_OK;
}
