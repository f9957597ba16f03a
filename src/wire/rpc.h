/* rpc.h - JSON-RPC 2.0, one message a line: what two protocols write alike. Pure. */
#ifndef CC_WIRE_RPC_H
#define CC_WIRE_RPC_H

#include "base/buf.h"
#include "wire/json.h"

enum { CC_RPC_LINE_MAX = 12 << 20, CC_RPC_ID = 128 };

enum cc_rpc_error {
	CC_RPC_PARSE = -32700,
	CC_RPC_REQUEST = -32600,
	CC_RPC_METHOD = -32601,
	CC_RPC_PARAMS = -32602,
	CC_RPC_NOT_DONE = -32000,
};

/* The text's message, an object that says it is JSON-RPC 2.0; NULL with CC_RPC_PARSE or CC_RPC_REQUEST. */
struct cc_json_doc *cc_rpc_parse(struct cc_view line, enum cc_rpc_error *out_error);

/* The message's id as JSON; "null" when it has none that could be answered. */
void cc_rpc_id(const struct cc_json *message, char out[CC_RPC_ID]);
/* The same of an id by itself, which may be NULL. */
void cc_rpc_id_text(const struct cc_json *id, char out[CC_RPC_ID]);

/* A message that is being written: begun here, its last value put in by the caller, then ended. */
struct cc_rpcw {
	struct cc_buf text;
	struct cc_jsonw w;
};
/* id: JSON. What follows is the value of "result". */
void cc_rpcw_result(struct cc_rpcw *message, const char *id);
/* id: JSON, or NULL for a notification. What follows is the value of "params". */
void cc_rpcw_call(struct cc_rpcw *message, const char *id, const char *method);
/* The whole of it, up to cc_rpcw_end. */
void cc_rpcw_error(struct cc_rpcw *message, const char *id, enum cc_rpc_error code, const char *text);
/* The line without its feed; false when it became too long. The caller releases text. */
bool cc_rpcw_end(struct cc_rpcw *message);

#endif
