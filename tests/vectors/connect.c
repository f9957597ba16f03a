/* cc-connect as ssh uses it: connect PROXY CONNECT */
#define _GNU_SOURCE
#include "rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rig rig;

struct said {
	char out[RIG_TEXT];
	char err[4096];
	int code;
};

static void slurp(int fd, char *text, size_t max)
{
	size_t len = 0;
	ssize_t got;

	while (len + 1 < max && (got = read(fd, text + len, max - 1 - len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	close(fd);
}

/* What is sent fits a pipe, so that one thread is enough. */
static void run(const char *binary, const char *socks, const char *host, const char *port, size_t send,
		struct said *said)
{
	int in[2];
	int out[2];
	int err[2];
	int status = 0;
	char bytes[16384];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		setenv("CC_SOCKS", socks, 1);
		execl(binary, binary, host, port, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	memset(bytes, 'c', sizeof(bytes));
	if (send && write(in[1], bytes, send) != (ssize_t)send)
		exit(1);
	close(in[1]);
	slurp(out[0], said->out, sizeof(said->out));
	slurp(err[0], said->err, sizeof(said->err));
	waitpid(pid, &status, 0);
	said->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	static const struct rig_policy policy = {.allow = "up.test", .hosts = "up.test=127.0.0.1"};
	static struct stub echo;
	static struct stub late;
	static struct stub banner;
	static struct said said;
	char socks[64];
	char bare[64];
	char port[16];

	if (argc != 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	stub_start(&echo, NULL, stub_echo);
	stub_start(&late, NULL, stub_late);
	stub_start(&banner, NULL, stub_banner);
	rig_start(&rig, argv[1], &policy);
	snprintf(socks, sizeof(socks), "socks5h://127.0.0.1:%u", rig.socks);
	snprintf(bare, sizeof(bare), "127.0.0.1:%u", rig.http);

	snprintf(port, sizeof(port), "%u", echo.port);
	run(argv[2], socks, "up.test", port, 12345, &said);
	tap(said.code == 0 && strlen(said.out) == 12345 && !said.err[0], "8", "both directions are copied");
	snprintf(port, sizeof(port), "%u", late.port);
	run(argv[2], bare, "up.test", port, 5000, &said);
	tap(said.code == 0 && strcmp(said.out, "received 5000") == 0, "8", "an answer after our end still arrives");
	snprintf(port, sizeof(port), "%u", banner.port);
	run(argv[2], socks, "up.test", port, 0, &said);
	tap(said.code == 0 && strcmp(said.out, "SSH-2.0-banner\r\n") == 0, "8", "a server that speaks first");
	run(argv[2], socks, "evil.test", "22", 0, &said);
	tap(said.code == 1 && strstr(said.err, "evil.test:22: not allowed") &&
		    strstr(said.err, "--allow-host evil.test"),
	    "8", "a refusal says why and what to do");
	run(argv[2], socks, "up.test", "1", 0, &said);
	tap(said.code == 1 && strstr(said.err, "refused the connection"), "8", "a closed port is told apart");
	run(argv[2], socks, "up.test", "0", 0, &said);
	tap(said.code == 64 && strstr(said.err, "usage"), "8", "a bad port is a usage error");
	run(argv[2], "http://x", "up.test", "22", 0, &said);
	tap(said.code == 1 && strstr(said.err, "CC_SOCKS"), "8", "a bad CC_SOCKS is named");
	tap(rig_stop(&rig) == 0, "7.1", "the proxy ends when its owner does");
	return tap_end();
}
