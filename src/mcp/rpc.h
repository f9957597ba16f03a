/* rpc.h - JSON-RPC 2.0 over lines: what comes is bounded, what is asked of the other side is waited for, and what comes
 * meanwhile waits its turn. */
#ifndef CC_MCP_RPC_H
#define CC_MCP_RPC_H

#include "base/buf.h"
#include "wire/json.h"
#include "wire/lines.h"

#include <stdbool.h>

enum { CC_RPC_LINE_MAX = 12 << 20, CC_RPC_WAITING_MAX = 256 };

enum cc_rpc_error { CC_RPC_PARSE = -32700, CC_RPC_REQUEST = -32600, CC_RPC_METHOD = -32601, CC_RPC_PARAMS = -32602 };

struct cc_rpc {
	int in, out;
	struct cc_lines lines;
	bool ended; /* the other side closed, or spoke no JSON-RPC */
	struct cc_json_doc *waiting[CC_RPC_WAITING_MAX];
	size_t waiting_count;
	int64_t asked; /* our own requests so far */
};

void cc_rpc_init(struct cc_rpc *rpc, int in, int out);
void cc_rpc_done(struct cc_rpc *rpc);
/* The next message; NULL at the end. A line that is no JSON is answered here. The caller frees it. */
struct cc_json_doc *cc_rpc_next(struct cc_rpc *rpc);
/* Reads what is there without waiting and keeps it for cc_rpc_next. False: the other side is gone. */
bool cc_rpc_look(struct cc_rpc *rpc);
/* Takes a notification of that name, whose params have that member equal to id, out of what waits. */
bool cc_rpc_take_cancelled(struct cc_rpc *rpc, const char *method, const char *member, const struct cc_json *id);

/* One message: begin, write params or result with the writer, send. */
struct cc_rpc_message {
	struct cc_buf text;
	struct cc_jsonw w;
};
/* id is copied as it is written; NULL writes null. */
void cc_rpc_result(struct cc_rpc_message *message, const struct cc_json *id);
void cc_rpc_request(struct cc_rpc *rpc, struct cc_rpc_message *message, const char *method);
void cc_rpc_send(struct cc_rpc *rpc, struct cc_rpc_message *message);
void cc_rpc_fail(struct cc_rpc *rpc, const struct cc_json *id, enum cc_rpc_error code, const char *text);
/* The answer to the request that was sent last; NULL when it does not come in time. */
struct cc_json_doc *cc_rpc_answer(struct cc_rpc *rpc, int timeout_ms);

#endif
