/* command.c - one command: its pipes, its limits in time, its end. The daemon makes the pipes and reads them itself:
 * output goes one way less, and a reader that is slow is felt by that command alone, as in any pipe. */
#define _GNU_SOURCE
#include "live/inside.h"

#include "os/fd.h"
#include "wire/ownermsg.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 32 << 10, GRACE_MS = 2000, EXIT_TIMEOUT = 124, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

enum phase { STARTING, RUNNING, OVER };

struct pipe {
	struct cc_command *command;
	uv_poll_t poll;
	int fd, which;
	bool paused, polled;
	char tail[4]; /* the beginning of a character whose rest has not come */
	size_t tail_len;
};

struct cc_command {
	struct cc_live *live;
	struct cc_command *next;
	int id, handles, exit_code;
	enum phase phase;
	char *words;
	struct pipe pipes[3];
	struct cc_buf input;
	bool input_last, timed_out, killing;
	uv_timer_t timer;
	const struct cc_command_ops *ops;
	void *context;
};

struct cc_command *cc_command_find(struct cc_live *live, int id)
{
	struct cc_command *at = live->commands;

	while (at && at->id != id)
		at = at->next;
	return at;
}

int cc_command_id(const struct cc_command *command)
{
	return command->id;
}

const struct cc_live *cc_command_live(const struct cc_command *command)
{
	return command->live;
}

int cc_command_exit_code(const struct cc_command *command)
{
	return command->exit_code;
}

const char *cc_command_words(const struct cc_command *command)
{
	return command->words;
}

/* The line of an event goes to whoever waits for the command as it went to the readers. */
static bool emit(struct cc_command *command, struct cc_event *event)
{
	const struct cc_ring_entry *entry;
	uint64_t seq;

	event->exec = command->id;
	cc_live_emit(command->live, event);
	entry = cc_ring_get(&command->live->ring, event->seq, &seq);
	if (!command->ops || !command->ops->line || !entry)
		return true;
	return command->ops->line(command->context, (struct cc_view){entry->line, entry->len});
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct cc_command *command = handle->data;

	if (--command->handles > 0)
		return;
	cc_buf_done(&command->input);
	free(command->words);
	cc_live_release(command->live);
	free(command);
}

/* The handle first: libuv takes its descriptor out of the loop's set when the handle is closed, and by then the number
 * may be somebody else's, who would not be heard any more. */
static void close_pipe(struct pipe *pipe)
{
	if (pipe->fd < 0)
		return;
	if (pipe->polled)
		uv_close((uv_handle_t *)&pipe->poll, on_handle_closed);
	pipe->polled = false;
	cc_fd_close(&pipe->fd);
}

/* Out of its session's list; the memory goes when the loop has given the handles back. */
static void retire(struct cc_command *command)
{
	struct cc_live *live = command->live;

	for (struct cc_command **at = &live->commands; *at; at = &(*at)->next)
		if (*at == command) {
			*at = command->next;
			live->command_count--;
			break;
		}
	for (int i = 0; i < 3; i++)
		close_pipe(&command->pipes[i]);
	uv_close((uv_handle_t *)&command->timer, on_handle_closed);
}

/* It is over and no pipe of it can say anything more. */
static void maybe_retire(struct cc_command *command)
{
	if (command->phase == OVER && command->pipes[1].fd < 0 && command->pipes[2].fd < 0)
		retire(command);
}

/* Bytes at the end that begin a character: they wait for the next read, so that text stays text. */
static size_t unfinished(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char byte = (unsigned char)bytes[len - back];
		size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;

		if (whole)
			return whole > back ? back : 0;
		if (byte < 0x80)
			return 0;
	}
	return 0;
}

/* One read. 1: bytes came, 0: end of file, -1: nothing there now. */
static int pump(struct pipe *pipe)
{
	char chunk[4 + CHUNK];
	struct cc_event event = {.type = pipe->which == 2 ? CC_EVENT_STDERR : CC_EVENT_STDOUT};
	ssize_t got = read(pipe->fd, chunk + pipe->tail_len, CHUNK);
	size_t len, keep;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	memcpy(chunk, pipe->tail, pipe->tail_len);
	len = pipe->tail_len + (got > 0 ? (size_t)got : 0);
	keep = got > 0 ? unfinished(chunk, len) : 0;
	memcpy(pipe->tail, chunk + len - keep, keep);
	pipe->tail_len = keep;
	event.content = (struct cc_view){chunk, len - keep};
	if (len - keep && !emit(pipe->command, &event))
		pipe->paused = true;
	return got > 0 ? 1 : 0;
}

static void on_output(uv_poll_t *poll, int status, int events)
{
	struct pipe *pipe = (struct pipe *)(void *)((char *)poll - offsetof(struct pipe, poll));
	struct cc_command *command = pipe->command;

	(void)events;
	if (pipe->fd < 0)
		return;
	if (status != 0 || pump(pipe) == 0) {
		close_pipe(pipe);
		maybe_retire(command);
		return;
	}
	if (pipe->paused)
		uv_poll_stop(&pipe->poll);
}

static void on_input(uv_poll_t *poll, int status, int events);

static void feed(struct cc_command *command)
{
	struct pipe *pipe = &command->pipes[0];

	while (pipe->fd >= 0 && command->input.len) {
		ssize_t done = write(pipe->fd, command->input.data, command->input.len);

		if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
			uv_poll_start(&pipe->poll, UV_WRITABLE, on_input);
			return;
		}
		if (done < 0) { /* nobody reads it any more */
			cc_buf_reset(&command->input);
			close_pipe(pipe);
			return;
		}
		cc_buf_eat(&command->input, (size_t)done);
	}
	if (pipe->fd >= 0)
		uv_poll_stop(&pipe->poll);
	if (command->input_last)
		close_pipe(pipe);
}

static void on_input(uv_poll_t *poll, int status, int events)
{
	struct pipe *pipe = (struct pipe *)(void *)((char *)poll - offsetof(struct pipe, poll));

	(void)events;
	if (status != 0)
		close_pipe(pipe);
	else
		feed(pipe->command);
}

enum cc_code cc_command_signal(struct cc_command *command, int number, struct cc_err *err)
{
	char text[80];

	/* One that is still being started gets it when it is: the owner hears of both in this order. */
	if (command->phase == OVER)
		return cc_fail(err, CC_ESTATE, 0, "command %d is over", command->id);
	if (number < 1 || number > 64)
		return cc_fail(err, CC_EINVAL, 0, "there is no signal %d", number);
	snprintf(text, sizeof(text), "{\"m\":\"signal\",\"id\":%d,\"signal\":%d}", command->id, number);
	return cc_link_say(command->live, text, NULL, 0, err);
}

static void on_grace_over(uv_timer_t *timer)
{
	struct cc_err err;

	(void)!cc_command_signal(timer->data, SIGKILL, &err);
}

void cc_command_kill(struct cc_command *command, const char *reason)
{
	struct cc_event event = {.type = CC_EVENT_KILLED, .content = cc_view_of(reason)};
	struct cc_err err;

	if (command->phase == OVER || command->killing)
		return;
	command->killing = true;
	emit(command, &event);
	(void)!cc_command_signal(command, SIGTERM, &err);
	uv_timer_start(&command->timer, on_grace_over, GRACE_MS, 0);
}

static void on_timeout(uv_timer_t *timer)
{
	struct cc_command *command = timer->data;

	command->timed_out = command->phase != OVER;
	cc_command_kill(command, "timeout");
}

static void finish(struct cc_command *command, int code)
{
	struct cc_event event = {.type = CC_EVENT_EXIT, .exit_code = command->timed_out ? EXIT_TIMEOUT : code};
	const struct cc_command_ops *ops;

	if (command->phase == OVER)
		return;
	/* What it wrote before it ended is in its pipes: an end comes after all output (contract 3.5). What stays in
	 * the background may keep them open and is heard from then on like any event. */
	for (int i = 1; i < 3; i++) {
		int more = 1;

		while (command->pipes[i].fd >= 0 && (more = pump(&command->pipes[i])) == 1)
			;
		if (command->pipes[i].fd >= 0 && more == 0)
			close_pipe(&command->pipes[i]);
	}
	command->phase = OVER;
	command->exit_code = event.exit_code;
	uv_timer_stop(&command->timer);
	close_pipe(&command->pipes[0]);
	emit(command, &event);
	ops = command->ops;
	command->ops = NULL;
	cc_command_go_on(command);
	if (command->live->roster->config.command)
		command->live->roster->config.command(command->live->roster->config.context, command, true);
	if (ops && ops->over)
		ops->over(command->context, command->exit_code);
	maybe_retire(command);
}

void cc_command_on_started(struct cc_command *command, int *master)
{
	if (command->phase == STARTING)
		command->phase = RUNNING;
	if (command->ops && command->ops->started)
		command->ops->started(command->context, master);
}

void cc_command_on_exit(struct cc_command *command, int code)
{
	finish(command, code);
}

void cc_command_on_refused(struct cc_command *command, int sys, const char *text)
{
	bool absent = sys == ENOENT || sys == ENOTDIR;
	struct cc_event event = {.type = CC_EVENT_NOTICE};
	char what[400];

	snprintf(what, sizeof(what), "the command did not start: %s%s%s", text, text[0] ? ": " : "", strerror(sys));
	event.content = cc_view_of(what);
	emit(command, &event);
	finish(command, absent ? NOT_FOUND : NOT_EXECUTABLE);
}

void cc_command_cut(struct cc_command *command)
{
	if (command->phase != OVER)
		finish(command, 128 + SIGKILL);
	else
		retire(command);
	/* a pipe that is still open belongs to nothing that runs */
	for (struct cc_command *at = command->live->commands; at; at = at->next)
		if (at == command) {
			retire(command);
			return;
		}
}

void cc_command_go_on(struct cc_command *command)
{
	for (int i = 1; i < 3; i++) {
		struct pipe *pipe = &command->pipes[i];

		if (pipe->fd >= 0 && pipe->paused) {
			pipe->paused = false;
			uv_poll_start(&pipe->poll, UV_READABLE, on_output);
		}
	}
}

void cc_command_leave(struct cc_command *command)
{
	command->ops = NULL;
	cc_command_go_on(command);
}

enum cc_code cc_command_stdin(struct cc_command *command, struct cc_view bytes, bool last, struct cc_err *err)
{
	if (command->pipes[0].fd < 0 || command->input_last)
		return cc_fail(err, CC_ESTATE, 0, "the standard input of command %d is closed", command->id);
	if (command->input.len + bytes.len > CC_LIVE_STDIN_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "the command has not taken the last %zu bytes of its input",
			       command->input.len);
	cc_buf_add(&command->input, bytes.ptr, bytes.len);
	command->input_last = last;
	feed(command);
	return CC_OK;
}

/* *out_theirs: the command's ends, of which there are none with a terminal. */
static enum cc_code make_pipes(struct cc_command *command, int out_theirs[3], struct cc_err *err)
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return cc_fail(err, CC_ESYS, errno, "pipe");
		command->pipes[i].fd = ends[i == 0 ? 1 : 0];
		out_theirs[i] = ends[i == 0 ? 0 : 1];
		cc_fd_set_nonblock(command->pipes[i].fd, true);
	}
	return CC_OK;
}

static enum cc_code say_exec(struct cc_command *command, const struct cc_command_ask *ask, int theirs[3],
			     struct cc_err *err)
{
	bool inside = ask->body.len <= CC_OWNER_BODY_MAX;
	CC_AUTO_FD document = -1;
	struct cc_buf text;
	enum cc_code code = inside ? CC_OK : cc_fd_memfile("ccbox-exec", ask->body.ptr, ask->body.len, &document, err);
	int fds[4] = {document, theirs[0], theirs[1], theirs[2]};

	cc_buf_init(&text, CC_PEER_MAX);
	cc_buf_addf(&text, "{\"m\":\"exec\",\"id\":%d,\"pty\":%s,\"rows\":%u,\"cols\":%u", command->id,
		    ask->pty ? "true" : "false", ask->rows, ask->cols);
	if (inside) {
		cc_buf_adds(&text, ",\"body\":");
		cc_buf_add(&text, ask->body.ptr, ask->body.len);
	}
	cc_buf_adds(&text, "}");
	if (code == CC_OK)
		code = cc_buf_check(&text, "the message", err);
	if (code == CC_OK)
		code = cc_link_say(command->live, text.data, fds + inside, (ask->pty ? 0 : 3) + (inside ? 0 : 1), err);
	cc_buf_done(&text);
	return code;
}

static char *words_of(const struct cc_strv *argv)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, CC_REQUEST_MAX * 6);
	cc_jsonw_init(&w, &text);
	cc_jsonw_array(&w);
	for (size_t i = 0; i < argv->count; i++)
		cc_jsonw_str(&w, argv->items[i]);
	cc_jsonw_end(&w);
	return text.data;
}

static void begin(struct cc_command *command, const struct cc_command_ask *ask)
{
	uv_loop_t *loop = command->live->roster->config.loop;

	for (int i = 0; i < 3; i++) {
		struct pipe *pipe = &command->pipes[i];

		pipe->command = command;
		pipe->which = i;
		pipe->polled = pipe->fd >= 0 && uv_poll_init(loop, &pipe->poll, pipe->fd) == 0;
		pipe->poll.data = command;
		command->handles += pipe->polled;
		if (i > 0 && pipe->polled)
			uv_poll_start(&pipe->poll, UV_READABLE, on_output);
	}
	uv_timer_init(loop, &command->timer);
	command->timer.data = command;
	command->handles++;
	if (ask->wanted->timeout)
		uv_timer_start(&command->timer, on_timeout, (uint64_t)ask->wanted->timeout * 1000, 0);
	cc_buf_add(&command->input, ask->wanted->stdin_bytes.data, ask->wanted->stdin_bytes.len);
	command->input_last = !ask->wanted->stdin_open;
	feed(command);
}

enum cc_code cc_command_start(struct cc_live *live, const struct cc_command_ask *ask, struct cc_command **out_command,
			      struct cc_err *err)
{
	struct cc_command *command;
	int theirs[3] = {-1, -1, -1};
	enum cc_code code = CC_OK;

	if (live->ending || (live->state != CC_STATE_WARM && live->state != CC_STATE_ACTIVE))
		return cc_fail(err, CC_ESTATE, 0, "the session is %s", cc_state_name(live->state));
	if (live->command_count >= CC_LIVE_COMMANDS)
		return cc_fail(err, CC_ELIMIT, 0, "at most %d commands at once in a session", CC_LIVE_COMMANDS);
	command = calloc(1, sizeof(*command));
	if (!command)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	*command = (struct cc_command){.live = live,
				       .id = live->next_command + 1,
				       .words = words_of(&ask->wanted->argv),
				       .ops = ask->ops,
				       .context = ask->context};
	cc_buf_init(&command->input, CC_LIVE_STDIN_MAX + CC_EXEC_STDIN_MAX);
	for (int i = 0; i < 3; i++)
		command->pipes[i].fd = -1;
	if (!ask->pty)
		code = make_pipes(command, theirs, err);
	if (code == CC_OK)
		code = say_exec(command, ask, theirs, err);
	for (int i = 0; i < 3; i++)
		cc_fd_close(&theirs[i]);
	if (code != CC_OK) {
		for (int i = 0; i < 3; i++)
			cc_fd_close(&command->pipes[i].fd);
		free(command->words);
		cc_buf_done(&command->input);
		free(command);
		return code;
	}
	live->next_command = command->id;
	live->command_count++;
	command->next = live->commands;
	live->commands = command;
	cc_live_hold(live);
	begin(command, ask);
	if (live->roster->config.command)
		live->roster->config.command(live->roster->config.context, command, false);
	*out_command = command;
	return CC_OK;
}
