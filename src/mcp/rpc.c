#define _GNU_SOURCE
#include "mcp/rpc.h"

#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cc_rpc_init(struct cc_rpc *rpc, int in, int out)
{
	*rpc = (struct cc_rpc){.in = in, .out = out};
	cc_lines_init(&rpc->lines, CC_RPC_LINE_MAX);
}

void cc_rpc_done(struct cc_rpc *rpc)
{
	for (size_t i = 0; i < rpc->waiting_count; i++)
		cc_json_doc_free(rpc->waiting[i]);
	cc_lines_done(&rpc->lines);
}

static void write_id(struct cc_rpc_message *message, const struct cc_json *id)
{
	cc_jsonw_key(&message->w, "id");
	if (id && id->kind == CC_JSON_INT)
		cc_jsonw_int(&message->w, id->integer);
	else if (id && id->kind == CC_JSON_STRING)
		cc_jsonw_view(&message->w, id->text);
	else
		cc_jsonw_null(&message->w);
}

static void begin(struct cc_rpc_message *message)
{
	cc_buf_init(&message->text, CC_RPC_LINE_MAX);
	cc_jsonw_init(&message->w, &message->text);
	cc_jsonw_object(&message->w);
	cc_jsonw_kstr(&message->w, "jsonrpc", "2.0");
}

void cc_rpc_result(struct cc_rpc_message *message, const struct cc_json *id)
{
	begin(message);
	write_id(message, id);
	cc_jsonw_key(&message->w, "result");
}

void cc_rpc_request(struct cc_rpc *rpc, struct cc_rpc_message *message, const char *method)
{
	char id[32];

	snprintf(id, sizeof(id), "ccbox-%lld", (long long)++rpc->asked);
	begin(message);
	cc_jsonw_kstr(&message->w, "id", id);
	cc_jsonw_kstr(&message->w, "method", method);
	cc_jsonw_key(&message->w, "params");
}

void cc_rpc_send(struct cc_rpc *rpc, struct cc_rpc_message *message)
{
	cc_jsonw_end(&message->w);
	cc_buf_adds(&message->text, "\n");
	if (message->text.failed || cc_fd_write_all(rpc->out, message->text.data, message->text.len, NULL) != CC_OK)
		rpc->ended = true;
	cc_buf_done(&message->text);
}

void cc_rpc_fail(struct cc_rpc *rpc, const struct cc_json *id, enum cc_rpc_error code, const char *text)
{
	struct cc_rpc_message message;

	begin(&message);
	write_id(&message, id);
	cc_jsonw_key(&message.w, "error");
	cc_jsonw_object(&message.w);
	cc_jsonw_kint(&message.w, "code", code);
	cc_jsonw_kstr(&message.w, "message", text);
	cc_jsonw_end(&message.w);
	cc_rpc_send(rpc, &message);
}

static void take_line(struct cc_rpc *rpc, struct cc_view line)
{
	struct cc_json_doc *doc = NULL;
	struct cc_err err;

	if (cc_json_parse("message", line, 0, &doc, &err) != CC_OK) {
		cc_rpc_fail(rpc, NULL, CC_RPC_PARSE, err.what);
	} else if (cc_json_root(doc)->kind != CC_JSON_OBJECT ||
		   strcmp(cc_json_str(cc_json_root(doc), "jsonrpc", ""), "2.0") != 0) {
		cc_rpc_fail(rpc, cc_json_get(cc_json_root(doc), "id"), CC_RPC_REQUEST, "not a JSON-RPC 2.0 object");
		cc_json_doc_free(doc);
	} else {
		rpc->waiting[rpc->waiting_count++] = doc;
	}
}

/* The whole lines that are in hand become messages. */
static void take_lines(struct cc_rpc *rpc)
{
	struct cc_view line;

	while (rpc->waiting_count < CC_RPC_WAITING_MAX && cc_lines_next(&rpc->lines, &line))
		take_line(rpc, line);
}

/* One read; waits up to timeout_ms for something to be there. */
static bool fill(struct cc_rpc *rpc, int timeout_ms)
{
	struct pollfd entry = {.fd = rpc->in, .events = POLLIN};
	char bytes[65536];
	ssize_t got;

	if (rpc->ended)
		return false;
	if (poll(&entry, 1, timeout_ms) <= 0)
		return true;
	got = read(rpc->in, bytes, sizeof(bytes));
	if (got > 0 && !cc_lines_add(&rpc->lines, bytes, (size_t)got)) {
		cc_rpc_fail(rpc, NULL, CC_RPC_REQUEST, "the message is too long");
		rpc->ended = true;
	}
	rpc->ended |= got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
	take_lines(rpc);
	return !rpc->ended;
}

static struct cc_json_doc *take(struct cc_rpc *rpc, size_t at)
{
	struct cc_json_doc *doc = rpc->waiting[at];

	memmove(&rpc->waiting[at], &rpc->waiting[at + 1], (--rpc->waiting_count - at) * sizeof(rpc->waiting[0]));
	return doc;
}

struct cc_json_doc *cc_rpc_next(struct cc_rpc *rpc)
{
	for (;;) {
		struct cc_json_doc *doc;

		take_lines(rpc);
		if (!rpc->waiting_count) {
			if (rpc->ended)
				return NULL;
			fill(rpc, -1);
			continue;
		}
		doc = take(rpc, 0);
		if (cc_json_get(cc_json_root(doc), "method"))
			return doc;
		cc_json_doc_free(doc); /* an answer that nobody waits for any more */
	}
}

bool cc_rpc_look(struct cc_rpc *rpc)
{
	return fill(rpc, 0);
}

static bool same(const struct cc_json *left, const struct cc_json *right)
{
	return left && right && left->kind == right->kind && cc_view_eq(left->text, right->text);
}

bool cc_rpc_take_cancelled(struct cc_rpc *rpc, const char *method, const char *member, const struct cc_json *id)
{
	for (size_t i = 0; i < rpc->waiting_count; i++) {
		const struct cc_json *root = cc_json_root(rpc->waiting[i]);

		if (strcmp(cc_json_str(root, "method", ""), method) == 0 &&
		    same(cc_json_get(cc_json_get(root, "params"), member), id)) {
			cc_json_doc_free(take(rpc, i));
			return true;
		}
	}
	return false;
}

struct cc_json_doc *cc_rpc_answer(struct cc_rpc *rpc, int timeout_ms)
{
	int64_t until = cc_clock_ms() + timeout_ms;
	char id[32];

	snprintf(id, sizeof(id), "ccbox-%lld", (long long)rpc->asked);
	for (;;) {
		int64_t left = until - cc_clock_ms();

		for (size_t i = 0; i < rpc->waiting_count; i++) {
			const struct cc_json *root = cc_json_root(rpc->waiting[i]);

			if (!cc_json_get(root, "method") && strcmp(cc_json_str(root, "id", ""), id) == 0)
				return take(rpc, i);
		}
		if (left <= 0 || rpc->waiting_count == CC_RPC_WAITING_MAX || !fill(rpc, (int)left))
			return NULL;
	}
}
