/* mounts.h - a mount that disappears takes a rule with it: a host that replaces a masked file detaches the mask
 * (attacks 6). PID 1 hears of every change and compares. */
#ifndef CC_INIT_MOUNTS_H
#define CC_INIT_MOUNTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct cc_mounts;

/* Remembers the mounts there are. */
CC_MUST enum cc_code cc_mounts_watch(struct cc_mounts **out_mounts, struct cc_err *err);
/* Polled for POLLPRI. */
int cc_mounts_fd(const struct cc_mounts *mounts);
/* After a change: true when one that was there is gone; its mount point is put into lost. */
bool cc_mounts_lost(struct cc_mounts *mounts, char *lost, size_t cap);

#endif
