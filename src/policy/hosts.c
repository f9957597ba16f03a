#include "policy/hosts.h"

#include <stdio.h>
#include <string.h>

enum { RAW_MAX = 255, NAME_MAX_LEN = 253, LABEL_MAX = 63, PATTERNS_MAX = 65536 };

static const char label_bytes[256] = {
	['-'] = 1, ['_'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1,
	['8'] = 1, ['9'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1,
	['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1,
	['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

static bool all_in(const char *text, size_t len, const char *set)
{
	for (size_t i = 0; i < len; i++)
		if (!memchr(set, text[i], strlen(set)))
			return false;
	return true;
}

/* WHATWG "ends in a number": what some resolver would take for an address in another base or with fewer parts. */
static bool ends_in_number(const char *name, size_t len)
{
	size_t from = len;

	while (from > 0 && name[from - 1] != '.')
		from--;
	name += from;
	len -= from;
	if (all_in(name, len, "0123456789"))
		return true;
	return len >= 2 && name[0] == '0' && name[1] == 'x' && all_in(name + 2, len - 2, "0123456789abcdef");
}

static enum cc_code check_labels(const char *name, size_t len, struct cc_err *err)
{
	size_t label = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && name[i] != '.') {
			if (!label_bytes[(unsigned char)name[i]])
				return cc_fail(err, CC_EINVAL, 0, "byte 0x%02x in a host name", (unsigned char)name[i]);
			if (++label > LABEL_MAX)
				return cc_fail(err, CC_EINVAL, 0, "a label is longer than %d bytes", LABEL_MAX);
			continue;
		}
		if (label == 0)
			return cc_fail(err, CC_EINVAL, 0, "a label is empty");
		label = 0;
	}
	return CC_OK;
}

static enum cc_code parse_name(struct cc_view raw, struct cc_host *host, struct cc_err *err)
{
	size_t len = raw.len;
	uint8_t quad[4];
	enum cc_code code;

	if (raw.ptr[len - 1] == '.')
		len--;
	if (len == 0 || len > NAME_MAX_LEN)
		return cc_fail(err, CC_EINVAL, 0, "a host name of %zu bytes", len);
	for (size_t i = 0; i < len; i++)
		host->text[i] = (char)cc_ascii_lower((unsigned char)raw.ptr[i]);
	host->text[len] = '\0';
	code = check_labels(host->text, len, err);
	if (code != CC_OK)
		return code;
	host->kind = CC_HOST_NAME;
	if (!ends_in_number(host->text, len))
		return CC_OK;
	if (!cc_addr_read_v4((struct cc_view){host->text, len}, quad))
		return cc_fail(err, CC_EINVAL, 0, "an address must be written as four decimal numbers");
	cc_host_from_addr(quad, 4, host);
	return CC_OK;
}

static enum cc_code parse_v6(struct cc_view inner, struct cc_host *host, struct cc_err *err)
{
	uint8_t addr[16];

	if (!cc_addr_read_v6(inner, addr))
		return cc_fail(err, CC_EINVAL, 0, "not an IPv6 address");
	cc_host_from_addr(addr, sizeof(addr), host);
	return CC_OK;
}

enum cc_code cc_host_parse(struct cc_view raw, enum cc_host_form form, struct cc_host *out_host, struct cc_err *err)
{
	struct cc_host host = {0};
	enum cc_code code;

	if (raw.len == 0 || raw.len > RAW_MAX)
		return cc_fail(err, CC_EINVAL, 0, "a host of %zu bytes", raw.len);
	for (size_t i = 0; i < raw.len; i++) {
		unsigned char byte = (unsigned char)raw.ptr[i];

		if (byte <= 0x20 || byte >= 0x7f || byte == '%')
			return cc_fail(err, CC_EINVAL, 0, "byte 0x%02x in a host", byte);
	}
	if (raw.ptr[0] == '[') {
		if (raw.ptr[raw.len - 1] != ']')
			return cc_fail(err, CC_EINVAL, 0, "a bracket is not closed");
		code = parse_v6((struct cc_view){raw.ptr + 1, raw.len - 2}, &host, err);
	} else if (memchr(raw.ptr, ':', raw.len)) {
		if (form != CC_HOST_SOCKS)
			return cc_fail(err, CC_EINVAL, 0, "a colon in a host");
		code = parse_v6(raw, &host, err);
	} else {
		code = parse_name(raw, &host, err);
	}
	if (code == CC_OK)
		*out_host = host;
	return code;
}

uint16_t cc_host_port(struct cc_view digits)
{
	unsigned value = 0;

	if (digits.len == 0 || digits.len > 5 || digits.ptr[0] == '0')
		return 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
			return 0;
		value = value * 10 + (unsigned)(digits.ptr[i] - '0');
	}
	return value <= 65535 ? (uint16_t)value : 0;
}

/* A pattern in canonical form: the key it is stored under, the star as the label "*". */
struct pattern {
	char key[256];
	uint16_t port; /* 0 = any */
	bool star;
	bool wide;
};

struct slot {
	char *key;
	const char *written; /* owned by the list of copies */
	uint32_t hash;
	uint16_t port;
};

struct cc_hosts {
	struct cc_strv written;
	struct slot *slots;
	size_t mask;
	bool has_suffix;
	bool has_middle;
};

static struct cc_view trimmed(const char *text)
{
	struct cc_view view = cc_view_of(text);

	while (view.len && strchr(" \t\r\n", view.ptr[0])) {
		view.ptr++;
		view.len--;
	}
	while (view.len && strchr(" \t\r\n", view.ptr[view.len - 1]))
		view.len--;
	return view;
}

/* Takes ":port" off the end. A bare v6 literal has two colons or more and cannot carry one. */
static bool split_port(struct cc_view *view, uint16_t *port)
{
	const char *colon = memchr(view->ptr, ':', view->len);
	size_t head;

	*port = 0;
	if (!colon)
		return true;
	if (view->ptr[0] == '[') {
		const char *close = memchr(view->ptr, ']', view->len);

		if (!close)
			return false;
		head = (size_t)(close + 1 - view->ptr);
		if (head == view->len)
			return true;
		if (view->ptr[head] != ':')
			return false;
	} else {
		head = (size_t)(colon - view->ptr);
		if (memchr(colon + 1, ':', view->len - head - 1))
			return true;
	}
	*port = cc_host_port((struct cc_view){view->ptr + head + 1, view->len - head - 1});
	view->len = head;
	return *port != 0;
}

/* The star must be one whole label with another behind it; a stand-in label lets the canonicaliser judge the rest. */
static enum cc_code parse_star(struct cc_view view, size_t star, struct pattern *out, struct cc_err *err)
{
	char stand_in[RAW_MAX + 1];
	struct cc_host host;
	const char *rest;

	if ((star > 0 && view.ptr[star - 1] != '.') || star + 1 >= view.len || view.ptr[star + 1] != '.')
		return cc_fail(err, CC_EINVAL, 0, "the star must be one whole label with a name behind it");
	if (view.len > RAW_MAX)
		return cc_fail(err, CC_EINVAL, 0, "it is too long");
	memcpy(stand_in, view.ptr, view.len);
	stand_in[star] = 'a';
	if (cc_host_parse((struct cc_view){stand_in, view.len}, CC_HOST_URI, &host, err) != CC_OK)
		return CC_EINVAL;
	if (host.kind != CC_HOST_NAME || strlen(host.text) < star + 3)
		return cc_fail(err, CC_EINVAL, 0, "nothing stands behind the star");
	memcpy(out->key, host.text, sizeof(out->key));
	out->key[star] = '*';
	rest = out->key + star + 2;
	out->star = true;
	out->wide = strchr(rest, '.') == NULL;
	return CC_OK;
}

static enum cc_code parse_pattern(const char *text, struct pattern *out, struct cc_err *err)
{
	struct cc_view view = trimmed(text);
	struct cc_host host;
	const char *star;
	enum cc_code code;

	*out = (struct pattern){0};
	if (view.len == 0)
		return cc_fail(err, CC_EINVAL, 0, "it is empty");
	for (size_t i = 0; i < view.len; i++)
		if ((unsigned char)view.ptr[i] >= 0x80)
			return cc_fail(err, CC_EINVAL, 0, "write the ASCII form of the name (xn--...)");
	if (memchr(view.ptr, '/', view.len))
		return cc_fail(err, CC_EINVAL, 0, "a pattern is a host name, without scheme or path");
	if (!split_port(&view, &out->port))
		return cc_fail(err, CC_EINVAL, 0, "the port must be a number from 1 to 65535");
	star = memchr(view.ptr, '*', view.len);
	if (!star) {
		code = cc_host_parse(view, CC_HOST_SOCKS, &host, err);
		if (code == CC_OK)
			memcpy(out->key, host.text, sizeof(out->key));
		return code;
	}
	if (memchr(star + 1, '*', view.len - (size_t)(star - view.ptr) - 1))
		return cc_fail(err, CC_EINVAL, 0, "only one star is allowed");
	return parse_star(view, (size_t)(star - view.ptr), out, err);
}

bool cc_host_pattern_is_wide(const char *pattern)
{
	struct pattern parsed;

	return parse_pattern(pattern, &parsed, NULL) == CC_OK && parsed.wide;
}

static uint32_t hash_bytes(uint32_t hash, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
	return hash;
}
enum { HASH_START = 0x11c9dc5, ANY_PORT = 65536 };

static enum cc_code insert(struct cc_hosts *hosts, const struct pattern *pattern, const char *written,
			   struct cc_err *err)
{
	uint32_t hash = hash_bytes(HASH_START, pattern->key, strlen(pattern->key));
	size_t at = hash & hosts->mask;

	while (hosts->slots[at].key)
		at = (at + 1) & hosts->mask;
	hosts->slots[at] = (struct slot){cc_str_copy(pattern->key), written, hash, pattern->port};
	if (!hosts->slots[at].key)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	hosts->has_suffix |= pattern->star && pattern->key[0] == '*';
	hosts->has_middle |= pattern->star && pattern->key[0] != '*';
	return CC_OK;
}

enum cc_code cc_hosts_compile(const struct cc_strv *patterns, struct cc_hosts **out_hosts, struct cc_err *err)
{
	CC_AUTO(cc_hosts) hosts = calloc(1, sizeof(*hosts));
	size_t room = 8;
	enum cc_code code;

	if (patterns->count > PATTERNS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%zu host patterns", patterns->count);
	while (room < patterns->count * 2 + 1)
		room *= 2;
	if (hosts)
		hosts->slots = calloc(room, sizeof(*hosts->slots));
	if (!hosts || !hosts->slots)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	hosts->mask = room - 1;
	code = cc_strv_copy(&hosts->written, patterns, err);
	for (size_t i = 0; code == CC_OK && i < patterns->count; i++) {
		struct cc_err why = {0};
		struct pattern parsed;

		if (parse_pattern(patterns->items[i], &parsed, &why) != CC_OK)
			return cc_fail(err, CC_EINVAL, 0, "host pattern \"%.200s\": %.160s", patterns->items[i],
				       why.what);
		code = insert(hosts, &parsed, hosts->written.items[i], err);
	}
	if (code == CC_OK)
		*out_hosts = cc_hosts_take(&hosts);
	return code;
}

void cc_hosts_free(struct cc_hosts *hosts)
{
	if (!hosts)
		return;
	for (size_t i = 0; hosts->slots && i <= hosts->mask; i++)
		free(hosts->slots[i].key);
	free(hosts->slots);
	cc_strv_done(&hosts->written);
	free(hosts);
}

/* Looks up the key made of two parts: the text before the star's label with the star, and what follows. */
static const char *probe(const struct cc_hosts *hosts, const char *head, size_t head_len, const char *tail,
			 uint32_t port)
{
	uint32_t hash = hash_bytes(HASH_START, head, head_len);

	hash = hash_bytes(hash, tail, strlen(tail));
	for (size_t at = hash & hosts->mask; hosts->slots[at].key; at = (at + 1) & hosts->mask) {
		const struct slot *slot = &hosts->slots[at];

		if (slot->hash != hash || (slot->port != 0 && slot->port != port && port != ANY_PORT))
			continue;
		if (strncmp(slot->key, head, head_len) == 0 && strcmp(slot->key + head_len, tail) == 0)
			return slot->written;
	}
	return NULL;
}

static const char *probe_middle(const struct cc_hosts *hosts, const char *name, uint32_t port)
{
	char head[RAW_MAX + 2];
	const char *dot = strchr(name, '.');

	/* The star stands for the label between two dots. */
	while (dot) {
		const char *next = strchr(dot + 1, '.');
		size_t len = (size_t)(dot + 1 - name);
		const char *found;

		if (!next)
			return NULL;
		memcpy(head, name, len);
		head[len] = '*';
		found = probe(hosts, head, len + 1, next, port);
		if (found)
			return found;
		dot = next;
	}
	return NULL;
}

static const char *match(const struct cc_hosts *hosts, const struct cc_host *host, uint32_t port)
{
	const char *found;

	if (!hosts || host->kind == CC_HOST_BAD)
		return NULL;
	found = probe(hosts, "", 0, host->text, port);
	if (found || host->kind != CC_HOST_NAME)
		return found;
	for (const char *dot = hosts->has_suffix ? strchr(host->text, '.') : NULL; dot; dot = strchr(dot + 1, '.')) {
		found = probe(hosts, "*", 1, dot, port);
		if (found)
			return found;
	}
	return hosts->has_middle ? probe_middle(hosts, host->text, port) : NULL;
}

const char *cc_hosts_match(const struct cc_hosts *hosts, const struct cc_host *host, uint16_t port)
{
	return match(hosts, host, port);
}

const char *cc_hosts_match_some(const struct cc_hosts *hosts, const struct cc_host *host)
{
	return match(hosts, host, ANY_PORT);
}

/* 127.0.0.0/8, ::1 or localhost: this machine itself. */
static bool is_loopback(const struct cc_host *host)
{
	static const uint8_t one[16] = {[15] = 1};

	if (host->kind == CC_HOST_V4)
		return host->addr[0] == 127;
	if (host->kind == CC_HOST_V6)
		return memcmp(host->addr, one, sizeof(one)) == 0;
	return strcmp(host->text, "localhost") == 0;
}

bool cc_host_is_capture(const struct cc_host *host)
{
	return host->kind == CC_HOST_V4 && host->addr[0] == CC_CAPTURE_NET_0 &&
	       (host->addr[1] & ~1) == CC_CAPTURE_NET_1;
}

bool cc_host_is_own_port(uint16_t port)
{
	return port == CC_PORT_HTTP || port == CC_PORT_SOCKS || port == CC_PORT_CATCH;
}

void cc_host_grant(struct cc_view host, uint16_t port, struct cc_buf *out)
{
	struct cc_host parsed;
	bool good = cc_host_parse(host, CC_HOST_SOCKS, &parsed, NULL) == CC_OK;

	/* By its address this machine would be open on every port. */
	if (good && is_loopback(&parsed) && !cc_host_is_own_port(port))
		cc_buf_addf(out, "--host-port %u", (unsigned)port);
	else if (!good || !(is_loopback(&parsed) || cc_host_is_capture(&parsed)))
		cc_buf_addf(out, "--allow-host %.*s", (int)host.len, host.ptr);
}
