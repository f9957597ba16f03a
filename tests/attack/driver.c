/* driver.c - starts bubblewrap and cc-init the way a session does, runs one attack program inside, relays its TAP lines
 * and adds what only the host can see: no denied name came into being, nothing outside the tree changed, no host
 * socket was reached, and each expected violation was reported.
 *
 *   attack-driver --init CC-INIT [--off WHAT]... [--fail STEP] [--read-deny NAME] [--pty] PROGRAM [ARG]...
 *
 * PROGRAM runs in the tree with a directory of the host, outside of it, as descriptor 0: what an owner must never do,
 * so that the gate's own rule is tested (attacks 2). */
#define _GNU_SOURCE
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

enum { ARGS_MAX = 200, EXPECT_MAX = 64, LINE_MAX_ = 4096, WAIT_MS = 30000 };

struct driver {
	const char *init, *fail, *read_deny;
	const char *off[8];
	size_t off_count;
	bool pty;
	char **program;
	char base[64], tree[80], outside[80], read_only[80];
	int listener; /* a socket of the host inside the tree */
	int datagram;
	int control;
	pid_t bwrap;
	unsigned tests, failed, escaped;
	bool closing; /* the session is over; what follows is the driver's own verdict */
	char *expect[EXPECT_MAX];
	size_t expect_count;
	struct cc_buf events; /* every violation and notice, a line each */
	int status;           /* exit code of the program; -1: none */
};

static struct driver d = {.status = -1};

static void result(bool good, const char *label)
{
	if (!good && strstr(label, "it went through"))
		d.escaped++;
	/* With a protection off, what counts is that the attack is seen to escape. */
	if (d.off_count && !d.closing) {
		printf("# %s: %s\n", good ? "held" : "NOT HELD", label);
		return;
	}
	d.tests++;
	d.failed += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", d.tests, label);
}

static _Noreturn void bail(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) || chmod(path, mode))
		bail(path);
}

static void put_dir(const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (mkdir(path, 0755))
		bail(path);
}

static int host_socket(const char *dir, const char *name, int type)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", dir, name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || (type == SOCK_STREAM && listen(fd, 5) < 0))
		bail(at.sun_path);
	return fd;
}

static void plant(void)
{
	snprintf(d.base, sizeof(d.base), "/var/tmp/ccbox-attack-XXXXXX");
	if (!mkdtemp(d.base))
		bail("mkdtemp");
	snprintf(d.tree, sizeof(d.tree), "%s/tree", d.base);
	snprintf(d.outside, sizeof(d.outside), "%s/outside", d.base);
	snprintf(d.read_only, sizeof(d.read_only), "%s/ro", d.base);
	put_dir(d.base, "tree");
	put_dir(d.base, "outside");
	put_dir(d.base, "ro");
	put_file(d.outside, "victim", "untouched\n", 0644);
	put_dir(d.outside, "dir");
	put_file(d.read_only, "file", "read only\n", 0644);
	put_file(d.tree, "plain.txt", "plain\n", 0644);
	put_file(d.tree, ".env", "SECRET=1\n", 0644);
	put_file(d.tree, "old.pem", "pem\n", 0644);
	put_dir(d.tree, "sub");
	put_file(d.tree, "sub/.env", "SECRET=2\n", 0644);
	put_dir(d.tree, ".git");
	put_dir(d.tree, ".git/hooks");
	put_dir(d.tree, ".git/objects");
	put_dir(d.tree, ".git/refs");
	put_dir(d.tree, ".git/refs/heads");
	put_file(d.tree, ".git/HEAD", "ref: refs/heads/main\n", 0644);
	put_file(d.tree, ".git/config", "[core]\n\trepositoryformatversion = 0\n", 0644);
	put_file(d.tree, "kept.txt", "kept\n", 0600);
	d.listener = host_socket(d.tree, "host.sock", SOCK_STREAM);
	d.datagram = host_socket(d.tree, "host.dgram", SOCK_DGRAM);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void setup_document(struct cc_buf *out)
{
	struct cc_rule_facts facts = {.home = "/home/agent"};
	struct cc_rules *rules = NULL;
	struct cc_spec spec;
	struct cc_err err = {0};
	struct cc_jsonw w;

	cc_spec_init(&spec);
	spec.session_id = strdup("attack");
	spec.workspace_id = strdup("attack");
	if (cc_spec_add_bind(&spec, d.tree, false, &err) != CC_OK ||
	    cc_spec_add_bind(&spec, d.read_only, true, &err) != CC_OK ||
	    (d.read_deny && cc_strv_push(&spec.policy.deny_read, d.read_deny, &err) != CC_OK) ||
	    cc_rules_compile(&spec, &facts, &rules, &err) != CC_OK) {
		printf("# %s\n", err.what);
		bail("rules");
	}
	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", CC_SETUP_VERSION);
	cc_jsonw_key(&w, "rules");
	cc_ruleset_write(&w, rules);
	cc_jsonw_key(&w, "listen");
	cc_jsonw_array(&w);
	cc_jsonw_int(&w, CC_PORT_HTTP);
	cc_jsonw_int(&w, CC_PORT_SOCKS);
	cc_jsonw_end(&w);
	cc_jsonw_kint(&w, "threads", 2);
	cc_jsonw_key(&w, "off");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < d.off_count; i++)
		cc_jsonw_str(&w, d.off[i]);
	cc_jsonw_end(&w);
	if (d.fail)
		cc_jsonw_kstr(&w, "fail_at", d.fail);
	cc_jsonw_end(&w);
	cc_rules_free(rules);
	cc_spec_done(&spec);
}

static const char *argv_[ARGS_MAX];
static size_t argc_;

static void arg(const char *text)
{
	if (argc_ + 1 < ARGS_MAX)
		argv_[argc_++] = text;
}

static void args(const char *const *list)
{
	for (; *list; list++)
		arg(*list);
}

static void system_dirs(void)
{
	static const char *const links[] = {"bin", "sbin", "lib", "lib64", "lib32", NULL};

	for (size_t i = 0; links[i]; i++) {
		char *path, *target = calloc(1, PATH_MAX);
		struct stat st;

		if (!target || asprintf(&path, "/%s", links[i]) < 0 || lstat(path, &st) < 0)
			continue;
		if (S_ISLNK(st.st_mode) && readlink(path, target, PATH_MAX - 1) > 0)
			args((const char *const[]){"--symlink", target, path, NULL});
		else
			args((const char *const[]){"--ro-bind", path, path, NULL});
	}
}

static void devices(void)
{
	static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty", NULL};

	args((const char *const[]){"--size", "1048576", "--tmpfs", "/dev", NULL});
	for (size_t i = 0; nodes[i]; i++) {
		char *path;

		if (asprintf(&path, "/dev/%s", nodes[i]) > 0)
			args((const char *const[]){"--dev-bind", path, path, NULL});
	}
	args((const char *const[]){
		"--symlink", "pts/ptmx",        "/dev/ptmx",   "--symlink", "/proc/self/fd",   "/dev/fd",
		"--symlink", "/proc/self/fd/0", "/dev/stdin",  "--symlink", "/proc/self/fd/1", "/dev/stdout",
		"--symlink", "/proc/self/fd/2", "/dev/stderr", "--dir",     "/dev/pts",        "--size",
		"67108864",  "--tmpfs",         "/dev/shm",    NULL});
}

static void build_argv(int control)
{
	char *number, *attack;

	if (asprintf(&number, "%d", control) < 0)
		bail("asprintf");
	args((const char *const[]){"bwrap",
				   "--unshare-user",
				   "--unshare-pid",
				   "--unshare-net",
				   "--unshare-ipc",
				   "--unshare-uts",
				   "--unshare-cgroup-try",
				   "--as-pid-1",
				   "--die-with-parent",
				   "--cap-drop",
				   "ALL",
				   "--cap-add",
				   "CAP_SYS_ADMIN",
				   "--cap-add",
				   "CAP_NET_ADMIN",
				   "--cap-add",
				   "CAP_SYS_PTRACE",
				   "--cap-add",
				   "CAP_SYS_RESOURCE",
				   "--ro-bind",
				   "/usr",
				   "/usr",
				   NULL});
	system_dirs();
	args((const char *const[]){"--ro-bind-try", "/etc/passwd", "/etc/passwd", "--ro-bind-try", "/etc/ld.so.cache",
				   "/etc/ld.so.cache", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
				   "--proc", "/proc", NULL});
	devices();
	args((const char *const[]){"--size", "268435456", "--tmpfs", "/tmp", "--size", "268435456", "--tmpfs",
				   "/home/agent", "--bind", d.tree, d.tree, "--ro-bind", d.read_only, d.read_only,
				   "--ro-bind", d.init, "/run/ccbox/cc-init", NULL});
	attack = d.program[0];
	if (strchr(attack, '/'))
		attack = realpath(attack, NULL);
	if (attack && *attack == '/' && strncmp(attack, "/usr/", 5) != 0 && strncmp(attack, "/bin/", 5) != 0) {
		args((const char *const[]){"--ro-bind", attack, "/run/ccbox/attack", NULL});
		d.program[0] = strdup("/run/ccbox/attack");
	}
	args((const char *const[]){"--remount-ro", "/", "--", "/run/ccbox/cc-init", number, NULL});
	argv_[argc_] = NULL;
}

static void start(void)
{
	struct cc_err err;
	int theirs;

	if (cc_peer_pair(&d.control, &theirs, &err) != CC_OK)
		bail("socketpair");
	cc_fd_set_cloexec(theirs, false);
	build_argv(theirs);
	d.bwrap = fork();
	if (d.bwrap == 0) {
		execvp("bwrap", (char *const *)(size_t)argv_);
		_exit(127);
	}
	close(theirs);
}

static void send_text(const char *text, const int *fds, size_t count)
{
	struct cc_err err;

	if (cc_peer_send(d.control, text, strlen(text), fds, count, &err) != CC_OK)
		printf("# %s\n", err.what);
}

static void send_document(void)
{
	struct cc_buf text;
	struct cc_err err;
	int fd;

	cc_buf_init(&text, 16 << 20);
	setup_document(&text);
	if (text.failed || cc_fd_memfile("setup", text.data, text.len, &fd, &err) != CC_OK)
		bail("setup document");
	send_text("{\"m\":\"setup\"}", &fd, 1);
	close(fd);
	cc_buf_done(&text);
}

static int out_pipe = -1; /* the program's output */

static void send_exec(void)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", "HOME=/home/agent", "LC_ALL=C.UTF-8",
					  "GIT_TEMPLATE_DIR=",  "TERM=dumb",        NULL};
	char text[PATH_MAX], head[40], *variables[2];
	struct cc_buf block;
	struct cc_err err;
	size_t argc = 0;
	int fds[4], ends[2];

	while (d.program[argc])
		argc++;
	if (asprintf(&variables[0], "TREE=%s", d.tree) < 0 || asprintf(&variables[1], "READONLY=%s", d.read_only) < 0)
		bail("asprintf");
	cc_buf_init(&block, 1 << 20);
	snprintf(head, sizeof(head), "%zu %zu\n", argc, CC_COUNT(env) - 1 + 2);
	cc_buf_adds(&block, head);
	for (size_t i = 0; i < argc; i++)
		cc_buf_add(&block, d.program[i], strlen(d.program[i]) + 1);
	for (size_t i = 0; env[i]; i++)
		cc_buf_add(&block, env[i], strlen(env[i]) + 1);
	for (size_t i = 0; i < 2; i++)
		cc_buf_add(&block, variables[i], strlen(variables[i]) + 1);
	if (cc_fd_memfile("args", block.data, block.len, &fds[0], &err) != CC_OK || pipe2(ends, O_CLOEXEC) < 0)
		bail("exec");
	snprintf(text, sizeof(text), "{\"m\":\"exec\",\"id\":1,\"cwd\":\"%s\",\"pty\":%s,\"rows\":24,\"cols\":80}",
		 d.tree, d.pty ? "true" : "false");
	fds[1] = open(d.outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds[2] = fds[3] = ends[1];
	send_text(text, fds, d.pty ? 1 : 4);
	close(fds[0]);
	close(fds[1]);
	close(ends[1]);
	if (d.pty)
		close(ends[0]);
	else
		out_pipe = ends[0];
	cc_buf_done(&block);
}

static void line(const char *text)
{
	if (strncmp(text, "ok ", 3) == 0)
		result(true, text + 3);
	else if (strncmp(text, "not ok ", 7) == 0)
		result(false, text + 7);
	else if (strncmp(text, "expect ", 7) == 0 && d.expect_count < EXPECT_MAX)
		d.expect[d.expect_count++] = strdup(text + 7);
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
		result(msg->fd_count == 2, "two listeners came out");
		msg->fd_count = 0; /* kept open: somebody listens */
		send_text("{\"m\":\"go\"}", NULL, 0);
	} else if (strcmp(name, "ready") == 0) {
		printf("# %s\n", msg->text);
		send_exec();
	} else if (strcmp(name, "started") == 0 && d.pty) {
		out_pipe = cc_fd_take(&msg->fds[0]);
	} else if (strcmp(name, "violation") == 0 || strcmp(name, "notice") == 0) {
		cc_buf_adds(&d.events, msg->text);
		cc_buf_adds(&d.events, "\n");
		if (getenv("ATTACK_EVENTS"))
			printf("# %s\n", msg->text);
	} else if (strcmp(name, "exit") == 0) {
		d.status = (int)cc_json_int(m, "code", 128 + cc_json_int(m, "signal", 0));
		send_text("{\"m\":\"end\"}", NULL, 0);
	} else if (strcmp(name, "failed") == 0 || strcmp(name, "refused") == 0) {
		printf("# %s\n", msg->text);
		if (d.fail)
			result(strcmp(cc_json_str(m, "step", ""), d.fail) == 0, "the failing step is named");
		if (strcmp(name, "refused") == 0)
			send_text("{\"m\":\"end\"}", NULL, 0);
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
		struct pollfd set[2] = {{.fd = control ? d.control : -1, .events = POLLIN},
					{.fd = out_pipe, .events = POLLIN}};

		if (poll(set, 2, WAIT_MS) <= 0) {
			result(false, "the session came to an end");
			kill(d.bwrap, SIGKILL);
			cc_fd_close(&d.control);
			return;
		}
		if (set[1].revents)
			relay();
		if (set[0].revents)
			control = cc_peer_recv(d.control, &msg, NULL) == CC_OK && on_message(&msg);
	}
}

static const char *const prepared[] = {".env", "old.pem", "sub/.env", NULL};

static int scan(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base, *inside = path + strlen(d.tree) + (ftw->level > 0);
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

static void look_from_outside(void)
{
	char byte;
	struct stat st;
	char path[PATH_MAX];

	result(nftw(d.tree, scan, 16, FTW_PHYS) == 0, "host: no denied name came into being");
	result(file_is(d.tree, ".env", "SECRET=1\n") && file_is(d.tree, "old.pem", "pem\n") &&
		       file_is(d.tree, "sub/.env", "SECRET=2\n"),
	       "host: denied files are as they were");
	snprintf(path, sizeof(path), "%s/.env", d.tree);
	result(stat(path, &st) == 0 && (st.st_mode & 07777) == 0644 && st.st_nlink == 1, "host: so is their metadata");
	result(file_is(d.outside, "victim", "untouched\n"), "host: a file outside is as it was");
	snprintf(path, sizeof(path), "%s/made", d.outside);
	result(access(path, F_OK) < 0, "host: nothing was made outside");
	result(accept(d.listener, NULL, NULL) < 0 && recv(d.datagram, &byte, 1, 0) < 0, "host: no socket was reached");
	for (size_t i = 0; i < d.expect_count; i++) {
		char *label;

		if (asprintf(&label, "an event says %s", d.expect[i]) > 0)
			result(d.events.data && strstr(d.events.data, d.expect[i]), label);
	}
}

static void options(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--pty") == 0)
			d.pty = true;
		else if (i + 1 == argc)
			break;
		else if (strcmp(argv[i], "--init") == 0)
			d.init = argv[++i];
		else if (strcmp(argv[i], "--off") == 0 && d.off_count < 8)
			d.off[d.off_count++] = argv[++i];
		else if (strcmp(argv[i], "--fail") == 0)
			d.fail = argv[++i];
		else if (strcmp(argv[i], "--read-deny") == 0)
			d.read_deny = argv[++i];
	}
	d.program = argv + i;
	if (!d.init || i >= argc)
		bail("usage");
}

int main(int argc, char **argv)
{
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	umask(022);
	options(argc, argv);
	cc_buf_init(&d.events, 64 << 20);
	plant();
	start();
	send_document();
	serve();
	waitpid(d.bwrap, &status, 0);
	d.closing = true;
	if (d.off_count)
		result(d.escaped > 0, "without the protection the attack escapes");
	else if (d.fail)
		result(WIFEXITED(status) && WEXITSTATUS(status) == CC_EXIT_NOT_ESTABLISHED && d.status < 0,
		       "nothing was started, and it exits 125");
	else
		result(d.status == 0, "the program ran to its end");
	if (d.off_count == 0)
		look_from_outside();
	printf("1..%u\n", d.tests);
	nftw(d.base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return d.failed != 0;
}
