/* zygote.h - PID 2 in spirit: it enters the floor and the filter once and forks every exec, so that all of them share
 * one Landlock domain and one listener (attacks 12). */
#ifndef CC_INIT_ZYGOTE_H
#define CC_INIT_ZYGOTE_H

#include "init/setup.h"
#include "plan/foreign.h"

#include <limits.h>

struct cc_exec_request {
	bool pty;
	char cwd[PATH_MAX];
	/* the numbers of what the command gets besides its standard streams (another tool's sandbox only) */
	struct cc_inherited inherited;
};
/* Descriptors beside it: argument block, stdin, stdout, stderr, error pipe, then the inherited ones. */
enum { CC_EXEC_FDS = 5, CC_EXEC_BLOCK = 0, CC_EXEC_STDIN = 1, CC_EXEC_ERROR = 4 };

/* What a child that could not start writes into the error pipe. */
struct cc_exec_failure {
	int error;
	char what[200];
};

enum { CC_ZYGOTE_LOST = 125 };

/* Forks the zygote, which enters the floor and the filter, and takes its listener. */
CC_MUST enum cc_code cc_zygote_start(struct cc_init *init, struct cc_err *err);
/* Starts the gate on it and has the zygote test the floor and the gate. */
CC_MUST enum cc_code cc_zygote_up(struct cc_init *init, struct cc_err *err);
/* Has one process forked; *out_pid. The descriptors stay the caller's. */
CC_MUST enum cc_code cc_zygote_exec(struct cc_init *init, const struct cc_exec_request *request, const int *fds,
				    pid_t *out_pid, struct cc_err *err); /* fds: CC_EXEC_FDS and the inherited ones */

/* In the child: becomes the program, or says why not and exits. */
_Noreturn void cc_exec_become(const struct cc_exec_request *request, int *fds);

#endif
