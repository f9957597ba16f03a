/* cc-proxy CONTROLFD - one session's HTTP and SOCKS proxy. The owner passes policy and listeners over CONTROLFD and
 * ends the process by closing its end (wire/msg.h). */
#define _GNU_SOURCE
#include "os/confine.h"
#include "policy/net.h"
#include "proxy/proxy.h"
#include "wire/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES_WANTED = 2 * CC_NET_CONNS_MAX + 256 };

#ifdef CC_SANITIZED /* the sanitizers need files and calls of their own */
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* What a lookup through NSS may read: its configuration, its modules, the run-time directories of resolvers. */
static const char *const readable[] = {
	"/etc",          "/lib",         "/lib64",    "/usr/lib",     "/usr/lib64",           "/usr/local/lib",
	"/nix/store",    "/run/nscd",    "/dev/null", "/dev/urandom", "/run/systemd/resolve", "/run/resolvconf",
	"/mnt/wsl",      "/var/lib/sss", "/run/sssd", "/run/connman", "/run/NetworkManager",  "/run/avahi-daemon",
	"/var/run/nscd",
};

#define ANY(name)                                                                                                      \
	{                                                                                                              \
		__NR_##name, -1, {0}, 0                                                                                \
	}
/* Sockets, files for reading, memory, time. No exec, no fork, no new thread: the lookup threads run already. */
static const struct cc_confine_call calls[] = {
	ANY(read),
	ANY(write),
	ANY(readv),
	ANY(writev),
	ANY(recvfrom),
	ANY(sendto),
	ANY(recvmsg),
	ANY(sendmsg),
	ANY(recvmmsg),
	ANY(sendmmsg),
	ANY(close),
	ANY(shutdown),
	ANY(connect),
	ANY(bind),
	ANY(accept4),
	ANY(getsockname),
	ANY(getpeername),
	ANY(setsockopt),
	ANY(getsockopt),
	ANY(epoll_ctl),
	ANY(epoll_pwait),
	ANY(splice),
	ANY(pipe2),
	ANY(socketpair),
	ANY(fcntl),
	ANY(openat),
	ANY(newfstatat),
	ANY(fstat),
	ANY(statx),
	ANY(lseek),
	ANY(faccessat),
	ANY(readlinkat),
	ANY(mmap),
	ANY(mprotect),
	ANY(munmap),
	ANY(mremap),
	ANY(madvise),
	ANY(brk),
	ANY(futex),
	ANY(membarrier),
	ANY(sched_yield),
	ANY(clock_gettime),
	ANY(clock_nanosleep),
	ANY(nanosleep),
	ANY(gettimeofday),
	ANY(ppoll),
	ANY(getrandom),
	ANY(uname),
	ANY(getpid),
	ANY(gettid),
	ANY(getuid),
	ANY(geteuid),
	ANY(getgid),
	ANY(getegid),
	ANY(rt_sigprocmask),
	ANY(rt_sigaction),
	ANY(rt_sigreturn),
	ANY(restart_syscall),
	ANY(exit),
	ANY(exit_group),
	ANY(sysinfo),
#ifdef __NR_epoll_wait
	ANY(epoll_wait),
#endif
#ifdef __NR_poll
	ANY(poll),
#endif
#ifdef __NR_open
	ANY(open),
	ANY(access),
	ANY(stat),
	ANY(lstat),
	ANY(readlink),
	ANY(time),
#endif
#ifdef __NR_rseq
	ANY(rseq),
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

static enum cc_code confine_calls(struct cc_err *err)
{
	struct cc_confine_call all[CC_COUNT(calls) + 2];
	size_t count = CC_COUNT(calls);

	memcpy(all, calls, sizeof(calls));
	/* abort() sends itself a signal, and nobody else. */
	all[count++] = (struct cc_confine_call){__NR_tgkill, 0, {(uint32_t)getpid()}, 1};
	all[count++] = (struct cc_confine_call){
		__NR_socket, 0, {AF_INET, AF_INET6, AF_NETLINK, AF_UNIX}, asks_daemons() ? 4 : 3};
	return cc_confine_calls(all, count, err);
}

static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* The list, and wherever /etc/resolv.conf really is: it is rewritten there by rename, so the directory is opened. */
static enum cc_code confine_files(struct cc_err *err)
{
	const char *paths[CC_COUNT(readable) + 1];
	char real[PATH_MAX];
	size_t count = CC_COUNT(readable);

	memcpy(paths, readable, sizeof(readable));
	if (realpath("/etc/resolv.conf", real) && strrchr(real, '/') > real) {
		*strrchr(real, '/') = '\0';
		paths[count++] = real;
	}
	return cc_confine_files(paths, count, err);
}

static enum cc_code serve(int control, struct cc_err *err)
{
	CC_AUTO(cc_proxy) proxy = NULL;
	enum cc_code code = cc_confine_power(err);

	if (code == CC_OK && !sanitized)
		code = confine_files(err);
	if (code == CC_OK)
		code = cc_proxy_new(control, NULL, NULL, &proxy, err);
	if (code == CC_OK && !sanitized)
		code = confine_calls(err);
	return code == CC_OK ? cc_proxy_run(proxy, err) : code;
}

int main(int argc, char **argv)
{
	struct cc_err err = {0};
	char *end = NULL;
	long control = argc == 2 ? strtol(argv[1], &end, 10) : -1;

	if (argc != 2 || *end || control < 0 || control > INT_MAX || fcntl((int)control, F_GETFD) < 0) {
		fputs("usage: cc-proxy CONTROLFD (started by ccbox, not by hand)\n", stderr);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	signal(SIGPIPE, SIG_IGN);
	mallopt(M_ARENA_MAX, 1);
	cc_confine_fds((int)control);
	raise_files();
	if (serve((int)control, &err) != CC_OK) {
		fprintf(stderr, "cc-proxy: %s\n", err.what);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	return 0;
}
