/* calls: what one trapped call costs. Prints "NAME MEDIAN_NS" lines.
 * usage: calls bare ROUNDS      a notification answered with an errno at once, by a supervisor of our own
 *        calls least ROUNDS     the least that acts for the caller: its path copied, its directory read, still alive,
 * act calls here DIR ROUNDS  the calls themselves, wherever this runs: plain or in a sandbox */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void measure(const char *name, void (*once)(int round), void (*after)(int round), int rounds)
{
	uint64_t *took = calloc((size_t)rounds, sizeof(*took));

	if (!took)
		exit(2);
	for (int i = 0; i < rounds; i++) {
		uint64_t start = now_ns();

		once(i);
		took[i] = now_ns() - start;
		if (after)
			after(i);
	}
	qsort(took, (size_t)rounds, sizeof(*took), by_value);
	printf("%s %llu\n", name, (unsigned long long)took[rounds / 2]);
	free(took);
}

static void unlink_missing(int round)
{
	(void)round;
	unlink("sub/missing");
}

static void unlinkat_missing(int round)
{
	static int dir = -1;

	(void)round;
	if (dir < 0)
		dir = open("sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unlinkat(dir, "missing", 0);
}

static int made = -1;

static void make(int round)
{
	(void)round;
	made = open("sub/file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (made < 0)
		exit(3);
}

static void unmake(int round)
{
	(void)round;
	close(made);
	unlink("sub/file");
}

static void mode(int round)
{
	chmod("sub", round & 1 ? 0755 : 0700);
}

static int kept_open = -1;

static void times_by_fd(int round)
{
	(void)round;
	if (kept_open < 0)
		kept_open = open("sub/a", O_WRONLY | O_CLOEXEC);
	futimens(kept_open, NULL);
}

static void mode_by_fd(int round)
{
	fchmod(kept_open, round & 1 ? 0644 : 0600);
}

static void make_dir(int round)
{
	(void)round;
	if (mkdir("sub/dir", 0755))
		exit(3);
}

static void unmake_dir(int round)
{
	(void)round;
	rmdir("sub/dir");
}

static void move(int round)
{
	if (rename(round & 1 ? "sub/b" : "sub/a", round & 1 ? "sub/a" : "sub/b"))
		exit(3);
}

static void listen_on(int sock)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unlink, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	long listener;
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 'l';
	struct iovec iov = {&byte, 1};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int fd;

	if (!header)
		exit(4);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1 << 5, &program);
	if (listener < 0)
		exit(4);
	fd = (int)listener;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	if (sendmsg(sock, &message, 0) != 1)
		exit(4);
	close(fd);
}

static int take_listener(int sock)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = {&byte, 1};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *header = recvmsg(sock, &message, 0) == 1 ? CMSG_FIRSTHDR(&message) : NULL;
	int fd = -1;

	if (header)
		memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

/* What no supervisor that acts itself on what it judged can leave out. */
static void act(int listener, const struct seccomp_notif *notif)
{
	static int task = -1, dir = -1;
	char path[256], cwd[4096];
	struct iovec here = {path, sizeof(path)}, there = {(void *)(uintptr_t)notif->data.args[0], sizeof(path)};
	uint64_t id = notif->id;

	if (task < 0) {
		snprintf(path, sizeof(path), "/proc/%d", (int)notif->pid);
		task = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		dir = open("sub", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (process_vm_readv((pid_t)notif->pid, &here, 1, &there, 1, 0) < 0 ||
	    readlinkat(task, "cwd", cwd, sizeof(cwd)) < 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		exit(5);
	unlinkat(dir, strrchr(path, '/') + 1, 0);
}

static int bare(int rounds, bool acts)
{
	union {
		struct seccomp_notif notif;
		char room[512];
	} got;
	int pair[2], listener;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return 2;
	child = fork();
	if (child == 0) {
		listen_on(pair[1]);
		measure(acts ? "least" : "bare", unlink_missing, NULL, rounds);
		fflush(stdout);
		_exit(0);
	}
	close(pair[1]);
	listener = take_listener(pair[0]);
	if (listener < 0)
		return 2;
	ioctl(listener, _IOW('!', 4, uint64_t), 1ul); /* SYNC_WAKE_UP */
	for (;;) {
		struct seccomp_notif_resp answer;

		memset(&got, 0, sizeof(got));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got.notif)) {
			if (waitpid(child, NULL, WNOHANG) == child)
				return 0;
			continue;
		}
		if (acts)
			act(listener, &got.notif);
		answer = (struct seccomp_notif_resp){.id = got.notif.id, .error = -ENOENT};
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

static const struct {
	const char *name;
	void (*once)(int round);
	void (*after)(int round);
} calls[] = {
	{"unlink-missing", unlink_missing, NULL},
	{"unlinkat-missing", unlinkat_missing, NULL},
	{"create", make, unmake},
	{"chmod", mode, NULL},
	{"futimens", times_by_fd, NULL},
	{"fchmod", mode_by_fd, NULL},
	{"mkdir", make_dir, unmake_dir},
	{"rename", move, NULL},
};

int main(int argc, char **argv)
{
	if (argc == 3 && (strcmp(argv[1], "bare") == 0 || strcmp(argv[1], "least") == 0)) {
		mkdir("sub", 0755);
		return bare(atoi(argv[2]), *argv[1] == 'l');
	}
	if (argc != 4 || strcmp(argv[1], "here") != 0 || chdir(argv[2]))
		return 64;
	mkdir("sub", 0755);
	close(open("sub/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		measure(calls[i].name, calls[i].once, calls[i].after, atoi(argv[3]));
	unlink("sub/a");
	unlink("sub/b");
	return 0;
}
