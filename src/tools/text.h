/* text.h - lines, hashes and near names: what the file tools share about texts. Private to the room. */
#ifndef CC_TOOLS_TEXT_H
#define CC_TOOLS_TEXT_H

#include "tools/place.h"

/* The line at *at, without its line feed; *at moves behind it. */
struct cc_view cc_text_line(struct cc_view text, size_t *at);
size_t cc_text_lines(struct cc_view text);
/* 64 bits of FNV-1a as 16 hexadecimal digits: an anchor that says "this version", no protection. */
struct cc_text_hash {
	char text[17];
};
struct cc_text_hash cc_text_hash(struct cc_view text);
/* Up to five names in the same directory that look like the missing one, with commas. */
void cc_text_near(const struct cc_place *place, char *out, size_t cap);
/* How often needle occurs; *out_first is where. */
size_t cc_text_count(struct cc_view text, struct cc_view needle, size_t *out_first);

#endif
