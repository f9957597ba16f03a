/* loop.h - readiness of descriptors, edge-triggered (epoll; kqueue elsewhere). The caller owns the descriptors and the
 * data; closing a descriptor takes it out. An event that was already fetched may still name the data then, so it is
 * freed only after the fetched batch was worked off. */
#ifndef CC_OS_LOOP_H
#define CC_OS_LOOP_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

enum {
	CC_LOOP_READ = 1,
	CC_LOOP_WRITE = 2,
	CC_LOOP_HUP = 4,   /* the peer sends no more: read until 0 to learn it in order */
	CC_LOOP_ERROR = 8, /* an error waits, or both directions are over */
};

/* What data usually is: the first member of whatever waits for the descriptor. */
struct cc_watch {
	void (*ready)(struct cc_watch *watch, unsigned events);
};

struct cc_loop;
struct cc_loop_event {
	void *data;
	unsigned events;
};

CC_MUST enum cc_code cc_loop_new(struct cc_loop **out_loop, struct cc_err *err);
CC_MUST enum cc_code cc_loop_add(struct cc_loop *loop, int fd, unsigned events, void *data, struct cc_err *err);
CC_MUST enum cc_code cc_loop_modify(struct cc_loop *loop, int fd, unsigned events, void *data, struct cc_err *err);
/* At most max events; 0 after timeout_ms (negative: no timeout) or a signal. */
CC_MUST enum cc_code cc_loop_wait(struct cc_loop *loop, int timeout_ms, struct cc_loop_event *events, size_t max,
				  size_t *out_count, struct cc_err *err);
void cc_loop_free(struct cc_loop *loop);
CC_OWNED(cc_loop)

#endif
