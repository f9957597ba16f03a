#define _GNU_SOURCE
/* reply.c - how an answer is written: headers that are the same for all, then bytes as the caller takes them. */
#include "web/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLY_SECONDS = 60, DRAIN_SECONDS = 5, HEADERS_MAX = 4096 };

static const struct {
	enum cc_code code;
	int status;
	const char *name;
} codes[] = {
	{CC_EINVAL, 400, "invalid"},
	{CC_EPOLICY, 403, "refused"},
	{CC_EUNENFORCED, 422, "unenforceable"},
	{CC_EUNSUPPORTED, 501, "unsupported"},
	{CC_ENOTFOUND, 404, "not-found"},
	{CC_ELIMIT, 429, "limit"},
	{CC_ESYS, 500, "system"},
	{CC_EPROTO, 502, "lost"},
	{CC_ESTATE, 409, "state"},
	{CC_ETIMEOUT, 504, "timeout"},
};

int cc_status_of(enum cc_code code)
{
	for (size_t i = 0; i < CC_COUNT(codes); i++)
		if (codes[i].code == code)
			return codes[i].status;
	return 500;
}

const char *cc_code_name(enum cc_code code)
{
	for (size_t i = 0; i < CC_COUNT(codes); i++)
		if (codes[i].code == code)
			return codes[i].name;
	return "ok";
}

/* Scripts and styles of ours only, none in the page itself, nothing of anybody else, in no frame. */
static const struct {
	const char *name, *value;
} fixed[] = {
	{"content-security-policy:",
	 "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
	 "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
	{"x-content-type-options:", "nosniff"},
	{"x-frame-options:", "DENY"},
	{"referrer-policy:", "no-referrer"},
	{"cross-origin-resource-policy:", "same-origin"},
	{"cross-origin-opener-policy:", "same-origin"},
	{"cache-control:", "no-store"},
};

static bool add(struct lws *wsi, const char *name, const char *value, unsigned char **at, unsigned char *end)
{
	return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
					   (int)strlen(value), at, end) == 0;
}

static int write_headers(struct cc_call *call)
{
	unsigned char room[LWS_PRE + HEADERS_MAX];
	unsigned char *start = room + LWS_PRE, *at = start, *end = room + sizeof(room) - 1;
	lws_filepos_t length = call->fill ? LWS_ILLEGAL_HTTP_CONTENT_LEN : call->out.len;
	bool good = lws_add_http_common_headers(call->wsi, (unsigned)call->status, call->type, length, &at, end) == 0;

	for (size_t i = 0; good && i < CC_COUNT(fixed); i++)
		good = add(call->wsi, fixed[i].name, fixed[i].value, &at, end);
	for (size_t i = 0; good && i < call->header_count; i++)
		good = add(call->wsi, call->headers[i].name, call->headers[i].value, &at, end);
	if (good && call->origin[0])
		good = add(call->wsi, "access-control-allow-origin:", call->origin, &at, end) &&
		       add(call->wsi, "vary:", "origin", &at, end);
	if (!good || lws_finalize_write_http_header(call->wsi, start, &at, end))
		return -1;
	call->started = true;
	return 0;
}

/* The answer is out: the connection may serve the next call. */
static int complete(struct cc_call *call)
{
	struct lws *wsi = call->wsi;
	bool hang_up = call->hang_up || call->fill;

	/* A caller whose bytes are cut off while it sends them may not see the answer. */
	if (call->too_long && call->body_left && call->body_left <= CC_WEB_DRAIN_MAX) {
		call->draining = true;
		lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, DRAIN_SECONDS);
		return 0;
	}
	lws_set_opaque_user_data(wsi, NULL);
	cc_call_free(call);
	return hang_up || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int write_chunk(struct cc_call *call)
{
	static unsigned char room[LWS_PRE + CC_WEB_CHUNK];
	size_t left = call->out.len - call->sent;
	size_t len = left < CC_WEB_CHUNK ? left : CC_WEB_CHUNK;
	bool last = !call->fill && len == left;

	memcpy(room + LWS_PRE, call->out.data + call->sent, len);
	if (lws_write(call->wsi, room + LWS_PRE, len, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)len)
		return -1;
	call->sent += len;
	return 0;
}

int cc_call_write(struct cc_call *call)
{
	bool waits = false;

	if (!call->answered || call->draining)
		return 0;
	if (!call->started && write_headers(call) != 0)
		return -1;
	if (call->head)
		return complete(call);
	if (call->fill && call->sent == call->out.len && !call->ended) {
		enum cc_fill more;

		cc_buf_reset(&call->out);
		call->sent = 0;
		more = call->fill(call->fill_context, &call->out);
		call->ended = more == CC_FILL_END || call->out.failed;
		waits = more == CC_FILL_WAIT && !call->ended;
		if (call->out.len == 0 && waits)
			return 0;
	}
	if (call->sent < call->out.len && write_chunk(call) != 0)
		return -1;
	if (call->sent == call->out.len && (!call->fill || call->ended))
		return complete(call);
	/* who waits is woken: asking all the same would be a turn of the loop, and six calls of the kernel, for nothing
	 */
	if (!waits || call->sent < call->out.len)
		lws_callback_on_writable(call->wsi);
	return 0;
}

static void answer(struct cc_call *call, int status, const char *type)
{
	call->answered = true;
	call->status = status;
	call->type = type;
	lws_callback_on_writable(call->wsi);
}

void cc_reply_header(struct cc_call *call, const char *name, const char *value)
{
	if (call->header_count == CC_WEB_HEADERS)
		return;
	call->headers[call->header_count].name = name;
	snprintf(call->headers[call->header_count++].value, sizeof(call->headers[0].value), "%s", value);
}

void cc_reply(struct cc_call *call, int status, const char *type, const void *bytes, size_t len)
{
	if (call->answered)
		return;
	cc_buf_add(&call->out, bytes, len);
	lws_set_timeout(call->wsi, PENDING_TIMEOUT_HTTP_CONTENT, REPLY_SECONDS);
	answer(call, status, type);
}

void cc_reply_json(struct cc_call *call, int status, const struct cc_buf *text)
{
	if (text->failed)
		cc_reply_failf(call, CC_ELIMIT, "the answer is too long");
	else
		cc_reply(call, status, "application/json", text->data, text->len);
}

static void write_text(struct cc_buf *out, const char *text)
{
	cc_buf_adds(out, "\"");
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			cc_buf_addf(out, "\\%c", byte);
		else if (byte < 0x20 || byte >= 0x7f)
			cc_buf_addf(out, "\\u%04x", byte);
		else
			cc_buf_add(out, &byte, 1);
	}
	cc_buf_adds(out, "\"");
}

void cc_reply_fail(struct cc_call *call, const struct cc_err *err)
{
	struct cc_buf text;

	cc_buf_init(&text, 8192);
	cc_buf_addf(&text, "{\"error\":{\"code\":\"%s\",\"message\":", cc_code_name(err->code));
	write_text(&text, err->what);
	cc_buf_adds(&text, "}}\n");
	cc_reply(call, cc_status_of(err->code), "application/json", text.data, text.len);
	cc_buf_done(&text);
}

void cc_reply_written(struct cc_call *call, int status, enum cc_code code, struct cc_buf *text,
		      const struct cc_err *err)
{
	if (code == CC_OK)
		cc_reply_json(call, status, text);
	else
		cc_reply_fail(call, err);
	cc_buf_done(text);
}

void cc_reply_failf(struct cc_call *call, enum cc_code code, const char *fmt, ...)
{
	struct cc_err err = {.code = code};
	va_list args;

	va_start(args, fmt);
	vsnprintf(err.what, sizeof(err.what), fmt, args);
	va_end(args);
	cc_reply_fail(call, &err);
}

void cc_stream_begin(struct cc_call *call, const char *type, cc_stream_fill *fill, void *context)
{
	if (call->answered)
		return;
	call->fill = fill;
	call->fill_context = context;
	lws_set_timeout(call->wsi, NO_PENDING_TIMEOUT, 0);
	answer(call, 200, type);
}

void cc_stream_wake(struct cc_call *call)
{
	lws_callback_on_writable(call->wsi);
}
