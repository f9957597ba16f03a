/* inside.h - one connection of editor and agent. Private to the room. */
#ifndef CC_ACP_INSIDE_H
#define CC_ACP_INSIDE_H

#include "acp/acp.h"
#include "wire/lines.h"
#include "wire/rpc.h"

#include <poll.h>

enum { CC_ACP_TERMINALS = 16, CC_ACP_ASKED = 8, CC_ACP_OUTPUT = 1 << 20 };

/* Lines that wait until the other side takes them. */
struct cc_outlet {
	int fd;
	struct cc_buf bytes;
	bool broken;
};
void cc_outlet_init(struct cc_outlet *outlet, int fd);
void cc_outlet_add(struct cc_outlet *outlet, struct cc_view line);
void cc_outlet_flush(struct cc_outlet *outlet);

/* A command of the agent's. */
struct cc_acp_terminal {
	int number; /* its id; 0 = free */
	struct cc_child child;
	int out;
	struct cc_buf text; /* the end of its output */
	size_t limit;
	bool cut, over;
	int status;
	char waiting[CC_RPC_ID]; /* id, as JSON, of a wait_for_exit that is to be answered; "" = none */
};

struct cc_acp {
	const struct cc_acp_ask *ask;
	struct cc_outlet editor, agent;
	struct cc_lines from_editor, from_agent, events;
	int editor_in, agent_out, events_in;
	struct cc_child child;
	char session[CC_RPC_ID * 2]; /* the protocol's, of the last prompt */
	struct cc_acp_terminal terminals[CC_ACP_TERMINALS];
	int terminals_made;
	struct {            /* commands that a person is asked about */
		int number; /* 0 = free */
		struct cc_json_doc *doc;
	} asked[CC_ACP_ASKED];
	int asked_made;
};

/* Is it for us? A request of the agent's about files or commands; answered, or kept until its answer is there. */
bool cc_acp_serve(struct cc_acp *acp, struct cc_json_doc **doc);
/* The editor's answer to a question of ours. */
bool cc_acp_answered(struct cc_acp *acp, const struct cc_json *message);
/* Its output or its end. */
void cc_acp_terminal_step(struct cc_acp *acp, struct cc_acp_terminal *terminal);
void cc_acp_terminal_end(struct cc_acp_terminal *terminal);

/* Ends and sends a message. */
void cc_acp_send(struct cc_outlet *outlet, struct cc_rpcw *message);
void cc_acp_fail(struct cc_outlet *outlet, const char *id, enum cc_rpc_error code, const char *text);

/* Starts `ccbox run` with these words behind it. events: -1, or what its events are written to. */
CC_MUST enum cc_code cc_acp_spawn(const struct cc_acp *acp, const struct cc_strv *flags, const struct cc_strv *words,
				  const int stdio[3], int events, struct cc_child *out, struct cc_err *err);

#endif
