#include "push/pktline.h"

#include <stdarg.h>
#include <stdio.h>

enum { HEAD = 4, LINE = 4096 };

enum cc_pkt cc_pkt_take(struct cc_view bytes, struct cc_view *out_data, size_t *out_used)
{
	size_t len = 0;

	for (size_t i = 0; i < HEAD; i++) {
		int digit = i < bytes.len ? cc_hex_value(bytes.ptr[i]) : 0;

		if (digit < 0)
			return CC_PKT_BAD;
		len = len << 4 | (size_t)digit;
	}
	if (bytes.len < HEAD)
		return CC_PKT_MORE;
	*out_data = (struct cc_view){NULL, 0};
	*out_used = HEAD;
	if (len < 3)
		return len == 0 ? CC_PKT_FLUSH : len == 1 ? CC_PKT_DELIM : CC_PKT_END;
	if (len < HEAD || len > CC_PKT_MAX)
		return CC_PKT_BAD;
	if (bytes.len < len)
		return CC_PKT_MORE;
	*out_data = (struct cc_view){bytes.ptr + HEAD, len - HEAD};
	*out_used = len;
	return CC_PKT_DATA;
}

enum cc_pkt cc_pkt_next(struct cc_view bytes, size_t *at, struct cc_view *out_data)
{
	size_t used = 0;
	enum cc_pkt kind = cc_pkt_take((struct cc_view){bytes.ptr + *at, bytes.len - *at}, out_data, &used);

	if (kind != CC_PKT_MORE && kind != CC_PKT_BAD)
		*at += used;
	return kind;
}

void cc_pkt_add(struct cc_buf *out, struct cc_view data)
{
	if (data.len > CC_PKT_MAX - HEAD) {
		out->failed = true;
		return;
	}
	cc_buf_addf(out, "%04zx", data.len + HEAD);
	cc_buf_add(out, data.ptr, data.len);
}

void cc_pkt_addf(struct cc_buf *out, const char *fmt, ...)
{
	char line[LINE];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(line))
		out->failed = true;
	else
		cc_pkt_add(out, (struct cc_view){line, (size_t)len});
}

void cc_pkt_flush(struct cc_buf *out)
{
	cc_buf_adds(out, "0000");
}

void cc_pkt_band(struct cc_buf *out, unsigned band, struct cc_view data)
{
	char head = (char)band;

	while (data.len) {
		size_t take = data.len < CC_PKT_MAX - HEAD - 1 ? data.len : CC_PKT_MAX - HEAD - 1;

		cc_buf_addf(out, "%04zx", take + HEAD + 1);
		cc_buf_add(out, &head, 1);
		cc_buf_add(out, data.ptr, take);
		data.ptr += take;
		data.len -= take;
	}
}
