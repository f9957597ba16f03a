/* What must not break the proxy: thousands of idle tunnels, no descriptors left, a reset in every state, first bytes
 * that never become whole. robust BINARY [TUNNELS] */
#define _GNU_SOURCE
#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef CC_SANITIZED /* whose red zones count too */
enum { TUNNEL_BYTES_MAX = 8192 };
#else
enum { TUNNEL_BYTES_MAX = 512 };
#endif

static struct rig rig;
static struct stub echo, hold;

/* Holds the connection without a thread's stack: the fd is simply kept. */
static void stub_keep(struct stub *stub, int fd)
{
	(void)stub;
	(void)!dup(fd);
}

static int tunnel(const char *host, uint16_t port)
{
	static char text[RIG_TEXT];
	char bytes[200];
	char end;
	int fd = rig_connect(rig.http);

	snprintf(bytes, sizeof(bytes), "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, port);
	rig_send(fd, bytes, strlen(bytes));
	rig_read(fd, text, RIG_TEXT, "\r\n\r\n", &end);
	if (strstr(text, " 200 "))
		return fd;
	close(fd);
	return -1;
}

static bool works(void)
{
	static char text[RIG_TEXT];
	char end = 'T';

	for (int i = 0; i < 200 && end != '.'; i++) {
		int fd = tunnel("echo.test", echo.port);

		if (fd < 0) {
			poll(NULL, 0, 50);
			continue;
		}
		rig_send(fd, "\1hello", 6);
		rig_read(fd, text, RIG_TEXT, "hello", &end);
		close(fd);
	}
	return end == '.';
}

static void idle_tunnels(const struct rig_policy *policy, unsigned wanted)
{
	struct rig_policy wide = *policy;
	int *fds = calloc(wanted, sizeof(*fds));
	unsigned open = 0;
	long before;
	long after;
	char label[120];

	wide.conns_max = wanted + 16;
	rig_policy(&rig, &wide, 2);
	rig_event(&rig, "\"ready\" \"generation\":2");
	works();
	before = rig_status(&rig, "RssAnon");
	while (open < wanted && (fds[open] = tunnel("hold.test", hold.port)) >= 0)
		open++;
	after = rig_status(&rig, "RssAnon");
	snprintf(label, sizeof(label), "%u idle tunnels are held", wanted);
	tap(open == wanted, "IDLE", label);
	printf("# %ld kB before, %ld kB with %u tunnels: %ld bytes each\n", before, after, open,
	       open ? (after - before) * 1024 / (long)open : 0);
	tap(open && (after - before) * 1024 / (long)open <= TUNNEL_BYTES_MAX, "IDLE",
	    "no more user memory each than is allowed");
	tap(works(), "IDLE", "beside them a new one is made");
	for (unsigned i = 0; i < open; i++)
		close(fds[i]);
	tap(works(), "IDLE", "and after them");
	free(fds);
}

/* Fewer descriptors than the limit of connections needs: the proxy must neither spin nor die nor stop to accept. */
static void no_descriptors(const char *binary, const struct rig_policy *policy)
{
	int fds[200];
	unsigned open = 0;

	rig = (struct rig){.files = 48};
	rig_start(&rig, binary, policy);
	for (int i = 0; i < 200; i++) {
		fds[i] = rig_connect(rig.http);
		open += fds[i] >= 0;
	}
	poll(NULL, 0, 300);
	for (int i = 0; i < 200; i++)
		close(fds[i]);
	tap(open == 200, "EMFILE", "clients come, though it has no descriptors left");
	tap(works(), "EMFILE", "and when they are gone it serves again");
	tap(rig_stop(&rig) == 0, "EMFILE", "and ends with its owner");
}

/* What a client has sent when it resets. */
static const struct {
	const char *label;
	const char *bytes;
	bool socks;
} states[] = {
	{"nothing", "", false},
	{"half a head", "CONNECT ec", false},
	{"a whole head", "CONNECT echo.test:PPPPP HTTP/1.1\r\n\r\n", false},
	{"half a ClientHello", "CONNECT echo.test:PPPPP HTTP/1.1\r\n\r\n\x16\3\1\2\0\1", false},
	{"opaque bytes", "CONNECT echo.test:PPPPP HTTP/1.1\r\n\r\n\1hello", false},
	{"a request", "GET http://echo.test:PPPPP/ HTTP/1.1\r\nHost: a\r\n\r\n", false},
	{"half a body", "POST http://echo.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\nabc", false},
	{"half a chunk",
	 "POST http://echo.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n40\r\nabc", false},
	{"a refused request", "CONNECT evil.test:443 HTTP/1.1\r\n\r\n", false},
	{"half a greeting", "\5\2", true},
	{"a greeting", "\5\1", true},
	{"half a request", "\5\1\1\5\1", true},
};

static void reset_after(const char *bytes, bool socks, int wait_ms)
{
	struct linger now = {1, 0};
	char text[300];
	int fd = rig_connect(socks ? rig.socks : rig.http);
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", bytes);
	char *port = strstr(text, "PPPPP");
	char digits[8];

	snprintf(digits, sizeof(digits), "%05u", echo.port);
	if (port)
		memcpy(port, digits, 5);
	rig_send(fd, text, len);
	poll(NULL, 0, wait_ms);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void resets(void)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		char label[80];

		for (int round = 0; round < 20; round++)
			reset_after(states[i].bytes, states[i].socks, round % 4);
		snprintf(label, sizeof(label), "a reset after %s", states[i].label);
		tap(works(), "RST", label);
	}
}

int main(int argc, char **argv)
{
	static const struct rig_policy policy = {
		.allow = "echo.test hold.test",
		.hosts = "echo.test=127.0.0.1 hold.test=127.0.0.1",
	};
	unsigned tunnels = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
	struct rlimit files;
	rlim_t need = tunnels * 2 + 600; /* both ends of ours; the proxy has as many */

	if (argc < 2)
		return 2;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
	setrlimit(RLIMIT_NOFILE, &files);
	stub_start(&echo, NULL, stub_echo);
	stub_start(&hold, NULL, stub_keep);
	rig_start(&rig, argv[1], &policy);
	resets();
	if (files.rlim_cur < need)
		tap_skip("IDLE", "idle tunnels", "the limit of open files is too low");
	else
		idle_tunnels(&policy, tunnels);
	tap(rig_stop(&rig) == 0, "7.1", "the proxy ends when its owner does");
	no_descriptors(argv[1], &policy);
	return tap_end();
}
