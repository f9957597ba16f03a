/* event.h - what an agent did, in the words that every protocol of an agent is brought to (contract 4; wire values),
 * and one encoder. Pure.
 *
 * Nothing that is written here goes out as it came: texts and the leaves of inputs are redacted (redact.h), and what is
 * longer than its bound is cut and says so. */
#ifndef CC_AGENTS_EVENT_H
#define CC_AGENTS_EVENT_H

#include "base/buf.h"
#include "base/view.h"
#include "guard/verdict.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

#define CC_AGENT_EVENTS(X)                                                                                             \
	X(CC_AGENT_THINKING, "thinking")                                                                               \
	X(CC_AGENT_TEXT, "text")                                                                                       \
	X(CC_AGENT_TOOL_CALL, "toolCall")                                                                              \
	X(CC_AGENT_TOOL_RESULT, "toolResult")                                                                          \
	X(CC_AGENT_USAGE, "usage")                                                                                     \
	X(CC_AGENT_ERROR, "error")                                                                                     \
	X(CC_AGENT_VIOLATION, "sandboxViolation")                                                                      \
	X(CC_AGENT_APPROVAL, "approval")                                                                               \
	X(CC_AGENT_DECISION, "decision")                                                                               \
	X(CC_AGENT_STEER, "steer")                                                                                     \
	X(CC_AGENT_DEBUG, "debug")                                                                                     \
	X(CC_AGENT_DONE, "done")

enum cc_agent_event_type {
#define CC_AGENT_EVENT_ENUM(type, name) type,
	CC_AGENT_EVENTS(CC_AGENT_EVENT_ENUM)
#undef CC_AGENT_EVENT_ENUM
		CC_AGENT_EVENT_COUNT
};
const char *cc_agent_event_name(enum cc_agent_event_type type);

enum { CC_AGENT_TEXT_MAX = 4000, CC_AGENT_LEAF_MAX = 2000, CC_AGENT_KEY_MAX = 200, CC_AGENT_EVENT_MAX = 48 << 10 };
#define CC_AGENT_TOKENS_MAX INT64_C(1000000000000)

struct cc_agent_event {
	enum cc_agent_event_type type;
	struct cc_view text;          /* what was said, or is to be said of it */
	const char *id;               /* of a tool's call; NULL: none */
	const char *tool;             /* its name; NULL: none */
	const struct cc_json *detail; /* the input of a call, a violation as the sandbox told it; NULL: none */
	bool failed;                  /* a tool's result is an error */
	int64_t tokens_in, tokens_out;
	int64_t approval;      /* number of a question; 0: none */
	enum cc_guard verdict; /* of a decision */
	const char *rule;      /* that decided; NULL: none */
	const char *by;        /* "rule" "person" "timeout" */
};

/* A count of tokens as an agent says it: what is none, negative, or more than any run uses counts as nothing. */
int64_t cc_agent_tokens(const struct cc_json *object, const char *name);

/* One JSON object without a line feed, at most CC_AGENT_EVENT_MAX bytes: what does not fit is left out, and the object
 * then has "cut":true. */
void cc_agent_event_write(const struct cc_agent_event *event, struct cc_buf *out);

#endif
