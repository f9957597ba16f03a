#define _GNU_SOURCE
#include "init/bridge.h"

#include "kernel/calls.h"
#include "plan/linux.h"
#include "policy/net.h"
#include "wire/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAIT_MS = 20, WAITS = 500, LIST_MAX = 65536 };

/* No capability by any way, and no way back: uid 0 of this namespace included. */
static bool drop_power(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return false;
	for (int cap = 0; cap <= 63; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return syscall(SYS_capset, &head, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

_Noreturn static void become_socat(const char *socat, uint16_t port, const char *path)
{
	char from[80];
	char to[80];
	char *argv[] = {(char *)(size_t)socat, from, to, NULL};
	char *env[] = {NULL};
	sigset_t all;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(from, sizeof(from), "TCP-LISTEN:%u,bind=127.0.0.1,reuseaddr,fork", port);
	snprintf(to, sizeof(to), "UNIX-CONNECT:%s", path);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 && drop_power()) {
		syscall(SYS_close_range, 3u, ~0u, 0u);
		execve(socat, argv, env);
	}
	_exit(127);
}

/* The kernel's own list of sockets: 127.0.0.1:port, from anywhere, in state LISTEN. */
static bool listens(uint16_t port)
{
	static char text[LIST_MAX];
	char want[48];

	snprintf(want, sizeof(want), "0100007F:%04X 00000000:0000 0A", port);
	return cc_k_proc_text(text, sizeof(text), "/proc/net/tcp") && strstr(text, want);
}

enum cc_code cc_bridge_inside(const char *socat, struct cc_err *err)
{
	static const struct {
		uint16_t port;
		const char *path;
	} ends[] = {{CC_PORT_HTTP, CC_BRIDGE_HTTP}, {CC_PORT_SOCKS, CC_BRIDGE_SOCKS}};

	for (size_t i = 0; i < CC_COUNT(ends); i++) {
		pid_t pid = fork();

		if (pid < 0)
			return cc_fail(err, CC_ESYS, errno, "cannot start socat");
		if (pid == 0)
			become_socat(socat, ends[i].port, ends[i].path);
	}
	for (size_t i = 0; i < CC_COUNT(ends); i++)
		for (int turn = 0; !listens(ends[i].port); turn++) {
			if (turn == WAITS)
				return cc_fail(err, CC_ETIMEOUT, 0, "socat does not listen on 127.0.0.1:%u",
					       ends[i].port);
			poll(NULL, 0, WAIT_MS);
		}
	return CC_OK;
}
