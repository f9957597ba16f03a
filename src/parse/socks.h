/* socks.h - SOCKS5 (RFC 1928), SOCKS4 and 4a, the server's side (spec/egress 2.5). Pure: bytes in, step out, answers
 * as bytes to send. No credentials are asked: whoever reaches the listener is in the session. */
#ifndef CC_PARSE_SOCKS_H
#define CC_PARSE_SOCKS_H

#include "base/buf.h"
#include "policy/hosts.h"

enum cc_socks_step {
	CC_SOCKS_MORE = 0,
	CC_SOCKS_REQUEST, /* host and port are filled; the rest of the bytes is payload */
	CC_SOCKS_REFUSE,  /* the answer, if any, is in out: send it and close */
};

enum cc_socks_reply {
	CC_SOCKS_OK = 0,
	CC_SOCKS_FAILURE = 1,
	CC_SOCKS_POLICY = 2,
	CC_SOCKS_NET_UNREACHABLE = 3,
	CC_SOCKS_HOST_UNREACHABLE = 4,
	CC_SOCKS_REFUSED = 5,
	CC_SOCKS_COMMAND = 7,
	CC_SOCKS_ADDRESS_TYPE = 8,
};

struct cc_socks {
	unsigned version; /* 5 or 4; 0 = nothing read yet */
	unsigned place;
	const char *fault; /* with REFUSE: why, for the event */
	struct cc_host host;
	uint16_t port;
};

/* Zeroed memory is the start. Takes what it can; *used says how much. Answers are added to out. */
enum cc_socks_step cc_socks_step(struct cc_socks *socks, struct cc_view bytes, size_t *used, struct cc_buf *out);
/* The answer to a request, in the version that asked. */
void cc_socks_answer(const struct cc_socks *socks, enum cc_socks_reply reply, struct cc_buf *out);

#endif
