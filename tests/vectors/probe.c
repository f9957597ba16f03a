/* Loaded into cc-proxy by vectors-confine: whoever looks up probe.test runs this, in a lookup thread, as a fault of the
 * resolver's would. What it could do comes back as bits of a private address, which is reported and never dialled.
 * PROBE_OFF: the two calls that shut the process in do nothing, and the same things must succeed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	void *found;
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (getenv("PROBE_OFF") && (number == SYS_landlock_restrict_self || number == SYS_seccomp))
		return 0;
	if (!real) {
		found = dlsym(RTLD_NEXT, "syscall");
		memcpy(&real, &found, sizeof(real));
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static bool opens(const char *name, int flags)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", getenv("PROBE_DIR"), name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid > 0;
}

static bool connects(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/sock", getenv("PROBE_DIR"));
	ok = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool lists(void)
{
	DIR *dir = opendir(getenv("PROBE_DIR"));

	if (dir)
		closedir(dir);
	return dir != NULL;
}

static bool signals(void)
{
	pid_t target = (pid_t)atoi(getenv("PROBE_PID"));

	return kill(target, 0) == 0 || tgkill(target, target, 0) == 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **res)
{
	static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	char text[32];
	unsigned bits;
	void *found;

	if (!real) {
		found = dlsym(RTLD_NEXT, "getaddrinfo");
		memcpy(&real, &found, sizeof(real));
	}
	if (strcmp(node, "probe.test") != 0)
		return real(node, service, hints, res);
	bits = opens("secret", O_RDONLY) | opens("made", O_WRONLY | O_CREAT) << 1 | forks() << 2 | connects() << 3 |
	       signals() << 4 | lists() << 5 | (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0) << 6 |
	       (access("/etc/passwd", R_OK) == 0) << 7;
	snprintf(text, sizeof(text), "10.77.0.%u", bits);
	return real(text, service, hints, res);
}
