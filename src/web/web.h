/* web.h - HTTP and WebSocket for the daemon: who may call, which row answers, how an answer is written. libwebsockets
 * (on libuv) parses; nothing of it is seen outside this room.
 *
 * Every call is judged before a handler sees it: a connection over the Unix socket has our uid; over TCP it carries the
 * token, or a cookie that the owner of this room knows, unless the row is open to everybody; an Origin that is not ours
 * or allowed is refused whatever the row; a body that is longer than its row takes is refused unread. */
#ifndef CC_WEB_WEB_H
#define CC_WEB_WEB_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cc_call; /* one HTTP exchange */
struct cc_web;

enum { CC_WEB_PARAMS = 4, CC_WEB_PARAM_MAX = 256 };

/* flags of a row */
enum {
	CC_WEB_OPEN = 1,  /* nobody needs to be known: health, the login page's own assets */
	CC_WEB_LOCAL = 2, /* only over the Unix socket */
};

/* pattern: segments separated by slashes; "{name}" takes one segment of any text, in order. */
struct cc_route {
	const char *method; /* GET also answers HEAD */
	const char *pattern;
	unsigned flags;
	size_t body_max; /* 0: a body is refused */
	/* Replies, or keeps the call and replies later. */
	void (*handle)(struct cc_call *call);
};

struct cc_asset {
	const char *path;
	const char *type;
	const unsigned char *bytes;
	const size_t *len;
	const char *encoding; /* "gzip" or NULL */
	unsigned flags;
};

/* One WebSocket; freed after closed(). */
struct cc_socket;
struct cc_socket_row {
	const char *pattern;
	/* Before the upgrade. Not CC_OK: refused with that error; nothing else is called then. *out_context comes back.
	 */
	enum cc_code (*admit)(struct cc_socket *socket, void **out_context, struct cc_err *err);
	void (*opened)(void *context, struct cc_socket *socket);
	/* One whole message. false closes with 1008. */
	bool (*message)(void *context, const void *bytes, size_t len, bool binary);
	/* Adds at most one message to out. true: there is more. */
	bool (*fill)(void *context, struct cc_buf *out, bool *out_binary);
	void (*closed)(void *context);
};

struct cc_web_config {
	void *loop;    /* uv_loop_t */
	void *context; /* for the handlers */
	const char *token;
	const char *tls_cert, *tls_key;       /* NULL: plain */
	const struct cc_strv *origins;        /* allowed besides our own */
	const struct cc_route *const *routes; /* NULL-terminated list of tables, each ended by a row without a method */
	const struct cc_asset *const *assets; /* the same, ended by a row without a path */
	const struct cc_socket_row *const *sockets;
	/* A browser that has logged in. NULL: none can. */
	bool (*knows_cookie)(void *context, const char *cookies);
	size_t connections_max;
};

CC_MUST enum cc_code cc_web_open(const struct cc_web_config *config, struct cc_web **out_web, struct cc_err *err);
/* A listening socket of either kind; the room owns it from now on. */
CC_MUST enum cc_code cc_web_listen(struct cc_web *web, int listener, struct cc_err *err);
size_t cc_web_connections(const struct cc_web *web);
uint16_t cc_web_port(const struct cc_web *web); /* of the first TCP listener; 0 = none */
void cc_web_close(struct cc_web *web);

/* The call. What they return lives as long as the call. */
void *cc_call_context(const struct cc_call *call);
const char *cc_call_param(const struct cc_call *call, size_t index);
struct cc_view cc_call_body(const struct cc_call *call);
/* The value of NAME in the query, NULL when it is not there. One buffer: good until the next call. */
const char *cc_call_query(struct cc_call *call, const char *name);
/* The Cookie header; only of a call without a body, whose headers are still there. */
bool cc_call_cookies(struct cc_call *call, char *out, size_t cap);
/* Last-Event-ID, 0 when it is absent or no number. */
uint64_t cc_call_last_event(const struct cc_call *call);
/* Mcp-Session-Id, empty when it is absent or longer than any of ours. */
const char *cc_call_mcp_session(const struct cc_call *call);
/* Called once when the call is over before or after its answer: the caller has gone, or has it all. */
void cc_call_on_closed(struct cc_call *call, void (*closed)(void *context), void *context);

/* Answers, exactly one a call. */
void cc_reply(struct cc_call *call, int status, const char *type, const void *bytes, size_t len);
void cc_reply_json(struct cc_call *call, int status, const struct cc_buf *text);
void cc_reply_header(struct cc_call *call, const char *name, const char *value); /* before the answer; at most four */
/* {"error":{"code","message"}} with the status that belongs to the code. */
void cc_reply_fail(struct cc_call *call, const struct cc_err *err);
/* What was written into text, or why it could not be; text is released. */
void cc_reply_written(struct cc_call *call, int status, enum cc_code code, struct cc_buf *text,
		      const struct cc_err *err);
void cc_reply_failf(struct cc_call *call, enum cc_code code, const char *fmt, ...) CC_PRINTF(3, 4);
int cc_status_of(enum cc_code code);
const char *cc_code_name(enum cc_code code);

/* An answer without an end known beforehand: fill is asked whenever the caller can take more, and again after
 * cc_stream_wake. It adds to out (empty, bounded) and says whether the stream is over. */
enum cc_fill { CC_FILL_MORE, CC_FILL_WAIT, CC_FILL_END };
typedef enum cc_fill cc_stream_fill(void *context, struct cc_buf *out);
void cc_stream_begin(struct cc_call *call, const char *type, cc_stream_fill *fill, void *context);
void cc_stream_wake(struct cc_call *call);

/* WebSockets */
void *cc_socket_context(const struct cc_socket *socket); /* of the web */
const char *cc_socket_param(const struct cc_socket *socket, size_t index);
const char *cc_socket_query(struct cc_socket *socket, const char *name);
void cc_socket_wake(struct cc_socket *socket);                                     /* fill will be asked */
void cc_socket_pause(struct cc_socket *socket, bool on);                           /* take no more messages for now */
void cc_socket_close(struct cc_socket *socket, unsigned code, const char *reason); /* after what fill still gives */

/* The same answer after the same time for every wrong token of a length. */
bool cc_web_same_secret(const char *given, size_t len, const char *secret);
/* Compares path with pattern and copies its parameters. */
bool cc_web_match(const char *pattern, const char *path, char params[CC_WEB_PARAMS][CC_WEB_PARAM_MAX]);
/* The value of name in a query of fragments "name=value"; true when it is there and fits. */
bool cc_web_query(const char *query, const char *name, char *out, size_t cap);

/* What a caller says of a stream of numbered lines, and how they are written. ?since= or Last-Event-ID: after that one;
 * ?format=lines: without the frame of an event; ?follow=0: what is there, and the end. */
struct cc_feed {
	struct cc_call *call;
	uint64_t since;
	bool plain, follow;
};
void cc_feed_init(struct cc_feed *feed, struct cc_call *call);
void cc_feed_wake(void *feed);
/* line: its line feed included. */
void cc_feed_line(const struct cc_feed *feed, uint64_t seq, struct cc_view line, struct cc_buf *out);
bool cc_feed_full(const struct cc_buf *out); /* enough for one turn */
enum cc_fill cc_feed_turn(const struct cc_feed *feed, bool over, const struct cc_buf *out);
const char *cc_feed_type(const struct cc_feed *feed);

#endif
