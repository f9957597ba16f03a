#include "terminal/message.h"

#include "base/mem.h"
#include "wire/json.h"

#include <string.h>

static enum cc_code bad(enum cc_term_close close, enum cc_term_close *out_close, enum cc_code code)
{
	*out_close = close;
	return code;
}

static enum cc_code decode_input(struct cc_term_decoder *decoder, struct cc_view message, struct cc_term_msg *out,
				 enum cc_term_close *out_close, struct cc_err *err)
{
	uint64_t seq = 0;

	if (message.len > CC_TERM_HEAD + CC_TERM_INPUT_MAX)
		return bad(CC_CLOSE_TOO_BIG, out_close,
			   cc_fail(err, CC_ELIMIT, 0, "input: at most %d bytes a message", CC_TERM_INPUT_MAX));
	if (message.len <= CC_TERM_HEAD)
		return bad(
			CC_CLOSE_BAD, out_close,
			cc_fail(err, CC_EINVAL, 0, "input: %d bytes of number, then at least one byte", CC_TERM_HEAD));
	for (size_t i = 0; i < CC_TERM_HEAD; i++)
		seq = seq << 8 | (unsigned char)message.ptr[i];
	if (seq != decoder->next)
		return bad(CC_CLOSE_ORDER, out_close,
			   cc_fail(err, CC_EPROTO, 0, "input %s: number %llu, expected %llu",
				   seq < decoder->next ? "was sent before" : "is missing", (unsigned long long)seq,
				   (unsigned long long)decoder->next));
	*out = (struct cc_term_msg){.kind = CC_TERM_INPUT};
	out->input = (struct cc_view){message.ptr + CC_TERM_HEAD, message.len - CC_TERM_HEAD};
	decoder->next += out->input.len;
	return CC_OK;
}

/* A member that must be a whole number within bounds. */
static bool number(const struct cc_json *root, const char *key, int64_t least, int64_t most, int64_t *out)
{
	const struct cc_json *value = cc_json_get(root, key);

	if (!value || value->kind != CC_JSON_INT || value->integer < least || value->integer > most)
		return false;
	*out = value->integer;
	return true;
}

static enum cc_code decode_resize(const struct cc_json *root, struct cc_term_msg *out, struct cc_err *err)
{
	int64_t rows, cols;

	if (root->count != 3 || !number(root, "rows", 1, CC_TERM_SIZE_MAX, &rows) ||
	    !number(root, "cols", 1, CC_TERM_SIZE_MAX, &cols))
		return cc_fail(err, CC_EINVAL, 0, "resize: rows and cols, each 1 to %d", CC_TERM_SIZE_MAX);
	*out = (struct cc_term_msg){.kind = CC_TERM_RESIZE, .rows = (unsigned short)rows, .cols = (unsigned short)cols};
	return CC_OK;
}

static enum cc_code decode_ack(const struct cc_json *root, struct cc_term_msg *out, struct cc_err *err)
{
	int64_t seq;

	if (root->count != 2 || !number(root, "seq", 0, INT64_MAX, &seq))
		return cc_fail(err, CC_EINVAL, 0, "ack: seq, a whole number");
	*out = (struct cc_term_msg){.kind = CC_TERM_ACK, .seq = (uint64_t)seq};
	return CC_OK;
}

static const struct {
	const char *type;
	enum cc_code (*decode)(const struct cc_json *root, struct cc_term_msg *out, struct cc_err *err);
} types[] = {{"resize", decode_resize}, {"ack", decode_ack}};

static enum cc_code decode_text(struct cc_view message, struct cc_term_msg *out, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *type;
	enum cc_code code = cc_json_parse("message", message, 0, &doc, err);

	if (code != CC_OK)
		return code;
	type = cc_json_get(cc_json_root(doc), "type");
	for (size_t i = 0; type && type->kind == CC_JSON_STRING && i < CC_COUNT(types); i++)
		if (cc_view_is(type->text, types[i].type))
			return types[i].decode(cc_json_root(doc), out, err);
	return cc_fail(err, CC_EINVAL, 0, "a message has a type: resize or ack");
}

enum cc_code cc_term_decode(struct cc_term_decoder *decoder, bool binary, struct cc_view message,
			    struct cc_term_msg *out, enum cc_term_close *out_close, struct cc_err *err)
{
	enum cc_code code;

	if (binary)
		return decode_input(decoder, message, out, out_close, err);
	if (message.len > CC_TERM_TEXT_MAX)
		return bad(CC_CLOSE_TOO_BIG, out_close,
			   cc_fail(err, CC_ELIMIT, 0, "a text message has at most %d bytes", CC_TERM_TEXT_MAX));
	code = decode_text(message, out, err);
	return code == CC_OK ? CC_OK : bad(CC_CLOSE_BAD, out_close, code);
}

void cc_term_head(uint64_t seq, unsigned char out[CC_TERM_HEAD])
{
	for (size_t i = CC_TERM_HEAD; i-- > 0; seq >>= 8)
		out[i] = (unsigned char)(seq & 0xff);
}
