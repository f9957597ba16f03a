/* The same bytes give the same answers and the same request however they are cut. */
#include "parse/socks.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum cc_socks_step feed(struct cc_socks *socks, struct cc_view in, size_t piece, struct cc_buf *out, size_t *at)
{
	enum cc_socks_step step = CC_SOCKS_MORE;
	size_t seen = 0;

	*at = 0;
	while (step == CC_SOCKS_MORE && seen < in.len) {
		size_t used;

		seen = seen + piece > in.len ? in.len : seen + piece;
		step = cc_socks_step(socks, (struct cc_view){in.ptr + *at, seen - *at}, &used, out);
		*at += used;
		assert(*at <= seen);
	}
	return step;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view in = {(const char *)data, size};
	struct cc_socks one = {0};
	struct cc_socks two = {0};
	struct cc_buf out_one;
	struct cc_buf out_two;
	size_t at_one;
	size_t at_two;
	enum cc_socks_step step;

	cc_buf_init(&out_one, 4096);
	cc_buf_init(&out_two, 4096);
	step = feed(&one, in, size ? size : 1, &out_one, &at_one);
	assert(step == feed(&two, in, 1, &out_two, &at_two));
	assert(out_one.len == out_two.len && !out_one.failed);
	assert(out_one.len == 0 || memcmp(out_one.data, out_two.data, out_one.len) == 0);
	if (step == CC_SOCKS_REQUEST) {
		assert(one.port && one.port == two.port && one.host.kind != CC_HOST_BAD && at_one == at_two);
		assert(strcmp(one.host.text, two.host.text) == 0);
	}
	cc_buf_done(&out_one);
	cc_buf_done(&out_two);
	return 0;
}
