#define _GNU_SOURCE
/* socket.c - WebSockets: admitted like any other call, then whole messages both ways, bounded. */
#include "web/inside.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MAX = 1 << 20 };

struct cc_socket {
	struct cc_web *web;
	struct lws *wsi;
	const struct cc_socket_row *row;
	void *context;
	char path[CC_WEB_PATH_MAX];
	char query[CC_WEB_QUERY_MAX];
	char value[CC_WEB_QUERY_MAX];
	char params[CC_WEB_PARAMS][CC_WEB_PARAM_MAX];
	struct cc_buf in, out;
	bool in_binary, closing, said_goodbye;
	unsigned close_code;
	char close_reason[124];
};

static const struct cc_socket_row *find_row(struct cc_socket *socket)
{
	for (const struct cc_socket_row *const *table = socket->web->config.sockets; table && *table; table++)
		for (const struct cc_socket_row *row = *table; row->pattern; row++)
			if (cc_web_match(row->pattern, socket->path, socket->params))
				return row;
	return NULL;
}

static void copy_query(struct cc_socket *socket)
{
	for (int i = 0, used = 0, got; i < 16; i++) {
		got = lws_hdr_copy_fragment(socket->wsi, socket->query + used, (int)sizeof(socket->query) - used - 1,
					    WSI_TOKEN_HTTP_URI_ARGS, i);
		if (got < 0)
			return;
		used += got;
		socket->query[used++] = '&';
		socket->query[used] = '\0';
	}
}

static void release(struct cc_socket *socket)
{
	cc_buf_done(&socket->in);
	cc_buf_done(&socket->out);
	free(socket);
}

/* A browser always says where a WebSocket comes from, and needs no permission to make one: so where a cookie is what
 * admits it, the origin has to be there. */
static int admit(struct cc_web *web, struct lws *wsi)
{
	struct cc_socket *socket = calloc(1, sizeof(*socket));
	struct cc_web_caller caller;
	struct cc_err err;

	if (!socket)
		return -1;
	socket->web = web;
	socket->wsi = wsi;
	cc_buf_init(&socket->in, MESSAGE_MAX);
	cc_buf_init(&socket->out, MESSAGE_MAX);
	cc_web_look(web, wsi, &caller);
	copy_query(socket);
	if (!cc_web_token(wsi, WSI_TOKEN_GET_URI, socket->path, sizeof(socket->path)) || !caller.known ||
	    cc_web_admit(&caller, 0, true, &err) != CC_OK) {
		lws_return_http_status(wsi, HTTP_STATUS_FORBIDDEN, NULL);
		release(socket);
		return -1;
	}
	socket->row = find_row(socket);
	if (!socket->row || socket->row->admit(socket, &socket->context, &err) != CC_OK) {
		lws_return_http_status(wsi, HTTP_STATUS_NOT_FOUND, NULL);
		release(socket);
		return -1;
	}
	lws_set_opaque_user_data(wsi, socket);
	return 0;
}

static int take(struct cc_socket *socket, const void *bytes, size_t len)
{
	bool good;

	if (socket->closing) /* what it still says is not wanted */
		return 0;
	if (lws_is_first_fragment(socket->wsi)) {
		cc_buf_reset(&socket->in);
		socket->in_binary = lws_frame_is_binary(socket->wsi);
	}
	cc_buf_add(&socket->in, bytes, len);
	if (socket->in.failed) {
		lws_close_reason(socket->wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
		return -1;
	}
	if (!lws_is_final_fragment(socket->wsi) || lws_remaining_packet_payload(socket->wsi))
		return 0;
	good = socket->row->message(socket->context, socket->in.data, socket->in.len, socket->in_binary);
	cc_buf_reset(&socket->in);
	if (!good)
		lws_close_reason(socket->wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION, NULL, 0);
	return good ? 0 : -1;
}

/* Asked for as a time that is over: where a callback for writing returns the wish to end, the library takes the
 * connection for broken and sends no reason. The peer's answer ends it, or the time. */
static void say_goodbye(struct cc_socket *socket)
{
	if (socket->said_goodbye)
		return;
	socket->said_goodbye = true;
	lws_rx_flow_control(socket->wsi, 1);
	lws_close_reason(socket->wsi, (enum lws_close_status)socket->close_code, (unsigned char *)socket->close_reason,
			 strlen(socket->close_reason));
	lws_set_timeout(socket->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
}

static int give(struct cc_socket *socket)
{
	static unsigned char room[LWS_PRE + MESSAGE_MAX];
	bool binary = false, more;
	size_t len;

	if (socket->said_goodbye)
		return 0;
	cc_buf_reset(&socket->out);
	more = socket->row->fill(socket->context, &socket->out, &binary);
	len = socket->out.len;
	if (len) {
		memcpy(room + LWS_PRE, socket->out.data, len);
		if (lws_write(socket->wsi, room + LWS_PRE, len, binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT) < (int)len)
			return -1;
	}
	if (more || (len && socket->closing)) /* the last message first has to be out */
		lws_callback_on_writable(socket->wsi);
	else if (socket->closing)
		say_goodbye(socket);
	return 0;
}

int cc_socket_event(struct cc_web *web, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len)
{
	struct cc_socket *socket = lws_get_opaque_user_data(wsi);

	/* NOLINTNEXTLINE: libwebsockets has some hundred reasons, and these are ours */
	switch ((int)reason) {
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return admit(web, wsi);
	case LWS_CALLBACK_ESTABLISHED:
		if (socket)
			socket->row->opened(socket->context, socket);
		return socket ? 0 : -1;
	case LWS_CALLBACK_RECEIVE:
		return socket ? take(socket, in, len) : -1;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return socket ? give(socket) : -1;
	case LWS_CALLBACK_CLOSED:
		lws_set_opaque_user_data(wsi, NULL);
		if (socket) {
			socket->row->closed(socket->context);
			release(socket);
		}
		return 0;
	default:
		return 0;
	}
}

void *cc_socket_context(const struct cc_socket *socket)
{
	return socket->web->config.context;
}

const char *cc_socket_param(const struct cc_socket *socket, size_t index)
{
	return socket->params[index];
}

const char *cc_socket_query(struct cc_socket *socket, const char *name)
{
	return cc_web_query(socket->query, name, socket->value, sizeof(socket->value)) ? socket->value : NULL;
}

void cc_socket_wake(struct cc_socket *socket)
{
	lws_callback_on_writable(socket->wsi);
}

void cc_socket_pause(struct cc_socket *socket, bool on)
{
	lws_rx_flow_control(socket->wsi, !on);
}

void cc_socket_close(struct cc_socket *socket, unsigned code, const char *reason)
{
	size_t len = strnlen(reason, sizeof(socket->close_reason) - 1);

	socket->closing = true;
	socket->close_code = code;
	memcpy(socket->close_reason, reason, len);
	socket->close_reason[len] = '\0';
	lws_callback_on_writable(socket->wsi);
}
