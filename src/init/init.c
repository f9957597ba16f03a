#define _GNU_SOURCE
#include "init/init.h"

#include "init/files.h"
#include "init/mounts.h"
#include "init/run.h"
#include "os/fd.h"
#include "os/peer.h"
#include "wire/msg.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FLUSH_MS = 200, NAMES_MAX = 4 << 20 };

struct loop {
	struct cc_init init;
	struct cc_runs runs;
	struct cc_mounts *mounts;
	bool mount_lost; /* frozen for good */
	int children;    /* signalfd */
	bool over;
};

static enum cc_code say(struct loop *loop, const char *name, struct cc_err *err)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "{\"m\":\"%s\"}", name);

	return cc_tell_owner(loop->init.control, text, (size_t)len, NULL, 0, err);
}

static enum cc_code on_exec(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	return cc_runs_exec(&loop->init, &loop->runs, m, msg, err);
}

static enum cc_code on_signal(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	int64_t number = cc_json_int(m, "signal", 0);

	(void)msg;
	if (number < 1 || number > 64)
		return cc_fail(err, CC_EPROTO, 0, "signal");
	cc_runs_signal(&loop->runs, cc_json_int(m, "id", -1), (int)number);
	return CC_OK;
}

static enum cc_code on_freeze(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	(void)m;
	(void)msg;
	loop->init.frozen = true;
	cc_files_signal_all(loop->init.zygote_pid, SIGSTOP);
	return say(loop, "frozen", err);
}

static enum cc_code on_thaw(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	(void)m;
	(void)msg;
	if (!loop->mount_lost) {
		cc_files_signal_all(loop->init.zygote_pid, SIGCONT);
		loop->init.frozen = false;
	}
	return say(loop, "thawed", err);
}

/* {m, id, errno | size} with one descriptor when it went well. */
static enum cc_code answer(struct loop *loop, const char *name, int64_t id, int error, int64_t size, int fd,
			   struct cc_err *err)
{
	char text[160];
	int len;

	if (error)
		len = snprintf(text, sizeof(text), "{\"m\":\"%s\",\"id\":%lld,\"errno\":%d}", name, (long long)id,
			       error);
	else
		len = snprintf(text, sizeof(text), "{\"m\":\"%s\",\"id\":%lld,\"size\":%lld,\"errno\":0}", name,
			       (long long)id, (long long)size);
	return cc_tell_owner(loop->init.control, text, (size_t)len, &fd, !error, err);
}

static enum cc_code on_fetch(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	CC_AUTO_FD fd = -1;
	int64_t size = 0;
	int result = cc_files_fetch(loop->init.rules, cc_json_str(m, "path", ""), &fd, &size);

	(void)msg;
	return answer(loop, "file", cc_json_int(m, "id", -1), -result, size, fd, err);
}

static enum cc_code on_list(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	CC_AUTO_FD fd = -1;
	struct cc_buf names;
	enum cc_code code;
	int result;

	(void)msg;
	cc_buf_init(&names, NAMES_MAX);
	result = cc_files_list(loop->init.rules, cc_json_str(m, "path", ""), &names);
	if (result == 0 && cc_fd_memfile("names", names.data ? names.data : "", names.len, &fd, err) != CC_OK)
		result = -ENOMEM;
	code = answer(loop, "names", cc_json_int(m, "id", -1), -result, (int64_t)names.len, fd, err);
	cc_buf_done(&names);
	return code;
}

/* For the proxy, by way of the owner: only a process of this network namespace can make them. */
/* One that reaches both loopbacks, where the kernel has the second. */
static int either_socket(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 ? fd : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static enum cc_code on_sockets(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	static const char text[] = "{\"m\":\"sockets\"}";
	int64_t wanted = cc_json_int(m, "count", 1);
	int fds[CC_PEER_FDS];
	size_t count = 0;
	enum cc_code code = CC_OK;

	(void)msg;
	while (count < CC_PEER_FDS && (int64_t)count < wanted && (fds[count] = either_socket()) >= 0)
		count++;
	if (count)
		code = cc_tell_owner(loop->init.control, text, sizeof(text) - 1, fds, count, err);
	while (count)
		cc_fd_close(&fds[--count]);
	return code;
}

static enum cc_code on_end(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	(void)m;
	(void)msg;
	(void)err;
	cc_report_last(loop->init.report);
	loop->over = true;
	return CC_OK;
}

static const struct {
	const char *name;
	enum cc_code (*handle)(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err);
} messages[] = {
	{"exec", on_exec},   {"signal", on_signal}, {"freeze", on_freeze}, {"thaw", on_thaw},
	{"fetch", on_fetch}, {"list", on_list},     {"end", on_end},       {"sockets", on_sockets},
};

static enum cc_code dispatch(struct loop *loop, const struct cc_json *m, struct cc_peer_msg *msg, struct cc_err *err)
{
	const char *name = cc_json_str(m, "m", "");

	for (size_t i = 0; i < CC_COUNT(messages); i++)
		if (strcmp(messages[i].name, name) == 0)
			return messages[i].handle(loop, m, msg, err);
	return cc_fail(err, CC_EPROTO, 0, "unknown message");
}

static enum cc_code on_control(struct loop *loop, struct cc_err *err)
{
	static struct cc_peer_msg msg;
	struct cc_json_doc *doc = NULL;
	enum cc_code code = cc_peer_recv(loop->init.control, &msg, err);

	if (code == CC_ETIMEOUT)
		return CC_OK;
	if (code != CC_OK)
		return code;
	if (msg.len == 0) {
		loop->over = true; /* the owner is gone: so are we, and with us everything */
		return CC_OK;
	}
	code = cc_json_parse("message", (struct cc_view){msg.text, msg.len}, 0, &doc, err);
	if (code == CC_OK)
		code = dispatch(loop, cc_json_root(doc), &msg, err);
	cc_json_doc_free(doc);
	cc_peer_msg_close(&msg);
	return code;
}

static enum cc_code on_children(struct loop *loop, struct cc_err *err)
{
	struct signalfd_siginfo info;

	while (read(loop->children, &info, sizeof(info)) == sizeof(info))
		;
	return cc_runs_reap(&loop->init, &loop->runs, err);
}

/* A rule went with the mount: nothing inside may go on (attacks 6). */
static void on_mounts(struct loop *loop)
{
	char point[PATH_MAX];
	struct cc_violation what = {
		.verb = CC_VERB_READ,
		.spelled = cc_view_of(""),
		.rule = "mount:lost",
		.grant = cc_view_of(""),
		.raw = "frozen: a mount disappeared",
		.pid = 1,
	};

	if (loop->mount_lost || !cc_mounts_lost(loop->mounts, point, sizeof(point)))
		return;
	loop->mount_lost = loop->init.frozen = true;
	cc_files_signal_all(loop->init.zygote_pid, SIGSTOP);
	what.target = cc_view_of(point);
	cc_report_violation(loop->init.report, &what);
}

enum { POLL_CONTROL, POLL_CHILDREN, POLL_ZYGOTE, POLL_EVENTS, POLL_MOUNTS, POLL_RUNS };

static nfds_t fill(struct loop *loop, struct pollfd *set)
{
	nfds_t count = POLL_RUNS;

	set[POLL_CONTROL] = (struct pollfd){.fd = loop->init.control, .events = POLLIN};
	set[POLL_CHILDREN] = (struct pollfd){.fd = loop->children, .events = POLLIN};
	set[POLL_ZYGOTE] = (struct pollfd){.fd = loop->init.zygote}; /* its end only */
	set[POLL_EVENTS] = (struct pollfd){.fd = cc_report_wake_fd(loop->init.report), .events = POLLIN};
	set[POLL_MOUNTS] = (struct pollfd){.fd = cc_mounts_fd(loop->mounts), .events = POLLPRI};
	for (size_t i = 0; i < loop->runs.count; i++)
		set[count++] = (struct pollfd){.fd = loop->runs.run[i].error_pipe, .events = POLLIN};
	return count;
}

static enum cc_code turn(struct loop *loop, struct cc_err *err)
{
	static struct pollfd set[POLL_RUNS + CC_RUNS_MAX];
	nfds_t count = fill(loop, set);
	enum cc_code code = CC_OK;

	if (poll(set, count, cc_report_waits(loop->init.report) ? FLUSH_MS : -1) < 0)
		return errno == EINTR ? CC_OK : cc_fail(err, CC_ESYS, errno, "poll");
	cc_report_flush(loop->init.report);
	if (set[POLL_ZYGOTE].revents)
		return cc_fail(err, CC_ESTATE, 0, "the zygote is gone");
	if (set[POLL_MOUNTS].revents)
		on_mounts(loop);
	/* Backwards: a run that could not start leaves the table, and the last one takes its place. */
	for (nfds_t i = count; i-- > POLL_RUNS && code == CC_OK;)
		if (set[i].revents && set[i].fd >= 0)
			code = cc_runs_started(&loop->init, &loop->runs, i - POLL_RUNS, err);
	if (code == CC_OK && set[POLL_CHILDREN].revents)
		code = on_children(loop, err);
	if (code == CC_OK && set[POLL_CONTROL].revents)
		code = on_control(loop, err);
	return code;
}

static void tell_end(struct loop *loop, const struct cc_err *why)
{
	struct cc_buf message;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &message, 4096, "failed");
	cc_jsonw_kstr(&w, "step", "run");
	cc_jsonw_kint(&w, "errno", why->sys);
	cc_jsonw_kstr(&w, "text", why->what);
	cc_jsonw_end(&w);
	if (!message.failed && cc_peer_send(loop->init.control, message.data, message.len, NULL, 0, NULL) != CC_OK)
		fprintf(stderr, "cc-init: %s\n", why->what);
	cc_buf_done(&message);
}

int cc_init_main(int control)
{
	static struct loop loop;
	struct cc_err err = {0};
	sigset_t child;

	loop.init.control = control;
	/* Blocked before any thread exists: children are heard of by descriptor, and no handler runs (attacks 13). */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (cc_setup(&loop.init, &err) != CC_OK)
		return CC_EXIT_NOT_ESTABLISHED;
	loop.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop.children < 0)
		return CC_EXIT_NOT_ESTABLISHED;
	if (cc_mounts_watch(&loop.mounts, &err) != CC_OK || on_children(&loop, &err) != CC_OK)
		return CC_EXIT_NOT_ESTABLISHED;
	while (!loop.over) {
		if (turn(&loop, &err) != CC_OK) {
			tell_end(&loop, &err);
			return CC_EXIT_NOT_ESTABLISHED;
		}
	}
	return 0;
}
