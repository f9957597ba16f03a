#define _GNU_SOURCE
#include "proxy/relay.h"

#include "os/fd.h"

#include <string.h>

enum { CHUNK = 64 * 1024, REPLY_HIGH = 256 * 1024, TURNS = 32 };

enum request_state { REQUEST_HEAD = 0, REQUEST_DIAL, REQUEST_BODY, REQUEST_DONE };
enum answer_state { ANSWER_IDLE = 0, ANSWER_HEAD, ANSWER_BODY, ANSWER_DONE };

struct cc_relay {
	struct cc_buf in;    /* from the client, not read yet */
	struct cc_buf out;   /* to upstream */
	struct cc_buf back;  /* from upstream, not read yet */
	struct cc_buf reply; /* to the client */
	struct cc_buf again; /* a head that may be sent once more, on a fresh connection */
	size_t in_scanned;
	size_t back_scanned;
	struct cc_http_body request_body;
	struct cc_http_body answer_body;
	enum request_state request;
	enum answer_state answer;
	bool head_only;
	bool old;     /* the client speaks HTTP/1.0 */
	bool upgrade; /* a websocket was asked for */
	bool close;   /* the client's connection ends with this answer */
	bool told;    /* bytes of this answer went to the client */
};

struct cc_relay *cc_relay_new(struct cc_buf *in)
{
	struct cc_relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	cc_buf_init(&relay->in, CC_HTTP_HEAD_MAX + 2 * CHUNK);
	cc_buf_init(&relay->out, CC_HTTP_HEAD_MAX + 4 * CHUNK);
	cc_buf_init(&relay->again, CC_HTTP_HEAD_MAX + CHUNK);
	cc_buf_init(&relay->back, CC_HTTP_HEAD_MAX + CHUNK);
	cc_buf_init(&relay->reply, CC_HTTP_HEAD_MAX + REPLY_HIGH + 2 * CHUNK);
	cc_buf_add(&relay->in, in->data, in->len);
	return relay;
}

void cc_relay_free(struct cc_relay *relay)
{
	if (!relay)
		return;
	cc_buf_done(&relay->in);
	cc_buf_done(&relay->out);
	cc_buf_done(&relay->back);
	cc_buf_done(&relay->reply);
	cc_buf_done(&relay->again);
	free(relay);
}

bool cc_relay_head_only(const struct cc_relay *relay)
{
	return relay->head_only;
}

/* What is said instead of an answer: nothing of one may have gone out. */
static void refuse(struct cc_conn *conn, enum cc_net_reason reason, unsigned status, struct cc_view said,
		   const char *detail)
{
	struct cc_refusal refusal = {
		.net = {.allowed = reason == CC_NET_ALLOWED, .host = said, .reason = reason, .detail = detail},
		.status = status,
		.head_only = conn->relay->head_only,
	};

	if (conn->relay->told) {
		cc_conn_close(conn, true);
		return;
	}
	cc_conn_refuse(conn, &refusal);
}

static void bad_gateway(struct cc_conn *conn, const char *detail)
{
	refuse(conn, CC_NET_ALLOWED, 502, cc_conn_name(conn), detail);
}

static long fill(struct cc_conn *conn, struct cc_end *end, struct cc_buf *buf)
{
	return cc_pumps_fill(conn->shared->pumps, end, buf, CHUNK);
}

/* ---- the request */

static void write_request(struct cc_relay *relay, const struct cc_http_head *head, struct cc_view path,
			  const struct cc_host *host, uint16_t port)
{
	cc_http_write_request(head, path, host, port, &relay->out);
	if (relay->upgrade)
		cc_buf_adds(&relay->out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (relay->close)
		cc_buf_adds(&relay->out, "Connection: close\r\n");
	cc_buf_adds(&relay->out, "\r\n");
}

/* A kept connection may have been closed while the request was on its way. Only what changes nothing, and has no body,
 * is sent a second time. */
static void remember(struct cc_relay *relay, const struct cc_http_head *head, size_t before)
{
	static const char *const safe[] = {"GET", "HEAD", "OPTIONS"};

	cc_buf_reset(&relay->again);
	for (size_t i = 0; i < CC_COUNT(safe); i++)
		if (cc_view_is(head->method, safe[i]) && head->framing == CC_HTTP_NO_BODY && !relay->upgrade)
			cc_buf_add(&relay->again, relay->out.data + before, relay->out.len - before);
}

/* The whole decision, again for each request. */
static void begin_request(struct cc_conn *conn, const struct cc_http_head *head)
{
	struct cc_relay *relay = conn->relay;
	struct cc_view authority;
	struct cc_view path;
	struct cc_view text;
	struct cc_http_fault fault;
	struct cc_host host;
	struct cc_err err = {0};
	struct cc_net_decision decision;
	uint16_t port;
	size_t before = relay->out.len;

	relay->head_only = cc_view_is(head->method, "HEAD");
	relay->old = head->minor == 0;
	relay->upgrade = head->websocket;
	relay->close = head->close || relay->old;
	relay->told = false;
	if (cc_view_is(head->method, "TRACE")) {
		refuse(conn, CC_NET_MALFORMED, 405, (struct cc_view){"", 0}, "TRACE is not forwarded");
		return;
	}
	if (!cc_http_absolute(head, &authority, &path, &fault)) {
		refuse(conn, CC_NET_MALFORMED, fault.status, head->target, fault.text);
		return;
	}
	if (!cc_http_authority(authority, 80, &text, &port)) {
		refuse(conn, CC_NET_MALFORMED, 400, authority, "the authority is not HOST[:PORT]");
		return;
	}
	if (cc_host_parse(text, CC_HOST_URI, &host, &err) != CC_OK) {
		refuse(conn, CC_NET_MALFORMED, 400, authority, err.what);
		return;
	}
	cc_conn_unmask(conn->shared, &host);
	write_request(relay, head, path, &host, port);
	remember(relay, head, before);
	cc_http_body_init(&relay->request_body, head);
	cc_buf_eat(&relay->in, head->size); /* head's views are stale from here on */
	relay->in_scanned = 0;
	decision = cc_net_decide(conn->shared->net, &host, port);
	if (decision.allowed && conn->upstream.fd >= 0 && conn->port == port && strcmp(conn->name, host.text) == 0) {
		relay->request = REQUEST_BODY;
		relay->answer = ANSWER_HEAD;
		cc_conn_set_deadline(conn, CC_CONN_IDLE_MS);
		return;
	}
	cc_conn_drop_upstream(conn);
	cc_buf_reset(&relay->back);
	cc_buf_reset(&relay->again);
	cc_buf_eat(&relay->out, before); /* what an earlier host did not want to read */
	relay->request = REQUEST_DIAL;   /* the reserved name is there at once */
	(void)cc_conn_request(conn, &host, port, relay->head_only);
}

/* Between two requests upstream has nothing to say: if it does, or ends, it is not used again. */
static void watch_idle(struct cc_conn *conn)
{
	struct cc_relay *relay = conn->relay;

	if (relay->back.len == 0 && fill(conn, &conn->upstream, &relay->back) == -1)
		return;
	cc_conn_drop_upstream(conn);
	cc_buf_reset(&relay->back);
	relay->back_scanned = 0;
}

static bool request_head(struct cc_conn *conn)
{
	static struct cc_http_head head;
	struct cc_relay *relay = conn->relay;
	struct cc_http_fault fault;
	bool first = relay->in.len == 0;
	enum cc_http_step step = cc_http_scan(cc_buf_view(&relay->in), &relay->in_scanned, &fault);
	long got;

	if (conn->upstream.fd >= 0)
		watch_idle(conn);
	if (step == CC_HTTP_MORE) {
		got = fill(conn, &conn->client, &relay->in);
		if (got == 0 || got == -2)
			cc_conn_close(conn, false);
		else if (got > 0 && first)
			cc_conn_set_deadline(conn, CC_CONN_HEAD_MS);
		return got > 0;
	}
	if (step == CC_HTTP_BAD ||
	    !cc_http_request((struct cc_view){relay->in.data, relay->in_scanned}, &head, &fault)) {
		relay->told = false;
		refuse(conn, CC_NET_MALFORMED, fault.status, (struct cc_view){"", 0}, fault.text);
	} else if (cc_view_is(head.method, "CONNECT")) {
		cc_conn_front(conn, &relay->in);
	} else {
		begin_request(conn, &head);
	}
	return true;
}

void cc_relay_connected(struct cc_conn *conn)
{
	conn->relay->request = REQUEST_BODY;
	conn->relay->answer = ANSWER_HEAD;
	conn->relay->back_scanned = 0;
	cc_conn_set_deadline(conn, CC_CONN_IDLE_MS);
}

static bool request_dial(struct cc_conn *conn)
{
	cc_conn_dial_step(conn);
	return false;
}

/* Reading on behind the end of a body would wait for what never comes. */
static bool wants_bytes(const struct cc_http_body *body)
{
	return body->framing != CC_HTTP_NO_BODY && !(body->framing == CC_HTTP_LENGTH && body->left == 0);
}

static bool request_body(struct cc_conn *conn)
{
	struct cc_relay *relay = conn->relay;
	enum cc_http_step step;
	size_t used;

	if (relay->out.len >= CHUNK)
		return false;
	if (relay->in.len == 0 && wants_bytes(&relay->request_body)) {
		long got = fill(conn, &conn->client, &relay->in);

		if (got == 0 || got == -2)
			cc_conn_close(conn, true);
		if (got == 0 || got == -2)
			return true;
	}
	step = cc_http_body_copy(&relay->request_body, cc_buf_view(&relay->in), &used, &relay->out);
	conn->up.bytes += used;
	cc_buf_eat(&relay->in, used);
	if (step == CC_HTTP_BAD || relay->out.failed)
		refuse(conn, CC_NET_MALFORMED, 400, cc_conn_name(conn), "the body's chunks are malformed");
	else if (step == CC_HTTP_DONE)
		relay->request = REQUEST_DONE;
	return used > 0 || step != CC_HTTP_MORE;
}

static bool request_done(struct cc_conn *conn)
{
	if (conn->client.broken && conn->relay->answer != ANSWER_DONE) {
		cc_conn_close(conn, true);
		return true;
	}
	return false;
}

/* ---- the answer */

static bool answer_idle(struct cc_conn *conn)
{
	(void)conn;
	return false;
}

static void write_answer(struct cc_relay *relay, struct cc_http_head *head)
{
	struct cc_buf *out = &relay->reply;

	if (relay->old && head->framing == CC_HTTP_CHUNKED) /* the client knows no chunks: to the end instead */
		head->framing = CC_HTTP_TO_END;
	relay->close |= head->framing == CC_HTTP_TO_END;
	cc_buf_addf(out, "HTTP/1.1 %u ", head->status);
	cc_buf_add(out, head->reason.ptr, head->reason.len);
	cc_buf_adds(out, "\r\n");
	cc_http_copy_fields(head, out);
	if (head->status == 101)
		cc_buf_adds(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (relay->close && head->status >= 200)
		cc_buf_adds(out, "Connection: close\r\n");
	cc_buf_adds(out, "\r\n");
	relay->told = true;
}

/* 101: from here on it is a tunnel; what was read too far goes first. */
static void become_tunnel(struct cc_conn *conn)
{
	struct cc_relay *relay = conn->relay;

	if (!cc_flow_push(&conn->down, relay->reply.data, relay->reply.len) ||
	    !cc_flow_push(&conn->down, relay->back.data, relay->back.len) ||
	    !cc_flow_push(&conn->up, relay->out.data, relay->out.len) ||
	    !cc_flow_push(&conn->up, relay->in.data, relay->in.len)) {
		cc_conn_close(conn, true);
		return;
	}
	cc_relay_free(relay);
	conn->relay = NULL;
	cc_conn_tunnel(conn);
	cc_conn_again(conn);
}

static void take_answer(struct cc_conn *conn, struct cc_http_head *head)
{
	struct cc_relay *relay = conn->relay;
	bool chunked = head->framing == CC_HTTP_CHUNKED;

	if (head->status == 101 && !relay->upgrade) {
		bad_gateway(conn, "the host switched protocols unasked");
		return;
	}
	if (head->status >= 200)
		relay->close |= head->close;
	if (head->status >= 200 || !relay->old)
		write_answer(relay, head);
	cc_buf_reset(&relay->again);
	if (relay->reply.failed) {
		cc_conn_close(conn, true);
		return;
	}
	cc_http_body_init(&relay->answer_body, head);
	if (chunked && relay->old) {
		relay->answer_body.framing = CC_HTTP_CHUNKED;
		relay->answer_body.raw = true;
	}
	cc_buf_eat(&relay->back, head->size);
	relay->back_scanned = 0;
	if (head->status == 101)
		become_tunnel(conn);
	else if (head->status >= 200)
		relay->answer = ANSWER_BODY;
	else
		relay->told = false; /* the final answer is still to come, and may still be a refusal */
}

static void ask_again(struct cc_conn *conn)
{
	struct cc_relay *relay = conn->relay;
	struct cc_host host;

	cc_conn_drop_upstream(conn);
	cc_buf_reset(&relay->out);
	cc_buf_add(&relay->out, relay->again.data, relay->again.len);
	cc_buf_reset(&relay->again);
	relay->answer = ANSWER_IDLE;
	relay->request = REQUEST_DIAL;
	host = cc_conn_host(conn);
	(void)cc_conn_request(conn, &host, conn->port, relay->head_only);
}

static bool answer_head(struct cc_conn *conn)
{
	static struct cc_http_head head;
	struct cc_relay *relay = conn->relay;
	struct cc_http_fault fault;
	enum cc_http_step step = cc_http_scan(cc_buf_view(&relay->back), &relay->back_scanned, &fault);

	if (step == CC_HTTP_MORE) {
		long got = relay->reply.len < REPLY_HIGH ? fill(conn, &conn->upstream, &relay->back) : -1;

		if ((got == 0 || got == -2) && relay->back.len == 0 && relay->again.len)
			ask_again(conn);
		else if (got == 0 || got == -2)
			bad_gateway(conn, "the host closed the connection before it answered");
		return got != -1;
	}
	if (step == CC_HTTP_BAD ||
	    !cc_http_response((struct cc_view){relay->back.data, relay->back_scanned}, relay->head_only, &head, &fault))
		bad_gateway(conn, "the host's answer is not well-formed HTTP");
	else
		take_answer(conn, &head);
	return true;
}

static bool answer_body(struct cc_conn *conn)
{
	struct cc_relay *relay = conn->relay;
	enum cc_http_step step;
	size_t used;
	long got = -1;

	if (relay->reply.len >= REPLY_HIGH)
		return false;
	if (relay->back.len == 0 && wants_bytes(&relay->answer_body)) {
		got = fill(conn, &conn->upstream, &relay->back);
		if (got == -2 || (got == 0 && relay->answer_body.framing != CC_HTTP_TO_END)) {
			cc_conn_close(conn, true); /* cut short: the client must not take it for complete */
			return true;
		}
	}
	step = cc_http_body_copy(&relay->answer_body, cc_buf_view(&relay->back), &used, &relay->reply);
	conn->down.bytes += used;
	cc_buf_eat(&relay->back, used);
	if (step == CC_HTTP_BAD || relay->reply.failed)
		cc_conn_close(conn, true);
	else if (step == CC_HTTP_DONE || got == 0)
		relay->answer = ANSWER_DONE;
	return used > 0 || step != CC_HTTP_MORE || got == 0;
}

static bool answer_done(struct cc_conn *conn)
{
	struct cc_relay *relay = conn->relay;

	if (relay->reply.len)
		return false;
	/* An answer before the end of the request: what is left of the request cannot be told from the next one. */
	if (relay->close || relay->request != REQUEST_DONE) {
		cc_conn_drain(conn);
		return true;
	}
	relay->request = REQUEST_HEAD;
	relay->answer = ANSWER_IDLE;
	relay->told = false;
	cc_conn_set_deadline(conn, relay->in.len ? CC_CONN_HEAD_MS : CC_CONN_IDLE_MS);
	return true;
}

void cc_relay_step(struct cc_conn *conn)
{
	static bool (*const requests[])(struct cc_conn *) = {
		[REQUEST_HEAD] = request_head,
		[REQUEST_DIAL] = request_dial,
		[REQUEST_BODY] = request_body,
		[REQUEST_DONE] = request_done,
	};
	static bool (*const answers[])(struct cc_conn *) = {
		[ANSWER_IDLE] = answer_idle,
		[ANSWER_HEAD] = answer_head,
		[ANSWER_BODY] = answer_body,
		[ANSWER_DONE] = answer_done,
	};

	conn->active = conn->shared->now;
	for (int turn = 0; turn < TURNS; turn++) {
		struct cc_relay *relay = conn->relay;
		size_t held = 0;
		bool moved = requests[relay->request](conn);

		/* Head and first bytes of a body leave in one write. */
		if (moved && conn->phase == CC_PHASE_RELAY && relay->request == REQUEST_BODY)
			moved |= request_body(conn);
		if (conn->phase != CC_PHASE_RELAY)
			return;
		/* A host that answers early may also close early: its answer counts, not the failed write. */
		held = relay->out.len;
		if (!cc_end_flush(&conn->upstream, &relay->out))
			cc_buf_reset(&relay->out);
		moved |= held >= CHUNK && relay->out.len < CHUNK;
		moved |= answers[relay->answer](conn);
		if (moved && conn->phase == CC_PHASE_RELAY && relay->answer == ANSWER_BODY)
			moved |= answer_body(conn);
		if (conn->phase != CC_PHASE_RELAY)
			return;
		held = relay->reply.len;
		if (!cc_end_flush(&conn->client, &relay->reply)) {
			cc_conn_close(conn, true);
			return;
		}
		moved |= held && (relay->reply.len == 0 || (held >= REPLY_HIGH && relay->reply.len < REPLY_HIGH));
		if (!moved)
			return;
	}
	cc_conn_again(conn);
}

void cc_relay_late(struct cc_conn *conn)
{
	struct cc_relay *relay = conn->relay;

	if (relay->request == REQUEST_HEAD && relay->in.len)
		refuse(conn, CC_NET_MALFORMED, 408, (struct cc_view){"", 0},
		       "the request head did not arrive within 10 seconds");
	else if (conn->active + CC_CONN_IDLE_MS <= conn->shared->now || relay->request == REQUEST_DIAL)
		cc_conn_close(conn, false);
	else
		cc_conn_set_deadline(conn, conn->active + CC_CONN_IDLE_MS - conn->shared->now);
}
