/* proxy.h - the process cc-proxy: takes policy and listeners from the session's owner, serves until the owner is gone
 * (wire/msg.h says what is exchanged). */
#ifndef CC_PROXY_PROXY_H
#define CC_PROXY_PROXY_H

#include "base/err.h"
#include "base/mem.h"
#include "os/net.h"

struct cc_proxy;

/* The lookup threads start here; fn NULL: the system's resolver. control stays the caller's. */
CC_MUST enum cc_code cc_proxy_new(int control, cc_lookup_fn *fn, void *context, struct cc_proxy **out_proxy,
				  struct cc_err *err);
/* Until the owner closes its end: CC_OK. Anything else was told to the owner as "failed". */
CC_MUST enum cc_code cc_proxy_run(struct cc_proxy *proxy, struct cc_err *err);
void cc_proxy_free(struct cc_proxy *proxy);
CC_OWNED(cc_proxy)

#endif
