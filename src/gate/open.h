/* open.h - what the two halves of the open family share: an open that is wanted, and the objects that are no plain
 * files. */
#ifndef CC_GATE_OPEN_H
#define CC_GATE_OPEN_H

#include "gate/resolve.h"

#include <fcntl.h>

enum {
	ACCESS = 3, /* musl's O_ACCMODE holds O_PATH too */
	BARE_TMPFILE = 020000000,
	/* What open(2) knows; it ignores the rest, openat2 refuses it. */
	KNOWN = 03 | 0100 | 0200 | 0400 | 01000 | 02000 | 04000 | 010000 | 020000 | 040000 | 0100000 | 0200000 |
		0400000 | 01000000 | 02000000 | 04000000 | BARE_TMPFILE,
	CLEARABLE = O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME,
};

struct want {
	uint64_t flags, mode, resolve;
	bool raced; /* the flags lie in the caller's memory (openat2): never to be continued */
};

/* Gives the target its descriptor, without the O_NONBLOCK that kept this thread from waiting. */
int cc_open_hand_over(struct cc_call *call, const struct want *want, int fd);
/* A FIFO whose other end is not there yet; fd is its O_PATH descriptor, taken. */
int cc_open_wait_for_peer(struct cc_call *call, const struct want *want, int fd);
int cc_open_wait_at(struct cc_call *call, const struct want *want, const struct cc_loc *loc);
/* Devices, terminals, procfs: the kernel opens them in the target where reads are not judged. */
int cc_open_special(struct cc_call *call, const struct want *want, struct cc_obj *obj);
bool cc_is_special(const struct cc_gate *gate, const struct cc_obj *obj);

#endif
