/* inside.h - what the files of this room share. */
#ifndef CC_WEB_INSIDE_H
#define CC_WEB_INSIDE_H

#include "web/web.h"

#include <libwebsockets.h>
#include <uv.h>

enum {
	CC_WEB_PATH_MAX = 1024,
	CC_WEB_QUERY_MAX = 1024,
	CC_WEB_HEADERS = 4,
	CC_WEB_CHUNK = 16 << 10,
	CC_WEB_FILL_MAX = 256 << 10, /* what one fill may add */
	CC_WEB_LISTENERS = 8,
	CC_WEB_DRAIN_MAX = 8 << 20, /* of a body that nobody wants */
};

struct cc_web {
	struct cc_web_config config;
	struct lws_context *lws;
	struct lws_vhost *tcp, *local;
	struct {
		uv_poll_t poll;
		int fd;
		bool local;
	} listeners[CC_WEB_LISTENERS];
	size_t listener_count;
	size_t connections;
	struct lws **foreign; /* those of them that came over TCP */
	size_t foreign_count;
	uint16_t port;
};

struct cc_call {
	struct cc_web *web;
	struct lws *wsi;
	const struct cc_route *route;
	const struct cc_asset *asset;
	char path[CC_WEB_PATH_MAX];
	char query[CC_WEB_QUERY_MAX];
	char value[CC_WEB_QUERY_MAX];
	char params[CC_WEB_PARAMS][CC_WEB_PARAM_MAX];
	char origin[256]; /* a foreign one that is allowed */
	uint64_t last_event;
	char mcp_session[64];
	size_t body_left;
	struct cc_buf body;
	bool local, head, dispatched, answered, started, too_long, draining;
	bool body_over;
	bool hang_up; /* after the answer: the rest of what the caller sends is not wanted */
	int status;
	const char *type;
	struct {
		const char *name;
		char value[256];
	} headers[CC_WEB_HEADERS];
	size_t header_count;
	struct cc_buf out;
	size_t sent;
	cc_stream_fill *fill;
	void *fill_context;
	bool ended;
	void (*closed)(void *context);
	void *closed_context;
};

/* What is known of a caller before any row is asked. */
struct cc_web_caller {
	bool local;
	bool known;       /* local, or the token, or a cookie */
	bool by_cookie;   /* then other sites must not be able to make the browser ask */
	bool origin_good; /* absent, ours or allowed */
	bool origin_said;
	bool host_good; /* the name it was called by is ours: no other name may lead a browser here */
	char origin[256];
};
void cc_web_look(struct cc_web *web, struct lws *wsi, struct cc_web_caller *out_caller);
/* CC_OK, or why not. */
CC_MUST enum cc_code cc_web_admit(const struct cc_web_caller *caller, unsigned flags, bool changes, struct cc_err *err);

bool cc_web_token(struct lws *wsi, enum lws_token_indexes token, char *out, size_t cap);
/* The callbacks of the two protocols. */
int cc_call_event(struct cc_web *web, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len);
int cc_socket_event(struct cc_web *web, struct lws *wsi, enum lws_callback_reasons reason, void *in, size_t len);
int cc_call_write(struct cc_call *call);
void cc_call_free(struct cc_call *call);

#endif
