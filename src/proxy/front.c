/* front.c - the two ends of a tunnel's opening: the handshake that asks for a host, and the judging of the first bytes
 * that follow it. Both steps of conn.h. */
#include "proxy/conn.h"

#include "parse/clienthello.h"
#include "proxy/relay.h"

#include <stdio.h>
#include <string.h>

struct cc_front *cc_conn_front_new(void)
{
	struct cc_front *front = calloc(1, sizeof(*front));

	if (front)
		cc_buf_init(&front->in, CC_CONN_EARLY_MAX);
	return front;
}

void cc_conn_front_free(struct cc_conn *conn)
{
	if (!conn->front)
		return;
	cc_buf_done(&conn->front->in);
	free(conn->front->socks);
	free(conn->front);
	conn->front = NULL;
}

static struct cc_view front_view(const struct cc_conn *conn)
{
	return cc_buf_view(&conn->front->in);
}

static void refuse_malformed(struct cc_conn *conn, unsigned status, struct cc_view said, const char *detail)
{
	struct cc_refusal refusal = {
		.net = {.host = said, .reason = CC_NET_MALFORMED, .detail = detail},
		.status = status,
		.reply = CC_SOCKS_FAILURE,
	};

	cc_conn_refuse(conn, &refusal);
}

static void ask(struct cc_conn *conn, struct cc_host *host, uint16_t port)
{
	cc_conn_unmask(conn->shared, host);
	if (cc_conn_request(conn, host, port, false) && conn->phase == CC_PHASE_FRONT)
		conn->phase = CC_PHASE_DIAL;
}

static void front_connect(struct cc_conn *conn, const struct cc_http_head *head)
{
	struct cc_view text;
	struct cc_host host;
	struct cc_err err = {0};
	uint16_t port;

	conn->proto = CC_PROTO_CONNECT;
	if (!cc_http_authority(head->target, 0, &text, &port)) {
		refuse_malformed(conn, 400, head->target, "CONNECT takes HOST:PORT, with a port from 1 to 65535");
		return;
	}
	if (cc_host_parse(text, CC_HOST_URI, &host, &err) != CC_OK) {
		refuse_malformed(conn, 400, head->target, err.what);
		return;
	}
	cc_buf_eat(&conn->front->in, head->size);
	ask(conn, &host, port);
}

static void front_http(struct cc_conn *conn)
{
	static struct cc_http_head head; /* 3 KB that need not be on every stack; the loop is one thread */
	struct cc_front *front = conn->front;
	struct cc_http_fault fault;
	enum cc_http_step step = cc_http_scan(front_view(conn), &front->scanned, &fault);

	if (step == CC_HTTP_MORE)
		return;
	if (step == CC_HTTP_BAD || !cc_http_request((struct cc_view){front->in.data, front->scanned}, &head, &fault)) {
		refuse_malformed(conn, fault.status, (struct cc_view){"", 0}, fault.text);
		return;
	}
	if (cc_view_is(head.method, "CONNECT")) {
		front_connect(conn, &head);
		return;
	}
	conn->relay = cc_relay_new(&front->in);
	if (!conn->relay) {
		cc_conn_close(conn, true);
		return;
	}
	cc_conn_front_free(conn);
	conn->phase = CC_PHASE_RELAY;
	cc_conn_again(conn);
}

static void front_socks(struct cc_conn *conn)
{
	struct cc_front *front = conn->front;
	struct cc_buf out;
	size_t used;
	enum cc_socks_step step;

	if (!front->socks)
		front->socks = calloc(1, sizeof(*front->socks));
	if (!front->socks) {
		cc_conn_close(conn, true);
		return;
	}
	cc_buf_init(&out, 1024);
	step = cc_socks_step(front->socks, front_view(conn), &used, &out);
	cc_buf_eat(&front->in, used);
	if (!cc_flow_push(&conn->down, out.data, out.len)) {
		cc_conn_close(conn, true);
	} else if (step == CC_SOCKS_REQUEST) {
		ask(conn, &front->socks->host, front->socks->port);
	} else if (step == CC_SOCKS_REFUSE) {
		cc_conn_report(conn, &(struct cc_report_net){.host = {"", 0},
							     .reason = CC_NET_MALFORMED,
							     .detail = front->socks->fault});
		cc_conn_drain(conn);
	}
	cc_buf_done(&out);
	if (conn->phase == CC_PHASE_FRONT || conn->phase == CC_PHASE_DIAL)
		(void)cc_flow_flush(&conn->down, &conn->client);
}

/* The first byte says which protocol it is, on either listener. */
static void choose(struct cc_conn *conn)
{
	unsigned char first = (unsigned char)conn->front->in.data[0];

	conn->proto = first == 5 ? CC_PROTO_SOCKS5 : first == 4 ? CC_PROTO_SOCKS4 : CC_PROTO_HTTP;
	cc_conn_set_deadline(conn, CC_CONN_HEAD_MS); /* for the whole of it, however the bytes trickle */
}

static long front_read(struct cc_conn *conn)
{
	return cc_pumps_fill(conn->shared->pumps, &conn->client, &conn->front->in, CC_CONN_EARLY_MAX);
}

void cc_conn_front_step(struct cc_conn *conn)
{
	static void (*const fronts[])(struct cc_conn *) = {
		[CC_PROTO_HTTP] = front_http, [CC_PROTO_SOCKS5] = front_socks, [CC_PROTO_SOCKS4] = front_socks};

	while (conn->phase == CC_PHASE_FRONT && conn->client.readable) {
		long got = front_read(conn);

		if (got == 0 || got == -2) {
			cc_conn_close(conn, false);
			return;
		}
		if (got < 0)
			return;
		if (conn->proto == CC_PROTO_UNKNOWN)
			choose(conn);
		fronts[conn->proto](conn);
	}
}

void cc_conn_front(struct cc_conn *conn, struct cc_buf *in)
{
	conn->front = cc_conn_front_new();
	if (!conn->front || in->len > CC_CONN_EARLY_MAX) {
		cc_conn_close(conn, true);
		return;
	}
	cc_buf_add(&conn->front->in, in->data, in->len);
	cc_conn_drop_upstream(conn);
	cc_relay_free(conn->relay);
	conn->relay = NULL;
	conn->phase = CC_PHASE_FRONT;
	front_http(conn);
}

void cc_conn_front_late(struct cc_conn *conn)
{
	if (conn->proto == CC_PROTO_HTTP)
		refuse_malformed(conn, 408, (struct cc_view){"", 0},
				 "the request head did not arrive within 10 seconds");
	else
		cc_conn_close(conn, false);
}

/* ---- the tunnel */

void cc_conn_tunnel(struct cc_conn *conn)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct cc_buf out;

	cc_buf_init(&out, 256);
	if (conn->proto == CC_PROTO_CONNECT)
		cc_buf_add(&out, established, sizeof(established) - 1);
	else if (conn->proto == CC_PROTO_SOCKS5 || conn->proto == CC_PROTO_SOCKS4)
		cc_socks_answer(conn->front->socks, CC_SOCKS_OK, &out);
	conn->phase = CC_PHASE_TUNNEL;
	/* It may stay idle for hours, before its first byte too: what the handshake needed goes. */
	if (conn->front) {
		free(conn->front->socks);
		conn->front->socks = NULL;
		if (conn->front->in.len == 0)
			cc_buf_done(&conn->front->in);
		conn->front->in.max = CC_CONN_EARLY_MAX;
	}
	cc_conn_set_deadline(conn, conn->front && conn->front->in.len ? CC_CONN_HEAD_MS : CC_CONN_IDLE_MS);
	if (!cc_flow_push(&conn->down, out.data, out.len))
		cc_conn_close(conn, true);
	cc_buf_done(&out);
}

static void refuse_named(struct cc_conn *conn, const struct cc_sniff *sniff)
{
	static const char alert[] = "\x15\x03\x03\x00\x02\x02\x31"; /* fatal: access denied */
	char detail[400];
	struct cc_report_net net = {
		.host = cc_conn_name(conn), .port = conn->port, .reason = CC_NET_SNI, .detail = detail};
	struct cc_buf out;

	snprintf(detail, sizeof(detail), "%s%s%s", sniff->fault, sniff->named[0] ? ": " : "", sniff->named);
	cc_conn_report(conn, &net);
	cc_buf_init(&out, 16384);
	/* Only where the server has not spoken yet can an answer be understood. */
	if (conn->down.bytes == 0 && strcmp(sniff->kind, "tls") == 0)
		cc_buf_add(&out, alert, sizeof(alert) - 1);
	else if (conn->down.bytes == 0 && strcmp(sniff->kind, "http") == 0)
		cc_report_refusal(&net, 403, false, &out);
	if (cc_flow_push(&conn->down, out.data, out.len))
		cc_conn_drain(conn);
	else
		cc_conn_close(conn, true);
	cc_buf_done(&out);
}

/* Holds the client's first bytes back until they are known to be meant for the tunnel's host. */
static void gate_step(struct cc_conn *conn)
{
	struct cc_sniff sniff;
	bool ended = false;
	struct cc_host host = cc_conn_host(conn);
	enum cc_sniff_verdict verdict;

	for (;;) {
		bool first = conn->front->in.len == 0;
		long got;

		verdict = cc_sniff(front_view(conn), ended, &host, &sniff);
		if (verdict != CC_SNIFF_MORE || !conn->client.readable)
			break;
		got = front_read(conn);
		if (got == -2) {
			cc_conn_close(conn, true);
			return;
		}
		if (got < 0)
			break;
		ended = got == 0;
		if (first && got > 0)
			cc_conn_set_deadline(conn, CC_CONN_HEAD_MS);
	}
	if (verdict == CC_SNIFF_MORE && conn->front->in.len == conn->front->in.max) {
		sniff.fault = "the first message is larger than 64 KiB";
		verdict = CC_SNIFF_REFUSE;
	}
	conn->ech = verdict == CC_SNIFF_PASS && sniff.ech;
	if (conn->ech && !conn->shared->net->ech) {
		sniff.fault = "an encrypted server name (ECH), and network.ech is false";
		verdict = CC_SNIFF_REFUSE;
	}
	if (verdict == CC_SNIFF_REFUSE) {
		refuse_named(conn, &sniff);
	} else if (verdict == CC_SNIFF_PASS) {
		if (!cc_flow_push(&conn->up, conn->front->in.data, conn->front->in.len)) {
			cc_conn_close(conn, true);
			return;
		}
		conn->up.bytes += conn->front->in.len;
		cc_conn_front_free(conn);
		cc_conn_set_deadline(conn, CC_CONN_IDLE_MS);
	}
}

void cc_conn_tunnel_step(struct cc_conn *conn)
{
	struct cc_pumps *pumps = conn->shared->pumps;
	uint64_t before = conn->up.bytes + conn->down.bytes;
	enum cc_flow_step up = CC_FLOW_WAIT;
	enum cc_flow_step down;

	if (conn->front) {
		gate_step(conn);
		if (conn->phase != CC_PHASE_TUNNEL)
			return;
	}
	conn->down.last = conn->up.ended;
	down = cc_flow_pump(pumps, &conn->down, &conn->upstream, &conn->client);
	conn->up.last = conn->down.ended;
	if (!conn->front)
		up = cc_flow_pump(pumps, &conn->up, &conn->client, &conn->upstream);
	if (up == CC_FLOW_BROKEN || down == CC_FLOW_BROKEN) {
		cc_conn_close(conn, true); /* a RST is passed on as a RST */
		return;
	}
	if (up == CC_FLOW_ENDED && down == CC_FLOW_ENDED) {
		cc_conn_close(conn, false);
		return;
	}
	if (up == CC_FLOW_AGAIN || down == CC_FLOW_AGAIN)
		cc_conn_again(conn);
	if (conn->up.bytes + conn->down.bytes != before)
		conn->active = conn->shared->now;
	if (up == CC_FLOW_ENDED || down == CC_FLOW_ENDED) {
		conn->active = conn->shared->now;
		if (conn->deadline > conn->shared->now + CC_CONN_HALF_MS)
			cc_conn_set_deadline(conn, CC_CONN_HALF_MS);
	}
}

/* The deadline is moved only when it fires: an active tunnel costs nothing for it. */
void cc_conn_tunnel_late(struct cc_conn *conn)
{
	bool half = conn->up.ended || conn->down.ended;
	int64_t limit = half ? CC_CONN_HALF_MS : CC_CONN_IDLE_MS;

	if (conn->front && conn->front->in.len) {
		refuse_named(conn, &(struct cc_sniff){.kind = "opaque",
						      .fault = "the first message did not become complete"});
		return;
	}
	if (conn->active + limit <= conn->shared->now)
		cc_conn_close(conn, false);
	else
		cc_conn_set_deadline(conn, conn->active + limit - conn->shared->now);
}
