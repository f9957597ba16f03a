/* title.h - what a program calls its window: OSC 0 and OSC 2 out of the terminal's output. A bounded state machine:
 * what is too long is cut, what never ends is forgotten, and only text that cannot pass for something else comes out.
 */
#ifndef CC_TERMINAL_TITLE_H
#define CC_TERMINAL_TITLE_H

#include "base/view.h"

#include <stdbool.h>

enum { CC_TITLE_MAX = 256 };

/* Zeroed memory is the start. */
struct cc_title {
	unsigned state;
	unsigned number; /* of the OSC */
	size_t len, seen;
	char raw[CC_TITLE_MAX];
	char text[CC_TITLE_MAX + 1]; /* the title in force: UTF-8 without controls */
};

/* True: text is another than before. */
bool cc_title_feed(struct cc_title *title, struct cc_view output);

#endif
