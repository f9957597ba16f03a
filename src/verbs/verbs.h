/* verbs.h - the verbs of `ccbox`: one row each. */
#ifndef CC_VERBS_VERBS_H
#define CC_VERBS_VERBS_H

#include "cli/cli.h"

#include <stddef.h>

/* The whole program. Returns the exit code (DESIGN 8). */
int cc_verbs_main(int argc, char **argv, char **env);

struct cc_verb_row {
	const char *name;
	const char *usage;
	const char *help;
	cc_verb *run;
	unsigned options; /* CC_FOR_* of cli/options.h whose flags it takes, 0 = its own few */
};
extern const struct cc_verb_row cc_verbs[];
extern const size_t cc_verb_count;

cc_verb cc_verb_acp, cc_verb_apply, cc_verb_bwrap, cc_verb_completions, cc_verb_console, cc_verb_hook, cc_verb_mcp,
	cc_verb_policy, cc_verb_review;

#endif
