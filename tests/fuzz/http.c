/* A head that is accepted is accepted again after it was written anew, with the same framing; a body gives the same
 * bytes in one piece and byte by byte. */
#include "parse/http.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cc_http_head head;
static struct cc_http_head again;

static void rewrite(void)
{
	struct cc_http_fault fault;
	struct cc_buf out;
	size_t scanned = 0;

	cc_buf_init(&out, 1 << 20);
	cc_buf_adds(&out, "POST / HTTP/1.1\r\nHost: a.test\r\n");
	cc_http_copy_fields(&head, &out);
	cc_buf_adds(&out, "\r\n");
	assert(!out.failed);
	assert(cc_http_scan(cc_buf_view(&out), &scanned, &fault) == CC_HTTP_DONE || out.len > CC_HTTP_HEAD_MAX);
	if (out.len <= CC_HTTP_HEAD_MAX && head.field_count < CC_HTTP_FIELDS_MAX - 2) {
		assert(scanned == out.len);
		assert(cc_http_request(cc_buf_view(&out), &again, &fault));
		assert(again.framing == head.framing && again.length == head.length && !again.websocket);
	}
	cc_buf_done(&out);
}

static enum cc_http_step run_body(const struct cc_http_head *from, struct cc_view in, size_t piece, struct cc_buf *out,
				  size_t *used_all)
{
	struct cc_http_body body;
	enum cc_http_step step = CC_HTTP_MORE;

	cc_http_body_init(&body, from);
	*used_all = 0;
	while (step == CC_HTTP_MORE && *used_all < in.len) {
		size_t part = in.len - *used_all < piece ? in.len - *used_all : piece;
		size_t used;

		step = cc_http_body_copy(&body, (struct cc_view){in.ptr + *used_all, part}, &used, out);
		assert(used <= part && (used || step != CC_HTTP_MORE));
		*used_all += used;
	}
	return step;
}

static void bodies(const struct cc_http_head *from, struct cc_view rest)
{
	struct cc_buf one;
	struct cc_buf two;
	size_t used_one;
	size_t used_two;

	cc_buf_init(&one, 1 << 21);
	cc_buf_init(&two, 1 << 21);
	assert(run_body(from, rest, rest.len ? rest.len : 1, &one, &used_one) ==
	       run_body(from, rest, 1, &two, &used_two));
	assert(used_one == used_two && one.len == two.len && one.len <= rest.len);
	assert(one.len == 0 || memcmp(one.data, two.data, one.len) == 0);
	cc_buf_done(&one);
	cc_buf_done(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view bytes = {(const char *)data, size};
	struct cc_http_fault fault = {0};
	struct cc_view host;
	struct cc_view path;
	uint16_t port;
	size_t scanned = 0;

	head = (struct cc_http_head){.framing = CC_HTTP_CHUNKED};
	bodies(&head, bytes);
	if (cc_http_scan(bytes, &scanned, &fault) != CC_HTTP_DONE)
		return 0;
	if (cc_http_request((struct cc_view){bytes.ptr, scanned}, &head, &fault)) {
		(void)cc_http_authority(head.target, 0, &host, &port);
		(void)cc_http_absolute(&head, &host, &path, &fault);
		rewrite();
		bodies(&head, (struct cc_view){bytes.ptr + scanned, size - scanned});
	} else {
		assert(fault.status >= 400 && fault.text);
	}
	(void)cc_http_response((struct cc_view){bytes.ptr, scanned}, size % 2, &head, &fault);
	return 0;
}
