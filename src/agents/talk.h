/* talk.h - a conversation with an agent over its standard streams: a prompt goes in, events come out, and what it wants
 * to do is asked about. One table row a protocol. Pure: bytes in, bytes out; nothing of the agent's is trusted.
 *
 *   stream-json  Claude Code: lines of JSON both ways, with its control requests (a hook before every tool, and a
 *                question where the hook said "ask"): see docs/decisions/claude-control.md
 *   acp          the Agent Client Protocol: we are the client
 *   plain        the prompt is an argument; what it writes is text */
#ifndef CC_AGENTS_TALK_H
#define CC_AGENTS_TALK_H

#include "agents/event.h"
#include "agents/judge.h"
#include "base/err.h"
#include "policy/spec.h"

enum cc_talk_kind { CC_TALK_PLAIN = 0, CC_TALK_STREAM_JSON, CC_TALK_ACP };

enum { CC_TALK_LINE_MAX = 12 << 20, CC_TALK_OUT_MAX = 16 << 20, CC_TALK_ASKS = 32 };

struct cc_talk_sink {
	void *context;
	void (*event)(void *context, const struct cc_agent_event *event);
	/* At once, by rule alone. */
	void (*judge)(void *context, const struct cc_tool_ask *ask, struct cc_tool_verdict *out);
	/* Wants an answer by cc_talk_answer, at once or later; number counts from 1. */
	void (*ask)(void *context, int number, const struct cc_tool_ask *ask, const char *title);
};

struct cc_talk_config {
	enum cc_talk_kind kind;
	struct cc_talk_sink sink;
	const char *prompt;
	const char *cwd;
	enum cc_mode mode;
};

struct cc_talk;
CC_MUST enum cc_code cc_talk_new(const struct cc_talk_config *config, struct cc_talk **out_talk, struct cc_err *err);
void cc_talk_free(struct cc_talk *talk);
static inline void cc_talk_drop(struct cc_talk **owned)
{
	cc_talk_free(*owned);
}

/* What the agent wrote. False: a line is longer than the bound; it is not listened to any more. */
bool cc_talk_take(struct cc_talk *talk, const char *bytes, size_t len);
/* The last line may have no feed. */
void cc_talk_end(struct cc_talk *talk);
/* A person's further word. CC_ESTATE where the protocol takes none any more. */
CC_MUST enum cc_code cc_talk_say(struct cc_talk *talk, const char *text, struct cc_err *err);
void cc_talk_answer(struct cc_talk *talk, int number, bool allow, const char *reason);
/* To be written to its standard input; the caller eats what it has written. */
struct cc_buf *cc_talk_out(struct cc_talk *talk);
/* Its turn is over and nothing more was said: standard input is to be closed after what is out. */
bool cc_talk_is_over(const struct cc_talk *talk);
/* It has said that it failed, or what it said is no such protocol. */
bool cc_talk_failed(const struct cc_talk *talk);

#endif
