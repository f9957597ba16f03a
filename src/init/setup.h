/* setup.h - what cc-init does once, in order, each step with a name that a failure carries to the owner. */
#ifndef CC_INIT_SETUP_H
#define CC_INIT_SETUP_H

#include "base/err.h"
#include "gate/gate.h"
#include "policy/rules.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { CC_INIT_LISTEN_MAX = 8 };

struct cc_init {
	int control;
	struct cc_rules *rules;
	uint16_t ports[CC_INIT_LISTEN_MAX];
	size_t port_count;
	unsigned threads;
	unsigned off;     /* CC_OFF_*; twin builds only */
	char fail_at[32]; /* twin builds only: the step that fails as if the system had refused it */
	struct cc_report *report;
	struct cc_gate *gate;
	int listener; /* of the filter, after the zygote gave it */
	int zygote;   /* socket */
	pid_t zygote_pid;
	bool frozen; /* by us: that a command stops then is no news */
	int landlock_abi;
	char bridge[4096]; /* socat, where it is to carry what the proxies get; empty: they have sockets of ours */
	char capture_fault[200]; /* why programs without a proxy are not served; empty: they are, or nobody asked */
	int64_t pids;            /* most processes and threads inside; 0: no limit of ours */
	struct rlimit files;     /* as PID 1 was started: the programs get it back */
};

/* Runs every step up to the message `ready`. On failure the owner was told which one. */
CC_MUST enum cc_code cc_setup(struct cc_init *init, struct cc_err *err);

/* Sends one message whole, waiting if the owner is slow: for answers, which must not be lost. */
CC_MUST enum cc_code cc_tell_owner(int control, const char *text, size_t len, const int *fds, size_t fd_count,
				   struct cc_err *err);

#endif
