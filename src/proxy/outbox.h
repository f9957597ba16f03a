/* outbox.h - how messages get to the session's owner. Its socket may be full: nothing ever waits for it. What is not
 * urgent travels together, a message a line, because each packet wakes the owner (docs/decisions/floor.md). */
#ifndef CC_PROXY_OUTBOX_H
#define CC_PROXY_OUTBOX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { CC_OUTBOX_BYTES_MAX = 128 * 1024, CC_OUTBOX_HOLD_MS = 5 };

struct cc_outbox;
/* owner: the control socket, non-blocking; it stays the caller's. */
CC_MUST enum cc_code cc_outbox_new(int owner, struct cc_outbox **out_outbox, struct cc_err *err);
/* soon: it goes now, and what was held before it. text has no newline. told: how many lost ones it tells of. */
void cc_outbox_post(struct cc_outbox *outbox, struct cc_view text, bool soon, int64_t told);
/* Messages that found no room, and that no message has told of. */
int64_t cc_outbox_lost(const struct cc_outbox *outbox);
void cc_outbox_lose(struct cc_outbox *outbox, int64_t count);
void cc_outbox_flush(struct cc_outbox *outbox);       /* all that the owner's socket takes */
bool cc_outbox_waits(const struct cc_outbox *outbox); /* for room in the owner's socket */
/* Sends what was held for long enough; returns when it wants to be called next. */
int64_t cc_outbox_tick(struct cc_outbox *outbox, int64_t now);
void cc_outbox_free(struct cc_outbox *outbox);
CC_OWNED(cc_outbox)

#endif
