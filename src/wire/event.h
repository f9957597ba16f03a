/* event.h - what a session tells the outside, as one struct and one encoder (JSON Lines). The seven types of the
 * contract (3.5) and, as ours, "notice": things that were allowed but are worth a line (level flag, finished
 * connections).
 *
 * Every event carries v (1), seq (1, 2, 3 ... within its session, no gaps), time (milliseconds since 1970), session and
 * type. Output that is not UTF-8 travels as base64 with encoding:"base64". */
#ifndef CC_WIRE_EVENT_H
#define CC_WIRE_EVENT_H

#include "base/buf.h"
#include "base/view.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

#define CC_EVENT_TYPES(X)                                                                                              \
	X(CC_EVENT_STDOUT, "stdout")                                                                                   \
	X(CC_EVENT_STDERR, "stderr")                                                                                   \
	X(CC_EVENT_EXIT, "exit")                                                                                       \
	X(CC_EVENT_STARTING, "starting")                                                                               \
	X(CC_EVENT_READY, "ready")                                                                                     \
	X(CC_EVENT_KILLED, "killed")                                                                                   \
	X(CC_EVENT_VIOLATION, "violation")                                                                             \
	X(CC_EVENT_NOTICE, "notice")

enum cc_event_type {
#define CC_EVENT_ENUM(type, name) type,
	CC_EVENT_TYPES(CC_EVENT_ENUM)
#undef CC_EVENT_ENUM
};
const char *cc_event_type_name(enum cc_event_type type);

/* A refused operation. All strings may be NULL; they are escaped by the encoder. */
struct cc_violation {
	const char *action;  /* contract vocabulary: "file-write-create", "network-outbound" ... */
	const char *target;  /* canonical path or host:port */
	const char *raw;     /* what the enforcer said, for debugging */
	const char *spelled; /* the path as the program wrote it */
	const char *rule;
	const char *grant; /* the exact flag that would allow it */
	const char *process;
	const char *reason;
	int64_t pid;
	int64_t count; /* how many this event stands for */
};

/* Of the network: which rules decided, and what a finished connection moved. */
struct cc_event_net {
	const char *closed; /* host:port; NULL: it is no end of a connection */
	bool ech;           /* its TLS client hid a name, or seemed to */
	const char *proto;
	int64_t generation; /* of the rules; 0 = the first */
	int64_t up, down;   /* bytes, seen from the client */
	int64_t ms;
};

struct cc_event {
	enum cc_event_type type;
	uint64_t seq;
	int64_t time_ms;
	const char *session;
	int exec;               /* command id, 0 = the session itself */
	struct cc_view content; /* stdout, stderr; else a sentence */
	int exit_code;          /* CC_EVENT_EXIT */
	struct cc_violation violation;
	struct cc_event_net net;
};

/* From one that cc_event_write wrote (an owner's, who numbers its own): the strings are the document's. Output that
 * travelled as base64 is not read back: owners send none. CC_EPROTO when it is no event. */
CC_MUST enum cc_code cc_event_read(const struct cc_json *root, struct cc_event *out_event, struct cc_err *err);
/* One line, newline included. */
void cc_event_write(const struct cc_event *event, struct cc_buf *out);
/* One line for a person, no newline: what happened, which rule, the flag. */
/* Bytes of anybody's for a terminal: what is not plain comes out as \\xNN. */
void cc_event_safe(struct cc_buf *out, struct cc_view text);
void cc_event_say(const struct cc_event *event, struct cc_buf *out);

#endif
