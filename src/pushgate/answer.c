/* answer.c - what the upstream says: it is no less a stranger than the agent, so its packets are counted, and only
 * whole ones go on. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"
#include "os/fd.h"
#include "push/pktline.h"
#include "push/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MS = 1800000, BYTE_MS = 600000, TICK_MS = 500, MESSAGE = 65536 };
#define ADVERTISEMENT "application/x-git-receive-pack-advertisement"
static const int64_t advertisement_max = 64 << 20;

struct request {
	const char *service, *repo, *protocol;
	int body;             /* -1: none */
	struct cc_push *push; /* that waits for it; NULL: none */
};

/* Asks for it and waits for the head of the answer. */
static enum cc_code ask(struct cc_pushgate *gate, const struct request *request, int *out_stream,
			struct cc_push_wait *wait, struct cc_err *err)
{
	int ends[2], fds[2];
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;
	bool heard;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return cc_fail(err, CC_ESYS, errno, "a stream for the answer");
	shutdown(ends[0], SHUT_WR);
	cc_push_wait_begin(gate, wait);
	cc_jsonw_message(&w, &text, MESSAGE, "forward");
	cc_jsonw_kint(&w, "id", wait->id);
	cc_jsonw_kstr(&w, "repo", request->repo);
	cc_jsonw_kstr(&w, "service", request->service);
	if (request->protocol)
		cc_jsonw_kstr(&w, "protocol", request->protocol);
	cc_jsonw_end(&w);
	fds[0] = request->body >= 0 ? request->body : ends[1];
	fds[1] = ends[1];
	code = cc_push_send(gate, &text, fds, request->body >= 0 ? 2 : 1, err);
	close(ends[1]);
	heard = code == CC_OK && cc_push_wait_for(gate, wait, HEAD_MS, request->push);
	cc_push_wait_end(gate, wait);
	if (code == CC_OK && (!heard || wait->failed || wait->status == 0))
		code = cc_fail(err, CC_EPROTO, 0, "the upstream gave no answer: %.280s",
			       heard && wait->text[0] ? wait->text : "it takes too long, or the client went");
	if (code == CC_OK)
		*out_stream = ends[0];
	else
		close(ends[0]);
	return code;
}

/* What a status means for who pushes. */
static const char *meaning(unsigned status)
{
	if (status == 401 || status == 403)
		return "the upstream does not let this server push there";
	if (status == 404)
		return "the upstream has no such repository, or does not show it to this server";
	if (status >= 300 && status < 400)
		return "the upstream has the repository elsewhere, and nothing is followed there";
	return "the upstream did not take it";
}

/* The next bytes behind what buf has. False: it is over, or takes too long. */
static bool hear(int fd, struct cc_buf *buf, struct cc_push *push)
{
	char piece[16384];
	int64_t until = cc_clock_ms() + BYTE_MS;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	ssize_t got;

	while (poll(&wait, 1, TICK_MS) <= 0)
		if (cc_clock_ms() > until || (push && !cc_push_tick(push)))
			return false;
	do {
		got = read(fd, piece, sizeof(piece));
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		cc_buf_add(buf, piece, (size_t)got);
	return got > 0 && !buf->failed;
}

/* Reads an advertisement to its end; what is whole of it goes on to conn, where there is one. */
static enum cc_code read_advertisement(int fd, struct cc_push_advert *advert, struct cc_push_conn *conn,
				       struct cc_err *err)
{
	enum cc_push_step step = CC_PUSH_MORE;
	struct cc_buf text;
	int64_t total = 0;

	cc_buf_init(&text, 2 * (size_t)CC_PKT_MAX);
	while (step == CC_PUSH_MORE) {
		size_t used = 0;

		if (total > advertisement_max || !hear(fd, &text, NULL)) {
			(void)cc_fail(err, CC_EPROTO, 0, "the upstream's list of references does not end");
			break;
		}
		step = cc_push_advert_feed(advert, cc_buf_view(&text), &used, err);
		if (step != CC_PUSH_BAD && conn)
			cc_push_conn_piece(conn, (struct cc_view){text.data, used});
		total += (int64_t)used;
		cc_buf_eat(&text, used);
	}
	cc_buf_done(&text);
	return step == CC_PUSH_DONE ? CC_OK : CC_EPROTO;
}

static void remember(struct cc_pushgate *gate, size_t repo_at, struct cc_push_advert *advert)
{
	pthread_mutex_lock(&gate->lock);
	cc_push_advert_done(&gate->known[repo_at]);
	gate->known[repo_at] = *advert;
	pthread_mutex_unlock(&gate->lock);
	*advert = (struct cc_push_advert){0};
}

enum cc_code cc_push_learn(struct cc_pushgate *gate, size_t repo_at, struct cc_push *push, struct cc_err *err)
{
	struct cc_push_advert advert = {0};
	struct cc_push_wait wait;
	CC_AUTO_FD stream = -1;
	struct request request = {"advertise", gate->repositories.items[repo_at], NULL, -1, push};
	enum cc_code code = ask(gate, &request, &stream, &wait, err);

	if (code == CC_OK && wait.status != 200)
		code = cc_fail(err, CC_EPROTO, 0, "%s", meaning(wait.status));
	if (code == CC_OK)
		code = read_advertisement(stream, &advert, NULL, err);
	if (code == CC_OK)
		remember(gate, repo_at, &advert);
	cc_push_advert_done(&advert);
	return code;
}

void cc_push_advertise(struct cc_push_conn *conn, size_t repo_at)
{
	struct cc_pushgate *gate = conn->gate;
	struct cc_push_advert advert = {0};
	struct cc_push_wait wait = {0};
	CC_AUTO_FD stream = -1;
	struct cc_err err = {0};
	struct request request = {"advertise", gate->repositories.items[repo_at], cc_push_protocol(&conn->head), -1,
				  NULL};
	char text[400];

	if (ask(gate, &request, &stream, &wait, &err) != CC_OK) {
		cc_push_conn_say(conn, 502, "text/plain", err.what);
		return;
	}
	if (wait.status != 200 || strcmp(wait.type, ADVERTISEMENT) != 0) {
		snprintf(text, sizeof(text), "%s (status %u)", meaning(wait.status), wait.status);
		cc_push_conn_say(conn, wait.status == 404 ? 404 : 502, "text/plain", text);
		return;
	}
	cc_push_conn_begin(conn, ADVERTISEMENT);
	if (read_advertisement(stream, &advert, conn, &err) == CC_OK) {
		remember(gate, repo_at, &advert);
		cc_push_conn_end(conn);
		cc_push_gather(gate, repo_at); /* while the client makes its pack */
	} else {
		conn->broken = true; /* the client sees that it is cut off */
	}
	cc_push_advert_done(&advert);
}

/* Whole packets, up to the end, which has to be a flush. */
static bool relay(struct cc_push *push, int stream)
{
	struct cc_buf text;
	enum cc_pkt kind = CC_PKT_MORE, last = CC_PKT_FLUSH;
	bool whole;

	cc_buf_init(&text, 2 * (size_t)CC_PKT_MAX);
	while (kind != CC_PKT_BAD && hear(stream, &text, push)) {
		struct cc_view data;
		size_t at = 0;

		while ((kind = cc_pkt_next(cc_buf_view(&text), &at, &data)) != CC_PKT_MORE && kind != CC_PKT_BAD)
			last = kind;
		cc_push_conn_piece(push->conn, (struct cc_view){text.data, at});
		cc_buf_eat(&text, at);
	}
	whole = kind != CC_PKT_BAD && text.len == 0 && last == CC_PKT_FLUSH;
	cc_buf_done(&text);
	return whole;
}

void cc_push_forward(struct cc_push *push)
{
	struct cc_push_wait wait = {0};
	CC_AUTO_FD stream = -1;
	CC_AUTO_FD body = open(push->file, O_RDONLY | O_CLOEXEC);
	struct cc_err err = {0};
	struct request request = {"receive", push->repo, push->protocol, body, push};
	enum cc_code code = body >= 0 ? CC_OK : cc_fail(&err, CC_ESYS, errno, "the push is gone");

	if (code == CC_OK)
		code = ask(push->gate, &request, &stream, &wait, &err);
	if (code == CC_OK && (wait.status != 200 || strcmp(wait.type, CC_PUSH_RESULT) != 0))
		code = cc_fail(&err, CC_EPROTO, 0, "%s (status %u)", meaning(wait.status), wait.status);
	if (code != CC_OK) {
		push->verdict = CC_PUSH_DENY;
		snprintf(push->sentence, sizeof(push->sentence), "%.390s", err.what);
		return;
	}
	cc_push_conn_begin(push->conn, CC_PUSH_RESULT);
	if (relay(push, stream)) {
		/* before the client hears the end: its next push builds on this one */
		cc_push_quarantine_keep(push);
		cc_push_conn_end(push->conn);
	} else {
		push->conn->broken = true;
	}
}
