/* listen.h - where connections come from: each socket that the owner passes has a kind, which says how what arrives at
 * it is read. */
#ifndef CC_PROXY_LISTEN_H
#define CC_PROXY_LISTEN_H

#include "os/peer.h"
#include "proxy/conn.h"
#include "parse/names.h"
#include "wire/json.h"

struct cc_listener {
	struct cc_watch watch;
	struct cc_listeners *all;
	int fd;
	enum cc_arrival kind;
	uint16_t port;
	bool waiting; /* something may wait that was not taken */
};

struct cc_listeners {
	struct cc_shared *shared;
	struct cc_listener list[CC_PEER_FDS];
	size_t count;
	int spare; /* given up for a moment when descriptors run out */
	int64_t again;
};

void cc_listeners_init(struct cc_listeners *all, struct cc_shared *shared);
/* Takes msg's descriptors; kinds names them, one word each (absent: all "proxy"). Once. */
CC_MUST enum cc_code cc_listeners_take(struct cc_listeners *all, const struct cc_json *kinds, struct cc_peer_msg *msg,
				       struct cc_err *err);
/* What waits and is due; all->again says when to come back. */
void cc_listeners_tick(struct cc_listeners *all);
void cc_listeners_done(struct cc_listeners *all);

#endif
