#define _GNU_SOURCE
#include "init/setup.h"

#include "gate/resolve.h"
#include "init/listen.h"
#include "init/zygote.h"
#include "kernel/calls.h"
#include "os/fd.h"
#include "os/peer.h"
#include "wire/msg.h"
#include "wire/ruleset.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETUP_MAX = 32 << 20, FILES_MAX = 8192 };

enum cc_code cc_tell_owner(int control, const char *text, size_t len, const int *fds, size_t fd_count,
			   struct cc_err *err)
{
	for (;;) {
		struct pollfd wait = {.fd = control, .events = POLLOUT};
		enum cc_code code = cc_peer_send(control, text, len, fds, fd_count, err);

		if (code != CC_ETIMEOUT)
			return code;
		poll(&wait, 1, -1);
	}
}

/* The next message, which must be the one called name. */
static enum cc_code await(int control, const char *name, struct cc_peer_msg *msg, struct cc_err *err)
{
	struct cc_json_doc *doc = NULL;
	enum cc_code code = cc_peer_recv_wait(control, -1, msg, err);

	if (code != CC_OK)
		return code;
	if (msg->len == 0)
		return cc_fail(err, CC_EPROTO, 0, "the owner went away");
	code = cc_json_parse("message", (struct cc_view){msg->text, msg->len}, 0, &doc, err);
	if (code == CC_OK && strcmp(cc_json_str(cc_json_root(doc), "m", ""), name) != 0)
		code = cc_fail(err, CC_EPROTO, 0, "expected the message %s", name);
	cc_json_doc_free(doc);
	if (code != CC_OK)
		cc_peer_msg_close(msg);
	return code;
}

static enum cc_code step_stdio(struct cc_init *init, struct cc_err *err)
{
	int fd;

	(void)init;
	/* A file opened later must never become 0, 1 or 2. */
	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return cc_fail(err, CC_ESYS, errno, "/dev/null");
	} while (fd <= 2);
	close(fd);
	return CC_OK;
}

static enum cc_code read_ports(struct cc_init *init, const struct cc_json *list, struct cc_err *err)
{
	for (const struct cc_json *port = list ? list->child : NULL; port; port = port->next) {
		if (port->kind != CC_JSON_INT || port->integer < 1 || port->integer > 65535 ||
		    init->port_count == CC_INIT_LISTEN_MAX)
			return cc_fail(err, CC_EPROTO, 0, "setup: listen");
		init->ports[init->port_count++] = (uint16_t)port->integer;
	}
	return CC_OK;
}

#ifdef CC_TWIN
static void read_twin(struct cc_init *init, const struct cc_json *root)
{
	static const struct {
		const char *name;
		unsigned bit;
	} names[] = {{"gate", CC_OFF_GATE},
		     {"filter", CC_OFF_FILTER},
		     {"floor", CC_OFF_FLOOR},
		     {"mounts", CC_OFF_MOUNTS},
		     {"spares", CC_OFF_SPARES},
		     {"unseen-floor", CC_OFF_UNSEEN_FLOOR},
		     {"unseen-gate", CC_OFF_UNSEEN_GATE},
		     {"capture", CC_OFF_CAPTURE},
		     {"lock", CC_OFF_LOCK}};
	const struct cc_json *off = cc_json_get(root, "off");

	snprintf(init->fail_at, sizeof(init->fail_at), "%s", cc_json_str(root, "fail_at", ""));
	for (const struct cc_json *item = off ? off->child : NULL; item; item = item->next)
		for (size_t i = 0; i < CC_COUNT(names); i++)
			if (cc_view_is(item->text, names[i].name))
				init->off |= names[i].bit;
}
#else
static void read_twin(struct cc_init *init, const struct cc_json *root)
{
	(void)init;
	(void)root;
}
#endif

static enum cc_code read_setup(struct cc_init *init, int fd, struct cc_err *err)
{
	struct cc_buf text;
	struct cc_json_doc *doc = NULL;
	const struct cc_json *root;
	enum cc_code code;

	cc_buf_init(&text, SETUP_MAX);
	code = cc_fd_read_all(fd, &text, err);
	if (code == CC_OK)
		code = cc_json_parse("setup", cc_buf_view(&text), 0, &doc, err);
	root = doc ? cc_json_root(doc) : NULL;
	if (code == CC_OK && cc_json_int(root, "v", 0) != CC_SETUP_VERSION)
		code = cc_fail(err, CC_EPROTO, 0, "setup: another version");
	if (code == CC_OK && !cc_json_get(root, "rules"))
		code = cc_fail(err, CC_EPROTO, 0, "setup: no rules");
	if (code == CC_OK)
		code = cc_ruleset_read(cc_json_get(root, "rules"), &init->rules, err);
	if (code == CC_OK)
		code = read_ports(init, cc_json_get(root, "listen"), err);
	if (code == CC_OK) {
		snprintf(init->bridge, sizeof(init->bridge), "%s", cc_json_str(root, "bridge", ""));
		init->threads = (unsigned)cc_json_int(root, "threads", CC_GATE_THREADS_MIN);
		init->pids = cc_json_int(root, "pids", 0);
		read_twin(init, root);
	}
	cc_json_doc_free(doc);
	cc_buf_done(&text);
	return code;
}

static enum cc_code step_setup(struct cc_init *init, struct cc_err *err)
{
	static struct cc_peer_msg msg;
	enum cc_code code = await(init->control, "setup", &msg, err);

	if (code != CC_OK)
		return code;
	code = msg.fd_count == 1 ? read_setup(init, msg.fds[0], err)
				 : cc_fail(err, CC_EPROTO, 0, "setup without its document");
	cc_peer_msg_close(&msg);
	return code;
}

static enum cc_code step_devpts(struct cc_init *init, struct cc_err *err)
{
	(void)init;
	/* An instance of our own: the host's terminals are not in it. bubblewrap's --dev would take the network
	 * namespace from us by a second user namespace. */
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot mount a devpts on /dev/pts");
	return CC_OK;
}

/* Limits of the sandbox's own user namespace: no namespaces inside, and few of what is counted per host user
 * (attacks 17). Those a kernel does not have are skipped; the first two must hold. */
static const struct {
	const char *name, *value;
	bool must;
} limits[] = {
	{"max_user_namespaces", "0", true},      {"max_inotify_instances", "64", false},
	{"max_inotify_watches", "65536", false}, {"max_fanotify_groups", "0", false},
	{"max_fanotify_marks", "0", false},
};

static enum cc_code step_limits(struct cc_init *init, struct cc_err *err)
{
	(void)init;
	for (size_t i = 0; i < CC_COUNT(limits); i++) {
		char path[64];
		CC_AUTO_FD fd = -1;
		size_t len = strlen(limits[i].value);

		snprintf(path, sizeof(path), "/proc/sys/user/%s", limits[i].name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0 && write(fd, limits[i].value, len) == (ssize_t)len)
			continue;
		if (limits[i].must)
			return cc_fail(err, CC_ESYS, errno, "cannot set %s", path);
	}
	return CC_OK;
}

static enum cc_code step_proc(struct cc_init *init, struct cc_err *err)
{
	(void)init;
	/* As kuid 0 the sysctls below it are the host's, whatever capabilities say (attacks 1). */
	if (mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot make /proc read-only");
	return CC_OK;
}

static enum cc_code step_self(struct cc_init *init, struct cc_err *err)
{
	/* 0 would not stop a core_pattern that is a pipe; 1 does (attacks 18). */
	struct rlimit core = {1, 1}, files;

	/* Pinned sockets, waiting calls and kept status files add up; what is open is bounded by tables of our own. */
	if (getrlimit(RLIMIT_NOFILE, &init->files) == 0) {
		files = init->files;
		files.rlim_cur =
			files.rlim_max == RLIM_INFINITY || files.rlim_max > FILES_MAX ? FILES_MAX : files.rlim_max;
		if (files.rlim_cur > init->files.rlim_cur)
			setrlimit(RLIMIT_NOFILE, &files);
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &core) < 0 || chdir("/") < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot harden PID 1");
	return CC_OK;
}

static enum cc_code step_go(struct cc_init *init, struct cc_err *err)
{
	static struct cc_peer_msg msg;
	enum cc_code code = await(init->control, "go", &msg, err);

	if (code == CC_OK)
		cc_peer_msg_close(&msg);
	return code;
}

static enum cc_code step_power(struct cc_init *init, struct cc_err *err)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{1u << CAP_SYS_PTRACE, 1u << CAP_SYS_PTRACE, 0}, {0, 0, 0}};

	(void)init;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot clear ambient capabilities");
	/* NO_NEW_PRIVS makes the bounding set moot; it is emptied so that nobody has to know that. */
	for (int cap = 0; cap <= 63; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capset, &head, data) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot drop capabilities");
	return CC_OK;
}

static enum cc_code step_gate(struct cc_init *init, struct cc_err *err)
{
	enum cc_code code;

	if (!cc_fd_set_nonblock(init->control, true))
		return cc_fail(err, CC_ESYS, errno, "the control socket");
	init->landlock_abi = cc_k_landlock_abi();
	code = cc_report_new(init->control, &init->report, err);
	if (code != CC_OK)
		return code;
	return cc_gate_open(init->rules, init->report, init->threads, init->off, &init->gate, err);
}

/* What the gate does to callers is tried on the zygote, which is as closed to others as any of them will be: where the
 * host forbids it, the session would start and then refuse everything in it. */
static enum cc_code step_reach(struct cc_init *init, struct cc_err *err)
{
	static const char mark[] = "the same place in every fork of ours";
	const struct cc_call call = {.tid = init->zygote_pid};
	CC_AUTO_FD pidfd = cc_k_pidfd(init->zygote_pid);
	CC_AUTO_FD fd = -1;
	char got[sizeof(mark)];

	if (cc_target_read(&call, got, (uint64_t)(size_t)mark, sizeof(mark)) < 0 ||
	    memcmp(got, mark, sizeof(mark)) != 0)
		return cc_fail(
			err, CC_EUNSUPPORTED, 0,
			"the memory of a process inside cannot be read (process_vm_readv): no call could be judged");
	/* A kernel or a container that has no such call says so for any number; this one says that nothing is open
	 * there. */
	fd = pidfd < 0 ? pidfd : cc_k_pidfd_getfd(pidfd, FILES_MAX * 4);
	if (fd < 0 && fd != -EBADF)
		return cc_fail(err, CC_EUNSUPPORTED, -fd,
			       "pidfd_getfd is forbidden here: no socket could be bound or connected");
	return CC_OK;
}

static enum cc_code step_confine(struct cc_init *init, struct cc_err *err)
{
	static struct cc_bpf program;
	enum cc_code code;

	if (init->off & CC_OFF_FILTER)
		return CC_OK;
	code = cc_bpf_emit_init(cc_k_arch(), &program, err);
	return code == CC_OK ? cc_k_filter_all(&program, err) : code;
}

/* No protection is missing, only a comfort: the session goes on and says so. */
static enum cc_code tell_no_capture(const struct cc_init *init, struct cc_err *err)
{
	struct cc_buf message;
	struct cc_jsonw w;
	enum cc_code code;

	cc_jsonw_message(&w, &message, 4096, "notice");
	cc_jsonw_kstr(&w, "action", "network-outbound");
	cc_jsonw_kstr(&w, "target", "transparent");
	cc_jsonw_kstr(&w, "reason", "programs that ignore the proxy variables see no network here");
	cc_jsonw_kstr(&w, "raw", init->capture_fault);
	cc_jsonw_end(&w);
	code = cc_buf_check(&message, "a notice", err);
	if (code == CC_OK)
		code = cc_tell_owner(init->control, message.data, message.len, NULL, 0, err);
	cc_buf_done(&message);
	return code;
}

static enum cc_code step_ready(struct cc_init *init, struct cc_err *err)
{
	enum cc_code code;
	char text[200];
	int len = snprintf(text, sizeof(text),
			   "{\"m\":\"ready\",\"facts\":{\"landlock\":%d,\"threads\":%u,\"zygote\":%d,\"off\":%u}}",
			   init->landlock_abi, init->threads, (int)init->zygote_pid, init->off);

	cc_report_open(init->report);
	code = cc_tell_owner(init->control, text, (size_t)len, NULL, 0, err);
	return code == CC_OK && init->capture_fault[0] ? tell_no_capture(init, err) : code;
}

static const struct {
	const char *name;
	enum cc_code (*run)(struct cc_init *init, struct cc_err *err);
} steps[] = {
	{"stdio", step_stdio},   {"setup", step_setup},     {"devpts", step_devpts},     {"limits", step_limits},
	{"proc", step_proc},     {"self", step_self},       {"listen", cc_step_listen},  {"go", step_go},
	{"power", step_power},   {"gate", step_gate},       {"zygote", cc_zygote_start}, {"reach", step_reach},
	{"proof", cc_zygote_up}, {"confine", step_confine}, {"ready", step_ready},
};

static void tell_failure(int control, const char *step, const struct cc_err *why)
{
	struct cc_buf message;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &message, 8192, "failed");
	cc_jsonw_kstr(&w, "step", step);
	cc_jsonw_kint(&w, "errno", why->sys);
	cc_jsonw_kstr(&w, "text", why->what);
	cc_jsonw_kint(&w, "code", why->code);
	cc_jsonw_end(&w);
	if (!message.failed && cc_tell_owner(control, message.data, message.len, NULL, 0, NULL) != CC_OK)
		fprintf(stderr, "cc-init: %s: %s\n", step, why->what); /* the owner is gone */
	cc_buf_done(&message);
}

enum cc_code cc_setup(struct cc_init *init, struct cc_err *err)
{
	for (size_t i = 0; i < CC_COUNT(steps); i++) {
		enum cc_code code = strcmp(init->fail_at, steps[i].name) == 0
					    ? cc_fail(err, CC_ESYS, EIO, "made to fail by the test")
					    : steps[i].run(init, err);

		if (code != CC_OK) {
			tell_failure(init->control, steps[i].name, err);
			return code;
		}
	}
	return CC_OK;
}
