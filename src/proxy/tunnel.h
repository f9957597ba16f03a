/* tunnel.h - bytes from one socket to another, one direction at a time: read and write through one shared buffer, and
 * splice through a pooled pipe once a direction is bulk. A direction keeps a buffer only while bytes are stuck. */
#ifndef CC_PROXY_TUNNEL_H
#define CC_PROXY_TUNNEL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "os/loop.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	CC_TUNNEL_SCRATCH = 256 * 1024,
	CC_TUNNEL_PIPE = 1024 * 1024, /* smaller pipes gain nothing over read and write (spec/egress 4) */
	CC_TUNNEL_PIPES = 16,
	CC_TUNNEL_BUDGET = 1024 * 1024, /* per wake-up, so that one tunnel cannot starve the others */
};

/* One socket and what the loop said about it. */
struct cc_end {
	struct cc_watch watch;
	int fd;
	bool readable;
	bool writable;
	bool hup;    /* a FIN or error lies behind what can be read: a short read does not mean drained */
	bool broken; /* an error was reported */
};
void cc_end_note(struct cc_end *end, unsigned events);
/* What the peer did to the socket: > 0 bytes, 0 = it ended, -1 = nothing now, -2 = broken. */
long cc_end_read(struct cc_end *end, char *into, size_t max);
long cc_end_write(struct cc_end *end, const char *bytes, size_t len); /* 0 = not now, -2 = broken */
/* Writes what it can of buf and eats it. False: broken. */
bool cc_end_flush(struct cc_end *end, struct cc_buf *buf);

struct cc_pumps; /* the shared buffer and the pool of pipes */
CC_MUST enum cc_code cc_pumps_new(struct cc_pumps **out_pumps, struct cc_err *err);
char *cc_pumps_scratch(struct cc_pumps *pumps); /* CC_TUNNEL_SCRATCH bytes */
/* Reads at most max bytes into buf, as far as it has room: as cc_end_read. */
long cc_pumps_fill(struct cc_pumps *pumps, struct cc_end *end, struct cc_buf *buf, size_t max);
void cc_pumps_free(struct cc_pumps *pumps);
CC_OWNED(cc_pumps)

struct cc_stuck;
struct cc_pipe;
struct cc_flow {
	struct cc_stuck *stuck;
	struct cc_pipe *pipe;
	uint64_t bytes;
	uint8_t full_reads;
	bool bulk;
	bool ended; /* the end was passed on */
	bool last;  /* the other direction is over: the socket is closed behind this end, which tells it too */
};

enum cc_flow_step {
	CC_FLOW_WAIT = 0, /* nothing to do before the next event */
	CC_FLOW_AGAIN,    /* the budget is used up: call again soon */
	CC_FLOW_ENDED,    /* everything was passed on, the end too */
	CC_FLOW_BROKEN,   /* one of the two sockets failed */
};

/* Bytes to be sent before anything else is read. False: out of memory. */
bool cc_flow_push(struct cc_flow *flow, const char *bytes, size_t len);
enum cc_flow_step cc_flow_pump(struct cc_pumps *pumps, struct cc_flow *flow, struct cc_end *from, struct cc_end *to);
/* Sends what was pushed, reads nothing. ENDED: all is sent. */
enum cc_flow_step cc_flow_flush(struct cc_flow *flow, struct cc_end *to);
void cc_flow_done(struct cc_pumps *pumps, struct cc_flow *flow);

#endif
