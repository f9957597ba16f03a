#include "parse/socks.h"

#include <string.h>

enum { PLACE_VERSION = 0, PLACE_AUTH, PLACE_REQUEST };
enum { SOCKS4_TEXT_MAX = 255 };

static enum cc_socks_step refuse(struct cc_socks *socks, enum cc_socks_reply reply, const char *why, struct cc_buf *out)
{
	socks->fault = why;
	cc_socks_answer(socks, reply, out);
	return CC_SOCKS_REFUSE;
}

void cc_socks_answer(const struct cc_socks *socks, enum cc_socks_reply reply, struct cc_buf *out)
{
	unsigned char five[10] = {5, (unsigned char)reply, 0, 1};
	unsigned char four[8] = {0, reply == CC_SOCKS_OK ? 0x5a : 0x5b};

	if (socks->version == 5)
		cc_buf_add(out, five, sizeof(five));
	else
		cc_buf_add(out, four, sizeof(four));
}

/* The methods offered: none asked is best; a client that only knows passwords may send any. */
static enum cc_socks_step greet(struct cc_socks *socks, struct cc_view bytes, size_t *used, struct cc_buf *out)
{
	size_t count;
	unsigned char method = 0xff;

	if (bytes.len < 2 || bytes.len < 2 + (size_t)(unsigned char)bytes.ptr[1])
		return CC_SOCKS_MORE;
	count = (unsigned char)bytes.ptr[1];
	if (count && memchr(bytes.ptr + 2, 0x02, count))
		method = 0x02;
	if (count && memchr(bytes.ptr + 2, 0x00, count))
		method = 0x00;
	*used = 2 + count;
	cc_buf_add(out, (const unsigned char[]){5, method}, 2);
	if (method == 0xff) {
		socks->fault = "no method of authentication in common";
		return CC_SOCKS_REFUSE;
	}
	socks->place = method ? PLACE_AUTH : PLACE_REQUEST;
	return CC_SOCKS_MORE;
}

static enum cc_socks_step authenticate(struct cc_socks *socks, struct cc_view bytes, size_t *used, struct cc_buf *out)
{
	const unsigned char *at = (const unsigned char *)bytes.ptr;
	size_t need = 2;

	if (bytes.len >= 1 && at[0] != 1) {
		socks->fault = "unknown version of the password exchange";
		cc_buf_add(out, (const unsigned char[]){1, 1}, 2);
		return CC_SOCKS_REFUSE;
	}
	if (bytes.len < need)
		return CC_SOCKS_MORE;
	need += (size_t)at[1] + 1;
	if (bytes.len < need)
		return CC_SOCKS_MORE;
	need += at[need - 1];
	if (bytes.len < need)
		return CC_SOCKS_MORE;
	*used = need;
	cc_buf_add(out, (const unsigned char[]){1, 0}, 2);
	socks->place = PLACE_REQUEST;
	return CC_SOCKS_MORE;
}

static uint16_t read_port(const unsigned char *at)
{
	return (uint16_t)((unsigned)at[0] << 8 | at[1]);
}

/* How long the address of a request is, its length byte included; 0 = one more byte is needed to tell. */
static size_t address_len(struct cc_view bytes)
{
	unsigned char type = (unsigned char)bytes.ptr[3];

	if (type == 3)
		return bytes.len < 5 ? 0 : 1 + (size_t)(unsigned char)bytes.ptr[4];
	return type == 1 ? 4 : 16;
}

static enum cc_socks_step request(struct cc_socks *socks, struct cc_view bytes, size_t *used, struct cc_buf *out)
{
	const unsigned char *at = (const unsigned char *)bytes.ptr;
	size_t len;

	if (bytes.len >= 1 && at[0] != 5)
		return refuse(socks, CC_SOCKS_FAILURE, "not a SOCKS5 request", out);
	if (bytes.len >= 2 && at[1] != 1)
		return refuse(socks, CC_SOCKS_COMMAND, "only CONNECT is offered", out);
	if (bytes.len < 4)
		return CC_SOCKS_MORE;
	if (at[3] != 1 && at[3] != 3 && at[3] != 4)
		return refuse(socks, CC_SOCKS_ADDRESS_TYPE, "unknown type of address", out);
	len = address_len(bytes);
	if (len == 0 || bytes.len < 4 + len + 2)
		return CC_SOCKS_MORE;
	*used = 4 + len + 2;
	socks->port = read_port(at + 4 + len);
	if (at[3] != 3)
		cc_host_from_addr(at + 4, len, &socks->host);
	else if (cc_host_parse((struct cc_view){bytes.ptr + 5, len - 1}, CC_HOST_SOCKS, &socks->host, NULL) != CC_OK)
		return refuse(socks, CC_SOCKS_FAILURE, "the host is malformed", out);
	if (socks->port == 0)
		return refuse(socks, CC_SOCKS_FAILURE, "port 0", out);
	return CC_SOCKS_REQUEST;
}

/* A NUL-terminated field of SOCKS4; false when it is not there yet or too long (then *too_long). */
static bool text_field(struct cc_view bytes, size_t from, size_t *end, bool *too_long)
{
	const char *nul = from < bytes.len ? memchr(bytes.ptr + from, 0, bytes.len - from) : NULL;
	size_t len = nul ? (size_t)(nul - bytes.ptr) - from : bytes.len - (from < bytes.len ? from : bytes.len);

	*too_long = len > SOCKS4_TEXT_MAX;
	if (!nul || *too_long)
		return false;
	*end = from + len;
	return true;
}

static enum cc_socks_step request4(struct cc_socks *socks, struct cc_view bytes, size_t *used, struct cc_buf *out)
{
	const unsigned char *at = (const unsigned char *)bytes.ptr;
	size_t user_end;
	size_t host_end;
	bool too_long;

	if (bytes.len >= 2 && at[1] != 1)
		return refuse(socks, CC_SOCKS_COMMAND, "only CONNECT is offered", out);
	if (bytes.len < 9)
		return CC_SOCKS_MORE;
	if (!text_field(bytes, 8, &user_end, &too_long))
		return too_long ? refuse(socks, CC_SOCKS_FAILURE, "the user id is too long", out) : CC_SOCKS_MORE;
	*used = user_end + 1;
	socks->port = read_port(at + 2);
	if (at[4] == 0 && at[5] == 0 && at[6] == 0 && at[7] != 0) { /* 4a: the name follows */
		*used = 0;
		if (!text_field(bytes, user_end + 1, &host_end, &too_long))
			return too_long ? refuse(socks, CC_SOCKS_FAILURE, "the host is too long", out) : CC_SOCKS_MORE;
		*used = host_end + 1;
		if (cc_host_parse((struct cc_view){bytes.ptr + user_end + 1, host_end - user_end - 1}, CC_HOST_SOCKS,
				  &socks->host, NULL) != CC_OK)
			return refuse(socks, CC_SOCKS_FAILURE, "the host is malformed", out);
	} else {
		cc_host_from_addr(at + 4, 4, &socks->host);
	}
	if (socks->port == 0)
		return refuse(socks, CC_SOCKS_FAILURE, "port 0", out);
	return CC_SOCKS_REQUEST;
}

enum cc_socks_step cc_socks_step(struct cc_socks *socks, struct cc_view bytes, size_t *used, struct cc_buf *out)
{
	static enum cc_socks_step (*const fives[])(struct cc_socks *, struct cc_view, size_t *,
						   struct cc_buf *) = {greet, authenticate, request};

	*used = 0;
	if (bytes.len && socks->version == 0) {
		socks->version = (unsigned char)bytes.ptr[0];
		if (socks->version != 5 && socks->version != 4) {
			socks->fault = "not SOCKS";
			return CC_SOCKS_REFUSE;
		}
	}
	if (socks->version == 4)
		return request4(socks, bytes, used, out);
	for (;;) {
		struct cc_view rest = {bytes.ptr + *used, bytes.len - *used};
		size_t taken = 0;
		enum cc_socks_step step;

		if (rest.len == 0)
			return CC_SOCKS_MORE;
		step = fives[socks->place](socks, rest, &taken, out);
		*used += taken;
		if (step != CC_SOCKS_MORE || taken == 0)
			return step;
	}
}
