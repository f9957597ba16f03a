#define _GNU_SOURCE
#include "terminal/engine.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { START_MS = 20000, READ_MAX = 16384, STEP_MAX = 8, DRAIN_MAX = 64, AGAIN_MS = 100 };

static void on_event(void *context, const struct cc_event *event)
{
	struct cc_terminal *t = context;

	if (t->event)
		t->event(t->context, event);
}

/* The loss of the sandbox, or the end of the shell: what came first is the reason. */
static void note_end(struct cc_terminal *t, enum cc_term_close reason, const char *why)
{
	if (t->reason)
		return;
	t->reason = reason;
	(void)cc_str_put(t->why, sizeof(t->why), why);
}

static void on_exit_note(struct cc_terminal *t, const struct cc_note *note)
{
	char why[64];

	t->exited = true;
	t->code = note->code;
	t->signal = note->signal;
	if (note->signal)
		snprintf(why, sizeof(why), "the shell was ended by signal %d", note->signal);
	else
		snprintf(why, sizeof(why), "the shell exited with %d", note->code);
	note_end(t, CC_CLOSE_EXIT, why);
}

static void on_note(void *context, struct cc_note *note)
{
	struct cc_terminal *t = context;

	switch (note->kind) {
	case CC_NOTE_STARTED:
		t->started = true;
		t->master = cc_fd_take(&note->fd);
		cc_fd_set_nonblock(t->master, true);
		break;
	case CC_NOTE_REFUSED:
		t->refused = note->sys ? note->sys : EIO;
		break;
	case CC_NOTE_EXIT:
		on_exit_note(t, note);
		break;
	case CC_NOTE_LOST:
		t->exited = true;
		note_end(t, CC_CLOSE_LOST, note->text ? note->text : "the sandbox ended");
		break;
	default:
		break;
	}
}

/* False: nothing to read now. */
static bool read_some(struct cc_terminal *t)
{
	char bytes[READ_MAX];
	ssize_t got = t->master >= 0 ? read(t->master, bytes, sizeof(bytes)) : 0;

	if (got > 0) {
		cc_scroll_add(&t->ring, bytes, (size_t)got);
		if (cc_title_feed(&t->title, (struct cc_view){bytes, (size_t)got}))
			t->changes++;
		return true;
	}
	/* Nobody has the other side open: for good when the shell is gone, else until somebody opens it. */
	if (t->master >= 0 && (got == 0 || errno == EIO))
		t->again_at = cc_clock_ms() + AGAIN_MS;
	return false;
}

static void write_some(struct cc_terminal *t)
{
	while (t->master >= 0 && t->input.len) {
		ssize_t done = write(t->master, t->input.data, t->input.len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		cc_buf_eat(&t->input, (size_t)done);
	}
}

/* What the terminal still holds is read, then everything that is left of it is ended. */
static void finish(struct cc_terminal *t)
{
	if (t->over)
		return;
	for (int i = 0; i < DRAIN_MAX && read_some(t); i++)
		;
	cc_session_end(t->session);
	cc_fd_close(&t->master);
	cc_buf_reset(&t->input);
	t->over = true;
	note_end(t, CC_CLOSE_CLOSED, "the terminal was closed");
}

static enum cc_code wait_started(struct cc_terminal *t, struct cc_err *err)
{
	int64_t deadline = cc_clock_ms() + START_MS;

	while (!t->started && !t->refused && !t->exited) {
		struct pollfd set[CC_BOX_WATCH];
		int fds[CC_BOX_WATCH];
		size_t count = cc_session_watch(t->session, fds);
		int64_t left = deadline - cc_clock_ms();
		enum cc_code code = CC_OK;

		for (size_t i = 0; i < count; i++)
			set[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		if (left <= 0 || count == 0)
			return cc_fail(err, CC_ETIMEOUT, 0, "the shell did not start in %d ms", START_MS);
		if (poll(set, count, (int)left) < 0 && errno != EINTR)
			return cc_fail(err, CC_ESYS, errno, "poll");
		for (size_t i = 0; code == CC_OK && i < count; i++)
			if (set[i].revents)
				code = cc_session_step(t->session, fds[i], err);
		if (code != CC_OK)
			return code;
	}
	if (t->refused)
		return cc_fail(err, t->refused == ENOENT ? CC_ENOTFOUND : CC_ESYS, t->refused, "cannot execute %s",
			       t->plan.shell);
	return t->started ? CC_OK : cc_fail(err, CC_EUNSUPPORTED, 0, "%s", t->why);
}

static enum cc_code start(struct cc_terminal *t, struct cc_err *err)
{
	struct cc_session_config config = {
		.session_id = t->id, .backend = t->plan.backend, .sink = {t, on_event, on_note}};
	struct cc_box_exec exec = {.argv = &t->plan.argv,
				   .env = &t->plan.env,
				   .cwd = t->plan.cwd,
				   .pty = true,
				   .size = t->size,
				   .stdio = {-1, -1, -1}};
	enum cc_code code;

	cc_term_launch(&t->plan, &config.launch);
	code = cc_session_launch(&config, &t->session, err);
	if (code == CC_OK)
		code = cc_session_exec(t->session, &exec, &t->exec, err);
	if (code == CC_OK)
		code = wait_started(t, err);
	if (code == CC_OK)
		t->backend = cc_session_backend(t->session);
	return code;
}

enum cc_code cc_terminal_open(const struct cc_terminal_ask *ask, struct cc_terminal **out_terminal, struct cc_err *err)
{
	CC_AUTO(cc_terminal) t = calloc(1, sizeof(*t));
	enum cc_code code;

	if (!t)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	t->master = -1;
	t->kill_at = t->again_at = -1;
	t->size = ask->size;
	t->idle_ms = ask->idle_ms;
	t->last_input = cc_clock_ms();
	t->event = ask->event;
	t->context = ask->context;
	cc_buf_init(&t->input, CC_TERMINAL_INPUT);
	t->id = cc_str_copy(ask->id);
	if (!t->id)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	code = cc_scroll_init(&t->ring, ask->ring ? ask->ring : CC_TERMINAL_RING, err);
	if (code == CC_OK)
		code = cc_term_prepare(ask, &t->plan, err);
	if (code == CC_OK)
		code = start(t, err);
	if (code == CC_OK && t->exited) /* already */
		finish(t);
	if (code == CC_OK)
		*out_terminal = cc_terminal_take(&t);
	return code;
}

void cc_terminal_free(struct cc_terminal *t)
{
	if (!t)
		return;
	if (t->session)
		finish(t);
	while (t->viewer_count)
		cc_viewer_leave(t->viewers[0]);
	cc_session_free(t->session);
	cc_term_plan_done(&t->plan);
	cc_scroll_done(&t->ring);
	cc_buf_done(&t->input);
	free(t->id);
	free(t);
}

size_t cc_terminal_watch(const struct cc_terminal *t, struct cc_terminal_watch out[CC_TERMINAL_WATCH])
{
	int fds[CC_BOX_WATCH];
	size_t count = t->over ? 0 : cc_session_watch(t->session, fds);

	for (size_t i = 0; i < count; i++)
		out[i] = (struct cc_terminal_watch){.fd = fds[i], .read = true};
	if (!t->over && t->master >= 0 && t->again_at < 0) {
		struct cc_terminal_watch master = {
			.fd = t->master, .read = !cc_viewers_behind(t), .write = t->input.len > 0};

		if (master.read || master.write)
			out[count++] = master;
	}
	return count;
}

void cc_terminal_step(struct cc_terminal *t, int fd)
{
	struct cc_err err;

	if (t->over)
		return;
	if (fd == t->master && fd >= 0) {
		write_some(t);
		for (int i = 0; i < STEP_MAX && !cc_viewers_behind(t) && read_some(t); i++)
			;
	} else if (cc_session_step(t->session, fd, &err) != CC_OK) {
		t->exited = true;
		note_end(t, CC_CLOSE_LOST, err.what);
	}
	if (t->exited)
		finish(t);
}

int64_t cc_terminal_deadline(const struct cc_terminal *t)
{
	const int64_t all[] = {t->kill_at, t->again_at, t->idle_ms && !t->closing ? t->last_input + t->idle_ms : -1};
	int64_t first = -1;

	for (size_t i = 0; !t->over && i < CC_COUNT(all); i++)
		if (all[i] >= 0 && (first < 0 || all[i] < first))
			first = all[i];
	return first;
}

void cc_terminal_tick(struct cc_terminal *t, int64_t now_ms)
{
	if (t->over)
		return;
	if (t->again_at >= 0 && now_ms >= t->again_at) {
		t->again_at = -1;
		(void)read_some(t);
	}
	if (t->kill_at >= 0 && now_ms >= t->kill_at)
		finish(t);
	else if (t->idle_ms && !t->closing && now_ms >= t->last_input + t->idle_ms)
		cc_terminal_close(t, CC_CLOSE_IDLE);
}

void cc_terminal_info(const struct cc_terminal *t, struct cc_terminal_info *out)
{
	*out = (struct cc_terminal_info){
		.id = t->id,
		.backend = t->backend,
		.shell = t->plan.shell,
		.cwd = t->plan.cwd,
		.title = t->title.text,
		.size = t->size,
		.oldest = cc_scroll_oldest(&t->ring),
		.end = t->ring.end,
		.changes = t->changes,
		.over = t->over,
		.reason = t->reason,
		.code = t->code,
		.signal = t->signal,
		.why = t->why,
		.viewers = t->viewer_count,
	};
}

size_t cc_terminal_room(const struct cc_terminal *t)
{
	return t->closing || t->over ? 0 : CC_TERMINAL_INPUT - t->input.len;
}

size_t cc_terminal_input(struct cc_terminal *t, struct cc_view bytes)
{
	size_t room = cc_terminal_room(t);

	t->last_input = cc_clock_ms();
	if (bytes.len > room)
		bytes.len = room;
	cc_buf_add(&t->input, bytes.ptr, bytes.len);
	write_some(t);
	return bytes.len;
}

void cc_terminal_resize(struct cc_terminal *t, struct cc_pty_size size)
{
	if (t->master < 0 || (size.rows == t->size.rows && size.cols == t->size.cols))
		return;
	t->size = size;
	t->changes++;
	cc_pty_set_size(t->master, size);
}

/* The master goes first: the kernel then hangs up, as it does when a window is closed. */
void cc_terminal_close(struct cc_terminal *t, enum cc_term_close reason)
{
	static const struct {
		enum cc_term_close reason;
		const char *why;
	} reasons[] = {{CC_CLOSE_IDLE, "nobody typed for too long"},
		       {CC_CLOSE_GOING, "the server stops"},
		       {CC_CLOSE_CLOSED, "the terminal was closed"}};
	static const int signals[] = {SIGHUP, SIGCONT}; /* what was stopped hears it too */
	struct cc_err err;

	if (t->over || t->closing)
		return;
	for (size_t i = 0; i < CC_COUNT(reasons); i++)
		if (reasons[i].reason == reason)
			note_end(t, reason, reasons[i].why);
	t->closing = true;
	t->kill_at = cc_clock_ms() + CC_TERMINAL_GRACE_MS;
	for (size_t i = 0; i < CC_COUNT(signals); i++)
		if (cc_session_signal(t->session, t->exec, signals[i], &err) != CC_OK)
			break; /* it is gone: the kill comes all the same */
	cc_fd_close(&t->master);
	t->again_at = -1;
}
