/* http.h - strict HTTP/1.x heads and bodies (spec/egress 2.4). Pure: bytes in, step out, no I/O.
 *
 * It is a boundary: what two parsers could read differently is refused, never repaired. A body is copied through a
 * transformer that re-emits only what it understood. */
#ifndef CC_PARSE_HTTP_H
#define CC_PARSE_HTTP_H

#include "base/buf.h"
#include "base/view.h"
#include "policy/hosts.h"

#include <stdbool.h>
#include <stdint.h>

enum { CC_HTTP_HEAD_MAX = 16384, CC_HTTP_FIELDS_MAX = 100, CC_HTTP_LINE_MAX = 4096 };

enum cc_http_step { CC_HTTP_MORE = 0, CC_HTTP_DONE, CC_HTTP_BAD };

/* Why a head was refused, and the status that says so. */
struct cc_http_fault {
	unsigned status;
	const char *text;
};

enum cc_http_framing {
	CC_HTTP_NO_BODY = 0,
	CC_HTTP_LENGTH,
	CC_HTTP_CHUNKED,
	CC_HTTP_TO_END, /* responses only: until the peer closes */
};

struct cc_http_field {
	struct cc_view name;
	struct cc_view value;
};

/* All views point into the bytes that were parsed. */
struct cc_http_head {
	struct cc_view method; /* requests */
	struct cc_view target;
	unsigned status; /* responses */
	struct cc_view reason;
	unsigned minor; /* HTTP/1.minor */
	size_t size;    /* bytes of the head, the empty line included */
	struct cc_http_field fields[CC_HTTP_FIELDS_MAX];
	size_t field_count;
	struct cc_view host; /* value of the Host field; ptr NULL when absent */
	enum cc_http_framing framing;
	bool has_length; /* Content-Length was given (for HEAD it has no body behind it) */
	uint64_t length;
	bool close;     /* the connection does not outlive this message */
	bool websocket; /* Upgrade: websocket, nominated by Connection */
};

/* Looks for the end of a head in bytes; *scanned (start at 0) remembers how far. DONE: *scanned is the head's size. */
enum cc_http_step cc_http_scan(struct cc_view bytes, size_t *scanned, struct cc_http_fault *fault);
/* bytes is one whole head as cc_http_scan found it. False: fault is filled. */
bool cc_http_request(struct cc_view bytes, struct cc_http_head *out, struct cc_http_fault *fault);
/* head_only: the request was HEAD. */
bool cc_http_response(struct cc_view bytes, bool head_only, struct cc_http_head *out, struct cc_http_fault *fault);

/* Takes "host:port" apart; the port may be missing when fallback is not 0. */
bool cc_http_authority(struct cc_view text, uint16_t fallback, struct cc_view *out_host, uint16_t *out_port);
/* Takes "http://authority/path" apart; an empty path gives "/" (for OPTIONS "*"). */
bool cc_http_absolute(const struct cc_http_head *head, struct cc_view *out_authority, struct cc_view *out_path,
		      struct cc_http_fault *fault);

/* Writes the fields that may pass a proxy: without hop-by-hop ones, what Connection names, and Host. */
void cc_http_copy_fields(const struct cc_http_head *head, struct cc_buf *out);

/* Writes a request for the host itself: path instead of the absolute target, Host from the canonical host, the fields
 * that may pass. The empty line is left to the caller. */
void cc_http_write_request(const struct cc_http_head *head, struct cc_view path, const struct cc_host *host,
			   uint16_t port, struct cc_buf *out);

/* Copies one body from in to out, re-emitting the framing. */
struct cc_http_body {
	enum cc_http_framing framing;
	uint64_t left; /* of the length or of the present chunk */
	unsigned place;
	unsigned line; /* bytes of the present size or trailer line */
	unsigned digits;
	bool raw; /* emit only the data (for a client that knows no chunks) */
};
void cc_http_body_init(struct cc_http_body *body, const struct cc_http_head *head);
/* *used says how much of in was taken. DONE: the body is complete. */
enum cc_http_step cc_http_body_copy(struct cc_http_body *body, struct cc_view in, size_t *used, struct cc_buf *out);

#endif
