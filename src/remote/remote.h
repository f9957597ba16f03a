/* remote.h - the verbs of `ccbox` that call a running cc_server over its Unix socket. */
#ifndef CC_REMOTE_REMOTE_H
#define CC_REMOTE_REMOTE_H

#include <ccbox.h>
#include "cli/cli.h"

extern const struct cc_verb_row cc_remote_verbs[];

int cc_verb_launch(char *const *argv, char *const *env);
int cc_verb_exec(char *const *argv, char *const *env);
int cc_verb_ps(char *const *argv, char *const *env);
int cc_verb_logs(char *const *argv, char *const *env);
int cc_verb_attach(char *const *argv, char *const *env);
int cc_verb_stop(char *const *argv, char *const *env);
int cc_verb_suspend(char *const *argv, char *const *env);
int cc_verb_resume(char *const *argv, char *const *env);
int cc_verb_repo(char *const *argv, char *const *env);

/* Says what went wrong; returns 125. */
int cc_remote_give_up(const struct ccbox_error *error);
/* The same for words that are wrong. */
int cc_remote_usage(const char *usage);

#endif
