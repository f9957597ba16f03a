/* peer.h - the other end of a JSON-RPC connection over lines: what comes is bounded, what is asked of it is waited for,
 * and what comes meanwhile waits its turn. */
#ifndef CC_MCP_PEER_H
#define CC_MCP_PEER_H

#include "wire/lines.h"
#include "wire/rpc.h"

#include <stdbool.h>

enum { CC_MCP_WAITING_MAX = 256 };

struct cc_mcp_peer {
	int in, out;
	struct cc_lines lines;
	bool ended; /* it closed, or sent what is no message */
	struct cc_json_doc *waiting[CC_MCP_WAITING_MAX];
	size_t waiting_count;
	int64_t asked; /* our own requests so far */
};

void cc_mcp_peer_init(struct cc_mcp_peer *peer, int in, int out);
void cc_mcp_peer_done(struct cc_mcp_peer *peer);
/* The next message; NULL at the end. A line that is no message is answered here. The caller frees it. */
struct cc_json_doc *cc_mcp_peer_next(struct cc_mcp_peer *peer);
/* Whether cc_mcp_peer_next would not wait: there is something, or the end. */
bool cc_mcp_peer_has(struct cc_mcp_peer *peer);
/* Reads what is there without waiting and keeps it for cc_mcp_peer_next. False: the other side is gone. */
bool cc_mcp_peer_look(struct cc_mcp_peer *peer);
/* Takes a notification of that name, whose params have that member equal to id, out of what waits. */
bool cc_mcp_peer_take(struct cc_mcp_peer *peer, const char *method, const char *member, const struct cc_json *id);

/* Begins a request of ours; its params follow. */
void cc_mcp_peer_ask(struct cc_mcp_peer *peer, struct cc_rpcw *message, const char *method);
/* Ends and sends a message. */
void cc_mcp_peer_send(struct cc_mcp_peer *peer, struct cc_rpcw *message);
void cc_mcp_peer_fail(struct cc_mcp_peer *peer, const char *id, enum cc_rpc_error code, const char *text);
/* The answer to the request that was sent last; NULL when it does not come in time. */
struct cc_json_doc *cc_mcp_peer_answer(struct cc_mcp_peer *peer, int timeout_ms);

#endif
