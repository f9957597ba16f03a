#include "wire/lines.h"

#include <string.h>

void cc_lines_init(struct cc_lines *lines, size_t max)
{
	*lines = (struct cc_lines){0};
	cc_buf_init(&lines->bytes, max);
}

void cc_lines_done(struct cc_lines *lines)
{
	cc_buf_done(&lines->bytes);
}

static void let_go(struct cc_lines *lines)
{
	cc_buf_eat(&lines->bytes, lines->taken);
	lines->taken = 0;
}

bool cc_lines_add(struct cc_lines *lines, const char *bytes, size_t len)
{
	let_go(lines);
	cc_buf_add(&lines->bytes, bytes, len);
	return !lines->bytes.failed;
}

static bool is_blank(struct cc_view line)
{
	for (size_t i = 0; i < line.len; i++)
		if (!strchr(" \t\r", line.ptr[i]) || !line.ptr[i])
			return false;
	return true;
}

bool cc_lines_next(struct cc_lines *lines, struct cc_view *out_line)
{
	for (;;) {
		struct cc_buf *bytes = &lines->bytes;
		const char *end;

		let_go(lines);
		end = bytes->len > lines->scanned
			      ? memchr(bytes->data + lines->scanned, '\n', bytes->len - lines->scanned)
			      : NULL;
		if (!end) {
			lines->scanned = bytes->len;
			return false;
		}
		*out_line = (struct cc_view){bytes->data, (size_t)(end - bytes->data)};
		lines->taken = out_line->len + 1;
		lines->scanned = 0;
		if (!is_blank(*out_line))
			return true;
	}
}
