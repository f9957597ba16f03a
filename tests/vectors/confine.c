/* What somebody who has taken cc-proxy over could do with it: confine BINARY PROBE.so. The twin is the same process
 * with the two calls that shut it in left out. */
#define _GNU_SOURCE
#include "rig.h"

#include "os/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *label;
	bool ours; /* what a lookup needs, and must work in both */
} bits[] = {
	{"reads a file of the person's", false},
	{"makes a file", false},
	{"starts a process", false},
	{"connects to a socket of the host by its path", false},
	{"signals a process of its user", false},
	{"lists a directory", false},
	{"makes its memory readable for others", false},
	{"reads the system's configuration", true},
};

/* Everything in it is open to everybody: only what shuts the proxy in can say no. */
static void lay_out(char *dir)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char path[100];
	int fd;

	strcpy(dir, "/var/tmp/ccbox-confine.XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0777) < 0)
		exit(1);
	snprintf(path, sizeof(path), "%.50s/secret", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cc_fd_close(&fd);
	snprintf(at.sun_path, sizeof(at.sun_path), "%.50s/sock", dir);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* stays open */
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || chmod(at.sun_path, 0777) < 0 ||
	    listen(fd, 8) < 0)
		exit(1);
}

static void clear_away(const char *dir)
{
	static const char *const names[] = {"secret", "made", "sock"};
	char path[100];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%.50s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* A process that the proxy's user may signal: root's proxy is the overflow user. */
static pid_t target(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0)
			(void)!setresuid(65534, 65534, 65534);
		for (;;)
			pause();
	}
	return pid;
}

static unsigned probe(const char *binary)
{
	static const struct rig_policy policy = {.allow = "probe.test"};
	static char text[RIG_TEXT];
	static const char ask[] = "CONNECT probe.test:80 HTTP/1.1\r\n\r\n";
	struct rig rig = {0};
	unsigned made = 0;
	char words[40];
	char end;
	int fd;

	rig_start(&rig, binary, &policy);
	fd = rig_connect(rig.http);
	rig_send(fd, ask, sizeof(ask) - 1);
	rig_read(fd, text, RIG_TEXT, NULL, &end);
	close(fd);
	text[0] = '\0';
	if (rig_event_text(&rig, "\"deny\" \"probe.test\" \"address\"", text, RIG_TEXT)) {
		const char *at = strstr(text, "10.77.0.");

		made = at ? (unsigned)atoi(at + 8) : 0;
	}
	snprintf(words, sizeof(words), "bits %u", made);
	printf("# %s\n", words);
	rig_stop(&rig);
	return made;
}

/* Names are looked up by daemons here: then sockets must stay. */
static bool asks_daemons(void)
{
	static const char *const daemons[] = {"resolve", "mdns", "sss", "mymachines", "wins"};
	FILE *file = fopen("/etc/nsswitch.conf", "re");
	char line[1000];
	bool asks = false;

	while (file && fgets(line, sizeof(line), file))
		for (size_t i = 0; strncmp(line, "hosts:", 6) == 0 && i < sizeof(daemons) / sizeof(daemons[0]); i++)
			asks |= strstr(line, daemons[i]) != NULL;
	if (file)
		fclose(file);
	return asks;
}

int main(int argc, char **argv)
{
	char dir[60];
	char number[20];
	unsigned shut;
	unsigned open;
	pid_t pid;

	if (argc != 3)
		return 2;
	lay_out(dir);
	pid = target();
	snprintf(number, sizeof(number), "%d", pid);
	setenv("PROBE_DIR", dir, 1);
	setenv("PROBE_PID", number, 1);
	setenv("LD_PRELOAD", argv[2], 1);
	shut = probe(argv[1]);
	setenv("PROBE_OFF", "1", 1);
	open = probe(argv[1]);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		if (i == 3 && asks_daemons())
			tap_skip("CONFINE", bits[i].label, "names are looked up by a daemon here");
		else
			tap(bits[i].ours == (shut >> i & 1), "CONFINE", bits[i].label);
		tap(open >> i & 1, "CONFINE", "and does where nothing shuts it in (twin)");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	clear_away(dir);
	return tap_end();
}
