/* cli.h - what every verb of `ccbox` says to the person, and the verbs that need no more than this room. */
#ifndef CC_CLI_CLI_H
#define CC_CLI_CLI_H

#include "base/err.h"

/* A verb gets the words after its name. */
typedef int cc_verb(char *const *argv, char *const *env);

cc_verb cc_verb_run, cc_verb_shell, cc_verb_doctor, cc_verb_explain, cc_verb_events;

/* "ccbox: TEXT" on standard error. */
void cc_say(const char *fmt, ...) CC_PRINTF(1, 2);
/* The same for a failure; returns 125, so that a verb ends with `return cc_give_up(&err);` */
int cc_give_up(const struct cc_err *err);

#endif
