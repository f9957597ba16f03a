/* inside.h - one session of tools, as the files of this room see it. */
#ifndef CC_MCPWEB_INSIDE_H
#define CC_MCPWEB_INSIDE_H

#include "mcpweb/mcpweb.h"
#include "os/proc.h"
#include "wire/lines.h"
#include "wire/rpc.h"

enum {
	CC_MCP_SESSIONS_MAX = 32,
	CC_MCP_WAITING_MAX = 16,
	CC_MCP_ID_BYTES = 16,
};

struct cc_mcp_waiting {
	bool used;
	struct cc_call *call; /* NULL: who asked has gone, and the answer is dropped */
	char id[CC_RPC_ID];
};

struct cc_mcp_session {
	struct cc_mcps *mcps;
	struct cc_mcp_session *next;
	char id[2 * CC_MCP_ID_BYTES + 1];
	struct cc_child child;
	uv_pipe_t pipe;
	uv_timer_t timer; /* how long it may be silent, then the steps of its end */
	int handles, steps;
	bool ending, introduced; /* introduced: its id has been told */
	struct cc_lines lines;
	struct cc_mcp_waiting waiting[CC_MCP_WAITING_MAX];
	struct cc_call *stopper;
};

struct cc_mcps {
	struct cc_mcps_config config;
	struct cc_mcp_session *first;
	size_t count;
	void (*ended)(void *context);
	void *ended_context;
};

/* Starts the child, whose standard input and output are theirs. */
CC_MUST enum cc_code cc_mcp_spawn(struct cc_mcp_session *session, const struct cc_mcp_ask *ask, int theirs,
				  struct cc_err *err);

#endif
