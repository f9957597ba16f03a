/* session.c - cc-init's protocol as a session's owner speaks it: warm execs, terminals, signals, freezing, files back,
 * refusals, background work, and the end of everything when the owner goes. */
#define _GNU_SOURCE
#include "harness.h"

#include "base/mem.h"
#include "os/fd.h"
#include "os/peer.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 20000 };

static struct cc_peer_msg msg;
static struct cc_json_doc *doc;
static const struct cc_json *m;

/* The next message that is no event. */
static const char *next_message(void)
{
	struct cc_err err;

	for (;;) {
		cc_peer_msg_close(&msg);
		cc_json_doc_free(doc);
		doc = NULL;
		if (cc_peer_recv_wait(harness.control, harness_patience(WAIT_MS), &msg, &err) != CC_OK ||
		    msg.len == 0 || cc_json_parse("m", (struct cc_view){msg.text, msg.len}, 0, &doc, &err) != CC_OK)
			return "";
		m = cc_json_root(doc);
		if (strcmp(cc_json_str(m, "m", ""), "violation") != 0 && strcmp(cc_json_str(m, "m", ""), "notice") != 0)
			return cc_json_str(m, "m", "");
	}
}

static bool comes(const char *name)
{
	const char *got = next_message();

	if (strcmp(got, name) == 0)
		return true;
	printf("# expected %s, got %s\n", name, msg.len ? msg.text : "the end");
	return false;
}

static int in_pipe = -1, out_pipe = -1;

static void ask(int id, const char *cwd, bool pty, const char *const *argv)
{
	char text[PATH_MAX + 200], head[40];
	struct cc_buf block;
	struct cc_err err;
	size_t argc = 0;
	int fds[4], in[2], out[2];

	cc_fd_close(&in_pipe);
	cc_fd_close(&out_pipe);
	while (argv[argc])
		argc++;
	cc_buf_init(&block, 1 << 20);
	snprintf(head, sizeof(head), "%zu 2\n", argc);
	cc_buf_adds(&block, head);
	for (size_t i = 0; i < argc; i++)
		cc_buf_add(&block, argv[i], strlen(argv[i]) + 1);
	cc_buf_add(&block, "PATH=/usr/bin:/bin", 19);
	cc_buf_add(&block, "X=y", 4);
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    cc_fd_memfile("args", block.data, block.len, &fds[0], &err) != CC_OK)
		harness_bail("exec");
	fds[1] = in[0];
	fds[2] = fds[3] = out[1];
	snprintf(text, sizeof(text), "{\"m\":\"exec\",\"id\":%d,\"cwd\":\"%s\",\"pty\":%s,\"rows\":33,\"cols\":44}", id,
		 cwd, pty ? "true" : "false");
	harness_send(text, fds, pty ? 1 : 4);
	close(fds[0]);
	close(in[0]);
	close(out[1]);
	in_pipe = in[1];
	out_pipe = out[0];
	cc_buf_done(&block);
}

static bool exits(int id, const char *key, int value)
{
	return comes("exit") && cc_json_int(m, "id", -1) == id && cc_json_int(m, key, -1) == value;
}

static bool reads(int fd, const char *want)
{
	char text[512] = "";
	size_t len = 0;
	ssize_t got;

	while (len < sizeof(text) - 1 && (got = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
		len += (size_t)got;
		text[len] = '\0';
		if (strstr(text, want))
			return true;
	}
	printf("# got \"%s\"\n", text);
	return false;
}

#define SH(script) ((const char *const[]){"sh", "-c", script, NULL})

static void plain(void)
{
	ask(1, harness.tree, false, SH("echo $X; pwd; exit 7"));
	harness_result(comes("started") && cc_json_int(m, "pid", 0) > 1, "started with its pid");
	harness_result(reads(out_pipe, "y\n/"), "environment and directory");
	harness_result(exits(1, "code", 7), "its exit code");
	ask(2, "/", false, SH("kill -9 $$"));
	harness_result(comes("started") && exits(2, "signal", 9), "a signal that ended it");
	ask(3, harness.tree, false, (const char *const[]){"no-such-program", NULL});
	harness_result(comes("refused") && cc_json_int(m, "errno", 0) == ENOENT, "not found");
	ask(4, harness.tree, false, (const char *const[]){"./plain.txt", NULL});
	harness_result(comes("refused") && cc_json_int(m, "errno", 0) == EACCES, "not executable");
	ask(5, "/nowhere", false, SH("true"));
	harness_result(comes("refused") && cc_json_int(m, "errno", 0) == ENOENT, "no such directory");
	ask(6, harness.tree, false, SH("cat; echo done"));
	harness_result(comes("started"), "a reader");
	harness_result(write(in_pipe, "hello\n", 6) == 6, "input");
	cc_fd_close(&in_pipe);
	harness_result(reads(out_pipe, "hello\ndone") && exits(6, "code", 0), "its input came, and the end of it");
	ask(7, harness.tree, false, SH("cp /bin/true t && printf 'echo script' > s && chmod +x s && ./t && ./s"));
	harness_result(comes("started") && reads(out_pipe, "script") && exits(7, "code", 0),
		       "programs made inside run");
}

static void terminal(void)
{
	int master;

	ask(10, harness.tree, true, SH("stty size; tty; read x; echo got $x"));
	harness_result(comes("started") && msg.fd_count == 1, "a terminal's master came");
	master = cc_fd_take(&msg.fds[0]);
	harness_result(reads(master, "33 44\r\n/dev/pts/"), "its size and name");
	harness_result(write(master, "word\n", 5) == 5 && reads(master, "got word"), "typed input");
	harness_result(exits(10, "code", 0), "its end");
	close(master);
	ask(11, harness.tree, true, SH("trap 'echo INT; read x; exit 3' INT; echo up; while :; do sleep 0.1; done"));
	if (!comes("started"))
		return;
	master = cc_fd_take(&msg.fds[0]);
	harness_result(reads(master, "up") && write(master, "\003", 1) == 1 && reads(master, "INT") &&
			       write(master, "\n", 1) == 1 &&
			       exits(11, "code", 3), /* an end would take unread output along */
		       "the interrupt character");
	close(master);
}

static void signals(void)
{
	struct stat st;
	char path[PATH_MAX];
	off_t before;

	ask(20, harness.tree, false, SH("sleep 100 & echo up; sleep 100"));
	harness_result(comes("started") && reads(out_pipe, "up"), "a group");
	harness_send("{\"m\":\"signal\",\"id\":20,\"signal\":15}", NULL, 0);
	harness_result(exits(20, "signal", 15), "ended by a signal");
	ask(21, harness.tree, false, SH("echo up; while :; do echo x >> ticks; done"));
	harness_result(comes("started") && reads(out_pipe, "up"), "a busy one");
	harness_send("{\"m\":\"freeze\"}", NULL, 0);
	harness_result(comes("frozen"), "frozen");
	snprintf(path, sizeof(path), "%s/ticks", harness.tree);
	before = stat(path, &st) == 0 ? st.st_size : 0;
	usleep(100000);
	harness_result((stat(path, &st) == 0 ? st.st_size : 0) == before, "nothing moves");
	harness_send("{\"m\":\"thaw\"}", NULL, 0);
	harness_result(comes("thawed"), "thawed");
	for (int i = 0; i < 200 && (stat(path, &st) < 0 || st.st_size == before); i++)
		usleep(20000);
	harness_result(st.st_size > before, "and it goes on");
	harness_send("{\"m\":\"signal\",\"id\":21,\"signal\":9}", NULL, 0);
	harness_result(exits(21, "signal", 9), "killed");
}

static void files(void)
{
	char text[16] = "", request[PATH_MAX + 80];
	bool listed;

	ask(30, "/", false,
	    SH("mkdir -p /home/agent/d/e && echo hello > /home/agent/d/e/f && ln -s /etc/passwd "
	       "/home/agent/d/l && mkfifo /home/agent/p"));
	harness_result(comes("started") && exits(30, "code", 0), "files in the private home");
	harness_send("{\"m\":\"fetch\",\"id\":1,\"path\":\"/home/agent/d/e/f\"}", NULL, 0);
	harness_result(comes("file") && msg.fd_count == 1 && cc_json_int(m, "size", 0) == 6 &&
			       read(msg.fds[0], text, 15) == 6 && strcmp(text, "hello\n") == 0,
		       "a file back");
	harness_send("{\"m\":\"fetch\",\"id\":2,\"path\":\"/home/agent/d/l\"}", NULL, 0);
	harness_result(comes("file") && cc_json_int(m, "errno", 0) == ELOOP && msg.fd_count == 0, "no symlink");
	harness_send("{\"m\":\"fetch\",\"id\":3,\"path\":\"/home/agent/p\"}", NULL, 0);
	harness_result(comes("file") && cc_json_int(m, "errno", 0) == EINVAL, "no FIFO");
	snprintf(request, sizeof(request), "{\"m\":\"fetch\",\"id\":4,\"path\":\"%s/plain.txt\"}", harness.tree);
	harness_send(request, NULL, 0);
	harness_result(comes("file") && cc_json_int(m, "errno", 0) == EACCES, "not out of a bind");
	harness_send("{\"m\":\"list\",\"id\":5,\"path\":\"/home/agent\"}", NULL, 0);
	listed = comes("names") && msg.fd_count == 1 && read(msg.fds[0], text, 15) == 6 && strcmp(text, "d/e/f") == 0;
	harness_result(listed, "names");
}

static void background(void)
{
	ask(40, harness.tree, false, SH("(sleep 0.3; echo late > late) >/dev/null 2>&1 & exit 0"));
	harness_result(comes("started") && exits(40, "code", 0), "left in the background");
	ask(41, harness.tree, false, SH("while ! [ -e late ]; do sleep 0.05; done; cat late"));
	harness_result(comes("started") && reads(out_pipe, "late") && exits(41, "code", 0),
		       "works on, and a later exec sees it");
	for (int i = 0; i < 50; i++) {
		ask(100 + i, "/", false, (const char *const[]){"true", NULL});
		if (!comes("started") || !exits(100 + i, "code", 0)) {
			harness_result(false, "fifty execs");
			return;
		}
	}
	harness_result(true, "fifty execs");
}

/* The owner reads nothing for a while: the gate goes on, and nothing that was denied is lost from the counts. */
static void slow_owner(void)
{
	static const char script[] =
		"i=0; while [ $i -lt 3000 ]; do true > x.pem; i=$((i+1)); done 2>/dev/null; true > last.key; "
		"echo done >&2";
	unsigned pem = 0, key = 0, exits_seen = 0;
	struct cc_err err;

	ask(50, harness.tree, false, SH(script));
	harness_result(reads(out_pipe, "done"), "three thousand denials while nobody listens");
	for (int i = 0; i < 20000 && (pem < 3000 || !key || !exits_seen); i++) {
		const char *rule;

		cc_peer_msg_close(&msg);
		cc_json_doc_free(doc);
		doc = NULL;
		if (cc_peer_recv_wait(harness.control, harness_patience(WAIT_MS), &msg, &err) != CC_OK ||
		    msg.len == 0 || cc_json_parse("m", (struct cc_view){msg.text, msg.len}, 0, &doc, &err) != CC_OK)
			break;
		m = cc_json_root(doc);
		exits_seen += strcmp(cc_json_str(m, "m", ""), "exit") == 0;
		if (strcmp(cc_json_str(m, "m", ""), "violation") != 0)
			continue;
		rule = cc_json_str(m, "rule", "");
		pem += strstr(rule, "pem") ? (unsigned)cc_json_int(m, "count", 0) : 0;
		key += strstr(rule, "key") ? (unsigned)cc_json_int(m, "count", 0) : 0;
	}
	printf("# counted %u and %u\n", pem, key);
	harness_result(pem == 3000 && key == 1, "each is counted, and the first of a rule is there");
}

/* A writer that ignores what it can; its output file's size says whether it still runs. */
static void beat(int id)
{
	ask(id, harness.tree, false, SH("echo up; trap '' TERM HUP; while :; do echo x >> beat; done"));
	harness_result(comes("started") && reads(out_pipe, "up"), "one that ignores signals");
}

static bool still(void)
{
	char path[PATH_MAX];
	struct stat st;
	off_t size;

	snprintf(path, sizeof(path), "%s/beat", harness.tree);
	size = stat(path, &st) == 0 ? st.st_size : 0;
	usleep(100000);
	return stat(path, &st) < 0 || st.st_size == size;
}

static void ends_with(void)
{
	int status;

	harness_result(waitpid(harness.bwrap, &status, 0) == harness.bwrap, "the sandbox ends");
	harness_result(still(), "and everything in it");
}

static void owner_goes(void)
{
	beat(60);
	cc_fd_close(&harness.control);
	ends_with();
}

/* PID 1 is killed from outside: the kernel ends the rest (spec/names 2.3, SYS-12). */
static void init_dies(void)
{
	char path[64], text[64] = "";
	int fd;

	beat(70);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", harness.bwrap, harness.bwrap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	harness_result(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
			       kill((pid_t)strtol(text, NULL, 10), SIGKILL) == 0,
		       "PID 1 killed");
	close(fd);
	ends_with();
}

/* The host replaces a file that carries a bind: the bind goes, and so does the rule (attacks 6). */
static void mount_goes(void)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct cc_err err;
	bool told = false;
	FILE *file;

	beat(80);
	snprintf(from, sizeof(from), "%s/new", harness.base);
	snprintf(to, sizeof(to), "%s/%s", harness.tree, harness.pin);
	file = fopen(from, "w");
	harness_result(file && fclose(file) == 0 && rename(from, to) == 0, "the host replaces a bound file");
	for (int i = 0; i < 100 && !told; i++) {
		cc_peer_msg_close(&msg);
		if (cc_peer_recv_wait(harness.control, harness_patience(WAIT_MS), &msg, &err) != CC_OK || msg.len == 0)
			break;
		told = strstr(msg.text, "mount:lost") && strstr(msg.text, harness.pin);
	}
	harness_result(told, "the owner is told");
	harness_result(still(), "and everything is frozen");
	harness_send("{\"m\":\"thaw\"}", NULL, 0);
	harness_result(comes("thawed") && still(), "for good");
	owner_goes();
}

static void all(void)
{
	plain();
	terminal();
	signals();
	files();
	background();
	slow_owner();
	owner_goes();
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *pin;
} modes[] = {{"all", all, NULL}, {"init-dies", init_dies, NULL}, {"mount-goes", mount_goes, "kept.txt"}};

int main(int argc, char **argv)
{
	char *none[] = {(char *)(size_t) "true", NULL};
	size_t mode = 0;

	if (argc != 3)
		return 2;
	while (mode + 1 < CC_COUNT(modes) && strcmp(modes[mode].name, argv[2]) != 0)
		mode++;
	harness.pin = modes[mode].pin;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	harness.init = realpath(argv[1], NULL);
	harness.program = none;
	harness_plant();
	harness_start();
	harness_send_setup();
	harness_result(comes("listeners") && msg.fd_count == 2, "listeners");
	harness_send("{\"m\":\"go\"}", NULL, 0);
	harness_result(comes("ready"), "ready");
	modes[mode].run();
	printf("1..%u\n", harness.tests);
	harness_clean();
	return harness.failed != 0;
}
