/* inside.h - one conversation. Private to the room. */
#ifndef CC_AGENTS_INSIDE_H
#define CC_AGENTS_INSIDE_H

#include "agents/talk.h"
#include "wire/lines.h"
#include "wire/rpc.h"

enum { CC_TALK_BLOCKS = 64, CC_TALK_SEEN = 32, CC_TALK_CALLS = 64 };

struct cc_talk_block {
	bool open;
	enum { CC_BLOCK_TEXT, CC_BLOCK_THINKING, CC_BLOCK_TOOL, CC_BLOCK_OTHER } kind;
	char id[128], name[128];
	struct cc_buf json;
};

/* A question that waits: what its answer needs. */
struct cc_talk_asked {
	int number; /* 0 = free */
	char id[CC_RPC_ID];
	char *input;                            /* stream-json: the tool's input, as JSON */
	char allow[CC_RPC_ID], deny[CC_RPC_ID]; /* acp: options, as JSON; "" = there is none */
};

struct cc_talk {
	struct cc_talk_config config;
	struct cc_lines lines;
	struct cc_buf out;
	char *prompt, *cwd;
	bool over, failed, begun;
	int turns; /* prompts that have no result yet */
	struct cc_talk_asked asked[CC_TALK_ASKS];
	int asked_count;
	/* stream-json */
	struct cc_talk_block blocks[CC_TALK_BLOCKS];
	char seen[CC_TALK_SEEN][64]; /* messages that came in pieces: their whole is passed over */
	unsigned seen_count;
	/* acp */
	int calls;               /* requests of ours so far */
	char session[CC_RPC_ID]; /* as JSON */
	struct {
		char id[128], name[128];
	} tools[CC_TALK_CALLS];
	unsigned tool_count;
};

void cc_talk_event(struct cc_talk *talk, const struct cc_agent_event *event);
void cc_talk_note(struct cc_talk *talk, enum cc_agent_event_type type, const char *text);
/* A free place for a question; NULL: too many wait. */
struct cc_talk_asked *cc_talk_asks(struct cc_talk *talk);

/* stream-json */
void cc_claude_begin(struct cc_talk *talk);
void cc_claude_line(struct cc_talk *talk, struct cc_view line);
void cc_claude_say(struct cc_talk *talk, const char *text);
void cc_claude_answer(struct cc_talk *talk, struct cc_talk_asked *asked, bool allow, const char *reason);
/* acp */
void cc_acpc_begin(struct cc_talk *talk);
void cc_acpc_line(struct cc_talk *talk, struct cc_view line);
void cc_acpc_say(struct cc_talk *talk, const char *text);
void cc_acpc_answer(struct cc_talk *talk, struct cc_talk_asked *asked, bool allow, const char *reason);

#endif
