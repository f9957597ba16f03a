/* conn.c - a connection from inside: one request after the other. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MS = 30000, IDLE_MS = 90000, WRITE_MS = 60000, LINGER = 1 << 20, LINGER_MS = 5000 };

static bool ready(int fd, short events, int timeout_ms)
{
	struct pollfd wait = {.fd = fd, .events = events};
	int got;

	do {
		got = poll(&wait, 1, timeout_ms);
	} while (got < 0 && errno == EINTR);
	return got > 0;
}

size_t cc_push_conn_read(struct cc_push_conn *conn, char *out, size_t cap, int timeout_ms)
{
	ssize_t got;

	if (conn->in.len) {
		size_t take = conn->in.len < cap ? conn->in.len : cap;

		memcpy(out, conn->in.data, take);
		cc_buf_eat(&conn->in, take);
		return take;
	}
	if (conn->broken || !ready(conn->fd, POLLIN, timeout_ms))
		return 0;
	do {
		got = recv(conn->fd, out, cap, MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

void cc_push_conn_write(struct cc_push_conn *conn, struct cc_view bytes)
{
	while (bytes.len && !conn->broken) {
		ssize_t done = send(conn->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN && ready(conn->fd, POLLOUT, WRITE_MS))
			continue;
		if (done < 0) {
			conn->broken = true;
			return;
		}
		bytes.ptr += done;
		bytes.len -= (size_t)done;
	}
}

bool cc_push_conn_gone(struct cc_push_conn *conn)
{
	char byte;
	ssize_t got = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return conn->broken || got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static const char *reason_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {{200, "OK"},
		    {400, "Bad Request"},
		    {401, "Unauthorized"},
		    {403, "Forbidden"},
		    {404, "Not Found"},
		    {413, "Content Too Large"},
		    {415, "Unsupported Media Type"},
		    {503, "Service Unavailable"}};

	for (size_t i = 0; i < CC_COUNT(rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return status < 500 ? "Refused" : "Bad Gateway";
}

void cc_push_conn_say(struct cc_push_conn *conn, unsigned status, const char *type, const char *text)
{
	struct cc_buf out;

	cc_buf_init(&out, 65536);
	cc_buf_addf(&out, "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nCache-Control: no-cache\r\nContent-Length: %zu\r\n",
		    status, reason_of(status), type, strlen(text));
	if (status == 401)
		cc_buf_adds(&out, "WWW-Authenticate: Basic realm=\"ccbox: the run's own secret\"\r\n");
	if (conn->close)
		cc_buf_adds(&out, "Connection: close\r\n");
	cc_buf_adds(&out, "\r\n");
	cc_buf_adds(&out, text);
	cc_push_conn_write(conn, cc_buf_view(&out));
	conn->begun = true;
	cc_buf_done(&out);
}

void cc_push_conn_begin(struct cc_push_conn *conn, const char *type)
{
	struct cc_buf out;

	if (conn->begun)
		return;
	conn->begun = true;
	conn->close |= conn->head.minor == 0;
	cc_buf_init(&out, 4096);
	cc_buf_addf(&out, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nCache-Control: no-cache\r\n%s%s\r\n", type,
		    conn->head.minor ? "Transfer-Encoding: chunked\r\n" : "",
		    conn->close ? "Connection: close\r\n" : "");
	cc_push_conn_write(conn, cc_buf_view(&out));
	cc_buf_done(&out);
}

void cc_push_conn_piece(struct cc_push_conn *conn, struct cc_view bytes)
{
	struct cc_buf out;

	if (bytes.len == 0)
		return;
	if (conn->head.minor == 0) {
		cc_push_conn_write(conn, bytes);
		return;
	}
	/* in one piece: several small ones would wait for each other's acknowledgement */
	cc_buf_init(&out, bytes.len + 32);
	cc_buf_addf(&out, "%zx\r\n", bytes.len);
	cc_buf_add(&out, bytes.ptr, bytes.len);
	cc_buf_adds(&out, "\r\n");
	conn->broken |= out.failed;
	cc_push_conn_write(conn, cc_buf_view(&out));
	cc_buf_done(&out);
}

void cc_push_conn_end(struct cc_push_conn *conn)
{
	if (conn->head.minor)
		cc_push_conn_write(conn, cc_view_of("0\r\n\r\n"));
}

/* The next request's head into text and head. False: there is none, or it was answered. */
static bool take_head(struct cc_push_conn *conn)
{
	struct cc_http_fault fault = {0};
	enum cc_http_step step;
	size_t scanned = 0;
	int64_t until = cc_clock_ms() + IDLE_MS;

	while ((step = cc_http_scan(cc_buf_view(&conn->in), &scanned, &fault)) == CC_HTTP_MORE) {
		char piece[4096];
		int64_t left = until - cc_clock_ms();
		ssize_t got = -1;

		if (left > 0 && ready(conn->fd, POLLIN, (int)left))
			got = recv(conn->fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (got <= 0)
			return false;
		/* it has begun, so it has to come */
		if (conn->in.len == 0)
			until = cc_clock_ms() + HEAD_MS;
		cc_buf_add(&conn->in, piece, (size_t)got);
		if (conn->in.failed)
			return false;
	}
	conn->close = step == CC_HTTP_BAD;
	if (step == CC_HTTP_DONE) {
		free(conn->text);
		conn->text = malloc(scanned);
		if (!conn->text)
			return false;
		memcpy(conn->text, conn->in.data, scanned);
		cc_buf_eat(&conn->in, scanned);
		conn->close = !cc_http_request((struct cc_view){conn->text, scanned}, &conn->head, &fault);
	}
	if (!conn->close)
		return true;
	cc_push_conn_say(conn, fault.status, "text/plain", fault.text);
	return false;
}

/* What was said last is lost when a socket is closed over bytes that nobody read. */
static void linger(struct cc_push_conn *conn)
{
	char piece[4096];
	int64_t until = cc_clock_ms() + LINGER_MS;
	size_t left = LINGER;

	shutdown(conn->fd, SHUT_WR);
	while (left > sizeof(piece) && !conn->broken) {
		int64_t rest = until - cc_clock_ms();
		ssize_t got = -1;

		if (rest > 0 && ready(conn->fd, POLLIN, (int)rest))
			got = recv(conn->fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (got <= 0)
			return;
		left -= (size_t)got;
	}
}

void cc_push_conn_serve(struct cc_pushgate *gate, int fd)
{
	struct cc_push_conn *conn = calloc(1, sizeof(*conn));
	int on = 1;

	/* where it is TCP: an answer comes in pieces, and none of them waits for an acknowledgement */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (!conn) {
		close(fd);
		return;
	}
	conn->gate = gate;
	conn->fd = fd;
	cc_buf_init(&conn->in, CC_HTTP_HEAD_MAX + CC_PUSH_PIECE);
	while (!conn->close && !conn->broken && take_head(conn)) {
		conn->close = conn->head.close;
		conn->begun = false;
		cc_push_serve(conn);
	}
	linger(conn);
	cc_buf_done(&conn->in);
	free(conn->text);
	free(conn);
	close(fd);
}
