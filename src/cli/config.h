/* config.h - where settings come from and in which order: /etc/ccbox, the person's configuration, the project's file
 * (which may only tighten), CC_* variables, flags. A file that cannot be read or understood ends the call: never a
 * default. */
#ifndef CC_CLI_CONFIG_H
#define CC_CLI_CONFIG_H

#include "cli/options.h"
#include "wire/policyfile.h"

/* Fills *ask (initialised) for a verb from all sources. *out_used: words of argv that were options. cwd absolute. */
CC_MUST enum cc_code cc_config_gather(unsigned verb, char *const *argv, char *const *env, const char *cwd,
				      struct cc_ask_run *ask, size_t *out_used, struct cc_err *err);
/* The files alone: the host's, the person's, the project's upwards from cwd. */
CC_MUST enum cc_code cc_config_files(char *const *env, const char *cwd, struct cc_policy *policy, struct cc_err *err);
/* Makes what was gathered absolute, and binds of the directories that policies name. */
CC_MUST enum cc_code cc_config_settle(struct cc_ask_run *ask, const char *cwd, char *const *env, struct cc_err *err);
/* Adds a policy file. must: the person named it, so its absence is an error too. */
CC_MUST enum cc_code cc_config_read(const char *path, enum cc_policy_source source, bool must, struct cc_policy *policy,
				    struct cc_err *err);
/* $XDG_STATE_HOME/ccbox or ~/.local/state/ccbox. False when neither is known. */
bool cc_state_home(char *const *env, char *out, size_t cap);

#endif
