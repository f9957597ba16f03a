/* lines.h - messages of one line each, out of bytes as they come. Pure. */
#ifndef CC_WIRE_LINES_H
#define CC_WIRE_LINES_H

#include "base/buf.h"

#include <stdbool.h>

struct cc_lines {
	struct cc_buf bytes;
	size_t scanned; /* no line feed before it */
	size_t taken;   /* length of the line that was given out, with its feed */
};

/* max bounds a line. */
void cc_lines_init(struct cc_lines *lines, size_t max);
void cc_lines_done(struct cc_lines *lines);
/* False: a line is longer than the bound, and stays so. */
bool cc_lines_add(struct cc_lines *lines, const char *bytes, size_t len);
/* The next whole line without its feed, good until the next call; lines of white space are passed over. */
bool cc_lines_next(struct cc_lines *lines, struct cc_view *out_line);

#endif
