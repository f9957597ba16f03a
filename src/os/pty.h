/* pty.h - the person's terminal while a session uses it: raw mode that is always undone, window size, and a filter that
 * keeps the sandbox's output from speaking to the terminal in ways that reach back (clipboard, titles, key replies). */
#ifndef CC_OS_PTY_H
#define CC_OS_PTY_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct cc_pty_size {
	unsigned short rows, cols;
};

/* A pseudo terminal of the host (backend none). */
CC_MUST enum cc_code cc_pty_open(struct cc_pty_size size, int *out_master, int *out_slave, struct cc_err *err);
bool cc_pty_get_size(int fd, struct cc_pty_size *out_size);
void cc_pty_set_size(int fd, struct cc_pty_size size);
/* Raw mode on fd; remembered and restored by cc_pty_restore. One terminal. */
bool cc_pty_raw(int fd);
void cc_pty_restore(void);
/* End of a session on a terminal: modes a program may have left on are switched off, pending input is dropped. */
void cc_pty_tidy(int fd, bool alternate);

/* Output filter: a small state machine over the bytes, so that a sequence split over reads is still seen.
 * Removed: OSC 52 (clipboard), OSC 1337, OSC 133/633 (shell integration), DCS @kitty and tmux; (replies as typed
 * input), CSI 20t/21t (title report). */
struct cc_pty_filter {
	unsigned state;
	size_t held;
	char hold[64];
	bool alternate; /* the program has switched to the alternate screen and not back */
	bool bell_ends; /* while dropping: an OSC ends at BEL, a DCS does not */
};
void cc_pty_filter(struct cc_pty_filter *filter, const char *bytes, size_t len, struct cc_buf *out);
/* Bytes held back at the end of the stream. */
void cc_pty_filter_end(struct cc_pty_filter *filter, struct cc_buf *out);

#endif
