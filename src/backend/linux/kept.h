/* kept.h - backend none for an owner that lives on: each command has a keeper (cc-keeper), which adopts what the
 * command leaves behind and ends all of it, whatever session or group it is in. It is no boundary: a program that kills
 * its keeper and has left the terminal's session goes on. */
#ifndef CC_BACKEND_LINUX_KEPT_H
#define CC_BACKEND_LINUX_KEPT_H

#include "backend/backend.h"

extern const struct cc_backend cc_backend_kept;

/* How long the keeper waits after SIGHUP before it kills. */
enum { CC_KEEPER_GRACE_MS = 500 };

#endif
