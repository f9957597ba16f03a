/* listen.h - the sockets that only this network namespace can give: the proxies' listeners, the resolver's socket, the
 * capture of programs that know no proxy, and ports of the host that were asked for. All go to the owner. */
#ifndef CC_INIT_LISTEN_H
#define CC_INIT_LISTEN_H

#include "init/setup.h"

CC_MUST enum cc_code cc_step_listen(struct cc_init *init, struct cc_err *err);

#endif
