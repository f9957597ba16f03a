/* cc-keeper FD PTY PROGRAM [ARG...]: runs one command of a server-hosted terminal without a sandbox and answers for all
 * that descends from it. FD is a socketpair to the owner: we say started, refused, exit; the owner says signal, tree.
 * When the owner closes it, or dies, everything below is told to hang up and then killed. */
#define _GNU_SOURCE
#include "backend/linux/kept.h"
#include "os/fd.h"
#include "os/peer.h"
#include "os/proc.h"
#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool no_grace; /* the owner said so */

static bool say(int control, const char *name, const char *key, int value)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "{\"m\":\"%s\",\"%s\":%d}", name, key, value);

	return cc_peer_send(control, text, (size_t)len, NULL, 0, NULL) == CC_OK;
}

/* The slave must not be held here: its last holder's end is how the owner learns that all output was read. */
static void let_go_of_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		dup2(null, i);
	close(null);
}

static void obey(int control, const struct cc_child *child, bool *out_over)
{
	static struct cc_peer_msg msg;
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *root;
	int number;

	if (cc_peer_recv(control, &msg, NULL) != CC_OK || msg.len == 0) {
		*out_over = true;
		return;
	}
	cc_peer_msg_close(&msg);
	if (cc_json_parse("owner", (struct cc_view){msg.text, msg.len}, 0, &doc, NULL) != CC_OK)
		return;
	root = cc_json_root(doc);
	number = (int)cc_json_int(root, "signal", 0);
	if (strcmp(cc_json_str(root, "m", ""), "kill") == 0)
		*out_over = no_grace = true;
	else if (strcmp(cc_json_str(root, "m", ""), "tree") == 0)
		cc_tree_signal(number);
	else if (child->pid > 0)
		kill(-child->pid, number);
}

/* Orphans that were adopted; the command itself is left for cc_proc_wait. */
static void reap_others(const struct cc_child *child)
{
	siginfo_t info;

	for (;;) {
		memset(&info, 0, sizeof(info));
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0 ||
		    info.si_pid == child->pid)
			return;
		waitpid(info.si_pid, NULL, 0);
	}
}

static void serve(int control, struct cc_child *child)
{
	struct pollfd set[] = {{.fd = control, .events = POLLIN}, {.fd = child->pidfd, .events = POLLIN}};
	bool over = false;
	int status = 0;

	while (!over) {
		/* adopted orphans are reaped now and then: nobody waits for them */
		if (poll(set, CC_COUNT(set), 1000) < 0 && errno != EINTR)
			return;
		if (set[1].revents) {
			cc_proc_wait(child, -1, &status);
			say(control, "exit", WIFSIGNALED(status) ? "signal" : "code",
			    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
			return;
		}
		if (set[0].revents)
			obey(control, child, &over);
		reap_others(child);
	}
}

/* Hang up first, as a terminal that is closed does, and wait a little for those who tidy up. */
static void end_all(int control)
{
	struct pollfd set = {.fd = control, .events = POLLIN};
	const struct cc_child gone = {.pid = -1};
	bool closed = false;

	cc_tree_signal(SIGHUP);
	cc_tree_signal(SIGCONT); /* what was stopped hears it too */
	for (int waited = 0; waited < CC_KEEPER_GRACE_MS && !no_grace; waited += 10) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (cc_tree_signal(0) == 0)
			return;
		if (poll(&set, 1, 10) > 0) {
			obey(control, &gone, &closed);
			set.fd = closed ? -1 : control;
		}
	}
	cc_tree_end();
}

int main(int argc, char **argv)
{
	struct cc_spawn how = {.stdio = {0, 1, 2}, .new_session = true};
	struct cc_child child;
	struct cc_err err = {0};
	int control;

	if (argc < 4)
		return 2;
	control = (int)strtol(argv[1], NULL, 10);
	how.controlling = argv[2][0] == '1';
	how.argv = argv + 3;
	how.envp = environ;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (control < 3 || !cc_fd_set_cloexec(control, true))
		return 2;
	cc_proc_adopt();
	if (cc_proc_spawn(&how, &child, &err) != CC_OK) {
		say(control, "refused", "errno", err.sys ? err.sys : EIO);
		return 0;
	}
	let_go_of_stdio();
	if (say(control, "started", "pid", child.pid))
		serve(control, &child);
	end_all(control);
	return 0;
}
