#include "terminal/scroll.h"

#include <stdlib.h>
#include <string.h>

enum cc_code cc_scroll_init(struct cc_scroll *ring, size_t cap, struct cc_err *err)
{
	*ring = (struct cc_scroll){.data = malloc(cap), .cap = cap};
	return ring->data ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

void cc_scroll_done(struct cc_scroll *ring)
{
	free(ring->data);
	*ring = (struct cc_scroll){0};
}

void cc_scroll_add(struct cc_scroll *ring, const char *bytes, size_t len)
{
	size_t at, first;

	if (len > ring->cap) {
		ring->end += len - ring->cap;
		bytes += len - ring->cap;
		len = ring->cap;
	}
	at = (size_t)(ring->end % ring->cap);
	first = len < ring->cap - at ? len : ring->cap - at;
	memcpy(ring->data + at, bytes, first);
	memcpy(ring->data, bytes + first, len - first);
	ring->end += len;
}

uint64_t cc_scroll_oldest(const struct cc_scroll *ring)
{
	return ring->end > ring->cap ? ring->end - ring->cap : 0;
}

struct cc_view cc_scroll_at(const struct cc_scroll *ring, uint64_t from, size_t max)
{
	size_t at, len;

	if (from < cc_scroll_oldest(ring) || from >= ring->end)
		return (struct cc_view){0};
	at = (size_t)(from % ring->cap);
	len = (size_t)(ring->end - from);
	if (len > ring->cap - at)
		len = ring->cap - at;
	return (struct cc_view){ring->data + at, len < max ? len : max};
}
