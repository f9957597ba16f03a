/* body.c - the body half of http.h: a transformer that takes framed bytes and writes only what it understood. */
#include "parse/http.h"

#include "base/mem.h"

#include <string.h>

/* Places inside a chunked body */
enum {
	SIZE_DIGITS = 0,
	SIZE_EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,
	TRAILER_LF,
	LAST_LF,
	COMPLETE,
	PLACES
};

void cc_http_body_init(struct cc_http_body *body, const struct cc_http_head *head)
{
	*body = (struct cc_http_body){.framing = head->framing};
	if (head->framing == CC_HTTP_LENGTH)
		body->left = head->length;
}

static enum cc_http_step size_digits(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	int digit = cc_hex_value(byte);

	(void)out;
	if (digit >= 0) {
		body->left = body->left << 4 | (uint64_t)digit;
		return ++body->digits > 15 ? CC_HTTP_BAD : CC_HTTP_MORE;
	}
	if (body->digits == 0)
		return CC_HTTP_BAD;
	body->place = byte == '\r' ? SIZE_LF : SIZE_EXTENSION;
	return byte == '\r' || byte == ';' || byte == ' ' || byte == '\t' ? CC_HTTP_MORE : CC_HTTP_BAD;
}

static enum cc_http_step size_extension(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	(void)out;
	if (byte == '\r')
		body->place = SIZE_LF;
	return (unsigned char)byte >= 0x20 || byte == '\t' || byte == '\r' ? CC_HTTP_MORE : CC_HTTP_BAD;
}

static enum cc_http_step size_lf(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	if (byte != '\n')
		return CC_HTTP_BAD;
	body->place = body->left ? DATA : TRAILER;
	body->line = 0;
	body->digits = 0;
	if (body->left && !body->raw)
		cc_buf_addf(out, "%llx\r\n", (unsigned long long)body->left);
	return CC_HTTP_MORE;
}

static enum cc_http_step data_cr(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	(void)out;
	body->place = DATA_LF;
	return byte == '\r' ? CC_HTTP_MORE : CC_HTTP_BAD;
}

static enum cc_http_step data_lf(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	body->place = SIZE_DIGITS;
	body->line = 0;
	if (!body->raw)
		cc_buf_adds(out, "\r\n");
	return byte == '\n' ? CC_HTTP_MORE : CC_HTTP_BAD;
}

/* Trailers are read and dropped; an empty line ends them. digits counts the bytes of the present trailer. */
static enum cc_http_step trailer(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	(void)out;
	if (byte == '\r') {
		body->place = body->digits ? TRAILER_LF : LAST_LF;
		body->digits = 0;
		return CC_HTTP_MORE;
	}
	body->digits++;
	return (unsigned char)byte >= 0x20 || byte == '\t' ? CC_HTTP_MORE : CC_HTTP_BAD;
}

static enum cc_http_step trailer_lf(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	(void)out;
	body->place = TRAILER;
	return byte == '\n' ? CC_HTTP_MORE : CC_HTTP_BAD;
}

static enum cc_http_step last_lf(struct cc_http_body *body, char byte, struct cc_buf *out)
{
	if (byte != '\n')
		return CC_HTTP_BAD;
	body->place = COMPLETE;
	if (!body->raw)
		cc_buf_adds(out, "0\r\n\r\n");
	return CC_HTTP_DONE;
}

typedef enum cc_http_step place_fn(struct cc_http_body *body, char byte, struct cc_buf *out);
static place_fn *const places[PLACES] = {
	[SIZE_DIGITS] = size_digits, [SIZE_EXTENSION] = size_extension,
	[SIZE_LF] = size_lf,         [DATA_CR] = data_cr,
	[DATA_LF] = data_lf,         [TRAILER] = trailer,
	[TRAILER_LF] = trailer_lf,   [LAST_LF] = last_lf,
};

static size_t take_data(struct cc_http_body *body, struct cc_view in, struct cc_buf *out)
{
	size_t take = body->left < in.len ? (size_t)body->left : in.len;

	cc_buf_add(out, in.ptr, take);
	body->left -= take;
	return take;
}

static enum cc_http_step copy_chunked(struct cc_http_body *body, struct cc_view in, size_t *used, struct cc_buf *out)
{
	if (body->place == COMPLETE)
		return CC_HTTP_DONE;
	while (*used < in.len) {
		enum cc_http_step step;

		if (body->place == DATA) {
			*used += take_data(body, (struct cc_view){in.ptr + *used, in.len - *used}, out);
			if (body->left == 0)
				body->place = DATA_CR;
			continue;
		}
		if (++body->line > CC_HTTP_LINE_MAX)
			return CC_HTTP_BAD;
		step = places[body->place](body, in.ptr[(*used)++], out);
		if (step != CC_HTTP_MORE)
			return step;
	}
	return CC_HTTP_MORE;
}

enum cc_http_step cc_http_body_copy(struct cc_http_body *body, struct cc_view in, size_t *used, struct cc_buf *out)
{
	*used = 0;
	if (body->framing == CC_HTTP_NO_BODY)
		return CC_HTTP_DONE;
	if (body->framing == CC_HTTP_CHUNKED)
		return copy_chunked(body, in, used, out);
	if (body->framing == CC_HTTP_TO_END) {
		cc_buf_add(out, in.ptr, in.len);
		*used = in.len;
		return CC_HTTP_MORE;
	}
	*used = take_data(body, in, out);
	return body->left ? CC_HTTP_MORE : CC_HTTP_DONE;
}
