/* message.h - the terminal's WebSocket messages, from bytes alone. Both ways: a binary message is eight bytes, the
 * number of its first byte (big endian), and then bytes; a text message is one JSON object. client:
 * {"type":"resize","rows":R,"cols":C}  {"type":"ack","seq":N} server: hello, title, resize, exit (docs/terminals.md) */
#ifndef CC_TERMINAL_MESSAGE_H
#define CC_TERMINAL_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stdint.h>

enum { CC_TERM_HEAD = 8, CC_TERM_INPUT_MAX = 65536, CC_TERM_TEXT_MAX = 4096, CC_TERM_SIZE_MAX = 4096 };

/* WebSocket close codes; each goes with a reason in words. */
enum cc_term_close {
	CC_CLOSE_EXIT = 1000,      /* the program has ended: the exit message says how */
	CC_CLOSE_GOING = 1001,     /* the server stops */
	CC_CLOSE_TOO_BIG = 1009,   /* a message over its limit */
	CC_CLOSE_CLOSED = 4000,    /* somebody closed the terminal */
	CC_CLOSE_IDLE = 4001,      /* nobody typed for too long */
	CC_CLOSE_SLOW = 4002,      /* output that was not yet sent is no longer kept; come back with from= */
	CC_CLOSE_LOST = 4003,      /* the sandbox broke; nothing of it runs any more */
	CC_CLOSE_BAD = 4400,       /* not a message of ours */
	CC_CLOSE_NOT_FOUND = 4404, /* no such terminal */
	CC_CLOSE_ORDER = 4409,     /* input that was sent before, or after a gap */
	CC_CLOSE_LIMIT = 4429,     /* too many viewers */
};

enum cc_term_kind { CC_TERM_NOTHING = 0, CC_TERM_INPUT, CC_TERM_RESIZE, CC_TERM_ACK };

struct cc_term_msg {
	enum cc_term_kind kind;
	struct cc_view input;
	unsigned short rows, cols;
	uint64_t seq; /* ack: everything before it was taken */
};

/* One connection's; zeroed memory is the start. */
struct cc_term_decoder {
	uint64_t next; /* the number that the next input must carry */
};

/* On failure *out_close is the code to close with; the connection is to be closed then. */
CC_MUST enum cc_code cc_term_decode(struct cc_term_decoder *decoder, bool binary, struct cc_view message,
				    struct cc_term_msg *out, enum cc_term_close *out_close, struct cc_err *err);
void cc_term_head(uint64_t seq, unsigned char out[CC_TERM_HEAD]);

#endif
