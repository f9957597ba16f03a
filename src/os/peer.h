/* peer.h - the socketpairs between our own processes: whole messages (SOCK_SEQPACKET), each with up to
 * CC_PEER_FDS descriptors. A message is JSON text of at most CC_PEER_MAX bytes; larger things travel as a
 * memory file beside it. Received descriptors are CLOEXEC. */
#ifndef CC_OS_PEER_H
#define CC_OS_PEER_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

enum { CC_PEER_MAX = 65536, CC_PEER_FDS = 32 };

struct cc_peer_msg {
	size_t len; /* 0 = the peer has closed */
	int fds[CC_PEER_FDS];
	size_t fd_count;
	char text[CC_PEER_MAX + 1]; /* NUL-terminated */
};

/* Both ends are CLOEXEC and blocking. */
CC_MUST enum cc_code cc_peer_pair(int *out_ours, int *out_theirs, struct cc_err *err);
/* Sends one message; fds may be NULL. The descriptors stay open here. */
CC_MUST enum cc_code cc_peer_send(int sock, const char *text, size_t len, const int *fds, size_t fd_count,
				  struct cc_err *err);
/* Receives one message. CC_OK with len 0 = end of file. CC_ETIMEOUT when nothing is there on a non-blocking
 * socket. Truncated messages are CC_EPROTO and their descriptors are closed. */
CC_MUST enum cc_code cc_peer_recv(int sock, struct cc_peer_msg *out, struct cc_err *err);
/* What a helper is started with: a message with one memory file, whose text goes into out (initialised, with its max).
 */
CC_MUST enum cc_code cc_peer_recv_file(int sock, struct cc_buf *out, struct cc_err *err);
/* Waits at most timeout_ms (negative: for ever), then receives. */
CC_MUST enum cc_code cc_peer_recv_wait(int sock, int timeout_ms, struct cc_peer_msg *out, struct cc_err *err);
/* Closes the descriptors nobody took out of the message (taken slots are set to -1 by the taker). */
void cc_peer_msg_close(struct cc_peer_msg *msg);

#endif
