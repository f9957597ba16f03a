/* origin.h - what has to be known of a repository before anything is copied from it; asked of the closed git. */
#ifndef CC_WORK_ORIGIN_H
#define CC_WORK_ORIGIN_H

#include "work/git.h"

struct cc_origin {
	char *top; /* canonical: of the work tree, or the bare repository itself */
	char *git_dir, *common_dir;
	char *shallow; /* the file that names where its past ends, which may not be there */
	bool bare, sha256;
	/* Its object directory, then those that it borrows from in their turn. */
	struct cc_strv objects;
};

/* Whatever cannot be made out is an error. */
CC_MUST enum cc_code cc_origin_find(const struct cc_git *git, const char *dir, struct cc_origin *out_origin,
				    struct cc_err *err);
void cc_origin_done(struct cc_origin *origin);
/* Empty out: HEAD is a branch that has no commit yet. A HEAD that leads to something broken is an error. */
CC_MUST enum cc_code cc_origin_head(const struct cc_git *git, const struct cc_origin *origin, char out[CC_GIT_OID + 1],
				    struct cc_err *err);

#endif
