/* none: no sandbox. The command runs on the host with the host's files, network and environment. It exists so that the
 * rest of the house has one shape, and it is never chosen by itself (backend/pick). */
#define _GNU_SOURCE
#include "backend/backend.h"

#include "os/fd.h"
#include "os/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NONE_EXECS = 64, NONE_QUEUE = NONE_EXECS };

struct none_exec {
	int id; /* 0 = free slot */
	struct cc_child child;
};

struct none_box {
	struct cc_box box;
	int epoll;
	int wake; /* readable while notes are queued */
	struct none_exec execs[NONE_EXECS];
	struct cc_note queue[NONE_QUEUE];
	size_t queued;
};

static enum cc_code none_launch(const struct cc_launch *how, struct cc_box **out_box, struct cc_err *err)
{
	struct none_box *none = calloc(1, sizeof(*none));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	(void)how;
	if (!none)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	none->box.backend = &cc_backend_none;
	none->epoll = epoll_create1(EPOLL_CLOEXEC);
	none->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (none->epoll < 0 || none->wake < 0 || epoll_ctl(none->epoll, EPOLL_CTL_ADD, none->wake, &event) < 0) {
		cc_fail(err, CC_ESYS, errno, "epoll");
		cc_fd_close(&none->epoll);
		cc_fd_close(&none->wake);
		free(none);
		return CC_ESYS;
	}
	*out_box = &none->box;
	return CC_OK;
}

static void queue_note(struct none_box *none, struct cc_note note)
{
	uint64_t one = 1;
	ssize_t done;

	if (none->queued == NONE_QUEUE)
		return;
	none->queue[none->queued++] = note;
	done = write(none->wake, &one, sizeof(one));
	(void)done;
}

static struct none_exec *find_exec(struct none_box *none, int id)
{
	for (size_t i = 0; i < NONE_EXECS; i++)
		if (none->execs[i].id == id)
			return &none->execs[i];
	return NULL;
}

static enum cc_code spawn_exec(const struct cc_box_exec *what, struct cc_child *out_child, int *out_master,
			       struct cc_err *err)
{
	char program[4096];
	CC_AUTO_FD master = -1;
	CC_AUTO_FD slave = -1;
	struct cc_spawn how = {.argv = what->argv->items,
			       .envp = what->env->items,
			       .cwd = what->cwd,
			       .stdio = {what->stdio[0], what->stdio[1], what->stdio[2]},
			       .new_session = true,
			       .controlling = what->pty};
	CC_AUTO_FREE char **argv = calloc(what->argv->count + 1, sizeof(*argv));
	enum cc_code code;

	if (!argv)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	code = cc_proc_which(what->argv->items[0], cc_env_path(what->env->items), program, sizeof(program), err);
	if (code != CC_OK)
		return code;
	memcpy(argv, what->argv->items, what->argv->count * sizeof(*argv));
	argv[0] = program;
	how.argv = argv;
	if (what->pty) {
		code = cc_pty_open(what->size, &master, &slave, err);
		if (code != CC_OK)
			return code;
		how.stdio[0] = how.stdio[1] = how.stdio[2] = slave;
	}
	code = cc_proc_spawn(&how, out_child, err);
	if (code == CC_OK)
		*out_master = cc_fd_take(&master);
	return code;
}

static enum cc_code none_exec(struct cc_box *box, int id, const struct cc_box_exec *what, struct cc_err *err)
{
	struct none_box *none = (struct none_box *)box;
	struct none_exec *slot = find_exec(none, 0);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = slot};
	struct cc_err why = {0};
	int master = -1;
	enum cc_code code;

	if (!slot)
		return cc_fail(err, CC_ELIMIT, 0, "at most %d commands at once", NONE_EXECS);
	code = spawn_exec(what, &slot->child, &master, &why);
	if (code != CC_OK) {
		int sys = why.sys ? why.sys : code == CC_ENOTFOUND ? ENOENT : EIO;

		queue_note(none, (struct cc_note){.kind = CC_NOTE_REFUSED, .id = id, .sys = sys, .fd = -1});
		return CC_OK;
	}
	slot->id = id;
	if (epoll_ctl(none->epoll, EPOLL_CTL_ADD, slot->child.pidfd, &event) < 0)
		return cc_fail(err, CC_ESYS, errno, "epoll");
	queue_note(none, (struct cc_note){.kind = CC_NOTE_STARTED, .id = id, .fd = master});
	return CC_OK;
}

static enum cc_code none_signal(struct cc_box *box, int id, int signal, struct cc_err *err)
{
	struct none_exec *slot = find_exec((struct none_box *)box, id);

	if (!slot || id == 0)
		return cc_fail(err, CC_ESTATE, 0, "command %d is not running", id);
	/* each command leads its own session: the group is the whole job */
	kill(-slot->child.pid, signal);
	return CC_OK;
}

static enum cc_code none_tell(struct cc_box *box, const char *message, struct cc_err *err)
{
	struct none_box *none = (struct none_box *)box;
	bool freeze = strcmp(message, "freeze") == 0;

	(void)err;
	for (size_t i = 0; i < NONE_EXECS; i++)
		if (none->execs[i].id)
			kill(-none->execs[i].child.pid, freeze ? SIGSTOP : SIGCONT);
	queue_note(none, (struct cc_note){.kind = freeze ? CC_NOTE_FROZEN : CC_NOTE_THAWED, .fd = -1});
	return CC_OK;
}

static enum cc_code none_fetch(struct cc_box *box, int id, const char *message, const char *path, struct cc_err *err)
{
	(void)box, (void)id, (void)message;
	return cc_fail(err, CC_EUNSUPPORTED, 0, "backend none has no private files (%s)", path);
}

static size_t none_watch(const struct cc_box *box, int fds[CC_BOX_WATCH])
{
	fds[0] = ((const struct none_box *)box)->epoll;
	return 1;
}

static void note_of_exit(struct none_box *none, struct none_exec *slot, struct cc_note *out_note)
{
	int status = 0;
	pid_t group = slot->child.pid;

	epoll_ctl(none->epoll, EPOLL_CTL_DEL, slot->child.pidfd, NULL);
	cc_proc_wait(&slot->child, -1, &status);
	*out_note = (struct cc_note){.kind = CC_NOTE_EXIT, .id = slot->id, .fd = -1};
	if (WIFSIGNALED(status))
		out_note->signal = WTERMSIG(status);
	else
		out_note->code = WEXITSTATUS(status);
	kill(-group, SIGHUP);
	slot->id = 0;
}

static enum cc_code none_next(struct cc_box *box, int fd, struct cc_note *out_note, struct cc_err *err)
{
	struct none_box *none = (struct none_box *)box;
	struct epoll_event event;
	uint64_t count;
	ssize_t done;

	(void)err;
	*out_note = (struct cc_note){.fd = -1};
	if (none->queued) {
		*out_note = none->queue[0];
		memmove(none->queue, none->queue + 1, --none->queued * sizeof(none->queue[0]));
		if (none->queued == 0) {
			done = read(none->wake, &count, sizeof(count));
			(void)done;
		}
		return CC_OK;
	}
	if (epoll_wait(fd, &event, 1, 0) == 1 && event.data.ptr)
		note_of_exit(none, event.data.ptr, out_note);
	return CC_OK;
}

static void none_end(struct cc_box *box)
{
	struct none_box *none = (struct none_box *)box;

	for (size_t i = 0; i < NONE_EXECS; i++)
		if (none->execs[i].id) {
			kill(-none->execs[i].child.pid, SIGKILL);
			cc_proc_end(&none->execs[i].child);
		}
	for (size_t i = 0; i < none->queued; i++)
		cc_note_done(&none->queue[i]);
	cc_fd_close(&none->wake);
	cc_fd_close(&none->epoll);
	free(none);
}

const struct cc_backend cc_backend_none = {
	.kind = CC_BACKEND_NONE,
	.enforces = 0,
	.launch = none_launch,
	.exec = none_exec,
	.signal = none_signal,
	.tell = none_tell,
	.fetch = none_fetch,
	.watch = none_watch,
	.next = none_next,
	.end = none_end,
};
