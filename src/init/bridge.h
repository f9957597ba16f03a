/* bridge.h - the inner half of --bridge socat (session/bridge.h). It is started before the zygote: socat needs a kind
 * of socket pair that the agent's filter refuses, and a pid that the agent may not signal. */
#ifndef CC_INIT_BRIDGE_H
#define CC_INIT_BRIDGE_H

#include "base/err.h"

/* One socat for each proxy port; returns when both listen. */
CC_MUST enum cc_code cc_bridge_inside(const char *socat, struct cc_err *err);

#endif
