/* Titles: in one piece or byte by byte they are the same, bounded, UTF-8, and without controls. */
#include "terminal/title.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_title whole = {0}, parts = {0};
	size_t len;

	cc_title_feed(&whole, (struct cc_view){(const char *)data, size});
	for (size_t i = 0; i < size; i++)
		cc_title_feed(&parts, (struct cc_view){(const char *)data + i, 1});
	assert(strcmp(whole.text, parts.text) == 0);
	len = strlen(whole.text);
	assert(len <= CC_TITLE_MAX);
	for (size_t at = 0; at < len;) {
		size_t step = cc_utf8_len((const unsigned char *)whole.text + at, len - at);

		assert(step && (unsigned char)whole.text[at] >= 0x20 && whole.text[at] != 0x7f);
		at += step;
	}
	return 0;
}
