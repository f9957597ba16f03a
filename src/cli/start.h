/* start.h - what every verb that starts a session does first: settings from all sources, the plan, the event log. */
#ifndef CC_CLI_START_H
#define CC_CLI_START_H

#include "cli/options.h"
#include "session/bridge.h"
#include "session/eventlog.h"
#include "session/limits.h"
#include "session/prepare.h"

#include <limits.h>

struct cc_start {
	struct cc_ask_run ask;
	struct cc_prepared prepared;
	struct cc_bridge bridge;
	char cwd[PATH_MAX];
	bool copied; /* cc_copy_begin has turned it to a copy */
	/* set before cc_start_prepare */
	bool rules_only;                  /* no sandbox is meant, only its rules */
	const struct cc_foreign *foreign; /* another tool's call of bubblewrap */
	size_t used;                      /* words of argv that were options */
};

/* Settings from everywhere (config.h). start is released with cc_start_done whatever happened. verb: CC_FOR_*. */
CC_MUST enum cc_code cc_start_gather(struct cc_start *start, unsigned verb, char *const *argv, char *const *env,
				     struct cc_err *err);
/* Gives the session its id, where it has none yet. */
CC_MUST enum cc_code cc_start_name(struct cc_start *start, struct cc_err *err);
/* program: the command's first word, or NULL. */
CC_MUST enum cc_code cc_start_prepare(struct cc_start *start, const char *program, char *const *env,
				      struct cc_err *err);
/* The words behind the options and the "--", for verbs that take a command. */
char *const *cc_start_command(const struct cc_start *start, char *const *argv);
void cc_start_done(struct cc_start *start);
/* --events, or the default log of the session. */
CC_MUST enum cc_code cc_start_log(const struct cc_ask_run *ask, char *const *env, struct cc_eventlog *out_log,
				  struct cc_err *err);
/* --memory, --pids and --cpu; the rest is held's own functions. */
CC_MUST enum cc_code cc_start_hold(const struct cc_ask_run *ask, const struct cc_prepared *prepared,
				   struct cc_held *held, struct cc_err *err);
void cc_start_say_unsandboxed(const struct cc_prepared *prepared);

#endif
