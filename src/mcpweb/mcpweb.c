#define _GNU_SOURCE
#include "mcpweb/inside.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	LINE_MAX_BYTES = 8 << 20,
	QUEUE_MAX = 4 << 20,
	IDLE_MS = 30 * 60 * 1000,
	LAUNCH_MS = 120 * 1000,
	STEP_MS = 4000, /* from the closed socket to SIGTERM, and from there to SIGKILL */
};

#define GONE "the tools of this session have ended; the server's log may say why"

struct message {
	uv_write_t request;
	struct cc_buf text;
};

enum cc_code cc_mcps_new(const struct cc_mcps_config *config, struct cc_mcps **out_mcps, struct cc_err *err)
{
	struct cc_mcps *mcps = calloc(1, sizeof(*mcps));

	if (!mcps)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	mcps->config = *config;
	*out_mcps = mcps;
	return CC_OK;
}

struct cc_mcp_session *cc_mcp_find(struct cc_mcps *mcps, const char *id)
{
	for (struct cc_mcp_session *session = mcps->first; session; session = session->next)
		if (!session->ending && strcmp(session->id, id) == 0)
			return session;
	return NULL;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct cc_mcp_session *session = handle->data;

	if (--session->handles > 0)
		return;
	cc_lines_done(&session->lines);
	free(session);
}

static void on_asker_gone(void *context)
{
	((struct cc_mcp_waiting *)context)->call = NULL;
}

static void on_stopper_gone(void *context)
{
	((struct cc_mcp_session *)context)->stopper = NULL;
}

static bool is_busy(const struct cc_mcp_session *session)
{
	for (size_t i = 0; i < CC_MCP_WAITING_MAX; i++)
		if (session->waiting[i].used)
			return true;
	return false;
}

/* An answer of the protocol: whoever called speaks it, and the call itself was in order. */
static void answer_lost(struct cc_mcp_waiting *waiting, const char *why)
{
	struct cc_rpcw message;

	cc_call_on_closed(waiting->call, NULL, NULL);
	cc_rpcw_error(&message, waiting->id, CC_RPC_NOT_DONE, why);
	(void)cc_rpcw_end(&message);
	cc_reply_json(waiting->call, 200, &message.text);
	cc_buf_done(&message.text);
	waiting->call = NULL;
}

static void on_timer(uv_timer_t *timer);

/* From here on nothing is passed on. Its closed socket says so to the child; the timer says it louder. */
static void end(struct cc_mcp_session *session, const char *why)
{
	if (session->ending)
		return;
	session->ending = true;
	for (size_t i = 0; i < CC_MCP_WAITING_MAX; i++)
		if (session->waiting[i].used && session->waiting[i].call)
			answer_lost(&session->waiting[i], why);
	uv_close((uv_handle_t *)&session->pipe, on_handle_closed);
	uv_timer_start(&session->timer, on_timer, STEP_MS, STEP_MS);
}

static void on_timer(uv_timer_t *timer)
{
	struct cc_mcp_session *session = timer->data;

	if (!session->ending)
		end(session, is_busy(session) ? "the tools of this session did not answer in time, and were ended"
					      : "nobody has used the session for long");
	else if (session->child.pid > 0)
		kill(session->child.pid, session->steps++ ? SIGKILL : SIGTERM);
}

/* From now on it may be silent for so long: a call may take as long as the longest command, each anew. */
static void wait_on(struct cc_mcp_session *session)
{
	uint64_t call = session->mcps->config.call_ms;
	uint64_t limit = session->introduced || call < LAUNCH_MS ? call : LAUNCH_MS;

	uv_timer_start(&session->timer, on_timer, is_busy(session) ? limit : IDLE_MS, 0);
}

static void on_line(struct cc_mcp_session *session, struct cc_view line);

static void take_bytes(struct cc_mcp_session *session, const char *bytes, size_t len)
{
	struct cc_view line;

	if (!cc_lines_add(&session->lines, bytes, len))
		end(session, "an answer is too long");
	while (!session->ending && cc_lines_next(&session->lines, &line))
		on_line(session, line);
}

/* What it said last may be still unread when its end is heard of. */
static void take_rest(struct cc_mcp_session *session)
{
	char bytes[16 << 10];
	uv_os_fd_t fd;
	ssize_t got;

	while (!session->ending && uv_fileno((uv_handle_t *)&session->pipe, &fd) == 0 &&
	       (got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		take_bytes(session, bytes, (size_t)got);
}

void cc_mcps_reaped(struct cc_mcps *mcps, pid_t pid)
{
	struct cc_mcp_session **at = &mcps->first, *session;

	while (*at && (*at)->child.pid != pid)
		at = &(*at)->next;
	if (!*at)
		return;
	session = *at;
	*at = session->next;
	mcps->count--;
	session->child.pid = -1;
	cc_fd_close(&session->child.pidfd);
	take_rest(session);
	end(session, GONE);
	if (session->stopper) {
		cc_call_on_closed(session->stopper, NULL, NULL);
		cc_reply(session->stopper, 204, "text/plain", "", 0);
	}
	uv_close((uv_handle_t *)&session->timer, on_handle_closed);
	if (mcps->count == 0 && mcps->ended) {
		void (*ended)(void *context) = mcps->ended;

		mcps->ended = NULL;
		ended(mcps->ended_context);
	}
}

void cc_mcps_end(struct cc_mcps *mcps, void (*done)(void *context), void *context)
{
	for (struct cc_mcp_session *session = mcps->first; session; session = session->next)
		end(session, "the server is going down");
	if (mcps->count == 0) {
		done(context);
		return;
	}
	mcps->ended = done;
	mcps->ended_context = context;
}

void cc_mcp_stop(struct cc_mcp_session *session, struct cc_call *call)
{
	session->stopper = call;
	if (call)
		cc_call_on_closed(call, on_stopper_gone, session);
	end(session, "the session was ended");
}

static void on_written(uv_write_t *request, int status)
{
	struct message *message = request->data;

	(void)status; /* a child that does not listen any more has closed its end: that is read */
	cc_buf_done(&message->text);
	free(message);
}

/* Takes the text over. */
static enum cc_code send_line(struct cc_mcp_session *session, struct cc_buf *text, struct cc_err *err)
{
	struct message *message = calloc(1, sizeof(*message));
	enum cc_code code = CC_OK;
	uv_buf_t bytes;

	cc_buf_adds(text, "\n");
	if (!message || text->failed ||
	    uv_stream_get_write_queue_size((uv_stream_t *)&session->pipe) + text->len > QUEUE_MAX)
		code = cc_fail(err, CC_ELIMIT, 0, "too much is waiting for the tools of this session");
	if (code == CC_OK) {
		message->text = *text;
		message->request.data = message;
		bytes = uv_buf_init(text->data, (unsigned)text->len);
		if (uv_write(&message->request, (uv_stream_t *)&session->pipe, &bytes, 1, on_written) != 0)
			code = cc_fail(err, CC_ESYS, 0, "libuv");
	}
	if (code != CC_OK) {
		cc_buf_done(text);
		free(message);
	}
	return code;
}

/* A question to a person cannot be put over one answer a call: it is refused at once, which the tools take for a no. */
static void refuse_question(struct cc_mcp_session *session, const char *id)
{
	struct cc_rpcw answer;
	struct cc_err err;

	cc_rpcw_error(&answer, id, CC_RPC_METHOD, "nobody can be asked over this transport");
	(void)cc_rpcw_end(&answer);
	if (send_line(session, &answer.text, &err) != CC_OK)
		end(session, err.what);
}

static void on_line(struct cc_mcp_session *session, struct cc_view line)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	enum cc_rpc_error error;
	char id[CC_RPC_ID];

	doc = cc_rpc_parse(line, &error);
	if (!doc) {
		end(session, "the tools of this session talk nonsense");
		return;
	}
	cc_rpc_id(cc_json_root(doc), id);
	if (cc_json_get(cc_json_root(doc), "method")) {
		if (strcmp(id, "null") != 0)
			refuse_question(session, id);
		return;
	}
	for (size_t i = 0; i < CC_MCP_WAITING_MAX; i++) {
		struct cc_mcp_waiting *waiting = &session->waiting[i];

		if (!waiting->used || strcmp(waiting->id, id) != 0)
			continue;
		waiting->used = false;
		if (!waiting->call)
			break;
		cc_call_on_closed(waiting->call, NULL, NULL);
		if (!session->introduced) { /* a page of an allowed origin has to be able to read it, too */
			cc_reply_header(waiting->call, "mcp-session-id:", session->id);
			cc_reply_header(waiting->call, "access-control-expose-headers:", "mcp-session-id");
		}
		session->introduced = true;
		cc_reply(waiting->call, 200, "application/json", line.ptr, line.len);
		waiting->call = NULL;
		break;
	}
	wait_on(session);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
	static char bytes[64 << 10]; /* read and given back before the next one is asked for */

	(void)handle;
	(void)wanted;
	*out = uv_buf_init(bytes, sizeof(bytes));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes)
{
	struct cc_mcp_session *session = stream->data;

	if (got < 0)
		end(session, GONE);
	else
		take_bytes(session, bytes->base, (size_t)got);
}

/* No answer is owed to what was cancelled, and some of the tools give none: whoever waits hears it from here. One that
 * comes all the same finds nobody. */
static void cancel(struct cc_mcp_session *session, const struct cc_json *message)
{
	char id[CC_RPC_ID];

	if (strcmp(cc_json_str(message, "method", ""), "notifications/cancelled") != 0)
		return;
	cc_rpc_id_text(cc_json_get(cc_json_get(message, "params"), "requestId"), id);
	for (size_t i = 0; i < CC_MCP_WAITING_MAX; i++) {
		struct cc_mcp_waiting *waiting = &session->waiting[i];

		if (!waiting->used || strcmp(waiting->id, id) != 0)
			continue;
		if (waiting->call)
			answer_lost(waiting, "the call was cancelled");
		waiting->used = false;
		wait_on(session);
	}
}

enum cc_code cc_mcp_say(struct cc_mcp_session *session, struct cc_call *call, const struct cc_json *message,
			struct cc_err *err)
{
	bool wants = cc_json_get(message, "id") != NULL, busy = is_busy(session);
	struct cc_mcp_waiting *slot = NULL;
	struct cc_jsonw w;
	struct cc_buf text;
	char id[CC_RPC_ID];
	enum cc_code code;

	cc_rpc_id(message, id);
	if (!cc_json_get(message, "method"))
		return cc_fail(err, CC_EINVAL, 0, "no question of this server waits for an answer");
	if (wants && strcmp(id, "null") == 0)
		return cc_fail(err, CC_EINVAL, 0, "the id is no number and no short string");
	for (size_t i = 0; wants && i < CC_MCP_WAITING_MAX; i++) {
		if (session->waiting[i].used && strcmp(session->waiting[i].id, id) == 0)
			return cc_fail(err, CC_EINVAL, 0, "a request with that id waits already");
		if (!session->waiting[i].used)
			slot = &session->waiting[i];
	}
	if (wants && !slot)
		return cc_fail(err, CC_ELIMIT, 0, "%d requests of this session wait already", CC_MCP_WAITING_MAX);
	/* written anew: on one line, whatever the caller's layout was */
	cc_buf_init(&text, QUEUE_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_copy(&w, message);
	code = send_line(session, &text, err);
	if (code != CC_OK)
		return code;
	if (!wants) {
		cancel(session, message);
		if (!busy)
			wait_on(session);
		cc_reply(call, 202, "text/plain", "", 0);
		return CC_OK;
	}
	*slot = (struct cc_mcp_waiting){.used = true, .call = call};
	memcpy(slot->id, id, sizeof(id));
	cc_call_on_closed(call, on_asker_gone, slot);
	if (!busy)
		wait_on(session);
	return CC_OK;
}

static enum cc_code begin(struct cc_mcp_session *session, const struct cc_mcp_ask *ask, struct cc_err *err)
{
	int ends[2];
	enum cc_code code;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return cc_fail(err, CC_ESYS, errno, "socketpair");
	if (uv_pipe_open(&session->pipe, ends[0]) != 0) {
		close(ends[0]);
		close(ends[1]);
		return cc_fail(err, CC_ESYS, 0, "libuv");
	}
	code = cc_mcp_spawn(session, ask, ends[1], err);
	close(ends[1]);
	return code;
}

enum cc_code cc_mcp_start(struct cc_mcps *mcps, const struct cc_mcp_ask *ask, struct cc_mcp_session **out,
			  struct cc_err *err)
{
	struct cc_mcp_session *session;
	unsigned char random[CC_MCP_ID_BYTES];
	enum cc_code code;

	if (mcps->ended || mcps->count >= CC_MCP_SESSIONS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "at most %d sessions of tools at once", CC_MCP_SESSIONS_MAX);
	session = calloc(1, sizeof(*session));
	if (!session)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	session->mcps = mcps;
	session->child = (struct cc_child){-1, -1};
	cc_random(random, sizeof(random));
	for (size_t i = 0; i < CC_MCP_ID_BYTES; i++)
		snprintf(session->id + 2 * i, 3, "%02x", random[i]);
	cc_lines_init(&session->lines, LINE_MAX_BYTES);
	uv_pipe_init(mcps->config.loop, &session->pipe, 0);
	uv_timer_init(mcps->config.loop, &session->timer);
	session->pipe.data = session->timer.data = session;
	session->handles = 2;
	code = begin(session, ask, err);
	if (code != CC_OK) {
		uv_close((uv_handle_t *)&session->pipe, on_handle_closed);
		uv_close((uv_handle_t *)&session->timer, on_handle_closed);
		return code;
	}
	session->next = mcps->first;
	mcps->first = session;
	mcps->count++;
	wait_on(session);
	if (uv_read_start((uv_stream_t *)&session->pipe, on_alloc, on_read) != 0) {
		end(session, "libuv");
		return cc_fail(err, CC_ESYS, 0, "libuv");
	}
	*out = session;
	return CC_OK;
}
