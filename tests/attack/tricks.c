/* tricks.c - what somebody tried who had only the README: every scope of openat2 over every spelling, paths deeper than
 * PATH_MAX, buffers and structures changed while a call waits, filters and dispatchers of one's own, descriptors passed
 * about, and the calls that are not thought of first. TREE is the working directory. */
#define _GNU_SOURCE
#include "a.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int rounds = 2000; /* fewer by an argument, for a slow machine */

static const char *const spellings[] = {
	".env.n",
	"./.env.n",
	"sub/../.env.n",
	"/proc/self/cwd/.env.n",
	"/proc/self/root/proc/self/cwd/.env.n",
	"/proc/thread-self/cwd/.env.n",
	".env.n/",
	"x.key//",
	"./x.key/.",
	"sub/./../x.KEY",
	"\xff.pem",
	"/dev/fd/9/.env.n",
	"/proc/self/fd/9/x.key",
	"sub/../sub/./../.EnV.local",
};

/* How many forbidden names are there now. */
static int known; /* what was there at the start */

static int forbidden(void)
{
	DIR *dir = opendir(".");
	const struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		const char *tail = entry->d_name + (len > 4 ? len - 4 : 0);

		if (strcasecmp(tail, ".key") == 0 || strcasecmp(tail, ".pem") == 0 ||
		    strncasecmp(entry->d_name, ".env.n", 4) == 0)
			count++;
	}
	if (dir)
		closedir(dir);
	return dir ? count : -1;
}

static bool clean(void)
{
	return forbidden() == known;
}

static void scopes(void)
{
	int given = 0, dirs[] = {AT_FDCWD, open(".", O_RDONLY | O_DIRECTORY), open("sub", O_PATH)};

	dup2(dirs[1], 9);
	for (unsigned long long scope = 0; scope < 64; scope++)
		for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
			for (int dir = 0; dir < 3; dir++) {
				long fd = openat2_(dirs[dir], spellings[i], O_CREAT | O_RDWR, 0600, scope);

				if (fd >= 0)
					given++;
				if (scope == 0) {
					mkdirat(dirs[dir], spellings[i], 0700);
					mknodat(dirs[dir], spellings[i], S_IFREG | 0600, 0);
					symlinkat("a", dirs[dir], spellings[i]);
					linkat(dirs[1], "plain.txt", dirs[dir], spellings[i], 0);
					renameat(dirs[1], "sub", dirs[dir], spellings[i]);
				}
			}
	say(given == 0, "84", "every scope of openat2, every spelling", 0);
	say(clean(), "84", "nor by the other calls that make", 0);
}

/* Deeper than a path can be: each step by chdir. */
static void deep(void)
{
	int top = open(".", O_RDONLY | O_DIRECTORY), made = 0, depth = 0;
	char name[201];

	memset(name, 'd', 200);
	name[200] = '\0';
	for (; depth < 25; depth++) {
		int fd;

		if (mkdir(name, 0755) < 0 || chdir(name) < 0)
			break;
		fd = open("ok", O_CREAT | O_WRONLY, 0600);
		close(fd);
		made += open(".env.n", O_CREAT | O_WRONLY, 0600) >= 0;
		made += rename("ok", "a.key") == 0;
		made += link("ok", "a.pem") == 0;
	}
	say(made == 0 && depth > 15, "FS-deep", "below PATH_MAX by chdir", 0);
	fchdir(top);
}

static char *buffer;
static volatile bool stop;

static void *flip(void *context)
{
	(void)context;
	while (!stop) {
		memcpy(buffer, "aaaaaa", 6);
		__asm__ volatile("" ::: "memory");
		memcpy(buffer, "xx.key", 6);
		__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

static void path_race(void)
{
	pthread_t thread[2];

	buffer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memcpy(buffer, "aaaaaa", 7);
	stop = false;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, flip, NULL);
	for (int i = 0; i < rounds; i++) {
		close(open(buffer, O_CREAT | O_WRONLY, 0600));
		rename("aaaaaa", buffer);
		link("plain.txt", buffer);
		symlink("q", buffer);
		mkdir(buffer, 0700);
		mknod(buffer, S_IFREG | 0600, 0);
		unlink("aaaaaa");
		rmdir("aaaaaa");
	}
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	say(clean(), "84", "the path changed under seven calls", 0);
}

static void *flip_how(void *context)
{
	volatile struct a_how *how = context;

	while (!stop) {
		how->flags = O_RDONLY;
		how->flags = O_WRONLY | O_CREAT;
	}
	return NULL;
}

/* A read-only open is let go on in the kernel, which reads the structure again: the floor must say no. */
static void how_race(void)
{
	struct a_how *how = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	int given = 0;

	stop = false;
	pthread_create(&thread, NULL, flip_how, how);
	for (int i = 0; i < 4 * rounds; i++) {
		how->mode = i % 2 ? 0600 : 0;
		given += syscall(437, AT_FDCWD, ".env.n", how, sizeof(*how)) >= 0;
	}
	stop = true;
	pthread_join(thread, NULL);
	say(given == 0 && clean(), "names-7.3", "the structure changed while openat2 waits", 0);
}

static int in_child(int (*what)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(what());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static int with_filter(unsigned action)
{
	struct sock_filter one[] = {BPF_STMT(BPF_RET | BPF_K, action)};
	struct sock_fprog program = {1, one};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 0;
	return open("t.key", O_CREAT | O_WRONLY, 0600) >= 0;
}

static int filter_trace(void)
{
	return with_filter(SECCOMP_RET_TRACE);
}

static int filter_log(void)
{
	return with_filter(SECCOMP_RET_LOG);
}

static int filter_listener(void)
{
	struct sock_filter one[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)};
	struct sock_fprog program = {1, one};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >= 0;
}

/* Syscall user dispatch, with the selector on "let it pass". */
static int dispatch(void)
{
	static char selector;

	prctl(59, 1, 0, 0, &selector);
	return open("u.key", O_CREAT | O_WRONLY, 0600) >= 0;
}

static int with_limits(void)
{
	struct rlimit_ {
		unsigned long soft, hard;
	} none = {3, 3};
	int made = 0;

	syscall(SYS_prlimit64, 0, 7 /* NOFILE */, &none, NULL);
	for (int i = 0; i < 20; i++)
		made += open("v.key", O_CREAT | O_WRONLY, 0600) >= 0 || access("v.key", F_OK) == 0;
	return made;
}

static void on_alarm(int number)
{
	(void)number;
}

static int under_signals(void)
{
	struct itimerval often = {{0, 300}, {0, 300}};
	struct sigaction action = {.sa_handler = on_alarm};
	int made = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < rounds; i++) {
		made += open("w.key", O_CREAT | O_WRONLY, 0600) >= 0;
		made += rename("plain.txt", "w.key") == 0;
	}
	return made;
}

/* A sibling writes into the waiting one's memory. */
static int written_from_outside(void)
{
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), child;
	int made = 0;

	memcpy(shared, "zz.txt", 7);
	prctl(PR_SET_PTRACER, -1, 0, 0, 0);
	child = fork();
	if (child == 0)
		for (;;) {
			struct iovec bad = {(char *)(size_t) "zz.key", 7}, good = {(char *)(size_t) "zz.txt", 7},
				     there = {shared, 7};

			process_vm_writev(parent, &bad, 1, &there, 1, 0);
			process_vm_writev(parent, &good, 1, &there, 1, 0);
		}
	for (int i = 0; i < rounds; i++) {
		close(open(shared, O_CREAT | O_WRONLY, 0600));
		made += access("zz.key", F_OK) == 0;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return made;
}

static void own_ways(void)
{
	say(!in_child(filter_trace), "82", "a filter of one's own that traces", 0);
	say(!in_child(filter_log), "82", "one that allows with a log", 0);
	say(!in_child(filter_listener), "82", "a listener of one's own", 0);
	say(!in_child(dispatch), "82", "syscall user dispatch", 0);
	say(!in_child(with_limits), "names-6", "no room for the descriptor", 0);
	say(!in_child(under_signals) && clean(), "95", "a signal every 0.3 ms", 0);
	say(!in_child(written_from_outside) && clean(), "84", "process_vm_writev into the waiting process", 0);
}

static void flags_of_rename(void)
{
	struct stat st;
	int made = 0;

	make("from.txt");
	for (unsigned flags = 0; flags < 16; flags++)
		made += syscall(SYS_renameat2, AT_FDCWD, "from.txt", AT_FDCWD, "to.key", flags) == 0;
	say(made == 0, "18", "every flag of renameat2", 0);
	fails("14-attacks", "a whiteout", syscall(SYS_renameat2, AT_FDCWD, "from.txt", AT_FDCWD, "to.txt", 4), EINVAL);
	say(lstat("from.txt", &st) == 0 && S_ISREG(st.st_mode), "14-attacks", "leaves no device", 0);
}

/* A directory that another process has open, by SCM_RIGHTS, and the name by its /proc. */
static void passed_about(void)
{
	int ends[2], dir = -1, made;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	pid_t child;

	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
	child = fork();
	if (child == 0) {
		int fd = open(".", O_RDONLY | O_DIRECTORY);

		control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		sendmsg(ends[1], &message, 0);
		pause();
	}
	if (recvmsg(ends[0], &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&dir, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(dir));
	made = openat(dir, "p.key", O_CREAT | O_WRONLY, 0600) >= 0;
	for (int fd = 0; fd < 12; fd++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/fd/%d/p.pem", (int)child, fd);
		made += open(path, O_CREAT | O_WRONLY, 0600) >= 0;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/cwd/p.pem", (int)child, (int)child);
		made += open(path, O_CREAT | O_WRONLY, 0600) >= 0;
	}
	say(made == 0 && clean(), "46", "a directory passed by a socket, and by another's /proc", 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	known = forbidden();
	make("plain.txt");
	mkdir("sub", 0755);
	scopes();
	deep();
	path_race();
	how_race();
	own_ways();
	flags_of_rename();
	passed_about();
	if (vfork() == 0) {
		if (open("y.key", O_CREAT | O_WRONLY, 0600) >= 0)
			say(false, "E", "from a vfork child", 0);
		_exit(0);
	}
	wait(NULL);
	say(clean(), "E", "nothing is there at the end", 0);
	return 0;
}
