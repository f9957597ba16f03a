/* parent.h - the operator's own HTTP proxy, asked by CONNECT for every host. What lies behind it is beyond our sight:
 * only names, and literals, can be judged then. */
#ifndef CC_PROXY_PARENT_H
#define CC_PROXY_PARENT_H

#include "base/mem.h"
#include "policy/net.h"

enum cc_parent_step { CC_PARENT_REFUSED = 0, CC_PARENT_WAIT, CC_PARENT_READY };

struct cc_parent;
/* The request for host:port; NULL: out of memory. */
struct cc_parent *cc_parent_new(const struct cc_net_parent *rules, const struct cc_host *host, uint16_t port);
/* Sends and reads as far as the connected socket goes; not one byte behind the answer's head is taken. */
enum cc_parent_step cc_parent_go(struct cc_parent *parent, int fd);
void cc_parent_free(struct cc_parent *parent);

#endif
