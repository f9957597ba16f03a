#define _GNU_SOURCE
#include "tools/place.h"

#include "base/mem.h"
#include "tools/text.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 2000, LINE_MAX_SHOWN = 2000, LOOKED_AT = 8000 };

/* "N", "A-B", "A+n", or offset and limit. Lines count from 1. */
static enum cc_code range_of(const struct cc_json *args, int64_t *out_from, int64_t *out_count, struct cc_err *err)
{
	const char *sel = cc_json_str(args, "sel", "");
	long long from = cc_json_int(args, "offset", 1), other = 0;
	char kind = 0, rest = 0;

	*out_count = cc_json_int(args, "limit", LINES);
	if (*sel) {
		int got = sscanf(sel, "%lld%c%lld%c", &from, &kind, &other, &rest);

		if (got == 1)
			*out_count = 1;
		else if (got == 3 && kind == '-' && other >= from)
			*out_count = other - from + 1;
		else if (got == 3 && kind == '+' && other >= 0)
			*out_count = other + 1;
		else
			return cc_fail(err, CC_EINVAL, 0, "sel is \"N\", \"A-B\" or \"A+n\", not \"%.40s\"", sel);
	}
	*out_from = from;
	if (from < 1 || *out_count < 1)
		return cc_fail(err, CC_EINVAL, 0, "lines count from 1, and at least one is read");
	if (*out_count > LINES)
		*out_count = LINES;
	return CC_OK;
}

static void show_lines(struct cc_view text, int64_t from, int64_t count, struct cc_buf *out)
{
	size_t at = 0;

	for (int64_t number = 1; at < text.len && number < from + count; number++) {
		struct cc_view line = cc_text_line(text, &at);

		if (number < from)
			continue;
		cc_buf_addf(out, "%lld\t", (long long)number);
		cc_buf_add(out, line.ptr, line.len < LINE_MAX_SHOWN ? line.len : LINE_MAX_SHOWN);
		if (line.len > LINE_MAX_SHOWN)
			cc_buf_addf(out, " [%zu bytes more]", line.len - LINE_MAX_SHOWN);
		cc_buf_adds(out, "\n");
	}
}

enum cc_code cc_tool_read(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out, struct cc_err *err)
{
	const char *path = cc_json_str(args, "path", "");
	CC_AUTO_PLACE place = {.parent = -1};
	struct cc_buf text;
	int64_t from = 1, count = 1;
	enum cc_code code = range_of(args, &from, &count, err);

	cc_buf_init(&text, CC_TOOL_FILE_MAX + 1);
	if (code == CC_OK)
		code = cc_place_find(tools, path, false, &place, err);
	if (code == CC_OK && !place.there) {
		char near[300] = "";

		cc_text_near(&place, near, sizeof(near));
		code = cc_fail(err, CC_ENOTFOUND, 0, "%.150s is not there%s%.200s", path, *near ? "; near it: " : "",
			       near);
	}
	if (code == CC_OK)
		code = cc_place_read(tools, &place, &text, err);
	if (code == CC_OK && text.len && memchr(text.data, 0, text.len < LOOKED_AT ? text.len : LOOKED_AT))
		code = cc_fail(err, CC_EINVAL, 0, "%.200s is no text", path);
	if (code == CC_OK) {
		size_t lines = cc_text_lines(cc_buf_view(&text)), shown = (size_t)from + (size_t)count - 1;

		cc_buf_addf(out, "%s: %zu lines, hash %s\n", place.path, lines, cc_text_hash(cc_buf_view(&text)).text);
		show_lines(cc_buf_view(&text), from, count, out);
		if (shown < lines)
			cc_buf_addf(out, "[%zu lines more: offset %zu]\n", lines - shown, shown + 1);
	}
	cc_buf_done(&text);
	return code;
}
