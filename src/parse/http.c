#include "parse/http.h"

#include "base/mem.h"

#include <string.h>

static bool bad(struct cc_http_fault *fault, unsigned status, const char *text)
{
	*fault = (struct cc_http_fault){status, text};
	return false;
}

/* RFC 9110 token bytes */
static bool is_token(unsigned char byte)
{
	if ((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
		return true;
	return byte && strchr("!#$%&'*+-.^_`|~", byte);
}

static bool all_token(struct cc_view view)
{
	for (size_t i = 0; i < view.len; i++)
		if (!is_token((unsigned char)view.ptr[i]))
			return false;
	return view.len > 0;
}

enum cc_http_step cc_http_scan(struct cc_view bytes, size_t *scanned, struct cc_http_fault *fault)
{
	size_t at = *scanned;

	for (; at < bytes.len; at++) {
		unsigned char byte = (unsigned char)bytes.ptr[at];

		if (at >= CC_HTTP_HEAD_MAX) {
			bad(fault, 431, "the head is larger than 16 KiB");
			return CC_HTTP_BAD;
		}
		if (at > 0 && bytes.ptr[at - 1] == '\r' && byte != '\n') {
			bad(fault, 400, "a carriage return without a line feed");
			return CC_HTTP_BAD;
		}
		if (byte == '\n' && (at == 0 || bytes.ptr[at - 1] != '\r')) {
			bad(fault, 400, "a line feed without a carriage return");
			return CC_HTTP_BAD;
		}
		if (byte == '\n' && (at == 1 || (at >= 3 && bytes.ptr[at - 2] == '\n'))) {
			*scanned = at + 1;
			return CC_HTTP_DONE;
		}
		if ((byte < 0x20 && byte != '\r' && byte != '\n' && byte != '\t') || byte == 0x7f) {
			bad(fault, 400, "a control byte in the head");
			return CC_HTTP_BAD;
		}
	}
	*scanned = at;
	return CC_HTTP_MORE;
}

/* The next line without its CRLF; *at moves behind it. */
static struct cc_view next_line(struct cc_view bytes, size_t *at)
{
	const char *from = bytes.ptr + *at;
	const char *end = memchr(from, '\r', bytes.len - *at);
	size_t len = end ? (size_t)(end - from) : bytes.len - *at;

	*at += len + 2;
	return (struct cc_view){from, len};
}

/* Up to the first space; *line moves behind it. */
static struct cc_view next_word(struct cc_view *line)
{
	const char *space = memchr(line->ptr, ' ', line->len);
	struct cc_view word = {line->ptr, space ? (size_t)(space - line->ptr) : line->len};
	size_t taken = word.len + (space ? 1 : 0);

	line->ptr += taken;
	line->len -= taken;
	return word;
}

static bool parse_version(struct cc_view word, unsigned *minor, struct cc_http_fault *fault)
{
	if (cc_view_is(word, "HTTP/1.1") || cc_view_is(word, "HTTP/1.0")) {
		*minor = (unsigned)(word.ptr[7] - '0');
		return true;
	}
	if (cc_view_starts(word, "HTTP/"))
		return bad(fault, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
	return bad(fault, 400, "the first line is not HTTP");
}

static struct cc_view trim(struct cc_view view)
{
	while (view.len && (view.ptr[0] == ' ' || view.ptr[0] == '\t')) {
		view.ptr++;
		view.len--;
	}
	while (view.len && (view.ptr[view.len - 1] == ' ' || view.ptr[view.len - 1] == '\t'))
		view.len--;
	return view;
}

/* A tab at the end stays, as other parsers have it: no length, coding or host is then read from the value. */
static struct cc_view field_value(struct cc_view view)
{
	while (view.len && (view.ptr[0] == ' ' || view.ptr[0] == '\t')) {
		view.ptr++;
		view.len--;
	}
	while (view.len && view.ptr[view.len - 1] == ' ')
		view.len--;
	return view;
}

static bool parse_fields(struct cc_view bytes, size_t at, struct cc_http_head *head, struct cc_http_fault *fault)
{
	for (;;) {
		struct cc_view line = next_line(bytes, &at);
		const char *colon;
		struct cc_http_field *field;

		if (line.len == 0)
			return true;
		if (head->field_count == CC_HTTP_FIELDS_MAX)
			return bad(fault, 431, "more than 100 header fields");
		if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
			return bad(fault, 400, "a header field is folded");
		colon = memchr(line.ptr, ':', line.len);
		if (!colon)
			return bad(fault, 400, "a header line without a colon");
		field = &head->fields[head->field_count++];
		field->name = (struct cc_view){line.ptr, (size_t)(colon - line.ptr)};
		field->value = field_value((struct cc_view){colon + 1, line.len - field->name.len - 1});
		if (!all_token(field->name))
			return bad(fault, 400, "a header name is not a token");
	}
}

/* Walks a comma list. */
static bool list_has(struct cc_view list, struct cc_view word)
{
	while (list.len) {
		const char *comma = memchr(list.ptr, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.ptr) : list.len;

		if (cc_view_eq_nocase(trim((struct cc_view){list.ptr, len}), word))
			return true;
		len += comma ? 1 : 0;
		list.ptr += len;
		list.len -= len;
	}
	return false;
}

static bool connection_names(const struct cc_http_head *head, struct cc_view word)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (cc_view_eq_nocase(head->fields[i].name, cc_view_of("connection")) &&
		    list_has(head->fields[i].value, word))
			return true;
	return false;
}

/* The only field of that name; *count says how many there are. */
static struct cc_view only_field(const struct cc_http_head *head, const char *name, size_t *count)
{
	struct cc_view value = {NULL, 0};

	*count = 0;
	for (size_t i = 0; i < head->field_count; i++) {
		if (!cc_view_eq_nocase(head->fields[i].name, cc_view_of(name)))
			continue;
		if ((*count)++ == 0)
			value = head->fields[i].value;
	}
	return value;
}

static bool parse_length(struct cc_view text, uint64_t *out)
{
	uint64_t value = 0;

	if (text.len == 0 || text.len > 18)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	*out = value;
	return true;
}

/* Framing that two parsers could read differently is refused (request smuggling). A response that carries both is
 * read as chunked and its connection closed, as RFC 9112 6.3 asks. */
static bool parse_framing(struct cc_http_head *head, bool response, struct cc_http_fault *fault)
{
	size_t lengths;
	size_t codings;
	struct cc_view length = only_field(head, "content-length", &lengths);
	struct cc_view coding = only_field(head, "transfer-encoding", &codings);

	head->framing = response ? CC_HTTP_TO_END : CC_HTTP_NO_BODY;
	if (lengths > 1 || codings > 1)
		return bad(fault, 400, "the length of the body is given twice");
	if (lengths && !parse_length(length, &head->length))
		return bad(fault, 400, "Content-Length is not a number");
	head->has_length = lengths == 1;
	if (lengths)
		head->framing = CC_HTTP_LENGTH;
	if (!codings)
		return true;
	if (lengths && !response)
		return bad(fault, 400, "both Content-Length and Transfer-Encoding");
	if (!cc_view_eq_nocase(coding, cc_view_of("chunked")))
		return bad(fault, 400, "a transfer coding other than chunked");
	if (head->minor == 0)
		return bad(fault, 400, "a transfer coding in HTTP/1.0");
	head->framing = CC_HTTP_CHUNKED;
	head->has_length = false;
	head->close |= lengths > 0;
	return true;
}

static void parse_persistence(struct cc_http_head *head)
{
	size_t upgrades;
	struct cc_view upgrade = only_field(head, "upgrade", &upgrades);

	head->close |= connection_names(head, cc_view_of("close"));
	if (head->minor == 0)
		head->close |= !connection_names(head, cc_view_of("keep-alive"));
	head->websocket = upgrades == 1 && cc_view_eq_nocase(upgrade, cc_view_of("websocket")) &&
			  connection_names(head, cc_view_of("upgrade")) && head->minor == 1;
}

bool cc_http_request(struct cc_view bytes, struct cc_http_head *out, struct cc_http_fault *fault)
{
	size_t at = 0;
	struct cc_view line = next_line(bytes, &at);
	size_t hosts;

	*out = (struct cc_http_head){.size = bytes.len};
	out->method = next_word(&line);
	out->target = next_word(&line);
	if (!parse_version(line, &out->minor, fault))
		return false;
	if (!all_token(out->method) || out->target.len == 0)
		return bad(fault, 400, "the request line is not METHOD TARGET VERSION");
	for (size_t i = 0; i < out->target.len; i++)
		if ((unsigned char)out->target.ptr[i] <= 0x20 || (unsigned char)out->target.ptr[i] >= 0x7f)
			return bad(fault, 400, "a byte in the target that does not belong there");
	if (!parse_fields(bytes, at, out, fault) || !parse_framing(out, false, fault))
		return false;
	out->host = only_field(out, "host", &hosts);
	if (hosts > 1)
		return bad(fault, 400, "two Host fields");
	if (hosts == 0 && out->minor == 1 && !cc_view_is(out->method, "CONNECT"))
		return bad(fault, 400, "HTTP/1.1 without a Host field");
	parse_persistence(out);
	return true;
}

bool cc_http_response(struct cc_view bytes, bool head_only, struct cc_http_head *out, struct cc_http_fault *fault)
{
	size_t at = 0;
	struct cc_view line = next_line(bytes, &at);
	struct cc_view code;
	uint64_t status;

	*out = (struct cc_http_head){.size = bytes.len};
	if (!parse_version(next_word(&line), &out->minor, fault))
		return false;
	code = next_word(&line);
	out->reason = line;
	if (code.len != 3 || !parse_length(code, &status) || status < 100 || status > 599)
		return bad(fault, 400, "the status is not a number of three digits");
	out->status = (unsigned)status;
	if (!parse_fields(bytes, at, out, fault) || !parse_framing(out, true, fault))
		return false;
	if (head_only || status < 200 || status == 204 || status == 304)
		out->framing = CC_HTTP_NO_BODY;
	parse_persistence(out);
	out->close |= out->framing == CC_HTTP_TO_END;
	return true;
}

bool cc_http_authority(struct cc_view text, uint16_t fallback, struct cc_view *out_host, uint16_t *out_port)
{
	const char *colon = NULL;
	size_t from = 0;

	if (text.len == 0 || memchr(text.ptr, '@', text.len))
		return false;
	if (text.ptr[0] == '[') {
		const char *close = memchr(text.ptr, ']', text.len);

		if (!close)
			return false;
		from = (size_t)(close - text.ptr) + 1;
		if (from < text.len && text.ptr[from] != ':')
			return false;
	}
	colon = memchr(text.ptr + from, ':', text.len - from);
	*out_host = (struct cc_view){text.ptr, colon ? (size_t)(colon - text.ptr) : text.len};
	*out_port = fallback;
	if (colon && (colon + 1 < text.ptr + text.len || fallback == 0))
		*out_port = cc_host_port((struct cc_view){colon + 1, (size_t)(text.ptr + text.len - colon - 1)});
	return out_host->len > 0 && *out_port != 0;
}

bool cc_http_absolute(const struct cc_http_head *head, struct cc_view *out_authority, struct cc_view *out_path,
		      struct cc_http_fault *fault)
{
	static const char scheme[] = "http://";
	struct cc_view rest = head->target;
	size_t len = sizeof(scheme) - 1;
	size_t end = 0;

	if (rest.len < len || !cc_view_eq_nocase((struct cc_view){rest.ptr, len}, cc_view_of(scheme)))
		return bad(fault, 400, "only http:// is forwarded; for anything else use CONNECT host:port");
	rest.ptr += len;
	rest.len -= len;
	if (memchr(rest.ptr, '#', rest.len))
		return bad(fault, 400, "a fragment in the target");
	while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
		end++;
	*out_authority = (struct cc_view){rest.ptr, end};
	*out_path = (struct cc_view){rest.ptr + end, rest.len - end};
	if (end == 0 || memchr(rest.ptr, '@', end))
		return bad(fault, 400, "the authority of the target is empty or carries user information");
	return true;
}

void cc_http_copy_fields(const struct cc_http_head *head, struct cc_buf *out)
{
	static const char *const dropped[] = {
		"connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate",
		"te",         "trailer",    "upgrade",          "transfer-encoding",   "content-length",
		"host",
	};

	for (size_t i = 0; i < head->field_count; i++) {
		const struct cc_http_field *field = &head->fields[i];
		bool drop = connection_names(head, field->name);

		for (size_t j = 0; !drop && j < CC_COUNT(dropped); j++)
			drop = cc_view_eq_nocase(field->name, cc_view_of(dropped[j]));
		if (drop)
			continue;
		cc_buf_add(out, field->name.ptr, field->name.len);
		cc_buf_adds(out, ": ");
		cc_buf_add(out, field->value.ptr, field->value.len);
		cc_buf_adds(out, "\r\n");
	}
	/* Framing is always written from what was understood. */
	if (head->framing == CC_HTTP_CHUNKED)
		cc_buf_adds(out, "Transfer-Encoding: chunked\r\n");
	else if (head->has_length)
		cc_buf_addf(out, "Content-Length: %llu\r\n", (unsigned long long)head->length);
}

void cc_http_write_request(const struct cc_http_head *head, struct cc_view path, const struct cc_host *host,
			   uint16_t port, struct cc_buf *out)
{
	bool six = host->kind == CC_HOST_V6;

	cc_buf_add(out, head->method.ptr, head->method.len);
	cc_buf_adds(out, " ");
	if (path.len == 0 && cc_view_is(head->method, "OPTIONS"))
		cc_buf_adds(out, "*");
	else if (path.len == 0 || path.ptr[0] != '/')
		cc_buf_adds(out, "/");
	cc_buf_add(out, path.ptr, path.len);
	cc_buf_addf(out, " HTTP/1.%u\r\nHost: %s%s%s", head->minor, six ? "[" : "", host->text, six ? "]" : "");
	if (port != 80)
		cc_buf_addf(out, ":%u", port);
	cc_buf_adds(out, "\r\n");
	cc_http_copy_fields(head, out);
}
