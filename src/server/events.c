/* events.c - what happens in a session, to whoever listens: server-sent events, or the same lines without their frame.
 * Last-Event-ID (or ?since=) goes on where a reader stopped. */
#define _GNU_SOURCE
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDED_BYTES = 16 << 20 };

struct feed {
	struct cc_feed to;
	struct cc_reader reader;
};

/* Without a number: it is about this reader, not about the session. */
static void write_lost(const struct cc_feed *feed, uint64_t lost, struct cc_buf *out)
{
	if (!feed->plain)
		cc_buf_adds(out, "event: notice\ndata: ");
	cc_buf_addf(
		out,
		"{\"v\":1,\"type\":\"notice\",\"lost\":%llu,\"content\":\"%llu events are gone: this reader was too "
		"slow, or came too late\"}\n",
		(unsigned long long)lost, (unsigned long long)lost);
	if (!feed->plain)
		cc_buf_adds(out, "\n");
}

static enum cc_fill fill(void *context, struct cc_buf *out)
{
	struct feed *feed = context;
	struct cc_view line;
	uint64_t seq, lost;

	while (!cc_feed_full(out) && cc_reader_take(&feed->reader, &line, &seq, &lost)) {
		if (lost)
			write_lost(&feed->to, lost, out);
		cc_feed_line(&feed->to, seq, line, out);
	}
	return cc_feed_turn(&feed->to, cc_reader_over(&feed->reader), out);
}

static void on_closed(void *context)
{
	struct feed *feed = context;

	cc_reader_close(&feed->reader);
	free(feed);
}

/* Of a session that is gone: what the store has kept, which is everything but output. */
static void reply_recorded(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_feed to;
	struct cc_buf lines, frames;
	struct cc_jsonw w;
	struct cc_err err;

	cc_feed_init(&to, call);
	cc_buf_init(&frames, RECORDED_BYTES);
	cc_buf_init(&lines, RECORDED_BYTES);
	cc_jsonw_init(&w, &frames);
	if (cc_store_session_write(server->store, cc_call_param(call, 0), &w, &err) != CC_OK ||
	    cc_store_events_write(server->store, cc_call_param(call, 0), to.since, &lines, &err) != CC_OK) {
		cc_reply_fail(call, &err);
	} else if (to.plain) {
		cc_reply(call, 200, cc_feed_type(&to), lines.data, lines.len);
	} else {
		cc_buf_reset(&frames);
		for (const char *at = lines.data, *end; at && (end = strchr(at, '\n')); at = end + 1)
			cc_buf_addf(&frames, "data: %.*s\n\n", (int)(end - at), at);
		cc_reply(call, 200, cc_feed_type(&to), frames.data, frames.len);
	}
	cc_buf_done(&lines);
	cc_buf_done(&frames);
}

static void get_events(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_live *live = cc_roster_find(server->roster, cc_call_param(call, 0));
	struct feed *feed = live ? calloc(1, sizeof(*feed)) : NULL;

	if (!live) {
		reply_recorded(call);
		return;
	}
	if (!feed) {
		cc_reply_failf(call, CC_ELIMIT, "out of memory");
		return;
	}
	cc_feed_init(&feed->to, call);
	feed->reader.wake = cc_feed_wake;
	feed->reader.context = &feed->to;
	cc_reader_open(&feed->reader, live, feed->to.since);
	cc_call_on_closed(call, on_closed, feed);
	cc_stream_begin(call, cc_feed_type(&feed->to), fill, feed);
}

const struct cc_route cc_routes_events[] = {
	{"GET", "/v1/sandboxes/{id}/events", 0, 0, get_events},
	{0},
};
