#define _GNU_SOURCE
#include "cli/loop.h"

#include "cli/cli.h"
#include "cli/relay.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/pty.h"
#include "wire/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	EXIT_TIMEOUT = 124,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	GRACE_MS = 2000,
	QUIET_MS = 30,
	SHOWN_MAX = 12
};

struct loop {
	const struct cc_loop_ask *ask;
	struct cc_session *session;
	struct cc_stream *streams[3];
	int child_ends[3]; /* the command's side of the pipes, until it has started */
	int command;       /* id */
	int master;        /* PTY */
	int signals;
	bool over;
	int code;
	bool stopped; /* the command suspended itself */
	bool timed_out;
	bool lost;
	int64_t deadline;     /* 0 = none */
	struct cc_strv shown; /* refusals kept for the end: a full-screen program owns the terminal until then */
	size_t hidden;
	struct { /* the answer to the last fetch or list */
		int id;
		int fd;
		bool here;
	} answer;
};

/* Signals that are passed on; the others keep their meaning. */
static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};

static void show_refusal(struct loop *loop, const struct cc_event *event)
{
	struct cc_buf text;
	struct cc_err err;

	cc_buf_init(&text, 16384);
	cc_event_say(event, &text);
	if (!loop->ask->pty)
		cc_say("%s", text.data);
	else if (text.data && loop->shown.count < SHOWN_MAX && !cc_strv_has(&loop->shown, text.data))
		(void)!cc_strv_push(&loop->shown, text.data, &err);
	else
		loop->hidden++;
	cc_buf_done(&text);
}

static void on_event(void *context, const struct cc_event *event)
{
	struct loop *loop = context;

	cc_eventlog_put(loop->ask->log, event);
	if (loop->ask->learn)
		cc_learn_take(loop->ask->learn, event);
	if (event->type == CC_EVENT_VIOLATION)
		show_refusal(loop, event);
}

static void on_seen(void *context, int which, const char *bytes, size_t len)
{
	struct loop *loop = context;
	struct cc_event event = {
		.type = which == 2 ? CC_EVENT_STDERR : CC_EVENT_STDOUT, .exec = loop->command, .content = {bytes, len}};

	if (which != 0)
		cc_session_emit(loop->session, &event);
}

static void start_terminal(struct loop *loop, struct cc_note *note)
{
	cc_stream_seen *seen = loop->ask->log->output ? on_seen : NULL;

	loop->master = note->fd;
	note->fd = -1;
	cc_fd_set_nonblock(loop->master, true);
	if (isatty(0))
		cc_pty_raw(0);
	loop->streams[0] = cc_stream_new(0, 0, loop->master, false, false, NULL, NULL);
	loop->streams[1] = cc_stream_new(1, fcntl(loop->master, F_DUPFD_CLOEXEC, 3), 1, false, true, seen, loop);
}

static void on_refused(struct loop *loop, int sys)
{
	const char *name = loop->ask->argv->items[0];

	loop->over = true;
	loop->code = sys == ENOENT || sys == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	if (loop->code == EXIT_NOT_FOUND)
		cc_say("%s: not found inside the sandbox (%s; outside the system directories only toolchain directories "
		       "and binds are shown: --bind DIR:ro shows one)",
		       name, strchr(name, '/') ? "there is no such file, or its interpreter" : "looked in the PATH");
	else
		cc_say("%s: cannot be executed: %s", name, strerror(sys));
}

static void fit_terminal(struct loop *loop)
{
	struct cc_pty_size size;

	if (loop->master >= 0 && cc_pty_get_size(isatty(0) ? 0 : 1, &size))
		cc_pty_set_size(loop->master, size);
}

/* The command suspended itself (^Z in an agent or an editor): the person's terminal goes back to their shell, and `fg`
 * brings both on again. The whole job stops, as the kernel would stop it; where there is no shell to do that for, the
 * kernel ignores SIGTSTP and the command simply goes on. */
static void stop_with_command(struct loop *loop)
{
	struct pollfd last;
	struct cc_err err;
	sigset_t stop;

	/* what it wrote before it stopped is shown first; the kernel hands it over a moment later */
	if (!loop->stopped || loop->over ||
	    (cc_stream_poll(loop->streams[1], &last) && (last.events == POLLOUT || poll(&last, 1, QUIET_MS) > 0)))
		return;
	loop->stopped = false;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	cc_pty_restore();
	kill(0, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	cc_pty_raw(0);
	fit_terminal(loop);
	(void)!cc_session_signal(loop->session, loop->command, SIGCONT, &err);
}

/* The kernel has killed something for the session's limit: it may have been anything in it, and is told once. */
static void tell_out_of_memory(struct loop *loop)
{
	struct cc_event event;

	if (!cc_held_out_of_memory(loop->ask->held, loop->command, &event))
		return;
	cc_session_emit(loop->session, &event);
	cc_say("the kernel ended something in the session: its memory was used up (--memory)");
}

static void on_note(void *context, struct cc_note *note)
{
	struct loop *loop = context;

	if (loop->session && (note->kind == CC_NOTE_EXIT || note->kind == CC_NOTE_LOST))
		tell_out_of_memory(loop);
	if (note->kind == CC_NOTE_STARTED && note->fd >= 0)
		start_terminal(loop, note);
	if (note->kind == CC_NOTE_REFUSED && note->id == loop->command)
		on_refused(loop, note->sys);
	if (note->kind == CC_NOTE_EXIT && note->id == loop->command) {
		loop->over = true;
		loop->code = note->signal ? 128 + note->signal : note->code;
	}
	if ((note->kind == CC_NOTE_FILE || note->kind == CC_NOTE_NAMES) && note->id == loop->answer.id) {
		loop->answer.here = true;
		loop->answer.fd = note->fd;
		note->fd = -1;
	}
	if (note->kind == CC_NOTE_STOPPED && note->id == loop->command)
		loop->stopped = loop->master >= 0 && isatty(0);
	if (note->kind == CC_NOTE_LOST)
		loop->over = loop->lost = true;
}

static bool same_terminal(int left, int right)
{
	struct stat a, b;

	return isatty(left) && isatty(right) && fstat(left, &a) == 0 && fstat(right, &b) == 0 && a.st_rdev == b.st_rdev;
}

static enum cc_code make_pipes(struct loop *loop, struct cc_err *err)
{
	cc_stream_seen *seen = loop->ask->log->output ? on_seen : NULL;

	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return cc_fail(err, CC_ESYS, errno, "pipe");
		loop->child_ends[i] = ends[i == 0 ? 0 : 1];
		loop->streams[i] = i == 0 ? cc_stream_new(0, 0, ends[1], true, false, NULL, NULL)
					  : cc_stream_new(i, ends[0], i, false, isatty(i), seen, loop);
		if (!loop->streams[i])
			return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	/* Standard input is no terminal, but the output may be one all the same. */
	if (same_terminal(1, 2))
		cc_stream_join(loop->streams[2], loop->streams[1]);
	return CC_OK;
}

static enum cc_code start_command(struct loop *loop, struct cc_err *err)
{
	struct cc_box_exec exec = {.argv = loop->ask->argv,
				   .env = loop->ask->env,
				   .cwd = loop->ask->prepared->workdir,
				   .pty = loop->ask->pty,
				   .inherited = loop->ask->inherited,
				   .size = {24, 80}};
	enum cc_code code = CC_OK;

	if (exec.pty)
		cc_pty_get_size(isatty(0) ? 0 : 1, &exec.size);
	else
		code = make_pipes(loop, err);
	for (int i = 0; i < 3; i++)
		exec.stdio[i] = loop->child_ends[i];
	if (code == CC_OK)
		code = cc_session_exec(loop->session, &exec, &loop->command, err);
	for (int i = 0; i < 3; i++)
		cc_fd_close(&loop->child_ends[i]);
	return code;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < CC_COUNT(passed); i++)
		sigaddset(&set, passed[i]);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void stop_ourselves(struct loop *loop)
{
	struct cc_err err;

	(void)!cc_session_signal(loop->session, loop->command, SIGTSTP, &err);
	kill(getpid(), SIGSTOP);
	(void)!cc_session_signal(loop->session, loop->command, SIGCONT, &err);
}

static void take_signals(struct loop *loop)
{
	struct signalfd_siginfo info;
	struct cc_err err;

	while (read(loop->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH) {
			fit_terminal(loop);
		} else if (info.ssi_signo == SIGTSTP) {
			stop_ourselves(loop);
		} else {
			(void)!cc_session_signal(loop->session, loop->command, (int)info.ssi_signo, &err);
		}
	}
}

static void check_deadline(struct loop *loop)
{
	struct cc_event event = {.type = CC_EVENT_KILLED, .exec = loop->command, .content = cc_view_of("timeout")};
	struct cc_err err;

	if (!loop->deadline || cc_clock_ms() < loop->deadline)
		return;
	(void)!cc_session_signal(loop->session, loop->command, loop->timed_out ? SIGKILL : SIGTERM, &err);
	loop->deadline = cc_clock_ms() + GRACE_MS;
	if (!loop->timed_out)
		cc_session_emit(loop->session, &event);
	loop->timed_out = true;
}

static int wait_ms(const struct loop *loop)
{
	int64_t left = loop->deadline ? loop->deadline - cc_clock_ms() : -1;

	return loop->deadline ? (int)(left < 0 ? 0 : left > 1000000 ? 1000000 : left) : -1;
}

/* One round of waiting. Streams only, once the sandbox is gone. */
static enum cc_code turn(struct loop *loop, bool streams_only, struct cc_err *err)
{
	struct pollfd entries[3 + CC_BOX_WATCH + 1];
	int box[CC_BOX_WATCH];
	size_t of_stream[3];
	size_t count = 0;
	size_t boxes = streams_only ? 0 : cc_session_watch(loop->session, box);
	enum cc_code code = CC_OK;

	for (size_t i = 0; i < 3; i++) {
		of_stream[i] = count;
		/* input has no reader any more once the command is over */
		if (!(streams_only && i == 0))
			count += cc_stream_poll(loop->streams[i], &entries[count]);
	}
	size_t first_box = count;

	for (size_t i = 0; i < boxes; i++)
		entries[count++] = (struct pollfd){.fd = box[i], .events = POLLIN};
	entries[count++] = (struct pollfd){.fd = loop->signals, .events = POLLIN};
	if (poll(entries, count, streams_only ? GRACE_MS : wait_ms(loop)) < 0)
		return errno == EINTR ? CC_OK : cc_fail(err, CC_ESYS, errno, "poll");
	for (size_t i = 0; i < 3; i++) {
		size_t end = i < 2 ? of_stream[i + 1] : first_box;

		if (of_stream[i] < end)
			cc_stream_step(loop->streams[i], entries[of_stream[i]].revents);
	}
	for (size_t i = 0; code == CC_OK && i < boxes; i++)
		if (entries[first_box + i].revents)
			code = cc_session_step(loop->session, box[i], err);
	if (!streams_only && entries[count - 1].revents)
		take_signals(loop);
	return code;
}

/* Everything inside is dead, so every pipe ends: what is left in them still reaches the person. */
static void drain(struct loop *loop)
{
	struct cc_err err;

	while (!(cc_stream_finished(loop->streams[1]) && cc_stream_finished(loop->streams[2])))
		if (turn(loop, true, &err) != CC_OK)
			return;
}

/* Asks cc-init for a file or a list and waits, bounded. -1: there is none. */
static int ask_inside(struct loop *loop, const char *what, const char *path)
{
	int64_t deadline = cc_clock_ms() + GRACE_MS;
	struct cc_err err;

	loop->answer.id++;
	loop->answer.here = false;
	loop->answer.fd = -1;
	if (cc_session_fetch(loop->session, loop->answer.id, what, path, &err) != CC_OK)
		return -1;
	loop->deadline = deadline; /* only to bound the wait: the command is over */
	while (!loop->answer.here && !loop->lost && cc_clock_ms() < deadline)
		if (turn(loop, false, &err) != CC_OK)
			break;
	return loop->answer.here ? loop->answer.fd : -1;
}

static void return_new(struct loop *loop, const struct cc_lend_back *back)
{
	CC_AUTO_FD list = ask_inside(loop, "list", back->inside);
	struct cc_buf names;
	struct cc_err err;
	size_t taken = 0;

	cc_buf_init(&names, 1 << 20);
	if (list >= 0 && cc_fd_read_all(list, &names, &err) == CC_OK && names.len)
		for (char *at = names.data; at < names.data + names.len && taken < CC_LEND_NEW_FILES;
		     at += strlen(at) + 1) {
			char path[4096];
			CC_AUTO_FD file = -1;

			if ((size_t)snprintf(path, sizeof(path), "%s/%s", back->inside, at) >= sizeof(path))
				continue;
			file = ask_inside(loop, "fetch", path);
			taken++;
			if (file >= 0 && cc_lend_return_new(back, at, file, &err) != CC_OK)
				cc_say("not kept: %s", err.what);
		}
	cc_buf_done(&names);
}

/* The login that was renewed inside goes back to the person; the sandbox is still there to be asked. */
static void return_lent(struct loop *loop)
{
	const struct cc_lend *lend = &loop->ask->prepared->lend;
	struct cc_err err;

	for (size_t i = 0; i < lend->back_count && !loop->lost; i++) {
		CC_AUTO_FD file = -1;

		if (lend->back[i].directory) {
			return_new(loop, &lend->back[i]);
			continue;
		}
		file = ask_inside(loop, "fetch", lend->back[i].inside);
		if (file >= 0 && cc_lend_return(&lend->back[i], file, &err) != CC_OK)
			cc_say("not written back: %s", err.what);
	}
}

static void emit_exit(struct loop *loop)
{
	struct cc_event event = {.type = CC_EVENT_EXIT, .exec = loop->command, .exit_code = loop->code};

	cc_session_emit(loop->session, &event);
}

static void tidy_terminal(struct loop *loop)
{
	if (loop->master < 0 || !isatty(0))
		return;
	if (isatty(1))
		cc_pty_tidy(1, cc_stream_alternate(loop->streams[1]));
	cc_pty_restore();
}

static void show_kept(const struct loop *loop)
{
	for (size_t i = 0; i < loop->shown.count; i++)
		cc_say("%s", loop->shown.items[i]);
	if (loop->hidden)
		cc_say("and %zu more refusals; `ccbox events` has them all", loop->hidden);
}

static enum cc_code run_session(struct loop *loop, struct cc_err *err)
{
	struct cc_session_config config = {.session_id = loop->ask->session_id,
					   .backend = loop->ask->prepared->backend,
					   .launch = *loop->ask->launch,
					   .sink = {loop, on_event, on_note}};
	enum cc_code code = cc_session_launch(&config, &loop->session, err);

	if (code == CC_OK)
		code = cc_held_started(loop->ask->held, err);
	if (code == CC_OK)
		code = start_command(loop, err);
	if (code != CC_OK)
		return code;
	if (loop->ask->timeout)
		loop->deadline = cc_clock_ms() + loop->ask->timeout * 1000;
	while (!loop->over) {
		code = turn(loop, false, err);
		if (code != CC_OK)
			return code;
		check_deadline(loop);
		stop_with_command(loop);
	}
	return CC_OK;
}

enum cc_code cc_loop_run(const struct cc_loop_ask *ask, int *out_code, struct cc_err *err)
{
	struct loop loop = {.ask = ask, .master = -1, .child_ends = {-1, -1, -1}, .signals = open_signals()};
	bool native = ask->prepared->backend->kind == CC_BACKEND_NATIVE;
	enum cc_code code;

	/* A bubblewrap that is killed while it starts leaves its child behind. Not with none: a daemon is the person's.
	 */
	if (native)
		cc_proc_adopt();
	code = run_session(&loop, err);
	if (loop.session) {
		if (code == CC_OK && native)
			return_lent(&loop);
		cc_session_end(loop.session);
		if (code == CC_OK) {
			drain(&loop);
			loop.code = loop.timed_out ? EXIT_TIMEOUT : loop.lost ? CC_EXIT_NOT_ESTABLISHED : loop.code;
			emit_exit(&loop);
		}
	}
	if (native)
		cc_proc_end_all();
	tidy_terminal(&loop);
	if (code == CC_OK && loop.timed_out)
		cc_say("the command was ended: its time was over (--timeout %ld)", ask->timeout);
	if (code == CC_OK && loop.lost)
		cc_say("the session ended early: %s; everything in it was ended", cc_session_error(loop.session));
	show_kept(&loop);
	for (int i = 0; i < 3; i++)
		cc_stream_free(loop.streams[i]);
	for (int i = 0; i < 3; i++)
		cc_fd_close(&loop.child_ends[i]);
	cc_fd_close(&loop.master);
	cc_fd_close(&loop.signals);
	cc_strv_done(&loop.shown);
	cc_session_free(loop.session);
	if (code == CC_OK)
		*out_code = loop.code;
	return code;
}
