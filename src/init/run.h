/* run.h - the processes of a session: started on request, reaped, reported. */
#ifndef CC_INIT_RUN_H
#define CC_INIT_RUN_H

#include "init/setup.h"
#include "os/peer.h"
#include "wire/json.h"

#include <poll.h>

enum { CC_RUNS_MAX = 256 };

struct cc_run {
	int64_t id;
	pid_t pid;
	int error_pipe; /* >= 0 while it is not known whether the program started */
	int master;     /* of its terminal, until the owner has it */
};

struct cc_runs {
	struct cc_run run[CC_RUNS_MAX];
	size_t count;
};

/* The message `exec`; descriptors are taken out of msg. Protocol faults and a lost zygote are errors, a program that
 * cannot start is not. */
CC_MUST enum cc_code cc_runs_exec(struct cc_init *init, struct cc_runs *runs, const struct cc_json *request,
				  struct cc_peer_msg *msg, struct cc_err *err);
/* To the process group of an exec. */
void cc_runs_signal(const struct cc_runs *runs, int64_t id, int signal);
/* The error pipe of one run is readable. */
CC_MUST enum cc_code cc_runs_started(struct cc_init *init, struct cc_runs *runs, size_t index, struct cc_err *err);
/* Reaps whatever has ended. CC_ESTATE when the zygote is among them. */
CC_MUST enum cc_code cc_runs_reap(struct cc_init *init, struct cc_runs *runs, struct cc_err *err);

#endif
