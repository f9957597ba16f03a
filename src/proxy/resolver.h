/* resolver.h - names to addresses, each asked once however many wait for it, and remembered for a short while. */
#ifndef CC_PROXY_RESOLVER_H
#define CC_PROXY_RESOLVER_H

#include "os/loop.h"
#include "os/net.h"

enum {
	CC_RESOLVER_MAX = 8, /* lookups in flight per session */
	CC_RESOLVER_KEEP_MS = 30000,
	CC_RESOLVER_KEEP_FAILED_MS = 2000,
};

struct cc_resolved {
	bool known; /* false: it is being looked up */
	enum cc_lookup_outcome outcome;
	struct cc_addrs addrs;
};
typedef void cc_resolver_told_fn(void *context, const struct cc_resolved *entry);

struct cc_resolver;
/* told is called for each answer; fn NULL: the system's resolver. */
CC_MUST enum cc_code cc_resolver_new(struct cc_loop *loop, unsigned threads, cc_lookup_fn *fn, void *fn_context,
				     cc_resolver_told_fn *told, void *context, struct cc_resolver **out_resolver,
				     struct cc_err *err);
void cc_resolver_now(struct cc_resolver *resolver, int64_t now);
/* The entry lives until it is known and told, and, when known already, until the next call. NULL: too many names. */
const struct cc_resolved *cc_resolver_ask(struct cc_resolver *resolver, const char *name, int64_t now);
void cc_resolver_free(struct cc_resolver *resolver);
CC_OWNED(cc_resolver)

#endif
