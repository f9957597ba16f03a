/* record.h - the events of a run on their way into its record: pieces of thinking and text that follow each other
 * become one event (at most a second and 4,000 bytes of them). Pure: the time is given. */
#ifndef CC_AGENTS_RECORD_H
#define CC_AGENTS_RECORD_H

#include "agents/event.h"

enum { CC_RECORD_WAIT_MS = 1000 };

struct cc_recorder {
	/* One event, an object without a line feed. */
	void (*line)(void *context, struct cc_view object);
	void *context;
	struct cc_buf pending;
	enum cc_agent_event_type type; /* of what is pending */
	int64_t since;
};

void cc_recorder_init(struct cc_recorder *recorder, void (*line)(void *context, struct cc_view object), void *context);
void cc_recorder_add(struct cc_recorder *recorder, const struct cc_agent_event *event, int64_t now_ms);
/* What has waited long enough goes out. Returns milliseconds until the next such moment, -1: nothing waits. */
int64_t cc_recorder_tick(struct cc_recorder *recorder, int64_t now_ms);
void cc_recorder_flush(struct cc_recorder *recorder);
void cc_recorder_done(struct cc_recorder *recorder);

#endif
