/* prefix.h - programs that run another one: what they run is taken out of their words. Private to the room. Pure. */
#ifndef CC_GUARD_PREFIX_H
#define CC_GUARD_PREFIX_H

#include "guard/shell.h"

/* The command that stands at words[*at] of this one: its base name, or NULL when there is none that could be said. */
const char *cc_prefix_name(const struct cc_shell_command *command, size_t at);
/* Is it a program that runs another one? *out_at: where that begins in the same words; count when it was a text and was
 * added to script, or when there is nothing more to look at. */
CC_MUST enum cc_code cc_prefix_step(const struct cc_shell_command *command, size_t at, struct cc_shell_script *script,
				    bool *out_found, size_t *out_at, struct cc_err *err);

#endif
