#include "parse/clienthello.h"

#include "parse/http.h"

#include <stdio.h>
#include <string.h>

enum { RECORD_HEAD = 5, RECORD_MAX = 16384 + 256, HANDSHAKE_HEAD = 4, TYPE_HANDSHAKE = 22, TYPE_CLIENT_HELLO = 1 };
enum { EXT_SERVER_NAME = 0, EXT_ECH = 0xfe0d, NAME_HOST = 0 };
enum { METHOD_MAX = 24, LINE_MAX_SNIFF = 8192, RECORD_TYPE_FIRST = 20, RECORD_TYPE_LAST = 24 };

/* A cursor that never passes its end: once short it stays short. */
struct cursor {
	const unsigned char *at;
	size_t left;
	bool short_of;
};

static size_t take_number(struct cursor *from, unsigned width)
{
	size_t value = 0;

	if (from->left < width) {
		from->short_of = true;
		from->left = 0;
		return 0;
	}
	for (unsigned i = 0; i < width; i++)
		value = value << 8 | from->at[i];
	from->at += width;
	from->left -= width;
	return value;
}

/* A field with its length in front, as a cursor of its own. */
static struct cursor take_field(struct cursor *from, unsigned width)
{
	size_t len = take_number(from, width);
	struct cursor field = {from->at, len, false};

	if (from->left < len) {
		from->short_of = true;
		from->left = 0;
		return (struct cursor){NULL, 0, true};
	}
	from->at += len;
	from->left -= len;
	return field;
}

static enum cc_hello_step bad(const char **fault, const char *why)
{
	*fault = why;
	return CC_HELLO_BAD;
}

static enum cc_hello_step read_server_name(struct cursor body, struct cc_hello *out, const char **fault)
{
	struct cursor list = take_field(&body, 2);

	if (body.short_of || body.left || list.left == 0)
		return bad(fault, "the server name extension is malformed");
	while (list.left) {
		size_t type = take_number(&list, 1);
		struct cursor name = take_field(&list, 2);

		if (list.short_of)
			return bad(fault, "the server name extension is malformed");
		if (type != NAME_HOST)
			continue;
		if (out->has_name)
			return bad(fault, "two server names");
		if (cc_host_parse((struct cc_view){(const char *)name.at, name.left}, CC_HOST_SOCKS, &out->name,
				  NULL) != CC_OK)
			return bad(fault, "the server name is malformed");
		out->has_name = true;
	}
	return CC_HELLO_DONE;
}

static enum cc_hello_step read_extensions(struct cursor list, struct cc_hello *out, const char **fault)
{
	bool seen = false;

	while (list.left) {
		size_t type = take_number(&list, 2);
		struct cursor body = take_field(&list, 2);

		if (list.short_of)
			return bad(fault, "an extension is malformed");
		out->ech |= type == EXT_ECH;
		if (type != EXT_SERVER_NAME)
			continue;
		if (seen)
			return bad(fault, "two server name extensions");
		seen = true;
		if (read_server_name(body, out, fault) != CC_HELLO_DONE)
			return CC_HELLO_BAD;
	}
	return CC_HELLO_DONE;
}

static enum cc_hello_step read_hello(struct cursor body, struct cc_hello *out, const char **fault)
{
	struct cursor extensions;

	take_number(&body, 2 + 32); /* version, random */
	take_field(&body, 1);       /* session id */
	take_field(&body, 2);       /* cipher suites */
	take_field(&body, 1);       /* compression */
	if (body.short_of)
		return bad(fault, "the ClientHello is malformed");
	if (body.left == 0)
		return CC_HELLO_DONE;
	extensions = take_field(&body, 2);
	if (body.short_of || body.left)
		return bad(fault, "the ClientHello is malformed");
	return read_extensions(extensions, out, fault);
}

/* Collects the handshake bytes of the records at hand; *len of them are in flat. */
static enum cc_hello_step join_records(struct cc_view bytes, unsigned char *flat, size_t *len, const char **fault)
{
	const unsigned char *at = (const unsigned char *)bytes.ptr;
	size_t left = bytes.len;

	*len = 0;
	while (left) {
		size_t body;

		if (at[0] != TYPE_HANDSHAKE || (left > 1 && at[1] != 3))
			return bad(fault, "not a TLS handshake record");
		if (left < RECORD_HEAD)
			return CC_HELLO_MORE;
		body = (size_t)at[3] << 8 | at[4];
		if (body == 0 || body > RECORD_MAX)
			return bad(fault, "a TLS record of an impossible size");
		if (body > left - RECORD_HEAD)
			body = left - RECORD_HEAD;
		memcpy(flat + *len, at + RECORD_HEAD, body);
		*len += body;
		at += RECORD_HEAD + body;
		left -= RECORD_HEAD + body;
		if (*len >= HANDSHAKE_HEAD &&
		    *len - HANDSHAKE_HEAD >= ((size_t)flat[1] << 16 | (size_t)flat[2] << 8 | flat[3]))
			return CC_HELLO_DONE;
	}
	return CC_HELLO_MORE;
}

enum cc_hello_step cc_hello_parse(struct cc_view bytes, struct cc_hello *out, const char **fault)
{
	unsigned char flat[CC_HELLO_MAX];
	size_t len;
	enum cc_hello_step step;

	*out = (struct cc_hello){0};
	if (bytes.len > CC_HELLO_MAX)
		bytes.len = CC_HELLO_MAX;
	step = join_records(bytes, flat, &len, fault);
	if (step != CC_HELLO_BAD && len && flat[0] != TYPE_CLIENT_HELLO)
		return bad(fault, "the first handshake message is not a ClientHello");
	if (step == CC_HELLO_MORE && bytes.len == CC_HELLO_MAX)
		return bad(fault, "the ClientHello is larger than 64 KiB");
	if (step != CC_HELLO_DONE)
		return step;
	len = (size_t)flat[1] << 16 | (size_t)flat[2] << 8 | flat[3];
	return read_hello((struct cursor){flat + HANDSHAKE_HEAD, len, false}, out, fault);
}

static enum cc_sniff_verdict refuse(struct cc_sniff *out, const char *why)
{
	out->fault = why;
	return CC_SNIFF_REFUSE;
}

static enum cc_sniff_verdict sniff_tls(struct cc_view bytes, bool ended, const struct cc_host *host,
				       struct cc_sniff *out)
{
	struct cc_hello hello;
	enum cc_hello_step step = cc_hello_parse(bytes, &hello, &out->fault);

	out->kind = "tls";
	out->ech = hello.ech;
	if (step == CC_HELLO_BAD)
		return CC_SNIFF_REFUSE;
	if (step == CC_HELLO_MORE)
		return ended ? refuse(out, "the ClientHello is not complete") : CC_SNIFF_MORE;
	if (!hello.has_name)
		return host->kind == CC_HOST_NAME ? refuse(out, "TLS without a server name") : CC_SNIFF_PASS;
	snprintf(out->named, sizeof(out->named), "%s", hello.name.text);
	return strcmp(hello.name.text, host->text) == 0 ? CC_SNIFF_PASS
							: refuse(out, "the server name is not the tunnel's host");
}

static bool names_host(struct cc_view authority, const struct cc_host *host, struct cc_sniff *out)
{
	struct cc_view text;
	struct cc_host named;
	uint16_t port;

	if (!cc_http_authority(authority, 80, &text, &port) || cc_host_parse(text, CC_HOST_URI, &named, NULL) != CC_OK)
		return false;
	snprintf(out->named, sizeof(out->named), "%s", named.text);
	return strcmp(named.text, host->text) == 0;
}

static enum cc_sniff_verdict sniff_head(struct cc_view bytes, const struct cc_host *host, struct cc_sniff *out)
{
	struct cc_http_head head;
	struct cc_http_fault fault;
	struct cc_view authority;
	struct cc_view path;

	if (!cc_http_request(bytes, &head, &fault))
		return refuse(out, fault.text);
	if (head.host.ptr && !names_host(head.host, host, out))
		return refuse(out, "the Host field is not the tunnel's host");
	if (head.target.ptr[0] == '/' || cc_view_is(head.target, "*"))
		return CC_SNIFF_PASS;
	if (cc_http_absolute(&head, &authority, &path, &fault) ? names_host(authority, host, out)
							       : names_host(head.target, host, out))
		return CC_SNIFF_PASS;
	return refuse(out, "the target is not the tunnel's host");
}

/* Whatever some server takes for the space between the words of a request line. */
static bool is_gap(unsigned char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\f' && byte != '\n') || (byte >= 0x1c && byte <= 0x1f) ||
	       byte == 0x85 || byte == 0xa0;
}

static bool is_upper(unsigned char byte)
{
	return (byte >= 'A' && byte <= 'Z') || byte == '-';
}

/* How many bytes of a method stand at the beginning: any word in capitals, and the usual ones in any letters. */
static size_t method_length(struct cc_view bytes)
{
	static const char *const usual[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"};
	size_t best = 0;

	while (best < bytes.len && best < METHOD_MAX && is_upper((unsigned char)bytes.ptr[best]))
		best++;
	for (size_t i = 0; i < CC_COUNT(usual); i++) {
		size_t len = strlen(usual[i]) < bytes.len ? strlen(usual[i]) : bytes.len;

		if (len > best && cc_view_eq_nocase((struct cc_view){bytes.ptr, len}, (struct cc_view){usual[i], len}))
			best = len;
	}
	return best;
}

/* Is the first line an HTTP request line? A method, a gap, and HTTP/ somewhere behind it: what a lenient server might
 * read as one is to be read by the strict parser, which refuses all that is spelled otherwise. */
static enum cc_sniff_verdict first_line(struct cc_view bytes, bool ended)
{
	size_t word;
	size_t len = 0;

	while (bytes.len && (bytes.ptr[0] == '\r' || bytes.ptr[0] == '\n' || is_gap((unsigned char)bytes.ptr[0])))
		bytes = (struct cc_view){bytes.ptr + 1, bytes.len - 1}; /* servers skip empty lines */
	word = method_length(bytes);
	if (word == bytes.len)
		return ended ? CC_SNIFF_PASS : CC_SNIFF_MORE;
	if (word == 0 || !is_gap((unsigned char)bytes.ptr[word]))
		return CC_SNIFF_PASS;
	while (len < bytes.len && bytes.ptr[len] != '\n')
		len++;
	if (len == bytes.len)
		return ended || len > LINE_MAX_SNIFF ? CC_SNIFF_REFUSE : CC_SNIFF_MORE;
	for (size_t i = word; i + 5 <= len; i++)
		if (cc_view_eq_nocase((struct cc_view){bytes.ptr + i, 5}, (struct cc_view){"HTTP/", 5}))
			return CC_SNIFF_REFUSE;
	return CC_SNIFF_PASS;
}

/* Bytes that a TLS server may read past before it takes the hello behind them (some drop a warning, for one), and the
 * old form of a hello, which has no place for a name. */
static enum cc_sniff_verdict before_hello(struct cc_view bytes, bool ended, const struct cc_host *host,
					  struct cc_sniff *out)
{
	const unsigned char *at = (const unsigned char *)bytes.ptr;
	bool record = at[0] >= RECORD_TYPE_FIRST && at[0] <= RECORD_TYPE_LAST;
	bool old = at[0] >= 0x80 && (bytes.len < 3 || at[2] == TYPE_CLIENT_HELLO) && (bytes.len < 4 || at[3] == 3) &&
		   (bytes.len < 5 || at[4] <= 3);

	if ((!record && !old) || (record && bytes.len > 1 && at[1] != 3))
		return CC_SNIFF_PASS;
	if (bytes.len < (record ? 2 : 5))
		return ended ? CC_SNIFF_PASS : CC_SNIFF_MORE;
	out->kind = "tls";
	if (record)
		return refuse(out, "a TLS record stands before the ClientHello");
	return host->kind == CC_HOST_NAME ? refuse(out, "TLS without a server name") : CC_SNIFF_PASS;
}

static enum cc_sniff_verdict sniff_http(struct cc_view bytes, bool ended, const struct cc_host *host,
					struct cc_sniff *out)
{
	struct cc_http_fault fault;
	size_t scanned = 0;
	enum cc_http_step step = cc_http_scan(bytes, &scanned, &fault);

	out->kind = "http";
	if (step == CC_HTTP_BAD)
		return refuse(out, fault.text);
	if (step == CC_HTTP_MORE)
		return ended ? refuse(out, "the request head is not complete") : CC_SNIFF_MORE;
	return sniff_head((struct cc_view){bytes.ptr, scanned}, host, out);
}

enum cc_sniff_verdict cc_sniff(struct cc_view bytes, bool ended, const struct cc_host *host, struct cc_sniff *out)
{
	enum cc_sniff_verdict line;

	*out = (struct cc_sniff){.kind = "opaque"};
	if (bytes.len == 0)
		return ended ? CC_SNIFF_PASS : CC_SNIFF_MORE;
	if ((unsigned char)bytes.ptr[0] == TYPE_HANDSHAKE)
		return sniff_tls(bytes, ended, host, out);
	line = before_hello(bytes, ended, host, out);
	if (line != CC_SNIFF_PASS || strcmp(out->kind, "tls") == 0)
		return line;
	line = first_line(bytes, ended);
	return line == CC_SNIFF_REFUSE ? sniff_http(bytes, ended, host, out) : line;
}
