/* gitplace.h - where git's things lie for a directory: the top of its work tree, its git directory and the common one
 * of a linked work tree. Found by looking at a handful of files, without running git. Forged pointers are refused. */
#ifndef CC_SESSION_GITPLACE_H
#define CC_SESSION_GITPLACE_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>

struct cc_git_place {
	bool found;
	bool linked; /* a linked work tree: git_dir lies in common_dir/worktrees/NAME */
	char *top;   /* of a submodule: the top of the outermost work tree */
	char *git_dir;
	char *common_dir;
	/* A .git file on the way named it, and it is neither of a linked work tree nor below a .git: `git init
	 * --separate-git-dir`, or a bare repository with its work tree around it. */
	char *separate;
};

/* Absolute paths of what git runs or believes and no rule knows by name: in a repository whose directory is not called
 * .git, and what hooks that are links lead to. */
CC_MUST enum cc_code cc_git_place_content(const struct cc_git_place *place, struct cc_strv *out_paths,
					  struct cc_err *err);

/* CC_EPOLICY when a .git file points at something that does not point back: no grant is derived from it. */
CC_MUST enum cc_code cc_git_place_find(const char *dir, struct cc_git_place *out_place, struct cc_err *err);
void cc_git_place_done(struct cc_git_place *place);

#endif
