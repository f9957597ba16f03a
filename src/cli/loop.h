/* loop.h - one command in one session, from exec to its exit status: relays its bytes, forwards signals, shows
 * refusals, keeps the time limit. */
#ifndef CC_CLI_LOOP_H
#define CC_CLI_LOOP_H

#include "cli/learn.h"
#include "session/eventlog.h"
#include "plan/foreign.h"
#include "session/limits.h"
#include "session/prepare.h"
#include "session/session.h"

struct cc_loop_ask {
	const struct cc_prepared *prepared;
	const struct cc_launch *launch;
	const char *session_id;
	const struct cc_strv *argv;
	const struct cc_strv *env;
	struct cc_eventlog *log;
	struct cc_held *held;   /* begun */
	struct cc_learn *learn; /* NULL: nothing is learned */
	bool pty;
	long timeout;                         /* seconds, 0 = none */
	const struct cc_inherited *inherited; /* NULL, or what another tool left open for its command */
};

/* Launches, runs, ends. *out_code is the exit code of DESIGN 8. A failure means that nothing was started. */
CC_MUST enum cc_code cc_loop_run(const struct cc_loop_ask *ask, int *out_code, struct cc_err *err);

#endif
