/* gate.h - the gate: the only way by which a sandboxed program makes, opens for writing, moves, links or removes a
 * name, or changes metadata. It runs in PID 1, outside the Landlock domain that takes these rights from the program,
 * and answers the filter's notifications by acting itself on objects it has pinned (spec/names; attacks A). */
#ifndef CC_GATE_GATE_H
#define CC_GATE_GATE_H

#include "base/err.h"
#include "gate/report.h"
#include "policy/rules.h"

#include <sys/types.h>

struct cc_gate;

/* Twin builds only: what an attack test must find missing. */
enum {
	CC_OFF_GATE = 1,
	CC_OFF_FILTER = 2,
	CC_OFF_FLOOR = 4,
	CC_OFF_MOUNTS = 8,
	CC_OFF_SPARES = 16,
	/* The launch's own tests are made all the same, and must find out. */
	CC_OFF_UNSEEN_FLOOR = 32,
	CC_OFF_UNSEEN_GATE = 64,
	CC_OFF_CAPTURE = 128,
	CC_OFF_LOCK = 256
};

enum { CC_GATE_THREADS_MIN = 1, CC_GATE_THREADS_MAX = 16 };

/* Looks the writable mounts up and makes every thread there will ever be, parked: their ids are small and known
 * before the filter is written (attacks 13). receivers: how many take calls at the least (turns.h). rules and report
 * stay the caller's and outlive the gate. */
CC_MUST enum cc_code cc_gate_open(const struct cc_rules *rules, struct cc_report *report, unsigned receivers,
				  unsigned off, struct cc_gate **out_gate, struct cc_err *err);
/* In a process that was forked and has none of the threads: their stacks go, which every fork of it would copy. */
void cc_gate_forget_threads(struct cc_gate *gate);
/* Takes the listener and lets the threads go. Every process up to last_reserved is ours. */
CC_MUST enum cc_code cc_gate_start(struct cc_gate *gate, int listener, pid_t last_reserved, struct cc_err *err);

#endif
