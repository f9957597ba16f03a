#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"

#include <string.h>

enum { BYTE_MS = 60000, WHOLE_MS = 3600000, GZIP_WINDOW = 15 + 16, DRAIN_MS = 600000 };

/* curl asks before it sends something large. What went before this was enough to refuse it. */
static void go_on(struct cc_push_conn *conn)
{
	size_t count;
	struct cc_view value = cc_push_field(&conn->head, "expect", &count);

	if (count == 1 && cc_view_eq_nocase(value, cc_view_of("100-continue")) && conn->head.minor)
		cc_push_conn_write(conn, cc_view_of("HTTP/1.1 100 Continue\r\n\r\n"));
}

enum cc_code cc_push_body_begin(struct cc_push_body *body, struct cc_push_conn *conn, struct cc_err *err)
{
	size_t count;
	struct cc_view coding = cc_push_field(&conn->head, "content-encoding", &count);

	*body = (struct cc_push_body){.conn = conn, .began = cc_clock_ms()};
	cc_http_body_init(&body->framing, &conn->head);
	body->framing.raw = true;
	body->framed = conn->head.framing == CC_HTTP_NO_BODY;
	cc_buf_init(&body->raw, 2 * CC_PUSH_PIECE);
	body->gzip = count == 1 &&
		     (cc_view_eq_nocase(coding, cc_view_of("gzip")) || cc_view_eq_nocase(coding, cc_view_of("x-gzip")));
	if (count > 1 || (count == 1 && !body->gzip && !cc_view_eq_nocase(coding, cc_view_of("identity"))))
		return cc_fail(err, CC_EUNSUPPORTED, 0, "a body is taken plain or in gzip, and in nothing else");
	if (body->gzip && inflateInit2(&body->z, GZIP_WINDOW) != Z_OK)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	go_on(conn);
	return CC_OK;
}

/* More of it without its framing. */
static enum cc_code fetch(struct cc_push_body *body, struct cc_err *err)
{
	char piece[CC_PUSH_PIECE / 2];
	enum cc_http_step step = CC_HTTP_MORE;

	while (!body->framed && body->raw.len == 0) {
		size_t used = 0, got = 0;

		if (body->framing.framing != CC_HTTP_LENGTH || body->framing.left)
			got = cc_push_conn_read(body->conn, piece, sizeof(piece), BYTE_MS);
		if (got == 0 && (body->framing.framing != CC_HTTP_LENGTH || body->framing.left)) {
			body->conn->broken = true;
			return cc_fail(err, CC_EPROTO, 0, "the client went, or stood still, inside the body");
		}
		if (cc_clock_ms() - body->began > WHOLE_MS)
			return cc_fail(err, CC_ETIMEOUT, 0, "the body takes more than an hour");
		step = cc_http_body_copy(&body->framing, (struct cc_view){piece, got}, &used, &body->raw);
		if (step == CC_HTTP_BAD || body->raw.failed)
			return cc_fail(err, CC_EINVAL, 0, "the framing of the body is not what HTTP says");
		body->framed = step == CC_HTTP_DONE;
		/* of the next request */
		if (used < got) {
			struct cc_buf rest;

			cc_buf_init(&rest, body->conn->in.max);
			cc_buf_add(&rest, piece + used, got - used);
			cc_buf_add(&rest, body->conn->in.data, body->conn->in.len);
			cc_buf_done(&body->conn->in);
			body->conn->in = rest;
		}
	}
	return CC_OK;
}

static enum cc_code unzip(struct cc_push_body *body, char *out, size_t cap, size_t *out_len, struct cc_err *err)
{
	int state = Z_OK;

	body->z.next_out = (Bytef *)out;
	body->z.avail_out = (uInt)cap;
	while (body->z.avail_out == cap && state == Z_OK) {
		enum cc_code code = body->raw.len ? CC_OK : fetch(body, err);

		if (code != CC_OK)
			return code;
		if (body->raw.len == 0)
			return cc_fail(err, CC_EINVAL, 0, "the body ends before its gzip does");
		body->z.next_in = (Bytef *)body->raw.data;
		body->z.avail_in = (uInt)body->raw.len;
		state = inflate(&body->z, Z_NO_FLUSH);
		cc_buf_eat(&body->raw, body->raw.len - body->z.avail_in);
	}
	if (state != Z_OK && state != Z_STREAM_END)
		return cc_fail(err, CC_EINVAL, 0, "the body is declared to be gzip, and is not");
	*out_len = cap - body->z.avail_out;
	if (state == Z_OK)
		return CC_OK;
	body->ended = true;
	if (body->raw.len == 0 && fetch(body, err) != CC_OK)
		return CC_EPROTO;
	return body->raw.len == 0 ? CC_OK : cc_fail(err, CC_EINVAL, 0, "something follows behind the gzip");
}

enum cc_code cc_push_body_read(struct cc_push_body *body, char *out, size_t cap, size_t *out_len, struct cc_err *err)
{
	enum cc_code code;

	*out_len = 0;
	if (body->ended)
		return CC_OK;
	if (body->gzip)
		return unzip(body, out, cap, out_len, err);
	code = body->raw.len ? CC_OK : fetch(body, err);
	if (code != CC_OK)
		return code;
	*out_len = body->raw.len < cap ? body->raw.len : cap;
	if (*out_len)
		memcpy(out, body->raw.data, *out_len);
	cc_buf_eat(&body->raw, *out_len);
	body->ended = *out_len == 0;
	return CC_OK;
}

void cc_push_body_drain(struct cc_push_body *body)
{
	int64_t until = cc_clock_ms() + DRAIN_MS, left = body->conn->gate->max_bytes;
	struct cc_err err;

	cc_buf_reset(&body->raw);
	while (!body->framed && left > 0 && cc_clock_ms() < until && !body->conn->broken &&
	       fetch(body, &err) == CC_OK) {
		left -= (int64_t)body->raw.len;
		cc_buf_reset(&body->raw);
	}
	body->conn->close |= !body->framed;
}

void cc_push_body_done(struct cc_push_body *body)
{
	if (body->gzip)
		inflateEnd(&body->z);
	cc_buf_done(&body->raw);
	body->gzip = false;
}
