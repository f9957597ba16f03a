/* cli.h - the verbs of `ccbox`: one row each. */
#ifndef CC_CLI_CLI_H
#define CC_CLI_CLI_H

#include "base/err.h"

#include <stddef.h>

/* The whole program. Returns the exit code (DESIGN 8). */
struct cc_verb_row;
/* more_verbs: of the rooms above, ended by a row without a name; NULL: none. */
int cc_cli_main(int argc, char **argv, char **env, const struct cc_verb_row *more_verbs);

/* A verb gets the words after its name. */
struct cc_verb_row {
	const char *name;
	const char *usage;
	const char *help;
	int (*run)(char *const *argv, char *const *env);
	unsigned options; /* CC_FOR_* of cli/options.h whose flags it takes, 0 = its own few */
};
const struct cc_verb_row *cc_verb(size_t at); /* NULL after the last */

int cc_verb_run(char *const *argv, char *const *env);
int cc_verb_shell(char *const *argv, char *const *env);
int cc_verb_doctor(char *const *argv, char *const *env);
int cc_verb_explain(char *const *argv, char *const *env);
int cc_verb_policy(char *const *argv, char *const *env);
int cc_verb_events(char *const *argv, char *const *env);
int cc_verb_completions(char *const *argv, char *const *env);

/* "ccbox: TEXT" on standard error. */
void cc_say(const char *fmt, ...) CC_PRINTF(1, 2);
/* The same for a failure; returns 125, so that a verb ends with `return cc_give_up(&err);` */
int cc_give_up(const struct cc_err *err);

#endif
