/* What the daemon reads from an owner and prints again: an event, whose strings came from inside. It stays one line,
 * and says the same when it is read once more. */
#include "wire/event.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_json_doc *doc = NULL, *again = NULL;
	struct cc_event event, second;
	struct cc_buf line, line2;
	struct cc_err err;

	if (cc_json_parse("owner", (struct cc_view){(const char *)data, size}, 0, &doc, &err) != CC_OK)
		return 0;
	if (cc_event_read(cc_json_root(doc), &event, &err) == CC_OK) {
		cc_buf_init(&line, 64 << 20);
		cc_buf_init(&line2, 64 << 20);
		cc_event_write(&event, &line);
		assert(!line.failed && line.len && line.data[line.len - 1] == '\n');
		assert(memchr(line.data, '\n', line.len) == line.data + line.len - 1);
		assert(cc_json_parse("again", cc_buf_view(&line), 0, &again, &err) == CC_OK);
		assert(cc_event_read(cc_json_root(again), &second, &err) == CC_OK);
		cc_event_write(&second, &line2);
		assert(cc_view_eq(cc_buf_view(&line), cc_buf_view(&line2)));
		cc_json_doc_free(again);
		cc_buf_done(&line);
		cc_buf_done(&line2);
	}
	cc_json_doc_free(doc);
	return 0;
}
