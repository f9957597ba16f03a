/* env.h - the environment of everything sandboxed: built from an allow-list, never inherited (contract 2.5, 7.2). */
#ifndef CC_PLAN_ENV_H
#define CC_PLAN_ENV_H

#include "plan/linux.h"

/* Fills plan->env, plan->dropped and plan->notes. */
CC_MUST enum cc_code cc_plan_env(const struct cc_rules *rules, const struct cc_facts *facts,
				 const struct cc_linux_ask *ask, struct cc_linux_plan *plan, struct cc_err *err);
/* What a program without a sandbox is given under `none` when we start it for an agent: everything but the variables
 * that load code or redirect trust (contract 2.5, 4.7). */
CC_MUST enum cc_code cc_plan_env_sanitise(const struct cc_strv *env, struct cc_strv *out, struct cc_err *err);
/* The variable's name says that its value is nobody's business. */
bool cc_plan_env_is_secret(const char *name, size_t len);

#endif
