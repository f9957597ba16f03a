/* bridge.h - the older way out of a session's network namespace (contract 1.7): per proxy one socat on the host and one
 * inside, over a socket in a private directory. The inner one is started by cc-init. Asked for by name only: it costs a
 * process per connection. */
#ifndef CC_SESSION_BRIDGE_H
#define CC_SESSION_BRIDGE_H

#include "base/err.h"
#include "os/proc.h"

#include <limits.h>

enum { CC_BRIDGES = 2 };

struct cc_bridge {
	char dir[200]; /* ours alone; empty: there is no bridge */
	char socat[PATH_MAX];
	int listeners[CC_BRIDGES]; /* where the proxy accepts: HTTP, SOCKS */
	struct cc_child children[CC_BRIDGES];
};

void cc_bridge_init(struct cc_bridge *bridge);
/* CC_ENOTFOUND names the package when socat is missing. */
CC_MUST enum cc_code cc_bridge_open(char *const *env, struct cc_bridge *bridge, struct cc_err *err);
void cc_bridge_close(struct cc_bridge *bridge);

#endif
