/* A verdict that is reached stays the same when more bytes follow, and never waits for an ended client. */
#include "parse/clienthello.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cc_host hosts[] = {
		{.kind = CC_HOST_NAME, .text = "a.test"},
		{.kind = CC_HOST_V4, .text = "127.0.0.1", .addr = {127, 0, 0, 1}},
	};
	struct cc_view bytes = {(const char *)data, size};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct cc_sniff sniff;
		enum cc_sniff_verdict whole = cc_sniff(bytes, false, &hosts[i], &sniff);

		assert(whole != CC_SNIFF_REFUSE || sniff.fault);
		assert(cc_sniff(bytes, true, &hosts[i], &sniff) != CC_SNIFF_MORE);
		for (size_t step = 1 + size / 16, len = 0; len < size; len += step) {
			enum cc_sniff_verdict part =
				cc_sniff((struct cc_view){bytes.ptr, len}, false, &hosts[i], &sniff);

			/* what passed or was refused early is not judged otherwise later */
			assert(part == CC_SNIFF_MORE || part == whole);
		}
	}
	return 0;
}
