#define _GNU_SOURCE
#include "os/confine.h"

#include "base/mem.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OVERFLOW_ID = 65534, CALLS_MAX = 200, X32_BIT = 0x40000000 };

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp architecture is known for this machine"
#endif

void cc_confine_fds(int keep)
{
	if (keep > 3)
		syscall(SYS_close_range, 3u, (unsigned)keep - 1, 0u);
	syscall(SYS_close_range, keep >= 3 ? (unsigned)keep + 1 : 3u, ~0u, 0u);
}

/* Root's own files are not what a proxy needs; where the overflow user is not mapped (a small user namespace) the
 * capabilities are dropped all the same. */
static void leave_root(void)
{
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) < 0 && errno != EPERM)
		return;
	if (setresgid(OVERFLOW_ID, OVERFLOW_ID, OVERFLOW_ID) == 0)
		(void)!setresuid(OVERFLOW_ID, OVERFLOW_ID, OVERFLOW_ID);
}

enum cc_code cc_confine_power(struct cc_err *err)
{
	leave_root();
	return cc_confine_self(err);
}

enum cc_code cc_confine_self(struct cc_err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0)
		return cc_fail(err, CC_ESYS, errno, "capset");
	return cc_confine_secrets(err);
}

enum cc_code cc_confine_secrets(struct cc_err *err)
{
	const struct rlimit no_core = {0, 0};

	if (setrlimit(RLIMIT_CORE, &no_core) < 0)
		return cc_fail(err, CC_ESYS, errno, "setrlimit");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "PR_SET_NO_NEW_PRIVS");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "PR_SET_DUMPABLE");
	return CC_OK;
}

/* Own copy of the kernel's structure: the headers of the build machine may be older than the kernel. */
struct ruleset_attr {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

enum {
	FS_ABI_1 = (1 << 13) - 1,
	FS_REFER = 1 << 13,
	FS_TRUNCATE = 1 << 14,
	FS_IOCTL_DEV = 1 << 15,
	NET_BIND_TCP = 1,
	NET_TCP = 3,
	SCOPE_ALL = 3,
};

static size_t attr_size(long abi)
{
	return abi >= 6 ? sizeof(struct ruleset_attr) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

static void add_path(int ruleset, const char *path, uint64_t more)
{
	CC_AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | more};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	rule.parent_fd = fd;
	/* A path that cannot be added stays closed: that is the safe side. */
	(void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

enum cc_code cc_confine_files(const char *const *readable, size_t count, struct cc_err *err)
{
	return cc_confine_files_and(readable, count, NULL, err);
}

enum cc_code cc_confine_files_and(const char *const *readable, size_t count, const char *own, struct cc_err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset_attr attr = {.fs = FS_ABI_1};
	CC_AUTO_FD ruleset = -1;

	if (abi < 1)
		return CC_OK;
	attr.fs |= abi >= 2 ? FS_REFER : 0;
	attr.fs |= abi >= 3 ? FS_TRUNCATE : 0;
	attr.net |= abi >= 4 ? NET_BIND_TCP : 0;
	attr.fs |= abi >= 5 ? FS_IOCTL_DEV : 0;
	attr.scoped |= abi >= 6 ? SCOPE_ALL : 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, attr_size(abi), 0);
	if (ruleset < 0)
		return cc_fail(err, CC_ESYS, errno, "landlock_create_ruleset");
	for (size_t i = 0; i < count; i++)
		add_path(ruleset, readable[i], 0);
	if (own)
		add_path(ruleset, own,
			 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE);
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "landlock_restrict_self");
	return CC_OK;
}

enum cc_code cc_confine_writes(const char *dir, struct cc_err *err)
{
	static const uint64_t reads =
		LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset_attr attr = {.fs = (FS_ABI_1 & ~reads) | FS_REFER | (abi >= 3 ? FS_TRUNCATE : 0)};
	struct landlock_path_beneath_attr below = {.allowed_access = attr.fs};
	struct landlock_path_beneath_attr null = {.allowed_access =
							  LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 3 ? FS_TRUNCATE : 0)};
	CC_AUTO_FD ruleset = -1;
	CC_AUTO_FD at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CC_AUTO_FD sink = open("/dev/null", O_PATH | O_CLOEXEC);

	if (abi < 2)
		return CC_OK; /* the first kind lets nothing be renamed from one directory into another */
	attr.net = abi >= 4 ? NET_TCP : 0;
	attr.scoped = abi >= 6 ? SCOPE_ALL : 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, attr_size(abi), 0);
	below.parent_fd = at;
	null.parent_fd = sink;
	if (at < 0 || sink < 0 || ruleset < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0) < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &null, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "Landlock");
	return CC_OK;
}

struct program {
	struct sock_filter code[CALLS_MAX * 8];
	unsigned short len;
};

static void emit(struct program *program, struct sock_filter step)
{
	program->code[program->len++] = step;
}

#define LOAD(field)  ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
#define RETURN(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (what)))
#define IF_EQUAL(value, yes, no)                                                                                       \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (yes), (no)))

static void emit_call(struct program *program, const struct cc_confine_call *call)
{
	uint32_t low = (uint32_t)(offsetof(struct seccomp_data, args) + (size_t)(call->arg < 0 ? 0 : call->arg) * 8);

	if (call->arg < 0) {
		emit(program, IF_EQUAL(call->nr, 0, 1));
		emit(program, RETURN(SECCOMP_RET_ALLOW));
		return;
	}
	emit(program, IF_EQUAL(call->nr, 0, (unsigned char)(2 + 2 * call->count)));
	emit(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low));
	for (size_t i = 0; i < call->count; i++) {
		emit(program, IF_EQUAL(call->values[i], 0, 1));
		emit(program, RETURN(SECCOMP_RET_ALLOW));
	}
	emit(program, RETURN(SECCOMP_RET_ERRNO | EPERM));
}

/* The number of the call is loaded; those of another architecture and of x32 are not what the list means. */
static void begin(struct program *program)
{
	program->len = 0;
	emit(program, LOAD(arch));
	emit(program, IF_EQUAL(NATIVE_ARCH, 1, 0));
	emit(program, RETURN(SECCOMP_RET_KILL_PROCESS));
	emit(program, LOAD(nr));
	emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
	emit(program, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
}

static enum cc_code install(struct program *program, struct cc_err *err)
{
	const struct sock_fprog filter = {.len = program->len, .filter = program->code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
		return cc_fail(err, CC_ESYS, errno, "seccomp");
	return CC_OK;
}

enum cc_code cc_confine_calls(const struct cc_confine_call *calls, size_t count, struct cc_err *err)
{
	static struct program program;

	if (count > CALLS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%zu system calls", count);
	begin(&program);
	for (size_t i = 0; i < count; i++)
		emit_call(&program, &calls[i]);
	emit(&program, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
	return install(&program, err);
}

/* What a lookup through NSS may read: its configuration, its modules, the run-time directories of resolvers. */
static const char *const readable[] = {
	"/etc",          "/lib",         "/lib64",    "/usr/lib",     "/usr/lib64",           "/usr/local/lib",
	"/nix/store",    "/run/nscd",    "/dev/null", "/dev/urandom", "/run/systemd/resolve", "/run/resolvconf",
	"/mnt/wsl",      "/var/lib/sss", "/run/sssd", "/run/connman", "/run/NetworkManager",  "/run/avahi-daemon",
	"/var/run/nscd",
};

#define CALL(name)                                                                                                     \
	{                                                                                                              \
		__NR_##name, -1, {0}, 0                                                                                \
	}
/* Sockets, files for reading, memory, time. No exec, no fork, no new thread. */
static const struct cc_confine_call lookup_calls[] = {
	CALL(read),
	CALL(write),
	CALL(readv),
	CALL(writev),
	CALL(recvfrom),
	CALL(sendto),
	CALL(recvmsg),
	CALL(sendmsg),
	CALL(recvmmsg),
	CALL(sendmmsg),
	CALL(close),
	CALL(shutdown),
	CALL(connect),
	CALL(bind),
	CALL(accept4),
	CALL(getsockname),
	CALL(getpeername),
	CALL(setsockopt),
	CALL(getsockopt),
	CALL(epoll_ctl),
	CALL(epoll_pwait),
	CALL(splice),
	CALL(pipe2),
	CALL(socketpair),
	CALL(fcntl),
	CALL(openat),
	CALL(newfstatat),
	CALL(fstat),
	CALL(statx),
	CALL(lseek),
	CALL(faccessat),
	CALL(readlinkat),
	CALL(mmap),
	CALL(mprotect),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(brk),
	CALL(futex),
	CALL(membarrier),
	CALL(sched_yield),
	CALL(clock_gettime),
	CALL(clock_nanosleep),
	CALL(nanosleep),
	CALL(gettimeofday),
	CALL(ppoll),
	CALL(getrandom),
	CALL(uname),
	CALL(getpid),
	CALL(gettid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(rt_sigprocmask),
	CALL(rt_sigaction),
	CALL(rt_sigreturn),
	CALL(restart_syscall),
	CALL(exit),
	CALL(exit_group),
	CALL(sysinfo),
#ifdef __NR_epoll_wait
	CALL(epoll_wait),
#endif
#ifdef __NR_poll
	CALL(poll),
#endif
#ifdef __NR_open
	CALL(open),
	CALL(access),
	CALL(stat),
	CALL(lstat),
	CALL(readlink),
	CALL(time),
#endif
#ifdef __NR_rseq
	CALL(rseq),
#endif
	{__NR_ioctl, 1, {FIONREAD}, 1},
};

/* Does a lookup ask a daemon by its socket? Then local sockets stay, and with them whatever else of the host can be
 * reached by one; the plain ways of files and DNS need none. */
static bool asks_daemons(void)
{
	static const char *const plain[] = {"files", "dns", "myhostname"};
	FILE *file = fopen("/etc/nsswitch.conf", "re");
	char line[1024];
	bool asks = false;

	while (file && fgets(line, sizeof(line), file)) {
		char *rest = NULL;

		if (strncmp(line, "hosts:", 6) != 0)
			continue;
		line[strcspn(line, "#")] = '\0';
		for (char *open = strchr(line, '['); open; open = strchr(open, '['))
			for (size_t end = strcspn(open, "]") + 1; end && *open; end--)
				*open++ = ' ';
		for (char *word = strtok_r(line + 6, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
			bool known = false;

			for (size_t i = 0; i < CC_COUNT(plain); i++)
				known |= strcmp(word, plain[i]) == 0;
			asks |= !known;
		}
	}
	if (file)
		fclose(file);
	return asks;
}

enum cc_code cc_confine_lookup_calls(const struct cc_confine_call *more, size_t count, struct cc_err *err)
{
	struct cc_confine_call all[CALLS_MAX];
	size_t len = CC_COUNT(lookup_calls);

	if (count > CALLS_MAX - len - 2)
		return cc_fail(err, CC_ELIMIT, 0, "%zu system calls more", count);
	memcpy(all, lookup_calls, sizeof(lookup_calls));
	/* abort() sends itself a signal, and nobody else. */
	all[len++] = (struct cc_confine_call){__NR_tgkill, 0, {(uint32_t)getpid()}, 1};
	all[len++] = (struct cc_confine_call){
		__NR_socket, 0, {AF_INET, AF_INET6, AF_NETLINK, AF_UNIX}, asks_daemons() ? 4 : 3};
	if (count)
		memcpy(all + len, more, count * sizeof(*more));
	return cc_confine_calls(all, len + count, err);
}

/* The list, and wherever /etc/resolv.conf really is: it is rewritten there by rename, so the directory is opened. */
enum cc_code cc_confine_lookup_files(const char *own, struct cc_err *err)
{
	const char *paths[CC_COUNT(readable) + 1];
	char real[PATH_MAX];
	size_t count = CC_COUNT(readable);

	memcpy(paths, readable, sizeof(readable));
	if (realpath("/etc/resolv.conf", real) && strrchr(real, '/') > real) {
		*strrchr(real, '/') = '\0';
		paths[count++] = real;
	}
	return cc_confine_files_and(paths, count, own, err);
}

enum cc_code cc_confine_network(struct cc_err *err)
{
	static struct program program;

	begin(&program);
	/* a ring makes sockets of its own */
	emit(&program, IF_EQUAL(SYS_io_uring_setup, 0, 1));
	emit(&program, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
	emit(&program, IF_EQUAL(SYS_socket, 0, 3));
	emit(&program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)));
	emit(&program, IF_EQUAL(AF_UNIX, 1, 0));
	emit(&program, RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT));
	emit(&program, RETURN(SECCOMP_RET_ALLOW));
	return install(&program, err);
}
