#define _GNU_SOURCE
#include "os/proc.h"

#include "base/mem.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between fork and exec: no allocation, no locks; every failure is one errno down the pipe. */
static _Noreturn void child_fail(int report)
{
	int sys = errno;
	ssize_t done = write(report, &sys, sizeof(sys));

	(void)done;
	_exit(127);
}

static void child_stdio(const struct cc_spawn *how, int report)
{
	int source[3];

	/* First lift every source above 2, so that no dup2 overwrites one still needed. */
	for (int i = 0; i < 3; i++) {
		if (how->stdio[i] < 0)
			source[i] = open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
		else
			source[i] = fcntl(how->stdio[i], F_DUPFD_CLOEXEC, 3);
		if (source[i] >= 0 && source[i] < 3)
			source[i] = fcntl(source[i], F_DUPFD_CLOEXEC, 3);
		if (source[i] < 0)
			child_fail(report);
	}
	for (int i = 0; i < 3; i++)
		if (dup2(source[i], i) < 0)
			child_fail(report);
}

static _Noreturn void child_run(const struct cc_spawn *how, int report, pid_t parent)
{
	static char *const no_env[] = {NULL};
	sigset_t none;

	if (how->die_with_parent && (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent))
		child_fail(report);
	if (how->new_session && setsid() < 0)
		child_fail(report);
	child_stdio(how, report);
	if (how->controlling && ioctl(0, TIOCSCTTY, 0) < 0)
		child_fail(report);
	if (how->cwd && chdir(how->cwd) < 0)
		child_fail(report);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) < 0)
		child_fail(report);
	for (size_t i = 0; i < how->keep_count; i++)
		if (fcntl(how->keep[i], F_SETFD, 0) < 0)
			child_fail(report);
	execve(how->argv[0], how->argv, how->envp ? how->envp : no_env);
	child_fail(report);
}

enum cc_code cc_proc_spawn(const struct cc_spawn *how, struct cc_child *out_child, struct cc_err *err)
{
	int ends[2];
	pid_t parent = getpid();
	pid_t pid;
	int sys = 0;
	ssize_t got;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "pipe");
	/* vfork: no page table is copied, and we wait for its exec anyway. The child runs child_run only, which changes
	 * nothing of ours: it allocates nothing and its signal table is its own. */
	pid = vfork();
	if (pid == 0)
		child_run(how, ends[1], parent);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return cc_fail(err, CC_ESYS, errno, "cannot fork");
	}
	do {
		got = read(ends[0], &sys, sizeof(sys));
	} while (got < 0 && errno == EINTR);
	close(ends[0]);
	if (got == (ssize_t)sizeof(sys)) {
		waitpid(pid, NULL, 0);
		return cc_fail(err, sys == ENOENT ? CC_ENOTFOUND : CC_ESYS, sys, "cannot start %s", how->argv[0]);
	}
	out_child->pid = pid;
	out_child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return CC_OK;
}

bool cc_proc_wait(struct cc_child *child, int timeout_ms, int *out_status)
{
	struct pollfd wait = {.fd = child->pidfd, .events = POLLIN};
	int ready;

	if (child->pid <= 0)
		return false;
	do {
		ready = poll(&wait, 1, timeout_ms);
	} while (ready < 0 && errno == EINTR);
	if (ready <= 0 && child->pidfd >= 0)
		return false;
	while (waitpid(child->pid, out_status, 0) < 0 && errno == EINTR)
		;
	cc_fd_close(&child->pidfd);
	child->pid = -1;
	return true;
}

void cc_proc_end(struct cc_child *child)
{
	int status;

	if (child->pid <= 0)
		return;
	kill(child->pid, SIGKILL);
	cc_proc_wait(child, -1, &status);
}

void cc_proc_end_group(struct cc_child *child, int grace_ms)
{
	struct pollfd wait = {.fd = child->pidfd, .events = POLLIN};
	int status;

	if (child->pid <= 0)
		return;
	while (child->pidfd >= 0 && poll(&wait, 1, grace_ms) < 0 && errno == EINTR)
		;
	/* Before it is reaped: until then the number is nobody else's. */
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
	cc_proc_wait(child, -1, &status);
}

void cc_proc_limit_files(const char *text)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = (rlim_t)strtoul(text, NULL, 10);
	setrlimit(RLIMIT_NOFILE, &files);
}

void cc_proc_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void cc_proc_end_all(void)
{
	char path[64];
	char list[4096];
	CC_AUTO_FD fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, list, sizeof(list) - 1) : -1;
	list[got > 0 ? got : 0] = '\0';
	for (char *at = list; *at;) {
		char *end;
		pid_t pid = (pid_t)strtol(at, &end, 10);

		if (end == at || pid <= 0)
			break;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		at = end + strspn(end, " ");
	}
}

/* Reads until end of file or the deadline; false on the deadline. */
static bool capture_read(int fd, int timeout_ms, struct cc_buf *out)
{
	char chunk[8192];

	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int ready = poll(&wait, 1, timeout_ms);
		ssize_t got;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return false;
		got = read(fd, chunk, sizeof(chunk));
		if (got <= 0)
			return true;
		cc_buf_add(out, chunk, (size_t)got);
		if (out->failed)
			return true;
	}
}

enum cc_code cc_capture_start(char *const *argv, char *const *envp, const char *cwd, struct cc_capture *out_capture,
			      struct cc_err *err)
{
	return cc_capture_start_keeping(argv, envp, cwd, -1, out_capture, err);
}

enum cc_code cc_capture_start_keeping(char *const *argv, char *const *envp, const char *cwd, int keep,
				      struct cc_capture *out_capture, struct cc_err *err)
{
	struct cc_spawn how = {.argv = argv,
			       .envp = envp,
			       .cwd = cwd,
			       .stdio = {-1, -1, -1},
			       .keep = {keep},
			       .keep_count = keep >= 0,
			       .new_session = true,
			       .die_with_parent = true};
	int ends[2];
	enum cc_code code;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "pipe");
	how.stdio[1] = ends[1];
	code = cc_proc_spawn(&how, &out_capture->child, err);
	close(ends[1]);
	if (code != CC_OK) {
		close(ends[0]);
		return code;
	}
	out_capture->fd = ends[0];
	out_capture->running = true;
	return CC_OK;
}

void cc_capture_drop(struct cc_capture *capture)
{
	if (!capture->running)
		return;
	cc_fd_close(&capture->fd);
	cc_proc_end(&capture->child);
	capture->running = false;
}

enum cc_code cc_capture_finish(struct cc_capture *capture, int timeout_ms, struct cc_buf *out, int *out_status,
			       struct cc_err *err)
{
	if (!capture_read(capture->fd, timeout_ms, out) || out->failed) {
		cc_capture_drop(capture);
		return cc_fail(err, CC_ETIMEOUT, 0, "a helper program did not finish in %d ms", timeout_ms);
	}
	cc_fd_close(&capture->fd);
	cc_proc_wait(&capture->child, -1, out_status);
	capture->running = false;
	return CC_OK;
}

enum cc_code cc_proc_capture(char *const *argv, char *const *envp, const char *cwd, int timeout_ms, struct cc_buf *out,
			     int *out_status, struct cc_err *err)
{
	struct cc_capture capture = {0};
	enum cc_code code = cc_capture_start(argv, envp, cwd, &capture, err);

	return code == CC_OK ? cc_capture_finish(&capture, timeout_ms, out, out_status, err) : code;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

enum cc_code cc_proc_which(const char *name, const char *dirs, char *out, size_t cap, struct cc_err *err)
{
	if (strchr(name, '/')) {
		if (!is_program(name) || strlen(name) >= cap)
			return cc_fail(err, CC_ENOTFOUND, 0, "%s is not an executable file", name);
		memcpy(out, name, strlen(name) + 1);
		return CC_OK;
	}
	while (dirs && *dirs) {
		size_t len = strcspn(dirs, ":");

		/* relative entries would make the answer depend on the current directory */
		if (len && dirs[0] == '/' && (size_t)snprintf(out, cap, "%.*s/%s", (int)len, dirs, name) < cap &&
		    is_program(out))
			return CC_OK;
		dirs += len + (dirs[len] == ':');
	}
	return cc_fail(err, CC_ENOTFOUND, 0, "%s is not in PATH", name);
}

bool cc_proc_is(pid_t pid, const char *name)
{
	char path[64];
	char text[PATH_MAX];
	ssize_t len;
	const char *slash;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = '\0';
	slash = strrchr(text, '/');
	return slash && strcmp(slash + 1, name) == 0;
}

enum cc_code cc_proc_self_dir(char *out, size_t cap, struct cc_err *err)
{
	ssize_t len = readlink("/proc/self/exe", out, cap - 1);
	char *slash;

	if (len < 0)
		return cc_fail(err, CC_ESYS, errno, "/proc/self/exe");
	out[len] = '\0';
	slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	return CC_OK;
}

/* Only what nobody can have written to: a private page that was is lost by this. */
static int unmap_clean(struct dl_phdr_info *object, size_t size, void *context)
{
	uintptr_t page = *(const uintptr_t *)context;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + part->p_vaddr;
		uintptr_t to = from + part->p_memsz;

		if (part->p_type != PT_LOAD || (part->p_flags & PF_W))
			continue;
		from &= ~(page - 1);
		to = (to + page - 1) & ~(page - 1);
		(void)madvise((void *)from, to - from, MADV_DONTNEED); /* the kernel's own object says no, and stays */
	}
	return 0;
}

void cc_proc_settle(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

#ifdef __GLIBC__
	malloc_trim(0);
#endif
	dl_iterate_phdr(unmap_clean, &page);
}
