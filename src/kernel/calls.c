#define _GNU_SOURCE
#include "kernel/calls.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Numbers that old headers lack are the same on both architectures from 424 on. */
enum {
	NR_PIDFD_OPEN = 434,
	NR_CLOSE_RANGE = 436,
	NR_OPENAT2 = 437,
	NR_PIDFD_GETFD = 438,
	NR_LANDLOCK_CREATE = 444,
	NR_LANDLOCK_ADD = 445,
	NR_LANDLOCK_RESTRICT = 446,
	FILTER_NEW_LISTENER = 1 << 3,
	FILTER_TSYNC = 1 << 0,
	FILTER_WAIT_KILLABLE = 1 << 5,
	STATX_WANT = 0x17ff, /* basic, birth time, mount id */
	PIDFD_THREAD = O_EXCL,
};

int cc_k_openat2(int dir, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct cc_open_how how = {flags | O_CLOEXEC, mode, resolve};

	return cc_k_done(syscall(NR_OPENAT2, dir, path, &how, sizeof(how)));
}

int cc_k_statx(int fd, const char *name, struct cc_statx *out)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);

	_Static_assert(sizeof(*out) == 256, "the layout of struct statx");
	return cc_k_done(syscall(SYS_statx, fd, name, flags, STATX_WANT, out));
}

/* Printed here, because stdio's printing costs as much as a system call. */
static void digits_of(int fd, char *out)
{
	char digits[12];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + fd % 10);
	while (fd /= 10);
	memcpy(out, digits + at, sizeof(digits) - at);
}

void cc_k_fdlink(int fd, char out[CC_K_FDLINK])
{
	static const char prefix[] = "/proc/self/fd/";

	memcpy(out, prefix, sizeof(prefix));
	digits_of(fd < 0 ? 0x7fffffff : fd, out + sizeof(prefix) - 1);
}

/* /proc/self/fd of this process, opened once: half the way to each link. */
static int own_fds(void)
{
	static atomic_int kept = -1;
	int fd = atomic_load(&kept), none = -1;

	if (fd >= 0)
		return fd;
	fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !atomic_compare_exchange_strong(&kept, &none, fd)) {
		close(fd);
		fd = none;
	}
	return fd;
}

int cc_k_fdpath(int fd, char *out, size_t cap)
{
	char name[CC_K_FDLINK];
	ssize_t len;

	digits_of(fd < 0 ? 0x7fffffff : fd, name);
	len = readlinkat(own_fds(), name, out, cap - 1);
	if (len < 0)
		return -errno;
	if ((size_t)len >= cap - 1)
		return -ENAMETOOLONG;
	out[len] = '\0';
	return (int)len;
}

size_t cc_k_proc_text(char *out, size_t cap, const char *path, ...)
{
	char whole[64];
	CC_AUTO_FD fd = -1;
	ssize_t got;
	va_list args;

	va_start(args, path);
	vsnprintf(whole, sizeof(whole), path, args);
	va_end(args);
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, out, cap - 1);
	out[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

pid_t cc_k_leader(pid_t tid)
{
	char text[512], *at;

	cc_k_proc_text(text, sizeof(text), "/proc/%d/status", (int)tid);
	at = strstr(text, "\nTgid:");
	return at ? (pid_t)strtol(at + 6, NULL, 10) : -1;
}

int cc_k_pidfd_thread(pid_t tid)
{
	int fd = cc_k_done(syscall(NR_PIDFD_OPEN, tid, PIDFD_THREAD));

	return fd == -EINVAL ? cc_k_done(syscall(NR_PIDFD_OPEN, tid, 0)) : fd;
}

int cc_k_pidfd(pid_t tid)
{
	int fd = cc_k_pidfd_thread(tid);
	pid_t leader;

	if (fd >= 0)
		return fd;
	leader = cc_k_leader(tid);
	return leader > 0 ? cc_k_done(syscall(NR_PIDFD_OPEN, leader, 0)) : -ESRCH;
}

/* Some kernels lack process_vm_readv (no CROSS_MEMORY_ATTACH): /proc/TID/mem gives the same bytes. */
static ssize_t read_by_file(pid_t tid, void *to, uint64_t from, size_t len)
{
	char path[32];
	CC_AUTO_FD fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return pread(fd, to, len, (off_t)from);
}

ssize_t cc_k_read_memory(pid_t tid, void *to, uint64_t from, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(size_t)from, len};
	ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	if (got < 0 && (errno == ENOSYS || errno == EPERM))
		got = read_by_file(tid, to, from, len);
	return got;
}

int cc_k_pidfd_getfd(int pidfd, int fd)
{
	return cc_k_done(syscall(NR_PIDFD_GETFD, pidfd, fd, 0));
}

int cc_k_close_range(unsigned first)
{
	return cc_k_done(syscall(NR_CLOSE_RANGE, first, ~0u, 0));
}

int cc_k_landlock_abi(void)
{
	return cc_k_done(syscall(NR_LANDLOCK_CREATE, NULL, 0, 1u));
}

static enum cc_code grant(int ruleset, const struct cc_landlock_grant *what, struct cc_err *err)
{
	CC_AUTO_FD fd = open(what->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr attr = {.allowed_access = what->access, .parent_fd = fd};

	if (fd < 0)
		return errno == ENOENT ? CC_OK : cc_fail(err, CC_ESYS, errno, "floor: %s", what->path);
	if (syscall(NR_LANDLOCK_ADD, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "floor: cannot grant %s", what->path);
	return CC_OK;
}

enum cc_code cc_k_floor(const struct cc_landlock *floor, struct cc_err *err)
{
	struct {
		uint64_t fs, net, scoped;
	} attr = {floor->handled_fs, 0, floor->scoped};
	CC_AUTO_FD ruleset = cc_k_done(syscall(NR_LANDLOCK_CREATE, &attr, floor->attr_size, 0));

	if (ruleset < 0)
		return cc_fail(err, CC_EUNSUPPORTED, -ruleset, "Landlock refuses the floor");
	for (size_t i = 0; i < floor->grant_count; i++) {
		enum cc_code code = grant(ruleset, &floor->grants[i], err);

		if (code != CC_OK)
			return code;
	}
	if (syscall(NR_LANDLOCK_RESTRICT, ruleset, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "landlock_restrict_self");
	return CC_OK;
}

static int install(const struct cc_bpf *program, unsigned flags)
{
	struct sock_fprog prog = {.len = (unsigned short)program->count, .filter = (void *)(size_t)program->insn};

	_Static_assert(sizeof(struct cc_bpf_insn) == sizeof(struct sock_filter), "the layout of struct sock_filter");
	return cc_k_done(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog));
}

enum cc_code cc_k_filter(const struct cc_bpf *program, int *out_listener, struct cc_err *err)
{
	int fd = install(program, FILTER_NEW_LISTENER | FILTER_WAIT_KILLABLE);

	if (fd == -EINVAL)
		return cc_fail(err, CC_EUNSUPPORTED, EINVAL,
			       "the kernel lacks seccomp WAIT_KILLABLE_RECV (Linux 5.19)");
	if (fd < 0)
		return cc_fail(err, CC_ESYS, -fd, "seccomp listener");
	*out_listener = fd;
	return CC_OK;
}

enum cc_code cc_k_filter_all(const struct cc_bpf *program, struct cc_err *err)
{
	int result = install(program, FILTER_TSYNC);

	return result == 0 ? CC_OK : cc_fail(err, CC_ESYS, result < 0 ? -result : 0, "seccomp on PID 1");
}

bool cc_k_sync_wake_up(int listener)
{
	return ioctl(listener, SECCOMP_IOW(4, uint64_t), 1ul) == 0;
}

enum cc_arch cc_k_arch(void)
{
#if defined(__x86_64__)
	return CC_ARCH_X86_64;
#elif defined(__aarch64__)
	return CC_ARCH_AARCH64;
#else
	return CC_ARCH_COUNT; /* the emitter refuses it */
#endif
}
