#define _GNU_SOURCE
#include "harness.h"

#include "os/fd.h"
#include "os/peer.h"
#include "policy/rules.h"
#include "wire/json.h"
#include "wire/msg.h"
#include "wire/ruleset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 200 };

struct harness harness = {.status = -1};

void harness_result(bool good, const char *label)
{
	if (!good && strstr(label, "it went through"))
		harness.escaped++;
	/* With a protection off, what counts is that the attack is seen to escape. */
	if (harness.off_count && !harness.closing) {
		printf("# %s: %s\n", good ? "held" : "NOT HELD", label);
		return;
	}
	harness.tests++;
	harness.failed += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", harness.tests, label);
}

_Noreturn void harness_bail(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

int harness_patience(int ms)
{
	const char *times = getenv("PATIENCE");

	return times && atoi(times) > 0 ? ms * atoi(times) : ms;
}

static void put_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) || chmod(path, mode))
		harness_bail(path);
}

static void put_dir(const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (mkdir(path, 0755))
		harness_bail(path);
}

static int host_socket(const char *dir, const char *name, int type)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", dir, name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || (type == SOCK_STREAM && listen(fd, 5) < 0))
		harness_bail(at.sun_path);
	return fd;
}

void harness_plant(void)
{
	const char *where = getenv("ATTACK_BASE"); /* another file system */

	snprintf(harness.base, sizeof(harness.base), "%s/ccbox-attack-XXXXXX", where ? where : "/var/tmp");
	if (!mkdtemp(harness.base))
		harness_bail("mkdtemp");
	snprintf(harness.tree, sizeof(harness.tree), "%s/tree", harness.base);
	snprintf(harness.outside, sizeof(harness.outside), "%s/outside", harness.base);
	snprintf(harness.read_only, sizeof(harness.read_only), "%s/ro", harness.base);
	put_dir(harness.base, "tree");
	put_dir(harness.base, "outside");
	put_dir(harness.base, "ro");
	put_file(harness.outside, "victim", "untouched\n", 0644);
	put_dir(harness.outside, "dir");
	put_file(harness.read_only, "file", "read only\n", 0644);
	put_file(harness.tree, "plain.txt", "plain\n", 0644);
	put_file(harness.tree, ".env", "SECRET=1\n", 0644);
	put_file(harness.tree, "old.pem", "pem\n", 0644);
	put_dir(harness.tree, "sub");
	put_file(harness.tree, "sub/.env", "SECRET=2\n", 0644);
	put_dir(harness.tree, ".git");
	put_dir(harness.tree, ".git/hooks");
	put_dir(harness.tree, ".git/objects");
	put_dir(harness.tree, ".git/refs");
	put_dir(harness.tree, ".git/refs/heads");
	put_file(harness.tree, ".git/HEAD", "ref: refs/heads/main\n", 0644);
	put_file(harness.tree, ".git/config", "[core]\n\trepositoryformatversion = 0\n", 0644);
	put_file(harness.tree, "kept.txt", "kept\n", 0600);
	harness.listener = host_socket(harness.tree, "host.sock", SOCK_STREAM);
	harness.datagram = host_socket(harness.tree, "host.dgram", SOCK_DGRAM);
	harness.other = host_socket(harness.tree, "other.sock", SOCK_STREAM);
}

bool harness_has_unnamed(void)
{
	CC_AUTO_FD fd = open(harness.tree, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 || errno != EOPNOTSUPP;
}

/* A name that was looked up before is found as it was spelled then. */
void harness_forget_names(void)
{
	CC_AUTO_FD fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	sync();
	if (fd < 0 || write(fd, "2", 1) != 1)
		harness_bail("drop_caches");
}

bool harness_left_over(void)
{
	DIR *dir = opendir(harness.tree);
	struct dirent *entry;
	bool found = dir == NULL;

	while (dir && (entry = readdir(dir)))
		found |= strncmp(entry->d_name, ".ccbox-", 7) == 0;
	if (dir)
		closedir(dir);
	return found;
}

/* Some attacks leave paths that are longer than any call takes: rm goes down step by step. */
void harness_clean(void)
{
	char slow[PATH_MAX];
	pid_t child;

	/* where the file system that stalls is mounted nothing could be taken away: its directory would stay */
	snprintf(slow, sizeof(slow), "%s/slow", harness.tree);
	if (harness.slow)
		umount2(slow, MNT_DETACH);
	child = fork();
	if (child == 0) {
		execlp("rm", "rm", "-rf", "--one-file-system", "--", harness.base, (char *)NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

static void setup_document(struct cc_buf *out)
{
	struct cc_rule_facts facts = {.home = "/home/agent"};
	struct cc_rules *rules = NULL;
	struct cc_spec spec;
	struct cc_err err = {0};
	struct cc_jsonw w;
	char denied[PATH_MAX], granted[PATH_MAX];

	cc_spec_init(&spec);
	snprintf(denied, sizeof(denied), "%s/%s", harness.tree, harness.read_deny ? harness.read_deny : "");
	snprintf(granted, sizeof(granted), "%s/%s", harness.tree, harness.grant ? harness.grant : "");
	spec.session_id = strdup("attack");
	spec.workspace_id = strdup("attack");
	if (cc_spec_add_bind(&spec, harness.tree, false, &err) != CC_OK ||
	    cc_spec_add_bind(&spec, harness.read_only, true, &err) != CC_OK ||
	    (harness.read_deny && cc_strv_push(&spec.policy.deny_read, denied, &err) != CC_OK) ||
	    (harness.grant && cc_strv_push(&spec.policy.allow_sockets, granted, &err) != CC_OK) ||
	    cc_rules_compile(&spec, &facts, &rules, &err) != CC_OK) {
		printf("# %s\n", err.what);
		harness_bail("rules");
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
	if (harness.threads)
		cc_jsonw_kint(&w, "threads", harness.threads);
	cc_jsonw_key(&w, "off");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < harness.off_count; i++)
		cc_jsonw_str(&w, harness.off[i]);
	cc_jsonw_end(&w);
	if (harness.fail)
		cc_jsonw_kstr(&w, "fail_at", harness.fail);
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
		harness_bail("asprintf");
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
				   "/home/agent", "--bind", harness.tree, harness.tree, "--ro-bind", harness.read_only,
				   harness.read_only, "--ro-bind", harness.init, "/run/ccbox/cc-init", NULL});
	if (harness.pin) {
		char *path;

		if (asprintf(&path, "%s/%s", harness.tree, harness.pin) > 0)
			args((const char *const[]){"--ro-bind", path, path, NULL});
	}
	attack = harness.program[0];
	if (strchr(attack, '/'))
		attack = realpath(attack, NULL);
	if (attack && *attack == '/' && strncmp(attack, "/usr/", 5) != 0 && strncmp(attack, "/bin/", 5) != 0) {
		args((const char *const[]){"--ro-bind", attack, "/run/ccbox/attack", NULL});
		harness.program[0] = strdup("/run/ccbox/attack");
	}
	args((const char *const[]){"--remount-ro", "/", "--", "/run/ccbox/cc-init", number, NULL});
	argv_[argc_] = NULL;
}

void harness_start(void)
{
	struct cc_err err;
	int theirs;

	if (cc_peer_pair(&harness.control, &theirs, &err) != CC_OK)
		harness_bail("socketpair");
	cc_fd_set_cloexec(theirs, false);
	build_argv(theirs);
	harness.bwrap = fork();
	if (harness.bwrap == 0) {
		execvp("bwrap", (char *const *)(size_t)argv_);
		_exit(127);
	}
	close(theirs);
}

void harness_send(const char *text, const int *fds, size_t count)
{
	struct cc_err err;

	if (cc_peer_send(harness.control, text, strlen(text), fds, count, &err) != CC_OK)
		printf("# %s\n", err.what);
}

void harness_send_setup(void)
{
	struct cc_buf text;
	struct cc_err err;
	int fd;

	cc_buf_init(&text, 16 << 20);
	setup_document(&text);
	if (text.failed || cc_fd_memfile("setup", text.data, text.len, &fd, &err) != CC_OK)
		harness_bail("setup document");
	harness_send("{\"m\":\"setup\"}", &fd, 1);
	close(fd);
	cc_buf_done(&text);
}
