/* capture.h - connections of programs that know nothing of proxies (contract 7, spec/egress 10). Inside, names get
 * addresses of a range that is nobody's; packets for that range are local, and one netfilter rule hands each new TCP
 * connection, whatever its port, to one listener, which still sees the address that was dialled. No connection
 * tracking, no address is rewritten. */
#ifndef CC_INIT_CAPTURE_H
#define CC_INIT_CAPTURE_H

#include "base/err.h"
#include "policy/net.h"

#include <stdint.h>

/* In the session's own network namespace, while CAP_NET_ADMIN is there. */
CC_MUST enum cc_code cc_capture_routes(const struct cc_net_rules *net, struct cc_err *err);
CC_MUST enum cc_code cc_capture_rule(uint16_t port, struct cc_err *err);

#endif
