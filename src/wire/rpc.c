#include "wire/rpc.h"

#include <string.h>

struct cc_json_doc *cc_rpc_parse(struct cc_view line, enum cc_rpc_error *out_error)
{
	struct cc_json_doc *doc = NULL;
	struct cc_err err;

	*out_error = CC_RPC_PARSE;
	if (cc_json_parse("message", line, 0, &doc, &err) != CC_OK)
		return NULL;
	*out_error = CC_RPC_REQUEST;
	if (cc_json_root(doc)->kind == CC_JSON_OBJECT &&
	    strcmp(cc_json_str(cc_json_root(doc), "jsonrpc", ""), "2.0") == 0)
		return doc;
	cc_json_doc_free(doc);
	return NULL;
}

void cc_rpc_id(const struct cc_json *message, char out[CC_RPC_ID])
{
	cc_rpc_id_text(cc_json_get(message, "id"), out);
}

void cc_rpc_id_text(const struct cc_json *id, char out[CC_RPC_ID])
{
	struct cc_buf text;
	struct cc_jsonw w;

	memcpy(out, "null", 5);
	if (!id || (id->kind != CC_JSON_INT && id->kind != CC_JSON_REAL && id->kind != CC_JSON_STRING))
		return;
	cc_buf_init(&text, CC_RPC_ID);
	cc_jsonw_init(&w, &text);
	cc_jsonw_copy(&w, id);
	if (!text.failed && !cc_str_put(out, CC_RPC_ID, text.data))
		memcpy(out, "null", 5);
	cc_buf_done(&text);
}

static void begin(struct cc_rpcw *message, const char *id)
{
	cc_buf_init(&message->text, CC_RPC_LINE_MAX);
	cc_jsonw_init(&message->w, &message->text);
	cc_jsonw_object(&message->w);
	cc_jsonw_kstr(&message->w, "jsonrpc", "2.0");
	if (id) {
		cc_jsonw_key(&message->w, "id");
		cc_jsonw_raw(&message->w, id);
	}
}

void cc_rpcw_result(struct cc_rpcw *message, const char *id)
{
	begin(message, id);
	cc_jsonw_key(&message->w, "result");
}

void cc_rpcw_call(struct cc_rpcw *message, const char *id, const char *method)
{
	begin(message, id);
	cc_jsonw_kstr(&message->w, "method", method);
	cc_jsonw_key(&message->w, "params");
}

void cc_rpcw_error(struct cc_rpcw *message, const char *id, enum cc_rpc_error code, const char *text)
{
	begin(message, id);
	cc_jsonw_key(&message->w, "error");
	cc_jsonw_object(&message->w);
	cc_jsonw_kint(&message->w, "code", code);
	cc_jsonw_kstr(&message->w, "message", text);
	cc_jsonw_end(&message->w);
}

bool cc_rpcw_end(struct cc_rpcw *message)
{
	cc_jsonw_end(&message->w);
	return !message->text.failed;
}
