/* Differential: a request head that we accept means the same to libhttp-parser, as it came and as we write it anew for
 * the host. (It knows fewer methods and fewer bytes in a target: those heads it refuses, which is no other meaning.) */
#include "parse/http.h"

#include <assert.h>
#include <http_parser.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	char url[CC_HTTP_HEAD_MAX];
	size_t url_len;
	struct {
		size_t name, name_len, value, value_len;
	} fields[CC_HTTP_FIELDS_MAX + 4];
	char text[2 * CC_HTTP_HEAD_MAX];
	size_t text_len;
	size_t count;
	bool in_value;
	bool done;
	bool chunked;
	uint64_t length;
	unsigned minor;
	char method[32];
};

static struct seen seen;
static struct cc_http_head head;

static int on_url(http_parser *parser, const char *at, size_t len)
{
	(void)parser;
	memcpy(seen.url + seen.url_len, at, len);
	seen.url_len += len;
	return 0;
}

static int on_field(http_parser *parser, const char *at, size_t len)
{
	(void)parser;
	if (seen.in_value || seen.count == 0) {
		seen.fields[seen.count].name = seen.text_len;
		seen.fields[seen.count].value_len = 0;
		seen.fields[seen.count++].name_len = 0;
	}
	seen.in_value = false;
	memcpy(seen.text + seen.text_len, at, len);
	seen.text_len += len;
	seen.fields[seen.count - 1].name_len += len;
	return 0;
}

static int on_value(http_parser *parser, const char *at, size_t len)
{
	(void)parser;
	if (!seen.in_value)
		seen.fields[seen.count - 1].value = seen.text_len;
	seen.in_value = true;
	memcpy(seen.text + seen.text_len, at, len);
	seen.text_len += len;
	seen.fields[seen.count - 1].value_len += len;
	return 0;
}

static int on_head(http_parser *parser)
{
	seen.done = true;
	seen.chunked = (parser->flags & F_CHUNKED) != 0;
	seen.length = parser->content_length;
	seen.minor = parser->http_minor;
	strncpy(seen.method, http_method_str((enum http_method)parser->method), sizeof(seen.method) - 1);
	return 1; /* the body is not its business here */
}

/* What it makes of a head: HPE_OK, or why not. */
static enum http_errno theirs(struct cc_view bytes)
{
	static const http_parser_settings settings = {.on_url = on_url,
						      .on_header_field = on_field,
						      .on_header_value = on_value,
						      .on_headers_complete = on_head};
	http_parser parser;

	memset(&seen, 0, sizeof(seen));
	http_parser_init(&parser, HTTP_REQUEST);
	http_parser_set_max_header_size(0x7fffffff);
	(void)http_parser_execute(&parser, &settings, bytes.ptr, bytes.len);
	return HTTP_PARSER_ERRNO(&parser);
}

/* The white space around a value belongs to nobody. */
static struct cc_view trimmed(struct cc_view view)
{
	while (view.len && (view.ptr[view.len - 1] == ' ' || view.ptr[view.len - 1] == '\t'))
		view.len--;
	return view;
}

/* It takes a field whose name only begins with Transfer-Encoding for one. */
static bool coding_is_misread(void)
{
	static const char name[] = "transfer-encoding";

	for (size_t i = 0; i < head.field_count; i++)
		if (head.fields[i].name.len > sizeof(name) - 1 &&
		    strncasecmp(head.fields[i].name.ptr, name, sizeof(name) - 1) == 0)
			return true;
	return false;
}

static void same_meaning(void)
{
	assert(seen.done);
	assert(cc_view_is(head.method, seen.method));
	assert(head.target.len == seen.url_len && memcmp(head.target.ptr, seen.url, seen.url_len) == 0);
	assert(head.minor == seen.minor);
	assert(head.field_count == seen.count);
	for (size_t i = 0; i < seen.count; i++) {
		struct cc_view name = {seen.text + seen.fields[i].name, seen.fields[i].name_len};
		struct cc_view value = {seen.text + seen.fields[i].value, seen.fields[i].value_len};

		assert(cc_view_eq(head.fields[i].name, name));
		assert(cc_view_eq(trimmed(head.fields[i].value), trimmed(value)));
	}
	assert(seen.chunked == (head.framing == CC_HTTP_CHUNKED) || coding_is_misread());
	if (head.framing == CC_HTTP_LENGTH)
		assert(seen.length == head.length);
	if (head.framing == CC_HTTP_NO_BODY)
		assert(seen.length == 0 || seen.length == UINT64_MAX);
}

static bool is_their_limit(enum http_errno why)
{
	return why == HPE_INVALID_METHOD || why == HPE_INVALID_URL ||
	       (why == HPE_UNEXPECTED_CONTENT_LENGTH && coding_is_misread());
}

/* What the host gets is a head of ours, and everybody reads the same in it. */
static void written_anew(void)
{
	struct cc_http_fault fault;
	struct cc_view authority;
	struct cc_view path;
	struct cc_view text;
	struct cc_host host;
	struct cc_buf out;
	uint16_t port;
	enum http_errno why;

	if (!cc_http_absolute(&head, &authority, &path, &fault) || !cc_http_authority(authority, 80, &text, &port) ||
	    cc_host_parse(text, CC_HOST_URI, &host, NULL) != CC_OK)
		return;
	cc_buf_init(&out, 1 << 20);
	cc_http_write_request(&head, path, &host, port, &out);
	cc_buf_adds(&out, "\r\n");
	why = theirs(cc_buf_view(&out));
	if (why == HPE_OK) {
		size_t scanned = 0;

		assert(cc_http_scan(cc_buf_view(&out), &scanned, &fault) != CC_HTTP_DONE || scanned == out.len);
		if (cc_http_request(cc_buf_view(&out), &head, &fault))
			same_meaning();
	} else {
		assert(is_their_limit(why));
	}
	cc_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view bytes = {(const char *)data, size};
	struct cc_http_fault fault;
	size_t scanned = 0;
	enum http_errno why;

	if (cc_http_scan(bytes, &scanned, &fault) != CC_HTTP_DONE ||
	    !cc_http_request((struct cc_view){bytes.ptr, scanned}, &head, &fault))
		return 0;
	why = theirs((struct cc_view){bytes.ptr, scanned});
	if (why == HPE_OK)
		same_meaning();
	else
		assert(is_their_limit(why));
	written_anew();
	return 0;
}
