#define _GNU_SOURCE
/* call.c - one HTTP exchange: judged, dispatched, answered. */
#include "web/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum lws_token_indexes token;
	const char *name;
} methods[] = {
	{WSI_TOKEN_GET_URI, "GET"},       {WSI_TOKEN_POST_URI, "POST"}, {WSI_TOKEN_PUT_URI, "PUT"},
	{WSI_TOKEN_DELETE_URI, "DELETE"}, {WSI_TOKEN_HEAD_URI, "HEAD"}, {WSI_TOKEN_OPTIONS_URI, "OPTIONS"},
	{WSI_TOKEN_PATCH_URI, "PATCH"},
};

static const char *find_method(struct lws *wsi)
{
	for (size_t i = 0; i < CC_COUNT(methods); i++)
		if (lws_hdr_total_length(wsi, methods[i].token) > 0)
			return methods[i].name;
	return "";
}

void cc_call_free(struct cc_call *call)
{
	if (!call)
		return;
	if (call->closed)
		call->closed(call->closed_context);
	cc_buf_done(&call->body);
	cc_buf_done(&call->out);
	free(call);
}

/* Row of the path, whatever its method; *out_other: one that has another method. */
static const struct cc_route *find_route(struct cc_call *call, const char *method, bool *out_other)
{
	*out_other = false;
	for (const struct cc_route *const *table = call->web->config.routes; table && *table; table++)
		for (const struct cc_route *row = *table; row->method; row++) {
			if (!cc_web_match(row->pattern, call->path, call->params))
				continue;
			if (strcmp(row->method, method) == 0)
				return row;
			*out_other = true;
		}
	return NULL;
}

static const struct cc_asset *find_asset(const struct cc_call *call)
{
	for (const struct cc_asset *const *table = call->web->config.assets; table && *table; table++)
		for (const struct cc_asset *row = *table; row->path; row++)
			if (strcmp(row->path, call->path) == 0)
				return row;
	return NULL;
}

/* Digits only, at most max; false: it is neither absent nor such a number. */
static bool content_length(struct lws *wsi, size_t *out_length, bool *out_said)
{
	char text[32];

	*out_length = 0;
	*out_said = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0;
	if (!*out_said)
		return true;
	if (!cc_web_token(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, text, 16) || strspn(text, "0123456789") != strlen(text))
		return false;
	*out_length = strtoul(text, NULL, 10);
	return true;
}

static void reply_asset(struct cc_call *call)
{
	const struct cc_asset *asset = call->asset;

	if (asset->encoding)
		cc_reply_header(call, "content-encoding:", asset->encoding);
	cc_reply(call, 200, asset->type, asset->bytes, *asset->len);
}

static void dispatch(struct cc_call *call)
{
	call->dispatched = true;
	/* From here on it takes as long as the handler takes. */
	lws_set_timeout(call->wsi, NO_PENDING_TIMEOUT, 0);
	if (call->asset)
		reply_asset(call);
	else
		call->route->handle(call);
}

static void refuse(struct cc_call *call, int status, enum cc_code code, const char *what)
{
	call->dispatched = true;
	call->hang_up = true;
	cc_reply_failf(call, code, "%s", what);
	call->status = status;
}

/* Before anybody is known: what a browser asks when another page wants to call us. */
static void reply_preflight(struct cc_call *call)
{
	call->dispatched = true;
	cc_reply_header(call, "access-control-allow-methods:", "GET, POST, DELETE");
	cc_reply_header(call, "access-control-allow-headers:",
			"authorization, content-type, last-event-id, "
			"mcp-session-id, mcp-protocol-version");
	cc_reply(call, 204, "text/plain", "", 0);
}

static void judge(struct cc_call *call, const char *method)
{
	struct cc_web_caller caller;
	struct cc_err err;
	bool other = false, said = false, changes = strcmp(method, "GET") != 0;
	unsigned flags;

	cc_web_look(call->web, call->wsi, &caller);
	call->local = caller.local;
	memcpy(call->origin, caller.origin, sizeof(call->origin));
	call->route = find_route(call, method, &other);
	if (!changes && !call->route)
		call->asset = find_asset(call);
	flags = call->asset ? call->asset->flags : call->route ? call->route->flags : 0;
	if (cc_web_admit(&caller, flags, changes, &err) != CC_OK) {
		refuse(call, 403, err.code, err.what);
	} else if (strcmp(method, "OPTIONS") == 0 && caller.origin[0]) {
		reply_preflight(call);
	} else if (!caller.known && !(flags & CC_WEB_OPEN)) {
		cc_reply_header(call, "www-authenticate:", "Bearer");
		refuse(call, 401, CC_EPOLICY, "the token of the data directory is needed");
	} else if (!call->route && !call->asset) {
		refuse(call, other ? 405 : 404, CC_ENOTFOUND, other ? "not with that method" : "no such thing here");
	} else if (lws_hdr_total_length(call->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0) {
		refuse(call, 411, CC_EINVAL, "a body has to come with its Content-Length");
	} else if (!content_length(call->wsi, &call->body_left, &said)) {
		refuse(call, 400, CC_EINVAL, "Content-Length is no number");
	} else if (call->body_left > (call->route ? call->route->body_max : 0)) {
		call->too_long = true;
		refuse(call, 413, CC_ELIMIT, "the body is too long");
	} else if (call->body_left == 0) {
		dispatch(call);
	}
}

static int begin(struct cc_web *web, struct lws *wsi, const char *path, size_t len)
{
	struct cc_call *call = calloc(1, sizeof(*call));
	const char *method = find_method(wsi);
	char text[32];

	if (!call)
		return -1;
	cc_call_free(lws_get_opaque_user_data(wsi));
	call->web = web;
	call->wsi = wsi;
	cc_buf_init(&call->body, SIZE_MAX / 4);
	cc_buf_init(&call->out, SIZE_MAX / 4);
	lws_set_opaque_user_data(wsi, call);
	/* most of them the library hangs up on itself, without asking and with nothing that could be answered any more
	 */
	if (memchr(path, '\0', len)) {
		refuse(call, 400, CC_EINVAL, "a path has no NUL");
		return 0;
	}
	if (len >= sizeof(call->path)) {
		refuse(call, 414, CC_EINVAL, "the path is too long");
		return 0;
	}
	memcpy(call->path, path, len);
	/* Fragments of the query come one by one. */
	for (int i = 0, used = 0, got; i < 16; i++) {
		got = lws_hdr_copy_fragment(wsi, call->query + used, (int)sizeof(call->query) - used - 1,
					    WSI_TOKEN_HTTP_URI_ARGS, i);
		if (got < 0)
			break;
		used += got;
		call->query[used++] = '&';
		call->query[used] = '\0';
	}
	if (lws_hdr_custom_copy(wsi, text, sizeof(text), "last-event-id:", 14) > 0)
		call->last_event = strtoull(text, NULL, 10);
	if (lws_hdr_custom_copy(wsi, call->mcp_session, sizeof(call->mcp_session), "mcp-session-id:", 15) <= 0)
		call->mcp_session[0] = '\0';
	call->head = strcmp(method, "HEAD") == 0;
	judge(call, call->head ? "GET" : method);
	return 0;
}

static int take_body(struct cc_call *call, const void *bytes, size_t len)
{
	if (call && call->too_long) { /* answered; what still comes is let pass */
		call->body_left -= len < call->body_left ? len : call->body_left;
		return call->draining && call->body_left == 0 ? -1 : 0;
	}
	if (!call || call->dispatched)
		return 0;
	if (len > call->body_left) {
		refuse(call, 400, CC_EINVAL, "the body is longer than its Content-Length");
		return 0;
	}
	call->body_left -= len;
	cc_buf_add(&call->body, bytes, len);
	if (call->body.failed)
		return -1;
	if (call->body_left == 0)
		dispatch(call);
	return 0;
}

/* libwebsockets hands over what follows a body again and again, in a loop of its own that ends only with the
 * connection: one packet would hold the whole daemon. Who sends on before the answer is hung up on. */
static int body_over(struct cc_call *call)
{
	if (!call || call->body_over)
		return -1;
	call->body_over = true;
	return 0;
}

int cc_call_event(struct cc_web *web, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
	struct cc_call *call = lws_get_opaque_user_data(wsi);

	/* NOLINTNEXTLINE: libwebsockets has some hundred reasons, and these are ours */
	switch ((int)reason) {
	case LWS_CALLBACK_HTTP:
		return begin(web, wsi, in, len);
	case LWS_CALLBACK_HTTP_BODY:
		return take_body(call, in, len);
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
		return body_over(call);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return call ? cc_call_write(call) : 0;
	case LWS_CALLBACK_CLOSED_HTTP:
		lws_set_opaque_user_data(wsi, NULL);
		cc_call_free(call);
		return 0;
	default:
		return 0;
	}
}

void *cc_call_context(const struct cc_call *call)
{
	return call->web->config.context;
}

const char *cc_call_param(const struct cc_call *call, size_t index)
{
	return call->params[index];
}

struct cc_view cc_call_body(const struct cc_call *call)
{
	return cc_buf_view(&call->body);
}

const char *cc_call_query(struct cc_call *call, const char *name)
{
	return cc_web_query(call->query, name, call->value, sizeof(call->value)) ? call->value : NULL;
}

bool cc_call_cookies(struct cc_call *call, char *out, size_t cap)
{
	return cc_web_token(call->wsi, WSI_TOKEN_HTTP_COOKIE, out, cap);
}

uint64_t cc_call_last_event(const struct cc_call *call)
{
	return call->last_event;
}

const char *cc_call_mcp_session(const struct cc_call *call)
{
	return call->mcp_session;
}

void cc_call_on_closed(struct cc_call *call, void (*closed)(void *context), void *context)
{
	call->closed = closed;
	call->closed_context = context;
}
