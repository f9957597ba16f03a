#define _GNU_SOURCE
#include "live/inside.h"

#include <stdlib.h>
#include <string.h>

enum { RING_FIRST = 64 };

static void drop_oldest(struct cc_ring *ring)
{
	struct cc_ring_entry *oldest = &ring->entries[ring->first];

	ring->bytes -= oldest->len;
	free(oldest->line);
	ring->first = (ring->first + 1) % ring->cap;
	ring->count--;
	ring->first_seq++;
}

/* Doubles up to the bound: most sessions have few events. */
static bool grow(struct cc_ring *ring)
{
	size_t cap = ring->cap ? ring->cap * 2 : RING_FIRST;
	struct cc_ring_entry *grown;

	if (ring->cap >= CC_LIVE_RING_ENTRIES)
		return false;
	grown = calloc(cap, sizeof(*grown));
	if (!grown)
		return false;
	for (size_t i = 0; i < ring->count; i++)
		grown[i] = ring->entries[(ring->first + i) % ring->cap];
	free(ring->entries);
	ring->entries = grown;
	ring->cap = cap;
	ring->first = 0;
	return true;
}

void cc_ring_add(struct cc_ring *ring, uint64_t seq, const char *line, size_t len)
{
	char *copy = malloc(len + 1);

	while (ring->count && ring->bytes + len > CC_LIVE_RING_BYTES)
		drop_oldest(ring);
	if (ring->count == ring->cap && !grow(ring) && ring->count)
		drop_oldest(ring);
	if (!copy || !ring->cap) {
		free(copy); /* it is lost, as to a reader that was too slow: the numbers show it */
		return;
	}
	memcpy(copy, line, len);
	copy[len] = '\0';
	if (ring->count == 0)
		ring->first_seq = seq;
	ring->entries[(ring->first + ring->count++) % ring->cap] = (struct cc_ring_entry){copy, len};
	ring->bytes += len;
}

const struct cc_ring_entry *cc_ring_get(const struct cc_ring *ring, uint64_t seq, uint64_t *out_seq)
{
	uint64_t at = seq < ring->first_seq ? ring->first_seq : seq;

	if (at - ring->first_seq >= ring->count)
		return NULL;
	*out_seq = at;
	return &ring->entries[(ring->first + (size_t)(at - ring->first_seq)) % ring->cap];
}

void cc_ring_done(struct cc_ring *ring)
{
	while (ring->count)
		drop_oldest(ring);
	free(ring->entries);
	*ring = (struct cc_ring){0};
}

void cc_reader_open(struct cc_reader *reader, struct cc_live *live, uint64_t since)
{
	cc_live_hold(live);
	reader->live = live;
	/* a number that never was: a session of the same name that is gone, so all of this one is new */
	reader->next_seq = since > live->seq ? 1 : since + 1;
	reader->next = live->readers;
	live->readers = reader;
}

void cc_reader_close(struct cc_reader *reader)
{
	struct cc_live *live = reader->live;

	if (!live)
		return;
	for (struct cc_reader **at = &live->readers; *at; at = &(*at)->next)
		if (*at == reader) {
			*at = reader->next;
			break;
		}
	reader->live = NULL;
	cc_live_release(live);
}

bool cc_reader_take(struct cc_reader *reader, struct cc_view *out_line, uint64_t *out_seq, uint64_t *out_lost)
{
	const struct cc_ring_entry *entry = cc_ring_get(&reader->live->ring, reader->next_seq, out_seq);

	if (!entry)
		return false;
	*out_lost = *out_seq - reader->next_seq;
	*out_line = (struct cc_view){entry->line, entry->len};
	reader->next_seq = *out_seq + 1;
	return true;
}

bool cc_reader_over(const struct cc_reader *reader)
{
	return reader->live->state == CC_STATE_DESTROYED && reader->next_seq > reader->live->seq;
}
