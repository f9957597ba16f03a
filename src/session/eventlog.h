/* eventlog.h - where events go: JSON Lines into a file of the person's choice or into the default log of the session.
 */
#ifndef CC_SESSION_EVENTLOG_H
#define CC_SESSION_EVENTLOG_H

#include "wire/event.h"

struct cc_eventlog {
	int fd;      /* -1: nowhere */
	bool output; /* stdout and stderr too */
	bool failed; /* a write failed: said once by the owner */
};

/* DIR/events/SESSION.jsonl below the state directory, 0600, made anew; the oldest beyond CC_EVENTLOG_KEEP are removed.
 */
enum { CC_EVENTLOG_KEEP = 200 };
CC_MUST enum cc_code cc_eventlog_default(const char *state_home, const char *session, struct cc_eventlog *out_log,
					 struct cc_err *err);
/* "FILE" (made or appended to) or "fd:N". */
CC_MUST enum cc_code cc_eventlog_open(const char *where, struct cc_eventlog *out_log, struct cc_err *err);
void cc_eventlog_put(struct cc_eventlog *log, const struct cc_event *event);
void cc_eventlog_done(struct cc_eventlog *log);

#endif
