/* rescue.h - what a run had not committed becomes a commit, made by a repository of ours over its work tree. */
#ifndef CC_WORK_RESCUE_H
#define CC_WORK_RESCUE_H

#include "work/inside.h"

/* ours: a bare repository that has head (empty: none). The copy has no .git any more. out_commit is head again when the
 * work tree is what head says. out_left: what no commit could hold. */
CC_MUST enum cc_code cc_rescue(const struct cc_worktree *tree, const char *ours, const char *head,
			       char out_commit[CC_GIT_OID + 1], struct cc_strv *out_left, struct cc_err *err);

#endif
