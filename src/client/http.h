/* http.h - the client's half of a call over the daemon's Unix socket: one connection a call, closed by its end. */
#ifndef CC_CLIENT_HTTP_H
#define CC_CLIENT_HTTP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

enum { CC_HTTP_ANSWER_MAX = 32 << 20, CC_HTTP_HEAD_MAX = 16 << 10 };

struct cc_http {
	int fd;
	int status;
	int command;      /* header ccbox-command */
	struct cc_buf in; /* read, not yet taken; the head is gone once it was read */
	bool over;        /* the server has closed */
};

/* Sends a call and reads the answer's head. */
CC_MUST enum cc_code cc_http_call(const char *socket, const char *method, const char *path, const void *body,
				  size_t len, struct cc_http *out, struct cc_err *err);
/* The rest of the answer is in http->in. */
CC_MUST enum cc_code cc_http_rest(struct cc_http *http, struct cc_err *err);
/* Waits for more bytes: *out_more false after timeout_ms, or when it is over. */
CC_MUST enum cc_code cc_http_more(struct cc_http *http, int timeout_ms, bool *out_more, struct cc_err *err);
void cc_http_done(struct cc_http *http);

#endif
