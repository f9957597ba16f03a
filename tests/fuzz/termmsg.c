/* A terminal's WebSocket messages: the first byte says whether it is binary, the second where the input stands. What is
 * taken is within bounds and in order; what is not has a code and words. */
#include "terminal/message.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_term_decoder decoder = {0};
	struct cc_term_msg msg = {0};
	enum cc_term_close close = 0;
	struct cc_err err = {0};
	struct cc_view message;
	uint64_t before;

	if (size < 2)
		return 0;
	decoder.next = before = data[1];
	message = (struct cc_view){(const char *)data + 2, size - 2};
	if (cc_term_decode(&decoder, data[0] & 1, message, &msg, &close, &err) != CC_OK) {
		assert(close >= 1000 && close < 5000 && err.what[0] && decoder.next == before &&
		       msg.kind == CC_TERM_NOTHING);
		return 0;
	}
	switch (msg.kind) {
	case CC_TERM_INPUT:
		assert(msg.input.len && msg.input.len <= CC_TERM_INPUT_MAX && decoder.next == before + msg.input.len);
		assert(msg.input.ptr + msg.input.len == message.ptr + message.len);
		/* the same once more is not taken */
		assert(cc_term_decode(&decoder, true, message, &msg, &close, &err) == CC_EPROTO &&
		       close == CC_CLOSE_ORDER);
		break;
	case CC_TERM_RESIZE:
		assert(msg.rows && msg.cols && msg.rows <= CC_TERM_SIZE_MAX && msg.cols <= CC_TERM_SIZE_MAX);
		break;
	case CC_TERM_ACK:
		assert(msg.seq <= INT64_MAX);
		break;
	case CC_TERM_NOTHING:
		assert(0);
	}
	return 0;
}
