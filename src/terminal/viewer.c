#include "terminal/engine.h"

#include <string.h>

enum cc_code cc_viewer_join(struct cc_viewer *viewer, struct cc_terminal *terminal, uint64_t from, uint64_t window,
			    struct cc_err *err)
{
	uint64_t oldest = cc_scroll_oldest(&terminal->ring);

	if (terminal->viewer_count == CC_TERMINAL_VIEWERS)
		return cc_fail(err, CC_ELIMIT, 0, "at most %d viewers of one terminal", CC_TERMINAL_VIEWERS);
	/* some of what is kept is left out, so that the next output does not take its place away at once */
	if (from < oldest)
		from = oldest + terminal->ring.cap / 4;
	if (from > terminal->ring.end)
		from = terminal->ring.end;
	*viewer = (struct cc_viewer){.terminal = terminal, .at = from, .acked = from, .window = window};
	terminal->viewers[terminal->viewer_count++] = viewer;
	return CC_OK;
}

void cc_viewer_leave(struct cc_viewer *viewer)
{
	struct cc_terminal *terminal = viewer->terminal;

	for (size_t i = 0; terminal && i < terminal->viewer_count; i++)
		if (terminal->viewers[i] == viewer)
			terminal->viewers[i] = terminal->viewers[--terminal->viewer_count];
	viewer->terminal = NULL;
}

bool cc_viewer_next(const struct cc_viewer *viewer, size_t max, struct cc_view *out_bytes)
{
	uint64_t ahead = viewer->at - viewer->acked;

	*out_bytes = (struct cc_view){0};
	if (viewer->at < cc_scroll_oldest(&viewer->terminal->ring))
		return false;
	if (viewer->window && ahead >= viewer->window)
		return true;
	if (viewer->window && max > viewer->window - ahead)
		max = (size_t)(viewer->window - ahead);
	*out_bytes = cc_scroll_at(&viewer->terminal->ring, viewer->at, max);
	return true;
}

void cc_viewer_sent(struct cc_viewer *viewer, size_t len)
{
	viewer->at += len;
}

enum cc_code cc_viewer_ack(struct cc_viewer *viewer, uint64_t seq, struct cc_err *err)
{
	if (seq > viewer->at || seq < viewer->acked)
		return cc_fail(err, CC_EPROTO, 0, "ack %llu: not between %llu and %llu", (unsigned long long)seq,
			       (unsigned long long)viewer->acked, (unsigned long long)viewer->at);
	viewer->acked = seq;
	return CC_OK;
}

bool cc_viewers_behind(const struct cc_terminal *terminal)
{
	uint64_t window = terminal->ring.cap < 4 * CC_TERMINAL_WINDOW ? terminal->ring.cap / 4 : CC_TERMINAL_WINDOW;

	for (size_t i = 0; i < terminal->viewer_count; i++) {
		const struct cc_viewer *viewer = terminal->viewers[i];
		uint64_t taken = viewer->window ? viewer->acked : viewer->at;

		if (terminal->ring.end - taken < window)
			return false;
	}
	return terminal->viewer_count > 0;
}
