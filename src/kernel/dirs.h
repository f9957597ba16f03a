/* dirs.h - the directories a thread used last, kept open under their canonical path, so that the next name in one of
 * them costs no look-up. No link lies on such a path: only moving or removing a directory can make it mean another one.
 * What the sandbox does so counts an epoch on, and nothing older is believed; what the host does is noticed within
 * CC_DIRS_MS, as late as if it had happened between look-up and act. */
#ifndef CC_KERNEL_DIRS_H
#define CC_KERNEL_DIRS_H

#include "kernel/calls.h"

enum { CC_DIRS = 32, CC_DIRS_PATH = 448, CC_DIRS_MS = 20 };

struct cc_dir {
	unsigned epoch;
	uint64_t since_ms, used_by; /* used_by: the call that has it in use */
	int fd;
	struct cc_statx st;
	const void *mount; /* the user's; NULL: nothing is kept here */
	size_t from;       /* that much of the path was not walked: a descriptor stood for it */
	size_t len;
	char path[CC_DIRS_PATH];
};

/* Zeroed, it holds none. */
struct cc_dirs {
	struct cc_dir items[CC_DIRS];
};

/* The directory at that path, for the call of that number; NULL: not kept. from: the walk would begin there, so what is
 * kept must have begun there or above, or the caller may not be allowed to go through what was left out. */
const struct cc_dir *cc_dirs_get(struct cc_dirs *dirs, unsigned epoch, uint64_t call, const char *path, size_t len,
				 size_t from);
/* Keeps what of (all of it but times and use). False: not kept, fd stays the caller's. */
bool cc_dirs_put(struct cc_dirs *dirs, uint64_t call, const char *path, size_t len, const struct cc_dir *what);

#endif
