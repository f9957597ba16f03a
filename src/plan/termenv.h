/* termenv.h - the environment of a server-hosted terminal, whatever its backend: a few names of the server's own, the
 * rest is not passed on. (Contract 5; `ccbox run` has its own in plan/env.h.) */
#ifndef CC_PLAN_TERMENV_H
#define CC_PLAN_TERMENV_H

#include "plan/facts.h"

/* Pushes NAME=VALUE for each. shell is what SHELL says. */
CC_MUST enum cc_code cc_plan_terminal_env(const struct cc_facts *facts, const char *shell, struct cc_strv *out_env,
					  struct cc_err *err);

#endif
