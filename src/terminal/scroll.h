/* scroll.h - the last bytes that a terminal said, numbered from its first byte on: what a viewer that comes back is
 * shown. */
#ifndef CC_TERMINAL_SCROLL_H
#define CC_TERMINAL_SCROLL_H

#include "base/err.h"
#include "base/view.h"

#include <stdint.h>

struct cc_scroll {
	char *data;
	size_t cap;
	uint64_t end; /* the number of the next byte; the oldest kept is end - cap, or 0 */
};

CC_MUST enum cc_code cc_scroll_init(struct cc_scroll *ring, size_t cap, struct cc_err *err);
void cc_scroll_done(struct cc_scroll *ring);
/* Never fails: what is older than cap bytes is forgotten. */
void cc_scroll_add(struct cc_scroll *ring, const char *bytes, size_t len);
uint64_t cc_scroll_oldest(const struct cc_scroll *ring);
/* The bytes from number `from` on that lie together, at most max; empty when there are none or they are forgotten. */
struct cc_view cc_scroll_at(const struct cc_scroll *ring, uint64_t from, size_t max);

#endif
