/* run.h - one command in a session of its own, from a start that is prepared to its exit status. */
#ifndef CC_CLI_RUN_H
#define CC_CLI_RUN_H

#include "cli/start.h"
#include "plan/foreign.h"

/* inherited: NULL, or descriptors for the command besides its standard streams; closed here once it has them. */
CC_MUST enum cc_code cc_run_execute(struct cc_start *start, const struct cc_strv *argv, char *const *env,
				    const struct cc_inherited *inherited, int *out_code, struct cc_err *err);

#endif
