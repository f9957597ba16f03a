/* feed.c - a stream of numbered lines to whoever listens: server-sent events, or the same lines without their frame. */
#include "web/web.h"

#include <stdlib.h>
#include <string.h>

enum { TURN_BYTES = 64 << 10 };

static bool says(struct cc_call *call, const char *name, const char *value)
{
	const char *said = cc_call_query(call, name);

	return said && strcmp(said, value) == 0;
}

void cc_feed_init(struct cc_feed *feed, struct cc_call *call)
{
	const char *since = cc_call_query(call, "since");

	feed->call = call;
	feed->since = since ? strtoull(since, NULL, 10) : cc_call_last_event(call);
	feed->plain = says(call, "format", "lines");
	feed->follow = !says(call, "follow", "0");
}

void cc_feed_wake(void *feed)
{
	cc_stream_wake(((struct cc_feed *)feed)->call);
}

void cc_feed_line(const struct cc_feed *feed, uint64_t seq, struct cc_view line, struct cc_buf *out)
{
	if (!feed->plain)
		cc_buf_addf(out, "id: %llu\ndata: ", (unsigned long long)seq);
	cc_buf_add(out, line.ptr, line.len);
	if (!feed->plain)
		cc_buf_adds(out, "\n");
}

bool cc_feed_full(const struct cc_buf *out)
{
	return out->len >= TURN_BYTES;
}

enum cc_fill cc_feed_turn(const struct cc_feed *feed, bool over, const struct cc_buf *out)
{
	if (cc_feed_full(out))
		return CC_FILL_MORE;
	return over || !feed->follow ? CC_FILL_END : CC_FILL_WAIT;
}

const char *cc_feed_type(const struct cc_feed *feed)
{
	return feed->plain ? "application/x-ndjson" : "text/event-stream";
}
