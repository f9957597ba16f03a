/* dial.h - from an allowed name to a connected socket: look the name up once, judge every address, dial exactly those
 * that survive, in RFC 8305 order. Nothing here runs before cc_net_decide said yes. */
#ifndef CC_PROXY_DIAL_H
#define CC_PROXY_DIAL_H

#include "os/loop.h"
#include "os/net.h"
#include "policy/net.h"

enum {
	CC_DIAL_STAGGER_MS = 250,
	CC_DIAL_ADDRESS_MS = 15000,
	CC_DIAL_TOTAL_MS = 30000,
};

enum cc_dial_outcome {
	CC_DIAL_FAILED = 0, /* errno in sys */
	CC_DIAL_CONNECTED,
	CC_DIAL_REFUSED,   /* by policy: decision says why */
	CC_DIAL_NO_NAME,   /* the name does not exist */
	CC_DIAL_NO_ANSWER, /* the resolver failed */
	CC_DIAL_TIMEOUT,
	CC_DIAL_LIMIT,
	CC_DIAL_PARENT, /* the parent proxy said no */
};

struct cc_dial_result {
	enum cc_dial_outcome outcome;
	int fd; /* CONNECTED: the callback owns it; it is in the loop already, with data to be replaced */
	int sys;
	struct cc_addr addr; /* CONNECTED: dialled; REFUSED: the first that was refused */
	bool own;            /* REFUSED: a listener of the session or its owner is there; no flag opens it */
	struct cc_net_decision decision;
};

struct cc_dialer;
struct cc_dial;
typedef void cc_dial_done_fn(void *context, struct cc_dial_result *result);

/* fn NULL: the system's resolver. */
CC_MUST enum cc_code cc_dialer_new(struct cc_loop *loop, unsigned threads, cc_lookup_fn *fn, void *context,
				   struct cc_dialer **out_dialer, struct cc_err *err);
/* rules must live until the next call; dials under way are judged by the new ones. */
void cc_dialer_set_rules(struct cc_dialer *dialer, const struct cc_net_rules *rules);
/* Never dialled: the proxy's own listeners. */
void cc_dialer_set_listeners(struct cc_dialer *dialer, const int *fds, size_t count);
struct cc_dial_ask {
	const struct cc_host *host;
	uint16_t port;
	bool granted; /* named by an explicit grant: neither name nor address is judged, and no parent is used */
};
/* done is called later, never from here; NULL = out of memory. */
struct cc_dial *cc_dial_start(struct cc_dialer *dialer, const struct cc_dial_ask *ask, int64_t now,
			      cc_dial_done_fn *done, void *context);
void cc_dial_cancel(struct cc_dial *dial); /* done will not be called */
/* Calls what is due; returns when it wants to be called next (INT64_MAX: not before an event). */
int64_t cc_dialer_tick(struct cc_dialer *dialer, int64_t now);
void cc_dialer_sweep(struct cc_dialer *dialer); /* after each batch of events */
void cc_dialer_free(struct cc_dialer *dialer);
CC_OWNED(cc_dialer)

/* Pure but for own (may be NULL): which of the found addresses may be dialled, families interleaved. *first_refused is
 * meaningful when fewer came out than went in. */
typedef bool cc_dial_own_fn(void *context, const struct cc_addr *addr, uint16_t port, bool consented);
void cc_dial_select(const struct cc_net_rules *rules, const struct cc_host *host, uint16_t port,
		    const struct cc_addrs *found, cc_dial_own_fn *own, void *context, struct cc_addrs *out,
		    struct cc_dial_result *first_refused);

#endif
