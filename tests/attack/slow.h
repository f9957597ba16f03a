/* slow.h - a file system whose pages do not come: a FUSE server of the driver's own, for memory that stalls whoever
 * copies it. "page" is a file of SLOW_PAGES pages; no read of it is answered before somebody looks up "release", or
 * SLOW_MS have passed; then "late" exists if it was the time. Root only. */
#ifndef ATTACK_SLOW_H
#define ATTACK_SLOW_H

#include <stdbool.h>

enum { SLOW_PAGES = 64, SLOW_MS = 8000 };

/* Mounts it, in a mount namespace of the driver's own, and serves it from a thread. */
bool slow_mount(const char *path);

#endif
