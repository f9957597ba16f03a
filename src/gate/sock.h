/* sock.h - which listeners may be reached by path. */
#ifndef CC_GATE_SOCK_H
#define CC_GATE_SOCK_H

#include "gate/call.h"

/* Pins the sockets that the rules grant, as they are at the start: a granted name is worth nothing where the agent can
 * move another socket onto it. */
void cc_sock_grant(struct cc_gate *gate);

#endif
