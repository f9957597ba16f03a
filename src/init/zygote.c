#define _GNU_SOURCE
#include "init/zygote.h"

#include "kernel/calls.h"
#include "os/fd.h"
#include "os/peer.h"
#include "policy/decide.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_WAIT_MS = 30000 };

/* zygote -> PID 1 while starting */
struct word {
	enum { WORD_LISTENER = 1, WORD_UP, WORD_FAILED } kind;
	int error;
	enum cc_code code;
	char what[400];
};

/* zygote -> PID 1 for each request */
struct forked {
	pid_t pid;
	int error;
};

static void speak(int sock, const struct word *word, int fd)
{
	if (cc_peer_send(sock, (const char *)word, sizeof(*word), &fd, fd >= 0, NULL) != CC_OK)
		_exit(CC_ZYGOTE_LOST);
}

static _Noreturn void give_up(int sock, const struct cc_err *err)
{
	struct word word = {.kind = WORD_FAILED, .error = err->sys, .code = err->code};

	snprintf(word.what, sizeof(word.what), "%s", err->what);
	speak(sock, &word, -1);
	_exit(CC_ZYGOTE_LOST);
}

static enum cc_code give_up_power(const struct rlimit *files, struct cc_err *err)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

	if (setrlimit(RLIMIT_NOFILE, files) < 0 || syscall(SYS_capset, &head, none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "zygote");
	if (setsid() < 0)
		return cc_fail(err, CC_ESYS, errno, "setsid");
	return CC_OK;
}

/* What is counted is the processes and threads of this user in the sandbox's own user namespace: the session's, and
 * nobody else's. The kernel asks nothing of the host's root, whose id may be ours: so it is tried first whether this
 * process, with one allowed and more there, can fork. */
static enum cc_code limit_pids(int64_t pids, struct cc_err *err)
{
	struct rlimit one = {1, RLIM_INFINITY}, limit = {(rlim_t)pids, (rlim_t)pids};
	pid_t child;

	if (!pids)
		return CC_OK;
	if (getrlimit(RLIMIT_NPROC, &one) < 0 || limit.rlim_max > one.rlim_max)
		limit.rlim_cur = limit.rlim_max = one.rlim_max; /* what was there is stricter, and stays */
	one.rlim_cur = 1;
	if (setrlimit(RLIMIT_NPROC, &one) < 0)
		return cc_fail(err, CC_ESYS, errno, "the limit of processes");
	child = fork();
	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (child >= 0 || errno != EAGAIN)
		return cc_fail(
			err, CC_EUNENFORCED, 0,
			"a limit of processes cannot be held here: there is no control group for it, and the kernel "
			"holds the host's root to no resource limit of processes (run it as an ordinary user, or "
			"where a control group is delegated)");
	return setrlimit(RLIMIT_NPROC, &limit) < 0 ? cc_fail(err, CC_ESYS, errno, "the limit of processes") : CC_OK;
}

/* Runs probe in a child; its exit status. */
static int in_child(int (*probe)(const struct cc_rules *rules), const struct cc_rules *rules)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(probe(rules));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return ECHILD;
	return WEXITSTATUS(status);
}

static int make_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int make_dir(int dir, const char *name)
{
	return mkdirat(dir, name, 0700);
}

static int make_link(int dir, const char *name)
{
	return symlinkat("nowhere", dir, name);
}

static int make_fifo(int dir, const char *name)
{
	return mknodat(dir, name, S_IFIFO | 0600, 0);
}

/* Before the filter there is only the floor: nothing may be made in any writable mount (spec/names 7.10). The name is
 * one that no rule knows; if it does come into being it is removed and the session refused. */
static int probe_floor(const struct cc_rules *rules)
{
	static int (*const makers[])(int dir, const char *name) = {make_file, make_dir, make_link, make_fifo};

	for (size_t i = 0; i < rules->mount_count; i++) {
		CC_AUTO_FD dir = -1;
		char name[64];

		if (rules->mounts[i].mode == CC_MOUNT_RO)
			continue;
		dir = open(rules->mounts[i].path, O_PATH | O_CLOEXEC);
		if (dir < 0)
			return errno;
		snprintf(name, sizeof(name), ".ccbox-floor-%d", (int)getpid());
		for (size_t k = 0; k < CC_COUNT(makers); k++) {
			if (makers[k](dir, name) == 0) {
				unlinkat(dir, name, makers[k] == make_dir ? AT_REMOVEDIR : 0);
				return EEXIST;
			}
			if (errno != EACCES && errno != ENOTDIR && errno != EROFS)
				return errno;
		}
	}
	return 0;
}

/* With gate and filter up: a name that the rules deny is refused. */
static int probe_gate(const struct cc_rules *rules)
{
	for (size_t i = 0; i < rules->mount_count; i++) {
		char path[PATH_MAX];
		struct cc_ask ask = {.verb = CC_VERB_MKNOD, .object = CC_OBJECT_FIFO};
		int len = snprintf(path, sizeof(path), "%s/.ccbox-gate-%d", rules->mounts[i].path, (int)getpid());

		if (len < 0 || (size_t)len >= sizeof(path))
			continue;
		ask.path = (struct cc_view){path, (size_t)len};
		if (cc_decide(rules, &ask).verdict != CC_DENY)
			continue;
		/* A FIFO is denied in every bind; on a read-only mount the answer is the kernel's. */
		if (mknod(path, S_IFIFO | 0600, 0) == 0) {
			unlink(path);
			return EEXIST;
		}
		return errno == EACCES || errno == EROFS || errno == ENOTDIR || errno == ENOENT ? 0 : errno;
	}
	return 0;
}

static enum cc_code enter(struct cc_init *init, int sock, struct cc_err *err)
{
	static struct cc_bpf program;
	static struct cc_landlock floor;
	struct cc_bpf_options options = {.arch = cc_k_arch(),
					 .reads_judged = init->rules->reads_judged,
					 .reserved_first = 1,
					 .reserved_last = (uint32_t)getpid()};
	struct word word = {.kind = WORD_LISTENER};
	int abi = init->landlock_abi, listener = -1, result;
	enum cc_code code = give_up_power(&init->files, err);

	if (code == CC_OK)
		code = limit_pids(init->pids, err);
	if (code != CC_OK)
		return code;
	if (!(init->off & CC_OFF_FLOOR)) {
		if (abi < CC_LANDLOCK_MIN_ABI)
			return cc_fail(err, CC_EUNSUPPORTED, abi < 0 ? -abi : 0,
				       "floor: Landlock is not available (built in, but not in lsm=?)");
		cc_landlock_plan(abi, &floor);
		code = cc_k_floor(&floor, err);
		if (code != CC_OK)
			return code;
	}
	if (!(init->off & CC_OFF_FLOOR) || init->off & CC_OFF_UNSEEN_FLOOR) {
		result = in_child(probe_floor, init->rules);
		if (result)
			return cc_fail(err, CC_EUNENFORCED, result, "floor: it does not hold");
	}
	if (!(init->off & CC_OFF_FILTER)) {
		code = cc_bpf_emit(&options, &program, err);
		if (code == CC_OK)
			code = cc_k_filter(&program, &listener, err);
		if (code != CC_OK)
			return code;
	}
	speak(sock, &word, listener);
	cc_fd_close(&listener);
	return CC_OK;
}

static pid_t fork_for_init(void)
{
	/* The parent is PID 1, which reaps and knows the exit status. */
	return (pid_t)syscall(SYS_clone, (unsigned long)CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static _Noreturn void serve(int sock)
{
	static struct cc_peer_msg msg;

	for (;;) {
		struct forked answer = {.error = EPROTO};
		struct cc_exec_request request;

		if (cc_peer_recv(sock, &msg, NULL) != CC_OK || msg.len == 0)
			_exit(0);
		if (msg.len == sizeof(request))
			memcpy(&request, msg.text, sizeof(request));
		if (msg.len == sizeof(request) && request.inherited.count <= CC_INHERIT_MAX &&
		    msg.fd_count == CC_EXEC_FDS + request.inherited.count) {
			answer.pid = fork_for_init();
			if (answer.pid == 0) {
				close(sock);
				cc_exec_become(&request, msg.fds);
			}
			answer.error = answer.pid < 0 ? errno : 0;
		}
		cc_peer_msg_close(&msg);
		if (cc_peer_send(sock, (const char *)&answer, sizeof(answer), NULL, 0, NULL) != CC_OK)
			_exit(0);
	}
}

static _Noreturn void zygote(struct cc_init *init, int sock)
{
	static struct cc_peer_msg msg;
	struct word up = {.kind = WORD_UP};
	struct cc_err err = {0};
	int result, null;

	/* Keeps its socket only: what PID 1 has open, its standard streams too, is nothing for what is forked from
	 * here (attacks 2). */
	if (dup3(sock, 3, O_CLOEXEC) < 0 && sock != 3)
		_exit(CC_ZYGOTE_LOST);
	sock = 3;
	cc_k_close_range(4);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			_exit(CC_ZYGOTE_LOST);
	close(null);
	if (enter(init, sock, &err) != CC_OK)
		give_up(sock, &err);
	if (cc_peer_recv(sock, &msg, &err) != CC_OK || msg.len == 0)
		_exit(CC_ZYGOTE_LOST);
	result = init->off && !(init->off & CC_OFF_UNSEEN_GATE) ? 0 : in_child(probe_gate, init->rules);
	if (result) {
		cc_fail(&err, CC_EUNENFORCED, result, "gate: a denied name was not refused");
		give_up(sock, &err);
	}
	/* Once, not in each child: there it would be sixty calls of every command. */
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	cc_gate_forget_threads(init->gate);
	speak(sock, &up, -1);
	serve(sock);
}

static enum cc_code hear(struct cc_init *init, int kind, int *out_fd, struct cc_err *err)
{
	static struct cc_peer_msg msg;
	struct word word;
	enum cc_code code = cc_peer_recv_wait(init->zygote, START_WAIT_MS, &msg, err);

	if (code != CC_OK)
		return code;
	if (msg.len != sizeof(word))
		return cc_fail(err, CC_EPROTO, 0, "the zygote is gone");
	memcpy(&word, msg.text, sizeof(word));
	if (word.kind == WORD_FAILED) {
		word.what[sizeof(word.what) - 1] = '\0';
		*err = (struct cc_err){.code = word.code, .sys = word.error};
		snprintf(err->what, sizeof(err->what), "%s", word.what);
		return word.code;
	}
	if ((int)word.kind != kind)
		return cc_fail(err, CC_EPROTO, 0, "the zygote is confused");
	if (msg.fd_count && out_fd)
		*out_fd = cc_fd_take(&msg.fds[0]);
	cc_peer_msg_close(&msg);
	return CC_OK;
}

enum cc_code cc_zygote_start(struct cc_init *init, struct cc_err *err)
{
	int theirs;
	enum cc_code code = cc_peer_pair(&init->zygote, &theirs, err);

	if (code != CC_OK)
		return code;
	init->listener = -1;
	init->zygote_pid = fork();
	if (init->zygote_pid == 0)
		zygote(init, theirs);
	close(theirs);
	if (init->zygote_pid < 0)
		return cc_fail(err, CC_ESYS, errno, "fork");
	code = hear(init, WORD_LISTENER, &init->listener, err);
	if (code == CC_OK && init->listener < 0 && !(init->off & CC_OFF_FILTER))
		code = cc_fail(err, CC_EPROTO, 0, "the zygote gave no listener");
	return code;
}

enum cc_code cc_zygote_up(struct cc_init *init, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (init->listener >= 0)
		code = cc_gate_start(init->gate, init->listener, init->zygote_pid, err);
	if (code == CC_OK)
		code = cc_peer_send(init->zygote, "go", 2, NULL, 0, err);
	return code == CC_OK ? hear(init, WORD_UP, NULL, err) : code;
}

enum cc_code cc_zygote_exec(struct cc_init *init, const struct cc_exec_request *request, const int *fds, pid_t *out_pid,
			    struct cc_err *err)
{
	static struct cc_peer_msg msg;
	struct forked answer;
	enum cc_code code = cc_peer_send(init->zygote, (const char *)request, sizeof(*request), fds,
					 CC_EXEC_FDS + request->inherited.count, err);

	if (code == CC_OK)
		code = cc_peer_recv_wait(init->zygote, START_WAIT_MS, &msg, err);
	if (code != CC_OK)
		return code;
	cc_peer_msg_close(&msg);
	if (msg.len != sizeof(answer))
		return cc_fail(err, CC_EPROTO, 0, "the zygote is gone");
	memcpy(&answer, msg.text, sizeof(answer));
	if (answer.error)
		return cc_fail(err, CC_ESYS, answer.error, "fork");
	*out_pid = answer.pid;
	return CC_OK;
}
