#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cc_buf_init(struct cc_buf *buf, size_t max)
{
	*buf = (struct cc_buf){.max = max};
}

void cc_buf_done(struct cc_buf *buf)
{
	free(buf->data);
	*buf = (struct cc_buf){0};
}

void cc_buf_reset(struct cc_buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

static bool buf_reserve(struct cc_buf *buf, size_t more)
{
	size_t cap = buf->cap ? buf->cap : 256;
	char *data;

	if (buf->failed || more > buf->max || buf->len > buf->max - more) {
		buf->failed = true;
		return false;
	}
	while (cap < buf->len + more + 1)
		cap *= 2;
	if (cap == buf->cap)
		return true;
	data = realloc(buf->data, cap);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->cap = cap;
	return true;
}

void cc_buf_add(struct cc_buf *buf, const void *bytes, size_t len)
{
	if (!buf_reserve(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void cc_buf_adds(struct cc_buf *buf, const char *text)
{
	cc_buf_add(buf, text, strlen(text));
}

void cc_buf_add_quoted(struct cc_buf *buf, struct cc_view word)
{
	cc_buf_adds(buf, "'");
	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] == '\'')
			cc_buf_adds(buf, "'\\''");
		else
			cc_buf_add(buf, word.ptr + i, 1);
	}
	cc_buf_adds(buf, "'");
}

void cc_buf_addf(struct cc_buf *buf, const char *fmt, ...)
{
	va_list args;
	va_list again;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		buf->failed = true;
	else if (buf_reserve(buf, (size_t)len)) {
		vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	}
	va_end(again);
}

void cc_buf_eat(struct cc_buf *buf, size_t len)
{
	if (len >= buf->len) {
		cc_buf_reset(buf);
		return;
	}
	memmove(buf->data, buf->data + len, buf->len - len);
	buf->len -= len;
	buf->data[buf->len] = '\0';
}

struct cc_view cc_buf_view(const struct cc_buf *buf)
{
	return (struct cc_view){buf->data, buf->len};
}

enum cc_code cc_buf_check(const struct cc_buf *buf, const char *what, struct cc_err *err)
{
	if (!buf->failed)
		return CC_OK;
	return cc_fail(err, CC_ELIMIT, 0, "%s is larger than %zu bytes", what, buf->max);
}

void cc_buf_add_utf8(struct cc_buf *buf, struct cc_view text)
{
	for (size_t at = 0; at < text.len;) {
		size_t len = cc_utf8_len((const unsigned char *)text.ptr + at, text.len - at);

		if (len)
			cc_buf_add(buf, text.ptr + at, len);
		else
			cc_buf_adds(buf, "\xef\xbf\xbd");
		at += len ? len : 1;
	}
}
