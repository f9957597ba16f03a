/* left.h - what a run left in its copy: its .git, read as files that an enemy wrote, and the names in its work tree. */
#ifndef CC_WORK_LEFT_H
#define CC_WORK_LEFT_H

#include "work/inside.h"

/* The commit that HEAD of the git directory leads to, by its text alone. Empty out: none that can be made out. */
void cc_left_head(int git_dir, char out[CC_GIT_OID + 1]);

/* Walks the copy. Whatever else git would take for a repository (a .git at any depth) moves to DIR/RUN/nested; what is
 * locked against its owner is unlocked. out_skip: paths that no commit shall hold: special files, what is deeper than
 * git's paths go, files of more than CC_LEFT_FILE bytes that were written since the copy was
 * made. */
enum { CC_LEFT_DEPTH = 200, CC_LEFT_SKIPPED = 1000 };
#define CC_LEFT_FILE (512LL << 20)
CC_MUST enum cc_code cc_left_walk(const struct cc_worktree *tree, struct cc_strv *out_skip, struct cc_err *err);

#endif
