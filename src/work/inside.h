/* inside.h - what the files of worktrees share. */
#ifndef CC_WORK_INSIDE_H
#define CC_WORK_INSIDE_H

#include "work/git.h"
#include "work/worktree.h"

/* Names below DIR/RUN. */
#define CC_WORK_LOCK    "lock"
#define CC_WORK_ABOUT   "about"
#define CC_WORK_TREE    "tree"
#define CC_WORK_INDEX   "index"   /* git's index as it was when the copy was made: the run never saw this one */
#define CC_WORK_SHALLOW "shallow" /* the origin's, where it has one */
#define CC_WORK_OURS    "ours"
/* While it is settled: */
#define CC_WORK_THEIRS "theirs" /* the .git that the run left */
#define CC_WORK_TAKEN  "taken"  /* its objects, file by file */
#define CC_WORK_SOURCE "source" /* a repository of ours that reads them */
#define CC_WORK_NESTED "nested" /* .git of other repositories in the copy */

/* In DIR: held together while an id is taken or something is removed; alone, to see what is nobody's any more. */
#define CC_WORK_DOOR ".door"
int cc_work_door(const char *dir, bool alone); /* -1 with errno */

/* DIR/RUN/name, or false. */
bool cc_work_path(const struct cc_worktree *tree, const char *name, char out[PATH_MAX]);
/* An empty tree of that name, which is not on disk yet. dir is there. */
CC_MUST enum cc_code cc_work_name(struct cc_worktree *tree, const char *dir, const char *run, char *const *env,
				  struct cc_err *err);
/* Of the open directory DIR/RUN; -1 with EWOULDBLOCK: somebody has it. */
int cc_work_lock(int home, bool make);
/* git for a tree, with a name of ours for what it commits. It holds the tree's lock as long as it runs, so that nobody
 * comes between it and its files when its owner is killed. */
CC_MUST enum cc_code cc_work_git(struct cc_git *git, const struct cc_worktree *tree, struct cc_err *err);
/* DIR/RUN, or whatever else lies in DIR. */
CC_MUST enum cc_code cc_work_remove(const char *dir, const char *name, struct cc_err *err);
/* Writes down what is known. */
CC_MUST enum cc_code cc_work_note(const struct cc_worktree *tree, struct cc_err *err);
/* An empty bare repository DIR/RUN/name that borrows the lenders' objects and ends where the origin ends. */
CC_MUST enum cc_code cc_work_bare(const struct cc_worktree *tree, const struct cc_git *git, const char *name,
				  const struct cc_strv *lenders, struct cc_err *err);

#endif
