#define _GNU_SOURCE
#include "mcp/peer.h"

#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cc_mcp_peer_init(struct cc_mcp_peer *peer, int in, int out)
{
	*peer = (struct cc_mcp_peer){.in = in, .out = out};
	cc_lines_init(&peer->lines, CC_RPC_LINE_MAX);
}

void cc_mcp_peer_done(struct cc_mcp_peer *peer)
{
	for (size_t i = 0; i < peer->waiting_count; i++)
		cc_json_doc_free(peer->waiting[i]);
	cc_lines_done(&peer->lines);
}

void cc_mcp_peer_ask(struct cc_mcp_peer *peer, struct cc_rpcw *message, const char *method)
{
	char id[40];

	snprintf(id, sizeof(id), "\"ccbox-%lld\"", (long long)++peer->asked);
	cc_rpcw_call(message, id, method);
}

void cc_mcp_peer_send(struct cc_mcp_peer *peer, struct cc_rpcw *message)
{
	bool whole = cc_rpcw_end(message);

	cc_buf_adds(&message->text, "\n");
	if (!whole || message->text.failed ||
	    cc_fd_write_all(peer->out, message->text.data, message->text.len, NULL) != CC_OK)
		peer->ended = true;
	cc_buf_done(&message->text);
}

void cc_mcp_peer_fail(struct cc_mcp_peer *peer, const char *id, enum cc_rpc_error code, const char *text)
{
	struct cc_rpcw message;

	cc_rpcw_error(&message, id, code, text);
	cc_mcp_peer_send(peer, &message);
}

static void take_line(struct cc_mcp_peer *peer, struct cc_view line)
{
	enum cc_rpc_error error;
	struct cc_json_doc *doc = cc_rpc_parse(line, &error);

	if (doc)
		peer->waiting[peer->waiting_count++] = doc;
	else
		cc_mcp_peer_fail(peer, "null", error, "not a JSON-RPC 2.0 object");
}

/* The whole lines that are in hand become messages. */
static void take_lines(struct cc_mcp_peer *peer)
{
	struct cc_view line;

	while (peer->waiting_count < CC_MCP_WAITING_MAX && cc_lines_next(&peer->lines, &line))
		take_line(peer, line);
}

/* One read; waits up to timeout_ms for something to be there. */
static bool fill(struct cc_mcp_peer *peer, int timeout_ms)
{
	struct pollfd entry = {.fd = peer->in, .events = POLLIN};
	char bytes[65536];
	ssize_t got;

	if (peer->ended)
		return false;
	if (poll(&entry, 1, timeout_ms) <= 0)
		return true;
	got = read(peer->in, bytes, sizeof(bytes));
	if (got > 0 && !cc_lines_add(&peer->lines, bytes, (size_t)got)) {
		cc_mcp_peer_fail(peer, "null", CC_RPC_REQUEST, "the message is too long");
		peer->ended = true;
	}
	peer->ended |= got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
	take_lines(peer);
	return !peer->ended;
}

static struct cc_json_doc *take(struct cc_mcp_peer *peer, size_t at)
{
	struct cc_json_doc *doc = peer->waiting[at];

	memmove(&peer->waiting[at], &peer->waiting[at + 1], (--peer->waiting_count - at) * sizeof(peer->waiting[0]));
	return doc;
}

struct cc_json_doc *cc_mcp_peer_next(struct cc_mcp_peer *peer)
{
	for (;;) {
		struct cc_json_doc *doc;

		take_lines(peer);
		if (!peer->waiting_count) {
			if (peer->ended)
				return NULL;
			fill(peer, -1);
			continue;
		}
		doc = take(peer, 0);
		if (cc_json_get(cc_json_root(doc), "method"))
			return doc;
		cc_json_doc_free(doc); /* an answer that nobody waits for any more */
	}
}

bool cc_mcp_peer_has(struct cc_mcp_peer *peer)
{
	take_lines(peer);
	return peer->waiting_count || peer->ended;
}

bool cc_mcp_peer_look(struct cc_mcp_peer *peer)
{
	return fill(peer, 0);
}

static bool same(const struct cc_json *left, const struct cc_json *right)
{
	return left && right && left->kind == right->kind && cc_view_eq(left->text, right->text);
}

bool cc_mcp_peer_take(struct cc_mcp_peer *peer, const char *method, const char *member, const struct cc_json *id)
{
	for (size_t i = 0; i < peer->waiting_count; i++) {
		const struct cc_json *root = cc_json_root(peer->waiting[i]);

		if (strcmp(cc_json_str(root, "method", ""), method) == 0 &&
		    same(cc_json_get(cc_json_get(root, "params"), member), id)) {
			cc_json_doc_free(take(peer, i));
			return true;
		}
	}
	return false;
}

struct cc_json_doc *cc_mcp_peer_answer(struct cc_mcp_peer *peer, int timeout_ms)
{
	int64_t until = cc_clock_ms() + timeout_ms;
	char id[32];

	snprintf(id, sizeof(id), "ccbox-%lld", (long long)peer->asked);
	for (;;) {
		int64_t left = until - cc_clock_ms();

		for (size_t i = 0; i < peer->waiting_count; i++) {
			const struct cc_json *root = cc_json_root(peer->waiting[i]);

			if (!cc_json_get(root, "method") && strcmp(cc_json_str(root, "id", ""), id) == 0)
				return take(peer, i);
		}
		if (left <= 0 || peer->waiting_count == CC_MCP_WAITING_MAX || !fill(peer, (int)left))
			return NULL;
	}
}
