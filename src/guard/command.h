/* command.h - the command policy (contract 4.6): what a shell's line comes to, by the rules of the mode. A hint and a
 * trail for whoever asks before running it; what holds is the sandbox. Pure. */
#ifndef CC_GUARD_COMMAND_H
#define CC_GUARD_COMMAND_H

#include "guard/actions.h"
#include "guard/shell.h"
#include "guard/verdict.h"

struct cc_command_verdict {
	enum cc_guard verdict;
	const char *rule; /* the program ("git"), "unclear", or NULL: no rule speaks of it */
	const char *why;  /* its subcommand, or what could not be followed; may be empty, never NULL */
	uint32_t actions; /* all that the line does, as far as names tell: CC_ACTION_BIT */
};

/* A line for a shell. Across its commands the strictest verdict counts; what cannot be followed is asked about in chat
 * and refused in the modes that only read. */
CC_MUST enum cc_code cc_command_judge(struct cc_view line, enum cc_mode mode, struct cc_command_verdict *out,
				      struct cc_err *err);
/* The same for words that no shell will read. */
CC_MUST enum cc_code cc_command_judge_argv(const char *const *argv, size_t count, enum cc_mode mode,
					   struct cc_command_verdict *out, struct cc_err *err);

#endif
