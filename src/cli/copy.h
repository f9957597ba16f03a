/* copy.h - `--copy`: the session works in a copy of the repository people stand in, and what comes of it waits for
 * `ccbox apply`. */
#ifndef CC_CLI_COPY_H
#define CC_CLI_COPY_H

#include "cli/start.h"
#include "work/worktree.h"

#include <stdio.h>

/* Where copies lie: $XDG_STATE_HOME/ccbox-copies, which no other session reads or writes. */
CC_MUST enum cc_code cc_copy_dir(char *const *env, char out[PATH_MAX], struct cc_err *err);
/* The parents of that directory, which are the person's; itself is made by who makes the first copy. */
CC_MUST enum cc_code cc_copy_parents(const char *path, struct cc_err *err);
/* Between cc_start_gather and cc_start_prepare: makes the copy and turns the session to it. */
CC_MUST enum cc_code cc_copy_begin(struct cc_start *start, char *const *env, struct cc_worktree *out_tree,
				   struct cc_err *err);
/* What the rules name below the original is meant in the copy. */
CC_MUST enum cc_code cc_copy_turn_rules(struct cc_spec *spec, const struct cc_worktree *tree, struct cc_err *err);
/* After the session: settles it and says what came of it. argv: the verb's words, whose options are rules as well. */
CC_MUST enum cc_code cc_copy_end(struct cc_worktree *tree, unsigned verb, char *const *argv, char *const *env,
				 struct cc_err *err);
/* The rules that hold in a checkout for who works there himself; the caller calls cc_start_done whatever comes. */
CC_MUST enum cc_code cc_copy_rules(const char *origin, unsigned verb, char *const *argv, char *const *env,
				   struct cc_start *out_judge, struct cc_err *err);
/* The same as cc_copy_end with what was settled before: *out is looked at by the rules that hold in the origin, where
 * cwd is. */
CC_MUST enum cc_code cc_copy_look(struct cc_worktree *tree, unsigned verb, char *const *argv, char *const *env,
				  struct cc_worktree_outcome *out, struct cc_err *err);
void cc_copy_print(const struct cc_review *review, FILE *to);
/* How many findings are refusals. */
size_t cc_copy_refused(const struct cc_review *review);

#endif
