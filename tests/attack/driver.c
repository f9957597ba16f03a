/* driver.c - starts bubblewrap and cc-init the way a session does, runs one attack program inside, relays its TAP lines
 * and adds what only the host can see: no denied name came into being, nothing outside the tree changed, no host
 * socket was reached, and each expected violation was reported.
 *
 *   attack-driver --init CC-INIT [--off WHAT]... [--fail STEP] [--refused TEXT] [--read-deny NAME] [--grant SOCKET]
 * [--host PROGRAM]
 * [--pty] [--cold] [--slow] [--threads N] PROGRAM [ARG]...
 *
 * PROGRAM runs in the tree with a directory of the host, outside of it, as descriptor 0: what an owner must never do,
 * so that the gate's own rule is tested (attacks 2). */
#define _GNU_SOURCE
#include "harness.h"
#include "slow.h"

#include "os/fd.h"
#include "os/peer.h"
#include "policy/rules.h"
#include "wire/json.h"
#include "wire/msg.h"
#include "wire/ruleset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_MAX_ = 4096, WAIT_MS = 30000 };

static int out_pipe = -1; /* the program's output */

static void send_exec(void)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", "HOME=/home/agent", "LC_ALL=C.UTF-8",
					  "GIT_TEMPLATE_DIR=",  "TERM=dumb",        NULL};
	char text[PATH_MAX], head[40], *variables[3];
	struct cc_buf block;
	struct cc_err err;
	size_t argc = 0;
	int fds[4], ends[2];

	while (harness.program[argc])
		argc++;
	if (asprintf(&variables[0], "TREE=%s", harness.tree) < 0 ||
	    asprintf(&variables[1], "READONLY=%s", harness.read_only) < 0 ||
	    asprintf(&variables[2], "UNNAMED=%s", harness_has_unnamed() ? "yes" : "no") < 0)
		harness_bail("asprintf");
	cc_buf_init(&block, 1 << 20);
	snprintf(head, sizeof(head), "%zu %zu\n", argc, CC_COUNT(env) - 1 + CC_COUNT(variables));
	cc_buf_adds(&block, head);
	for (size_t i = 0; i < argc; i++)
		cc_buf_add(&block, harness.program[i], strlen(harness.program[i]) + 1);
	for (size_t i = 0; env[i]; i++)
		cc_buf_add(&block, env[i], strlen(env[i]) + 1);
	for (size_t i = 0; i < CC_COUNT(variables); i++)
		cc_buf_add(&block, variables[i], strlen(variables[i]) + 1);
	if (cc_fd_memfile("args", block.data, block.len, &fds[0], &err) != CC_OK || pipe2(ends, O_CLOEXEC) < 0)
		harness_bail("exec");
	snprintf(text, sizeof(text), "{\"m\":\"exec\",\"id\":1,\"cwd\":\"%s\",\"pty\":%s,\"rows\":24,\"cols\":80}",
		 harness.tree, harness.pty ? "true" : "false");
	fds[1] = open(harness.outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds[2] = fds[3] = ends[1];
	harness_send(text, fds, harness.pty ? 1 : 4);
	close(fds[0]);
	close(fds[1]);
	close(ends[1]);
	if (harness.pty)
		close(ends[0]);
	else
		out_pipe = ends[0];
	cc_buf_done(&block);
}

static void line(const char *text)
{
	if (strncmp(text, "ok ", 3) == 0)
		harness_result(true, text + 3);
	else if (strncmp(text, "not ok ", 7) == 0)
		harness_result(false, text + 7);
	else if (strncmp(text, "expect ", 7) == 0 && harness.expect_count < EXPECT_MAX)
		harness.expect[harness.expect_count++] = strdup(text + 7);
	else
		printf("# %s\n", text);
	fflush(stdout);
}

static void relay(void)
{
	static char text[LINE_MAX_];
	static size_t len;
	ssize_t got = read(out_pipe, text + len, sizeof(text) - len - 1);
	char *end;

	if (got <= 0) {
		cc_fd_close(&out_pipe);
		return;
	}
	len += (size_t)got;
	text[len] = '\0';
	while ((end = memchr(text, '\n', len))) {
		*end = '\0';
		if (end > text && end[-1] == '\r')
			end[-1] = '\0';
		line(text);
		len -= (size_t)(end + 1 - text);
		memmove(text, end + 1, len + 1);
	}
	if (len == sizeof(text) - 1)
		len = 0;
}

/* false: the session is over */
static bool on_message(struct cc_peer_msg *msg)
{
	struct cc_json_doc *doc = NULL;
	struct cc_err err;
	const struct cc_json *m;
	const char *name;

	if (msg->len == 0 || cc_json_parse("m", (struct cc_view){msg->text, msg->len}, 0, &doc, &err) != CC_OK)
		return false;
	m = cc_json_root(doc);
	name = cc_json_str(m, "m", "");
	if (strcmp(name, "listeners") == 0) {
		harness_result(msg->fd_count == 2, "two listeners came out");
		msg->fd_count = 0; /* kept open: somebody listens */
		harness_send("{\"m\":\"go\"}", NULL, 0);
	} else if (strcmp(name, "ready") == 0) {
		printf("# %s\n", msg->text);
		send_exec();
	} else if (strcmp(name, "started") == 0 && harness.pty) {
		out_pipe = cc_fd_take(&msg->fds[0]);
	} else if (strcmp(name, "violation") == 0 || strcmp(name, "notice") == 0) {
		cc_buf_adds(&harness.events, msg->text);
		cc_buf_adds(&harness.events, "\n");
		if (getenv("ATTACK_EVENTS"))
			printf("# %s\n", msg->text);
	} else if (strcmp(name, "exit") == 0) {
		harness.status = (int)cc_json_int(m, "code", 128 + cc_json_int(m, "signal", 0));
		harness_send("{\"m\":\"end\"}", NULL, 0);
	} else if (strcmp(name, "failed") == 0 || strcmp(name, "refused") == 0) {
		printf("# %s\n", msg->text);
		harness.heard |= harness.refused && strstr(msg->text, harness.refused);
		if (harness.fail)
			harness_result(strcmp(cc_json_str(m, "step", ""), harness.fail) == 0,
				       "the failing step is named");
		if (strcmp(name, "refused") == 0)
			harness_send("{\"m\":\"end\"}", NULL, 0);
	}
	cc_json_doc_free(doc);
	cc_peer_msg_close(msg);
	return true;
}

static void serve(void)
{
	static struct cc_peer_msg msg;
	bool control = true;

	while (control || out_pipe >= 0) {
		struct pollfd set[2] = {{.fd = control ? harness.control : -1, .events = POLLIN},
					{.fd = out_pipe, .events = POLLIN}};

		if (poll(set, 2, harness_patience(WAIT_MS)) <= 0) {
			harness_result(false, "the session came to an end");
			kill(harness.bwrap, SIGKILL);
			cc_fd_close(&harness.control);
			return;
		}
		if (set[1].revents)
			relay();
		if (set[0].revents)
			control = cc_peer_recv(harness.control, &msg, NULL) == CC_OK && on_message(&msg);
	}
}

static const char *const prepared[] = {".env", "old.pem", "sub/.env", NULL};

static int scan(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base, *inside = path + strlen(harness.tree) + (ftw->level > 0);
	size_t len = strlen(name);
	bool denied = strcasecmp(name, ".env") == 0 || strncasecmp(name, ".env.", 5) == 0;

	(void)st;
	(void)type;
	for (size_t i = 0; i < 4; i++)
		denied = denied || (len >= 4 && strcasecmp(name + len - 4,
							   (const char *[]){".key", ".pem", ".p12", ".pfx"}[i]) == 0);
	for (size_t i = 0; prepared[i]; i++)
		denied = denied && strcmp(inside, prepared[i]) != 0;
	if (denied) {
		printf("# ESCAPED: %s\n", path);
		return 1;
	}
	return 0;
}

static bool file_is(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX], got[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (file) {
		size_t len = fread(got, 1, sizeof(got) - 1, file);

		got[len] = '\0';
		fclose(file);
	}
	return strcmp(got, text) == 0;
}

/* A program of the host that works in the tree after the session. */
static void work_on_host(void)
{
	char *command, text[LINE_MAX_];
	FILE *out;

	if (!harness.host || asprintf(&command, "%s %s", harness.host, harness.tree) < 0)
		return;
	out = popen(command, "r");
	while (out && fgets(text, sizeof(text), out)) {
		text[strcspn(text, "\n")] = '\0';
		line(text);
	}
	harness_result(out && pclose(out) == 0, "host: the program ran to its end");
}

static void look_from_outside(void)
{
	char byte;
	struct stat st;
	char path[PATH_MAX];

	harness_result(nftw(harness.tree, scan, 16, FTW_PHYS) == 0, "host: no denied name came into being");
	harness_result(file_is(harness.tree, ".env", "SECRET=1\n") && file_is(harness.tree, "old.pem", "pem\n") &&
			       file_is(harness.tree, "sub/.env", "SECRET=2\n"),
		       "host: denied files are as they were");
	snprintf(path, sizeof(path), "%s/.env", harness.tree);
	harness_result(stat(path, &st) == 0 && (st.st_mode & 07777) == 0644 && st.st_nlink == 1,
		       "host: so is their metadata");
	harness_result(file_is(harness.outside, "victim", "untouched\n"), "host: a file outside is as it was");
	snprintf(path, sizeof(path), "%s/made", harness.outside);
	harness_result(access(path, F_OK) < 0, "host: nothing was made outside");
	harness_result((harness.grant ? accept(harness.listener, NULL, NULL) >= 0
				      : accept(harness.listener, NULL, NULL) < 0) &&
			       accept(harness.other, NULL, NULL) < 0 && recv(harness.datagram, &byte, 1, 0) < 0,
		       harness.grant ? "host: the granted socket was reached" : "host: no socket was reached");
	for (size_t i = 0; i < harness.expect_count; i++) {
		char *label;

		if (asprintf(&label, "an event says %s", harness.expect[i]) > 0)
			harness_result(harness.events.data && strstr(harness.events.data, harness.expect[i]), label);
	}
}

static void options(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--pty") == 0)
			harness.pty = true;
		else if (strcmp(argv[i], "--slow") == 0)
			harness.slow = true;
		else if (strcmp(argv[i], "--cold") == 0)
			harness.cold = true;
		else if (i + 1 == argc)
			break;
		else if (strcmp(argv[i], "--init") == 0)
			harness.init = argv[++i];
		else if (strcmp(argv[i], "--off") == 0 && harness.off_count < 8)
			harness.off[harness.off_count++] = argv[++i];
		else if (strcmp(argv[i], "--refused") == 0)
			harness.refused = argv[++i];
		else if (strcmp(argv[i], "--fail") == 0)
			harness.fail = argv[++i];
		else if (strcmp(argv[i], "--grant") == 0)
			harness.grant = argv[++i];
		else if (strcmp(argv[i], "--host") == 0)
			harness.host = realpath(argv[++i], NULL);
		else if (strcmp(argv[i], "--read-deny") == 0)
			harness.read_deny = argv[++i];
		else if (strcmp(argv[i], "--threads") == 0)
			harness.threads = (unsigned)strtoul(argv[++i], NULL, 10);
	}
	harness.program = argv + i;
	if (!harness.init || i >= argc)
		harness_bail("usage");
}

/* Without one the program says what it could not try, and nothing can be seen to escape. */
static void plant_slow(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/slow", harness.tree);
	if (slow_mount(path))
		return;
	printf("# no FUSE: %s\n", strerror(errno));
	harness.slow = false;
	if (harness.off_count) {
		puts("1..0 # SKIP no file system to stall in");
		harness_clean();
		exit(0);
	}
}

int main(int argc, char **argv)
{
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	umask(022);
	options(argc, argv);
	cc_buf_init(&harness.events, 64 << 20);
	harness_plant();
	if (harness.slow)
		plant_slow();
	if (harness.cold)
		harness_forget_names();
	harness_start();
	harness_send_setup();
	serve();
	waitpid(harness.bwrap, &status, 0);
	if (harness.off_count)
		work_on_host();
	harness.closing = true;
	if (harness.refused) {
		harness_result(harness.heard, "the launch's own test finds out and says so");
		harness_result(WIFEXITED(status) && WEXITSTATUS(status) == CC_EXIT_NOT_ESTABLISHED &&
				       harness.status < 0,
			       "nothing was started, and it exits 125");
		harness_result(!harness_left_over(), "the test took away what it made");
	} else if (harness.off_count)
		harness_result(harness.escaped > 0, "without the protection the attack escapes");
	else if (harness.fail)
		harness_result(WIFEXITED(status) && WEXITSTATUS(status) == CC_EXIT_NOT_ESTABLISHED &&
				       harness.status < 0,
			       "nothing was started, and it exits 125");
	else
		harness_result(harness.status == 0, "the program ran to its end");
	if (harness.off_count == 0) {
		work_on_host();
		look_from_outside();
	}
	printf("1..%u\n", harness.tests);
	harness_clean();
	return harness.failed != 0;
}
