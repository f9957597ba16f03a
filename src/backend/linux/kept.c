#define _GNU_SOURCE
#include "backend/linux/kept.h"

#include "backend/linux/facts.h"
#include "os/fd.h"
#include "os/peer.h"
#include "os/proc.h"
#include "os/tree.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { EXECS = 16, END_MS = 3000 };

struct kept_exec {
	int id; /* 0 = free slot */
	int control;
	int master;   /* until the keeper says that the program runs */
	pid_t leader; /* of the command's session */
	bool over;    /* it has ended; the keeper ends what it left behind */
	struct cc_child keeper;
};

struct kept_box {
	struct cc_box box;
	int epoll;
	struct kept_exec execs[EXECS];
	struct cc_peer_msg msg;
};

static enum cc_code kept_launch(const struct cc_launch *how, struct cc_box **out_box, struct cc_err *err)
{
	struct kept_box *kept = calloc(1, sizeof(*kept));

	(void)how;
	if (!kept)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	kept->box.backend = &cc_backend_kept;
	kept->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (kept->epoll < 0) {
		cc_fail(err, CC_ESYS, errno, "epoll");
		free(kept);
		return CC_ESYS;
	}
	*out_box = &kept->box;
	return CC_OK;
}

static struct kept_exec *find_exec(struct kept_box *kept, int id)
{
	for (size_t i = 0; i < EXECS; i++)
		if (kept->execs[i].id == id)
			return &kept->execs[i];
	return NULL;
}

/* keeper FD PROGRAM ARG0 ARG...: it and the command have the same environment, directory and standard streams. */
static enum cc_code start_keeper(const struct cc_box_exec *what, const char *program, int control, int slave,
				 struct cc_child *out_keeper, struct cc_err *err)
{
	char keeper[PATH_MAX], number[16], pty[2] = {what->pty ? '1' : '0', '\0'};
	CC_AUTO_FREE char **argv = calloc(what->argv->count + 5, sizeof(*argv));
	struct cc_spawn how = {.envp = what->env->items,
			       .cwd = what->cwd,
			       .stdio = {what->stdio[0], what->stdio[1], what->stdio[2]},
			       .keep = {control},
			       .keep_count = 1,
			       .new_session = true};
	enum cc_code code = cc_facts_helper("cc-keeper", keeper, sizeof(keeper), err);

	if (code != CC_OK) /* it is not what the client asked for that was not found */
		return cc_fail(err, CC_EUNSUPPORTED, 0, "the helper cc-keeper is not installed; reinstall");
	if (!argv)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	snprintf(number, sizeof(number), "%d", control);
	argv[0] = keeper;
	argv[1] = number;
	argv[2] = pty;
	argv[3] = (char *)(size_t)program;
	memcpy(argv + 4, what->argv->items + 1, (what->argv->count - 1) * sizeof(*argv));
	how.argv = argv;
	if (what->pty)
		how.stdio[0] = how.stdio[1] = how.stdio[2] = slave;
	return cc_proc_spawn(&how, out_keeper, err);
}

static enum cc_code kept_exec(struct cc_box *box, int id, const struct cc_box_exec *what, struct cc_err *err)
{
	struct kept_box *kept = (struct kept_box *)box;
	struct kept_exec *slot = find_exec(kept, 0);
	struct epoll_event event = {.events = EPOLLIN};
	char program[PATH_MAX];
	CC_AUTO_FD ours = -1;
	CC_AUTO_FD theirs = -1;
	CC_AUTO_FD master = -1;
	CC_AUTO_FD slave = -1;
	enum cc_code code;

	if (!slot)
		return cc_fail(err, CC_ELIMIT, 0, "at most %d commands at once", EXECS);
	code = cc_proc_which(what->argv->items[0], cc_env_path(what->env->items), program, sizeof(program), err);
	if (code == CC_OK && what->pty)
		code = cc_pty_open(what->size, &master, &slave, err);
	if (code == CC_OK)
		code = cc_peer_pair(&ours, &theirs, err);
	if (code == CC_OK)
		code = start_keeper(what, program, theirs, slave, &slot->keeper, err);
	if (code != CC_OK)
		return code;
	event.data.ptr = slot;
	cc_fd_set_nonblock(ours, true);
	if (epoll_ctl(kept->epoll, EPOLL_CTL_ADD, ours, &event) < 0) {
		cc_fail(err, CC_ESYS, errno, "epoll");
		cc_proc_end(&slot->keeper);
		return CC_ESYS;
	}
	slot->id = id;
	slot->leader = 0;
	slot->over = false;
	slot->control = cc_fd_take(&ours);
	slot->master = cc_fd_take(&master);
	return CC_OK;
}

static enum cc_code tell_keeper(struct kept_exec *slot, const char *verb, int number, struct cc_err *err)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "{\"m\":\"%s\",\"signal\":%d}", verb, number);

	return cc_peer_send(slot->control, text, (size_t)len, NULL, 0, err);
}

static enum cc_code kept_signal(struct cc_box *box, int id, int signal, struct cc_err *err)
{
	struct kept_exec *slot = find_exec((struct kept_box *)box, id);

	if (!slot || id == 0)
		return cc_fail(err, CC_ESTATE, 0, "command %d is not running", id);
	return tell_keeper(slot, "signal", signal, err);
}

static enum cc_code kept_tell(struct cc_box *box, const char *message, struct cc_err *err)
{
	struct kept_box *kept = (struct kept_box *)box;
	bool freeze = strcmp(message, "freeze") == 0;
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < EXECS; i++)
		if (kept->execs[i].id)
			code = tell_keeper(&kept->execs[i], "tree", freeze ? SIGSTOP : SIGCONT, err);
	return code;
}

static enum cc_code kept_fetch(struct cc_box *box, int id, const char *message, const char *path, struct cc_err *err)
{
	(void)box, (void)id, (void)message;
	return cc_fail(err, CC_EUNSUPPORTED, 0, "backend none has no private files (%s)", path);
}

static size_t kept_watch(const struct cc_box *box, int fds[CC_BOX_WATCH])
{
	fds[0] = ((const struct kept_box *)box)->epoll;
	return 1;
}

/* The keeper goes when its socket is closed or it has said how the command ended; then nothing of the tree is left,
 * unless somebody killed the keeper. */
static void drop_exec(struct kept_exec *slot)
{
	int status = 0;

	cc_fd_close(&slot->control);
	cc_fd_close(&slot->master);
	if (!cc_proc_wait(&slot->keeper, END_MS, &status)) {
		cc_proc_end(&slot->keeper);
		status = SIGKILL;
	}
	if (status != 0)
		cc_tree_end_session(slot->leader);
	slot->id = 0;
}

static void note_of(struct kept_exec *slot, const struct cc_json *root, struct cc_note *note)
{
	const char *name = cc_json_str(root, "m", "");

	if (strcmp(name, "started") == 0) {
		slot->leader = (pid_t)cc_json_int(root, "pid", 0);
		note->kind = CC_NOTE_STARTED;
		note->fd = cc_fd_take(&slot->master);
	} else if (strcmp(name, "refused") == 0) {
		note->kind = CC_NOTE_REFUSED;
		note->sys = (int)cc_json_int(root, "errno", 0);
		note->text = cc_json_str(root, "text", NULL);
		drop_exec(slot);
	} else if (strcmp(name, "exit") == 0) {
		note->kind = CC_NOTE_EXIT;
		note->code = (int)cc_json_int(root, "code", 0);
		note->signal = (int)cc_json_int(root, "signal", 0);
		slot->over = true;
	}
}

static enum cc_code kept_next(struct cc_box *box, int fd, struct cc_note *out_note, struct cc_err *err)
{
	struct kept_box *kept = (struct kept_box *)box;
	struct epoll_event event;
	struct kept_exec *slot;
	enum cc_code code;

	*out_note = (struct cc_note){.fd = -1};
	if (epoll_wait(fd, &event, 1, 0) != 1)
		return CC_OK;
	slot = event.data.ptr;
	out_note->id = slot->id;
	code = cc_peer_recv(slot->control, &kept->msg, err);
	if (code == CC_ETIMEOUT)
		return CC_OK;
	if ((code != CC_OK || kept->msg.len == 0) && slot->over) {
		drop_exec(slot);
		return CC_OK;
	}
	if (code != CC_OK || kept->msg.len == 0) {
		out_note->kind = CC_NOTE_LOST;
		out_note->text = "the command's keeper is gone";
		drop_exec(slot);
		return CC_OK;
	}
	code = cc_json_parse("cc-keeper", (struct cc_view){kept->msg.text, kept->msg.len}, 0, &out_note->doc, err);
	cc_peer_msg_close(&kept->msg);
	if (code == CC_OK)
		note_of(slot, cc_json_root(out_note->doc), out_note);
	return code;
}

static void kept_end(struct cc_box *box)
{
	struct kept_box *kept = (struct kept_box *)box;

	/* The owner has had its patience: no grace. A keeper that does not hear it sees the end of the socket. */
	for (size_t i = 0; i < EXECS; i++)
		if (kept->execs[i].id && tell_keeper(&kept->execs[i], "kill", 0, NULL) != CC_OK)
			cc_fd_close(&kept->execs[i].control);
	for (size_t i = 0; i < EXECS; i++)
		if (kept->execs[i].id)
			drop_exec(&kept->execs[i]);
	cc_fd_close(&kept->epoll);
	free(kept);
}

const struct cc_backend cc_backend_kept = {
	.kind = CC_BACKEND_NONE,
	.enforces = 0,
	.launch = kept_launch,
	.exec = kept_exec,
	.signal = kept_signal,
	.tell = kept_tell,
	.fetch = kept_fetch,
	.watch = kept_watch,
	.next = kept_next,
	.end = kept_end,
};
