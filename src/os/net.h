/* net.h - TCP sockets and name lookups. Addresses are plain bytes; the port is beside them. */
#ifndef CC_OS_NET_H
#define CC_OS_NET_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CC_ADDRS_MAX = 8 };

struct cc_addr {
	uint8_t bytes[16];
	uint8_t len; /* 4 or 16 */
};

struct cc_addrs {
	struct cc_addr list[CC_ADDRS_MAX];
	size_t count;
};

/* Starts a connection, non-blocking. *out_fd is owned by the caller; *out_pending false when it is already there.
 * On failure err->sys is the reason. */
CC_MUST enum cc_code cc_net_connect(const struct cc_addr *addr, uint16_t port, int *out_fd, bool *out_pending,
				    struct cc_err *err);
int cc_net_socket_error(int fd); /* the errno a finished attempt left behind, 0 = none */
/* Options that accepted connections inherit: no delay, keep-alive after 60 s, every 15 s, 4 times; non-blocking. */
bool cc_net_prepare_listener(int fd);
/* Accepts one connection, non-blocking. -1 with errno. */
int cc_net_accept(int listener);
void cc_net_reset_on_close(int fd); /* the peer will see RST */
uint16_t cc_net_port(int listener); /* 0 = unknown */
/* The address and port at this end: of a captured connection, what its client dialled. False: unknown. */
bool cc_net_local(int fd, struct cc_addr *out, uint16_t *out_port);
/* Connects a socket that was made elsewhere, perhaps in another network namespace, to that one's 127.0.0.1. */
CC_MUST enum cc_code cc_net_connect_loopback(int fd, uint16_t port, bool six, struct cc_err *err);

bool cc_net_is_this_host(const char *name); /* the machine's own name, in any case of letters */

/* One datagram, and back to where it came from. */
struct cc_net_from {
	char room[128];
	unsigned len;
};
long cc_net_receive(int fd, char *into, size_t max, struct cc_net_from *out_from); /* -1 with errno */
void cc_net_answer(int fd, const void *bytes, size_t len, const struct cc_net_from *to);
/* Is addr:port what the listener itself is bound to, seen from this network namespace? */
bool cc_net_is_listener(int listener, const struct cc_addr *addr, uint16_t port);
/* Is addr one of this host's own interface addresses? */
bool cc_net_is_own(const struct cc_addr *addr);

/* Lookups run in a few threads, so that NSS, /etc/hosts and split DNS answer as on the host. */
enum cc_lookup_outcome { CC_LOOKUP_FAILED = 0, CC_LOOKUP_OK, CC_LOOKUP_NONE, CC_LOOKUP_AGAIN };
/* Blocks; runs in a lookup thread. */
typedef enum cc_lookup_outcome cc_lookup_fn(void *context, const char *name, struct cc_addrs *out);
enum cc_lookup_outcome cc_lookup_system(void *context, const char *name, struct cc_addrs *out);

struct cc_lookups;
struct cc_lookup_answer {
	uint64_t id;
	enum cc_lookup_outcome outcome;
	struct cc_addrs addrs;
};
/* The threads are made here and wait. fn NULL = cc_lookup_system. */
CC_MUST enum cc_code cc_lookups_new(unsigned threads, cc_lookup_fn *fn, void *context, struct cc_lookups **out_lookups,
				    struct cc_err *err);
int cc_lookups_fd(const struct cc_lookups *lookups); /* readable when an answer waits */
CC_MUST enum cc_code cc_lookups_ask(struct cc_lookups *lookups, uint64_t id, const char *name, struct cc_err *err);
bool cc_lookups_take_answer(struct cc_lookups *lookups, struct cc_lookup_answer *out);
/* Threads that hang in a resolver are left behind with the shared state; the process is about to end. */
void cc_lookups_free(struct cc_lookups *lookups);
CC_OWNED(cc_lookups)

#endif
