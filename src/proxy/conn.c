#define _GNU_SOURCE
#include "proxy/conn.h"

#include "os/fd.h"
#include "proxy/relay.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char *const protos[] = {
	[CC_PROTO_UNKNOWN] = "unknown", [CC_PROTO_CONNECT] = "connect", [CC_PROTO_HTTP] = "http",
	[CC_PROTO_SOCKS5] = "socks5",   [CC_PROTO_SOCKS4] = "socks4",   [CC_PROTO_TRANSPARENT] = "transparent",
	[CC_PROTO_HOST] = "host",       [CC_PROTO_PUBLISH] = "publish",
};

struct cc_view cc_conn_name(const struct cc_conn *conn)
{
	return cc_view_of(conn->name);
}

struct cc_host cc_conn_host(const struct cc_conn *conn)
{
	struct cc_host host = {0};

	if (conn->name) /* it is canonical: it parses to itself */
		(void)!cc_host_parse(cc_conn_name(conn), CC_HOST_SOCKS, &host, NULL);
	return host;
}

bool cc_conn_set_host(struct cc_conn *conn, const struct cc_host *host)
{
	char *copy = cc_str_copy(host->text);

	if (!copy)
		return false;
	free(conn->name);
	conn->name = copy;
	return true;
}

void cc_conn_free(struct cc_conn *conn)
{
	free(conn->name);
	free(conn);
}

void cc_conn_set_deadline(struct cc_conn *conn, int64_t ms)
{
	conn->deadline = conn->shared->now + ms;
	if (conn->deadline < conn->shared->due)
		conn->shared->due = conn->deadline;
}

void cc_conn_again(struct cc_conn *conn)
{
	if (conn->ready || conn->phase == CC_PHASE_DEAD)
		return;
	conn->ready = true;
	conn->ready_next = conn->shared->ready;
	conn->shared->ready = conn;
}

static void client_ready(struct cc_watch *watch, unsigned events)
{
	struct cc_conn *conn = (struct cc_conn *)((char *)watch - offsetof(struct cc_conn, client.watch));

	cc_end_note(&conn->client, events);
	cc_conn_step(conn);
}

static void upstream_ready(struct cc_watch *watch, unsigned events)
{
	struct cc_conn *conn = (struct cc_conn *)((char *)watch - offsetof(struct cc_conn, upstream.watch));

	cc_end_note(&conn->upstream, events);
	cc_conn_step(conn);
}

void cc_conn_open(struct cc_shared *shared, int fd, enum cc_arrival from, uint16_t port)
{
	struct cc_conn *conn = calloc(1, sizeof(*conn));
	struct cc_front *front = cc_conn_front_new();

	if (!conn || !front) {
		free(conn);
		free(front);
		cc_fd_close(&fd);
		return;
	}
	conn->shared = shared;
	conn->front = front;
	conn->client = (struct cc_end){.watch = {client_ready}, .fd = fd, .writable = true};
	conn->upstream = (struct cc_end){.watch = {upstream_ready}, .fd = -1};
	conn->over = shared->count >= shared->conns_max;
	conn->next = shared->conns;
	if (conn->next)
		conn->next->prev = conn;
	shared->conns = conn;
	shared->count++;
	cc_conn_set_deadline(conn, CC_CONN_HEAD_MS);
	if (cc_loop_add(shared->loop, fd, CC_LOOP_READ | CC_LOOP_WRITE, &conn->client.watch, NULL) != CC_OK)
		cc_conn_close(conn, true);
	else if (from != CC_FROM_PROXY)
		cc_conn_begin(conn, from, port);
}

/* A dial ended: the connection that waits longest (the list has the newest first) may begin its own. */
static void dial_over(struct cc_conn *conn)
{
	struct cc_conn *oldest = NULL;

	conn->dial = NULL;
	conn->shared->dialing--;
	for (struct cc_conn *at = conn->shared->waiting ? conn->shared->conns : NULL; at; at = at->next)
		if (at->waiting && !at->ready)
			oldest = at;
	if (oldest)
		cc_conn_again(oldest);
}

void cc_conn_drop_upstream(struct cc_conn *conn)
{
	if (conn->waiting)
		conn->shared->waiting--;
	conn->waiting = false;
	if (conn->outside && conn->upstream.fd < 0)
		conn->shared->outside--;
	if (conn->outside)
		cc_fd_close(&conn->upstream.fd); /* not connected: nothing was opened */
	conn->outside = false;
	if (conn->dial) {
		cc_dial_cancel(conn->dial);
		dial_over(conn);
	}
	if (conn->upstream.fd >= 0)
		cc_report_closed(conn->shared->report, &(struct cc_report_closed){
							       .proto = protos[conn->proto],
							       .host = conn->name,
							       .port = conn->port,
							       .up = conn->up.bytes,
							       .down = conn->down.bytes,
							       .ms = conn->shared->now - conn->started,
							       .ech = conn->ech,
						       });
	cc_fd_close(&conn->upstream.fd);
	conn->up.bytes = conn->down.bytes = 0;
}

void cc_conn_close(struct cc_conn *conn, bool reset)
{
	struct cc_shared *shared = conn->shared;

	if (conn->phase == CC_PHASE_DEAD)
		return;
	if (reset) {
		cc_net_reset_on_close(conn->client.fd);
		if (conn->upstream.fd >= 0)
			cc_net_reset_on_close(conn->upstream.fd);
	}
	cc_conn_drop_upstream(conn);
	cc_fd_close(&conn->client.fd);
	cc_flow_done(shared->pumps, &conn->up);
	cc_flow_done(shared->pumps, &conn->down);
	cc_conn_front_free(conn);
	cc_relay_free(conn->relay);
	conn->relay = NULL;
	if (conn->prev)
		conn->prev->next = conn->next;
	else
		shared->conns = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	shared->count--;
	conn->phase = CC_PHASE_DEAD;
	conn->next = shared->dead;
	shared->dead = conn;
}

void cc_conn_report(const struct cc_conn *conn, const struct cc_report_net *net)
{
	struct cc_report_net told = *net;

	told.proto = protos[conn->proto];
	cc_report_net(conn->shared->report, conn->shared->now, &told);
}

void cc_conn_refuse(struct cc_conn *conn, const struct cc_refusal *refusal)
{
	struct cc_buf out;

	cc_conn_report(conn, &refusal->net);
	if (conn->proto >= CC_PROTO_TRANSPARENT) { /* it knows of no proxy: nothing we could say would be understood */
		cc_conn_close(conn, true);
		return;
	}
	cc_buf_init(&out, 16384);
	if (conn->proto == CC_PROTO_SOCKS5 || conn->proto == CC_PROTO_SOCKS4)
		cc_socks_answer(conn->front->socks, refusal->reply, &out);
	else
		cc_report_refusal(&refusal->net, refusal->status, refusal->head_only, &out);
	if (!cc_flow_push(&conn->down, out.data, out.len)) {
		cc_conn_close(conn, true);
	} else {
		cc_conn_drain(conn);
	}
	cc_buf_done(&out);
}

/* ---- decision and dial */

static const struct {
	enum cc_dial_outcome outcome;
	int sys; /* 0 = any */
	unsigned status;
	enum cc_socks_reply reply;
	const char *detail;
} failures[] = {
	{CC_DIAL_FAILED, ECONNREFUSED, 502, CC_SOCKS_REFUSED, "the host refused the connection"},
	{CC_DIAL_FAILED, ENETUNREACH, 502, CC_SOCKS_NET_UNREACHABLE, "the network is unreachable"},
	{CC_DIAL_FAILED, EHOSTUNREACH, 502, CC_SOCKS_HOST_UNREACHABLE, "the host is unreachable"},
	{CC_DIAL_FAILED, ETIMEDOUT, 504, CC_SOCKS_HOST_UNREACHABLE, "the host did not answer in time"},
	{CC_DIAL_FAILED, 0, 502, CC_SOCKS_FAILURE, "the connection could not be made"},
	{CC_DIAL_NO_NAME, 0, 502, CC_SOCKS_HOST_UNREACHABLE, "the name does not exist"},
	{CC_DIAL_NO_ANSWER, 0, 502, CC_SOCKS_HOST_UNREACHABLE, "the name could not be looked up"},
	{CC_DIAL_TIMEOUT, 0, 504, CC_SOCKS_HOST_UNREACHABLE, "the host did not answer in time"},
	{CC_DIAL_PARENT, 0, 502, CC_SOCKS_FAILURE, "the parent proxy did not make the connection"},
	{CC_DIAL_LIMIT, 0, 503, CC_SOCKS_FAILURE, "too many lookups at once"},
};

static void refuse_decision(struct cc_conn *conn, const char *name, uint16_t port,
			    const struct cc_net_decision *decision, const struct cc_dial_result *result, bool head_only)
{
	const struct cc_addr *addr = result ? &result->addr : NULL;
	bool limit = decision->reason == CC_NET_LIMIT;
	struct cc_refusal refusal = {
		.net = {.host = cc_view_of(name), .port = port, .reason = decision->reason, .entry = decision->entry},
		.status = limit ? 503 : 403,
		.reply = limit ? CC_SOCKS_FAILURE : CC_SOCKS_POLICY,
		.head_only = head_only,
	};
	struct cc_host literal;
	struct cc_host host = cc_conn_host(conn);

	refusal.net.final = result && result->own;
	if (decision->reason == CC_NET_NOT_ALLOWED && cc_host_is_capture(&host))
		refusal.net.detail =
			"this address stands for no name that was looked up in this session; ask by the name";
	if (addr && addr->len) {
		cc_host_from_addr(addr->bytes, addr->len, &literal);
		refusal.net.address = literal.text;
		refusal.net.klass = cc_addr_class_name(cc_addr_classify(addr->bytes, addr->len));
	}
	cc_conn_refuse(conn, &refusal);
}

static void dial_failed(struct cc_conn *conn, const struct cc_dial_result *result, bool head_only)
{
	size_t row = 0;

	if (result->outcome == CC_DIAL_REFUSED) {
		refuse_decision(conn, conn->name, conn->port, &result->decision, result, head_only);
		return;
	}
	while (row + 1 < CC_COUNT(failures) &&
	       (failures[row].outcome != result->outcome || (failures[row].sys && failures[row].sys != result->sys)))
		row++;
	struct cc_refusal refusal = {
		.net = {.allowed = true,
			.host = cc_conn_name(conn),
			.port = conn->port,
			.reason = result->outcome == CC_DIAL_LIMIT ? CC_NET_LIMIT : CC_NET_ALLOWED,
			.detail = failures[row].detail},
		.status = failures[row].status,
		.reply = failures[row].reply,
		.head_only = head_only,
	};
	cc_conn_refuse(conn, &refusal);
}

static void report_allowed(struct cc_conn *conn)
{
	struct cc_host literal;
	struct cc_report_net net = {.allowed = true,
				    .host = cc_conn_name(conn),
				    .port = conn->port,
				    .reason = CC_NET_ALLOWED,
				    .entry = cc_conn_judge(conn).entry};

	if (conn->addr.len) {
		net.klass = cc_addr_class_name(cc_addr_classify(conn->addr.bytes, conn->addr.len));
		cc_host_from_addr(conn->addr.bytes, conn->addr.len, &literal);
		net.address = literal.text;
	}
	cc_conn_report(conn, &net);
}

/* By the rules of now: name or port, then the address that was judged for it. */
static struct cc_net_decision judge_whole(const struct cc_conn *conn)
{
	struct cc_net_decision decision = cc_conn_judge(conn);
	struct cc_host host = cc_conn_host(conn);

	if (decision.allowed && conn->named)
		decision = cc_net_decide_addr(conn->shared->net, &host, conn->port, conn->addr.bytes, conn->addr.len);
	if (decision.allowed && conn->ech && !conn->shared->net->ech)
		decision = (struct cc_net_decision){false, CC_NET_SNI, NULL};
	return decision;
}

/* The rules may have been replaced while the connection was made. */
static bool still_allowed(struct cc_conn *conn, int *fd)
{
	struct cc_net_decision decision;
	bool head_only = conn->relay && cc_relay_head_only(conn->relay);

	if (conn->rules == conn->shared->rules)
		return true;
	decision = judge_whole(conn);
	if (decision.allowed)
		return true;
	cc_fd_close(fd);
	refuse_decision(conn, conn->name, conn->port, &decision, NULL, head_only);
	return false;
}

bool cc_conn_join(struct cc_conn *conn, int fd)
{
	if (!still_allowed(conn, &fd))
		return false;
	conn->upstream = (struct cc_end){.watch = {upstream_ready}, .fd = fd, .writable = true};
	conn->started = conn->active = conn->shared->now;
	report_allowed(conn);
	if (cc_loop_modify(conn->shared->loop, fd, CC_LOOP_READ | CC_LOOP_WRITE, &conn->upstream.watch, NULL) !=
		    CC_OK &&
	    cc_loop_add(conn->shared->loop, fd, CC_LOOP_READ | CC_LOOP_WRITE, &conn->upstream.watch, NULL) != CC_OK) {
		cc_conn_close(conn, true);
		return false;
	}
	if (conn->relay)
		cc_relay_connected(conn);
	else
		cc_conn_tunnel(conn);
	return conn->phase != CC_PHASE_DEAD;
}

static void dial_done(void *context, struct cc_dial_result *result)
{
	struct cc_conn *conn = context;
	bool head_only = conn->relay && cc_relay_head_only(conn->relay);

	dial_over(conn);
	if (result->outcome != CC_DIAL_CONNECTED) {
		dial_failed(conn, result, head_only);
		return;
	}
	conn->addr = result->addr;
	conn->named = conn->proto != CC_PROTO_HOST && !cc_net_parent(conn->shared->net);
	if (cc_conn_join(conn, result->fd))
		cc_conn_step(conn);
}

struct cc_net_decision cc_conn_judge(const struct cc_conn *conn)
{
	const struct cc_net_rules *net = conn->shared->net;
	struct cc_host host;

	if (conn->proto == CC_PROTO_HOST)
		return cc_net_decide_port(net, &net->host_ports, conn->port);
	if (conn->proto == CC_PROTO_PUBLISH)
		return cc_net_decide_port(net, &net->publish, conn->port);
	host = cc_conn_host(conn);
	return cc_net_decide(net, &host, conn->port);
}

/* Begins a dial that waits, if there is room now. */
static void dial(struct cc_conn *conn)
{
	struct cc_shared *shared = conn->shared;
	bool head_only = conn->relay && cc_relay_head_only(conn->relay);
	bool granted = conn->proto == CC_PROTO_HOST;
	struct cc_host host;
	struct cc_net_decision decision;

	if (!conn->waiting || shared->dialing >= CC_CONN_DIALS_MAX)
		return;
	conn->waiting = false;
	shared->waiting--;
	/* The rules may have changed while it waited, and a name that is denied by now must not be looked up. */
	decision = cc_conn_judge(conn);
	if (!decision.allowed) {
		refuse_decision(conn, conn->name, conn->port, &decision, NULL, head_only);
		return;
	}
	host = cc_conn_host(conn);
	if (cc_net_is_gateway(&host)) {
		cc_conn_gateway(conn);
		return;
	}
	conn->dial = cc_dial_start(shared->dialer, &(struct cc_dial_ask){&host, conn->port, granted}, shared->now,
				   dial_done, conn);
	if (conn->dial)
		shared->dialing++;
	else
		cc_conn_close(conn, true);
}

bool cc_conn_request(struct cc_conn *conn, const struct cc_host *host, uint16_t port, bool head_only)
{
	uint8_t phase = conn->phase;
	struct cc_net_decision decision;

	if (!cc_conn_set_host(conn, host)) {
		cc_conn_close(conn, true);
		return false;
	}
	conn->port = port;
	conn->rules = conn->shared->rules;
	decision = cc_conn_judge(conn);
	if (decision.allowed && conn->over)
		decision = (struct cc_net_decision){false, CC_NET_LIMIT, NULL};
	if (!decision.allowed) {
		refuse_decision(conn, conn->name, port, &decision, NULL, head_only);
		return false;
	}
	conn->waiting = true;
	conn->shared->waiting++;
	/* The dialer has its own limit; this one bounds the waiting for it, too. */
	cc_conn_set_deadline(conn, CC_DIAL_TOTAL_MS + CC_CONN_HEAD_MS);
	dial(conn);
	return conn->phase == phase;
}

void cc_conn_rejudge(struct cc_conn *conn)
{
	struct cc_net_decision decision;

	if (conn->upstream.fd < 0)
		return;
	decision = judge_whole(conn);
	if (decision.allowed)
		return;
	cc_conn_report(conn,
		       &(struct cc_report_net){.host = cc_conn_name(conn),
					       .port = conn->port,
					       .reason = decision.reason,
					       .entry = decision.entry,
					       .detail = "the policy was tightened while the connection was open"});
	cc_conn_close(conn, true);
}

/* ---- one step of whatever phase it is in */

void cc_conn_dial_step(struct cc_conn *conn)
{
	if (conn->client.broken) /* gone; a mere FIN is a half-close and waits */
		cc_conn_close(conn, false);
	else if (conn->outside)
		cc_conn_inside_step(conn);
	else
		dial(conn);
}

static void dead_step(struct cc_conn *conn)
{
	(void)conn;
}

void cc_conn_step(struct cc_conn *conn)
{
	static void (*const steps[])(struct cc_conn *) = {
		[CC_PHASE_FRONT] = cc_conn_front_step,   [CC_PHASE_DIAL] = cc_conn_dial_step,
		[CC_PHASE_TUNNEL] = cc_conn_tunnel_step, [CC_PHASE_RELAY] = cc_relay_step,
		[CC_PHASE_DRAIN] = cc_conn_drain_step,   [CC_PHASE_DEAD] = dead_step,
	};

	steps[conn->phase](conn);
}

static void close_late(struct cc_conn *conn)
{
	cc_conn_close(conn, false);
}

void cc_conn_tick(struct cc_conn *conn)
{
	static void (*const lates[])(struct cc_conn *) = {
		[CC_PHASE_FRONT] = cc_conn_front_late,   [CC_PHASE_DIAL] = close_late,
		[CC_PHASE_TUNNEL] = cc_conn_tunnel_late, [CC_PHASE_RELAY] = cc_relay_late,
		[CC_PHASE_DRAIN] = close_late,           [CC_PHASE_DEAD] = dead_step,
	};

	if (conn->deadline <= conn->shared->now)
		lates[conn->phase](conn);
	else if (conn->deadline < conn->shared->due)
		conn->shared->due = conn->deadline;
}
