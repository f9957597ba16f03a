/* exec.c - commands over HTTP. The answer is the command's own events, one a line, as they come; the last one is its
 * exit. It pushes back on that command alone: a caller that does not read stops it as a pipe would, and nobody else. */
#define _GNU_SOURCE
#include "server/server.h"

#include "wire/json.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING_HIGH = 256 << 10, PENDING_LOW = 64 << 10, PENDING_MAX = 4 << 20 };

struct stream {
	struct cc_call *call;
	struct cc_command *command; /* NULL once it is over */
	struct cc_buf pending;
};

static bool on_line(void *context, struct cc_view line)
{
	struct stream *stream = context;

	cc_buf_add(&stream->pending, line.ptr, line.len);
	cc_stream_wake(stream->call);
	return stream->pending.len < PENDING_HIGH;
}

static void on_over(void *context, int exit_code)
{
	struct stream *stream = context;

	(void)exit_code;
	stream->command = NULL;
	cc_stream_wake(stream->call);
}

static const struct cc_command_ops ops = {.line = on_line, .over = on_over};

static enum cc_fill fill(void *context, struct cc_buf *out)
{
	struct stream *stream = context;
	size_t len = stream->pending.len < PENDING_LOW ? stream->pending.len : PENDING_LOW;

	cc_buf_add(out, stream->pending.data, len);
	cc_buf_eat(&stream->pending, len);
	if (stream->command && stream->pending.len < PENDING_LOW)
		cc_command_go_on(stream->command);
	if (stream->pending.len)
		return CC_FILL_MORE;
	return stream->command ? CC_FILL_WAIT : CC_FILL_END;
}

/* Nobody is there any more to hear how it ends: what was not told to outlive its caller does not. */
static void on_closed(void *context)
{
	struct stream *stream = context;

	if (stream->command) {
		cc_command_leave(stream->command);
		cc_command_kill(stream->command, "the caller went away");
	}
	cc_buf_done(&stream->pending);
	free(stream);
}

/* A detached command answers once, when it runs: then the session is active, and its number is good. */
static void on_detached_started(void *context, int *master)
{
	struct stream *stream = context;
	char text[40];
	int len = snprintf(text, sizeof(text), "{\"command\":%d}\n", cc_command_id(stream->command));

	(void)master;
	cc_reply(stream->call, 202, "application/json", text, (size_t)len);
	cc_command_leave(stream->command);
	stream->command = NULL;
}

static void on_detached_over(void *context, int exit_code)
{
	struct stream *stream = context;

	stream->command = NULL;
	cc_reply_failf(stream->call, CC_ENOTFOUND, "the command did not start (%d); its events say why", exit_code);
}

static const struct cc_command_ops detached_ops = {.started = on_detached_started, .over = on_detached_over};

static void on_detached_closed(void *context)
{
	struct stream *stream = context;

	if (stream->command)
		cc_command_leave(stream->command);
	free(stream);
}

static enum cc_code start(struct cc_call *call, struct cc_live *live, const struct cc_exec_request_doc *wanted,
			  struct cc_err *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct cc_command_ask ask = {.body = cc_call_body(call),
				     .wanted = wanted,
				     .ops = wanted->detach ? &detached_ops : &ops,
				     .context = stream};
	char id[16];
	enum cc_code code;

	if (!stream)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	stream->call = call;
	cc_buf_init(&stream->pending, PENDING_MAX);
	code = cc_command_start(live, &ask, &stream->command, err);
	if (code != CC_OK) {
		free(stream);
		return code;
	}
	if (wanted->detach) {
		cc_call_on_closed(call, on_detached_closed, stream);
		return CC_OK;
	}
	snprintf(id, sizeof(id), "%d", cc_command_id(stream->command));
	cc_reply_header(call, "ccbox-command:", id);
	cc_call_on_closed(call, on_closed, stream);
	cc_stream_begin(call, "application/x-ndjson", fill, stream);
	return CC_OK;
}

static void post_exec(struct cc_call *call)
{
	struct cc_live *live = cc_server_session(call);
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_exec_request_doc wanted;
	struct cc_err err = {0};
	enum cc_code code;

	if (!live)
		return;
	cc_exec_request_init(&wanted);
	code = cc_json_parse("body", cc_call_body(call), 0, &doc, &err);
	if (code == CC_OK)
		code = cc_exec_request_read(cc_json_root(doc), &wanted, &err);
	if (code == CC_OK)
		code = start(call, live, &wanted, &err);
	cc_exec_request_done(&wanted);
	if (code != CC_OK)
		cc_reply_fail(call, &err);
}

static struct cc_command *find_command(struct cc_call *call)
{
	struct cc_live *live = cc_server_session(call);
	char *end;
	long id = strtol(cc_call_param(call, 1), &end, 10);
	struct cc_command *command = live && !*end && id > 0 && id < INT32_MAX ? cc_command_find(live, (int)id) : NULL;

	if (live && !command)
		cc_reply_failf(call, CC_ENOTFOUND, "no such command is running there");
	return command;
}

static void reply_done(struct cc_call *call, enum cc_code code, const struct cc_err *err)
{
	if (code != CC_OK)
		cc_reply_fail(call, err);
	else
		cc_reply(call, 200, "application/json", "{}\n", 3);
}

static void post_stdin(struct cc_call *call)
{
	struct cc_command *command = find_command(call);
	const char *last = cc_call_query(call, "last");
	struct cc_err err;

	if (command)
		reply_done(call, cc_command_stdin(command, cc_call_body(call), last && strcmp(last, "1") == 0, &err),
			   &err);
}

static const struct {
	const char *name;
	int number;
} signals[] = {
	{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL}, {"USR1", SIGUSR1},
	{"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"CONT", SIGCONT}, {"TSTP", SIGTSTP}, {"STOP", SIGSTOP},
};

static void post_signal(struct cc_call *call)
{
	struct cc_command *command = find_command(call);
	const char *name = cc_call_param(call, 2);
	struct cc_err err;

	for (size_t i = 0; command && i < CC_COUNT(signals); i++)
		if (strcmp(signals[i].name, name) == 0) {
			reply_done(call, cc_command_signal(command, signals[i].number, &err), &err);
			return;
		}
	if (command)
		cc_reply_failf(call, CC_EINVAL,
			       "the signal is HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, TSTP or STOP");
}

const struct cc_route cc_routes_exec[] = {
	{"POST", "/v1/sandboxes/{id}/exec", 0, CC_REQUEST_MAX, post_exec},
	{"POST", "/v1/sandboxes/{id}/exec/{command}/stdin", 0, CC_EXEC_STDIN_MAX, post_stdin},
	{"POST", "/v1/sandboxes/{id}/exec/{command}/signal/{name}", 0, 1024, post_signal},
	{0},
};
