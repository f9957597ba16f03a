/* inner.c - connections that begin without a handshake: captured ones, which dialled an address that stands for a name;
 * ports of the host that were asked for, in both directions; and the reserved name that leads to the owner. And how one
 * ends that was refused. */
#define _GNU_SOURCE
#include "proxy/conn.h"

#include "os/fd.h"
#include "os/peer.h"
#include "parse/names.h"
#include "proxy/relay.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t loopback[4] = {127, 0, 0, 1};

void cc_conn_unmask(const struct cc_shared *shared, struct cc_host *host)
{
	const char *name = shared->names && cc_host_is_capture(host) ? cc_names_at(shared->names, host->addr) : NULL;
	struct cc_host named;

	if (name && cc_host_parse(cc_view_of(name), CC_HOST_URI, &named, NULL) == CC_OK)
		*host = named;
}

static void ask(struct cc_conn *conn, const struct cc_host *host, uint16_t port)
{
	if (cc_conn_request(conn, host, port, false) && conn->phase == CC_PHASE_FRONT)
		conn->phase = CC_PHASE_DIAL;
}

/* Judged by the name that was given the address, and like every tunnel by what its first bytes name. */
static void begin_catch(struct cc_conn *conn)
{
	struct cc_addr addr;
	struct cc_host host;
	uint16_t port;

	conn->proto = CC_PROTO_TRANSPARENT;
	if (!cc_net_local(conn->client.fd, &addr, &port)) {
		cc_conn_close(conn, true);
		return;
	}
	cc_host_from_addr(addr.bytes, addr.len, &host);
	cc_conn_unmask(conn->shared, &host);
	ask(conn, &host, port);
}

/* Whoever asked for the port knows what speaks there: nothing is looked into. */
static void begin_host(struct cc_conn *conn, uint16_t port)
{
	struct cc_host host;

	conn->proto = CC_PROTO_HOST;
	cc_conn_front_free(conn);
	cc_host_from_addr(loopback, sizeof(loopback), &host);
	ask(conn, &host, port);
}

static void begin_publish(struct cc_conn *conn, uint16_t port)
{
	struct cc_net_decision decision;
	struct cc_host host;

	conn->proto = CC_PROTO_PUBLISH;
	cc_conn_front_free(conn);
	cc_host_from_addr(loopback, sizeof(loopback), &host);
	if (!cc_conn_set_host(conn, &host)) {
		cc_conn_close(conn, true);
		return;
	}
	conn->port = port;
	conn->rules = conn->shared->rules;
	decision = cc_conn_judge(conn);
	if (!decision.allowed || conn->over) {
		cc_conn_report(conn, &(struct cc_report_net){.host = cc_conn_name(conn),
							     .port = port,
							     .reason = conn->over ? CC_NET_LIMIT : decision.reason});
		cc_conn_close(conn, true);
		return;
	}
	conn->outside = true;
	conn->shared->outside++;
	conn->phase = CC_PHASE_DIAL;
	cc_conn_set_deadline(conn, CC_CONN_HEAD_MS);
	cc_report_sockets(conn->shared->report, 1);
}

void cc_conn_begin(struct cc_conn *conn, enum cc_arrival from, uint16_t port)
{
	if (from == CC_FROM_CATCH)
		begin_catch(conn);
	else if (from == CC_FROM_HOST)
		begin_host(conn, port);
	else
		begin_publish(conn, port);
}

static void inside_failed(struct cc_conn *conn, const char *why)
{
	cc_conn_report(conn, &(struct cc_report_net){.allowed = true,
						     .host = cc_conn_name(conn),
						     .port = conn->port,
						     .reason = CC_NET_ALLOWED,
						     .detail = why});
	cc_conn_close(conn, true);
}

/* Many servers listen on one loopback only, and some of them on ::1: that is asked second, with a fresh socket. */
static void inside_missed(struct cc_conn *conn)
{
	conn->upstream.readable = conn->upstream.writable = conn->upstream.hup = conn->upstream.broken = false;
	if (conn->six) {
		conn->outside = false;
		inside_failed(conn, "nothing listens on that port inside");
		return;
	}
	conn->six = conn->outside = true;
	conn->shared->outside++;
	cc_report_sockets(conn->shared->report, 1);
}

void cc_conn_inside(struct cc_shared *shared, int fd)
{
	struct cc_conn *oldest = NULL;
	CC_AUTO_FD owned = fd;

	for (struct cc_conn *at = shared->conns; shared->outside && at; at = at->next)
		if (at->outside && at->upstream.fd < 0)
			oldest = at;
	if (!oldest)
		return;
	shared->outside--;
	if (cc_net_connect_loopback(owned, oldest->port, oldest->six, NULL) != CC_OK) {
		inside_missed(oldest);
		return;
	}
	oldest->upstream.fd = cc_fd_take(&owned);
	if (cc_loop_add(shared->loop, oldest->upstream.fd, CC_LOOP_READ | CC_LOOP_WRITE, &oldest->upstream.watch,
			NULL) != CC_OK)
		cc_conn_close(oldest, true);
}

/* The socket of the inside connects: done, or failed, once it is writable. */
void cc_conn_inside_step(struct cc_conn *conn)
{
	int fd = conn->upstream.fd;

	if (fd < 0 || !(conn->upstream.writable || conn->upstream.broken))
		return;
	conn->upstream.fd = -1;
	conn->outside = false;
	if (cc_net_socket_error(fd) != 0) {
		cc_fd_close(&fd);
		inside_missed(conn);
		return;
	}
	if (cc_conn_join(conn, fd))
		cc_conn_step(conn);
}

/* The owner gets one end of a pair, and is trusted to know what to do with it. */
void cc_conn_gateway(struct cc_conn *conn)
{
	struct cc_shared *shared = conn->shared;
	char text[48];
	int len = snprintf(text, sizeof(text), "{\"m\":\"gateway\",\"port\":%u}", conn->port);
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
		cc_conn_close(conn, true);
		return;
	}
	if (cc_peer_send(shared->control, text, (size_t)len, &ends[1], 1, NULL) != CC_OK) {
		cc_fd_close(&ends[0]);
		cc_fd_close(&ends[1]);
		cc_conn_close(conn, true);
		return;
	}
	cc_fd_close(&ends[1]);
	conn->addr.len = 0;
	conn->named = false;
	if (conn->phase == CC_PHASE_FRONT)
		conn->phase = CC_PHASE_DIAL;
	if (cc_conn_join(conn, ends[0]))
		cc_conn_again(conn);
}

/* ---- the end of a refusal: send, say that no more comes, read what is on its way (a close with unread bytes would
 * be a RST, and the client might never see the answer) */

void cc_conn_drain(struct cc_conn *conn)
{
	cc_conn_drop_upstream(conn);
	cc_conn_front_free(conn);
	cc_relay_free(conn->relay);
	conn->relay = NULL;
	conn->phase = CC_PHASE_DRAIN;
	cc_conn_set_deadline(conn, CC_CONN_DRAIN_MS);
	cc_conn_again(conn);
}

void cc_conn_drain_step(struct cc_conn *conn)
{
	char *scratch = cc_pumps_scratch(conn->shared->pumps);
	enum cc_flow_step step = cc_flow_flush(&conn->down, &conn->client);

	if (step == CC_FLOW_BROKEN) {
		cc_conn_close(conn, false);
		return;
	}
	if (step == CC_FLOW_ENDED && !conn->down.ended) {
		shutdown(conn->client.fd, SHUT_WR);
		conn->down.ended = true;
	}
	while (conn->client.readable) {
		long got = cc_end_read(&conn->client, scratch, CC_TUNNEL_SCRATCH);

		if (got > 0)
			conn->up.bytes += (uint64_t)got;
		if (got == -2 || conn->up.bytes > CC_CONN_DRAIN_BYTES || (got == 0 && conn->down.ended)) {
			cc_conn_close(conn, false);
			return;
		}
		if (got <= 0)
			return;
	}
}
