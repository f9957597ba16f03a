/* advert.h - what an upstream says it has, read while it passes: where its branches and tags stand. Only what it has
 * said itself counts as known to it; what a push says of that is its own claim. Pure. */
#ifndef CC_PUSH_ADVERT_H
#define CC_PUSH_ADVERT_H

#include "push/commands.h"

enum { CC_PUSH_TIPS = 100000 };

struct cc_push_advert {
	char (*tips)[CC_PUSH_OID + 1]; /* each once; more than CC_PUSH_TIPS: those that came first */
	size_t count, room;
	unsigned flushes; /* 2: it is whole */
	bool service;     /* its first line was seen */
};

/* Takes whole packets from bytes. BAD: this is no advertisement for a push. */
enum cc_push_step cc_push_advert_feed(struct cc_push_advert *advert, struct cc_view bytes, size_t *out_used,
				      struct cc_err *err);
void cc_push_advert_done(struct cc_push_advert *advert);

#endif
