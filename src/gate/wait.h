/* wait.h - the one thread that finishes calls that would block (FIFO opens, connects), by trying again without
 * blocking until they are done or their caller is gone. Bounded by CC_JOBS_MAX. */
#ifndef CC_GATE_WAIT_H
#define CC_GATE_WAIT_H

#include "gate/call.h"

enum { CC_GATE_LOST = 125 };

void cc_gate_arrive(struct cc_gate *gate); /* the caller's thread is there, and needs nothing more to start */
void cc_gate_park(struct cc_gate *gate);   /* that, and it sleeps until the gate starts */
CC_MUST enum cc_code cc_waiter_start(struct cc_gate *gate, const pthread_attr_t *attr, struct cc_err *err);

#endif
