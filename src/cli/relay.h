/* relay.h - bytes between the person's standard streams and the command's pipes or terminal. The command never holds a
 * descriptor of the host (attacks 2), so every byte crosses here; pipes are spliced where the kernel can. */
#ifndef CC_CLI_RELAY_H
#define CC_CLI_RELAY_H

#include "os/pty.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct cc_stream;

/* What passed, for the event log. NULL when nobody listens (then bytes may be spliced unseen). */
typedef void cc_stream_seen(void *context, int which, const char *bytes, size_t len);

/* Moves bytes from one descriptor to the other until end of file. `from` is closed with the stream, `to` only when
 * close_to. which: 0, 1, 2 as seen by the person. filter: terminal output of a PTY. */
struct cc_stream *cc_stream_new(int which, int from, int to, bool close_to, bool filter, cc_stream_seen *seen,
				void *context);
void cc_stream_free(struct cc_stream *stream);
/* Both lead to the same terminal: one filter sees the bytes of both in the order in which they are written. Neither has
 * been polled yet. */
void cc_stream_join(struct cc_stream *stream, struct cc_stream *with);
/* Adds 0 or 1 entries. */
size_t cc_stream_poll(const struct cc_stream *stream, struct pollfd *out_entry);
/* Takes what poll said of that entry. */
void cc_stream_step(struct cc_stream *stream, short revents);
/* A full-screen program left the terminal on its alternate screen. */
bool cc_stream_alternate(const struct cc_stream *stream);
bool cc_stream_finished(const struct cc_stream *stream);

#endif
