/* worktree.h - a copy of a registered checkout for one run, and what comes back of it (contract 4.3; attacks 9, 10).
 *
 * The life of one:  make -> the run -> settle -> bring_back (or not) -> remove.  sweep ends what a killed owner left.
 *
 * On disk, below a directory of ours (0700):
 *     DIR/RUN/lock      held while somebody works with it
 *     DIR/RUN/about     where it came from
 *     DIR/RUN/tree/     the copy: the run's; nothing else of DIR is ever shown to it
 *     DIR/RUN/ours/     after settle: a bare repository of our own, with the branch as it was hashed anew
 *
 * The copy has a .git that we made: no hooks, filters, includes, helpers, remotes or settings of the origin, but the
 * person's name and e-mail. It starts from what the origin has *committed*: no changes of its work tree, no untracked
 * and no ignored files come along (that is where secrets and foreign builds lie). Submodules are empty directories.
 *
 * While it runs, the copy belongs to the agent, its .git too. Afterwards no git of ours ever opens that .git as a
 * repository: HEAD is read as text, the objects are taken file by file into a repository of ours, and hashed there. */
#ifndef CC_WORK_WORKTREE_H
#define CC_WORK_WORKTREE_H

#include "work/review.h"

#include <stdbool.h>

enum cc_worktree_kind {
	CC_WORKTREE_NONE = 0,
	CC_WORKTREE_REFLINK,  /* it has all objects itself, sharing their blocks with the origin's */
	CC_WORKTREE_BORROWED, /* it reads the origin's objects where they lie: see cc_worktree.objects */
};
const char *cc_worktree_kind_name(enum cc_worktree_kind kind); /* "reflink" "borrowed"; "none" */

struct cc_worktree_ask {
	const char *origin; /* the registered checkout: its top, a linked work tree, or a bare repository */
	const char *dir;    /* ours; made when it is not there; outside every bind */
	const char *run;  /* id: letters, digits, '-', '_' and '.', no dot at an end and no two together, at most 80 */
	const char *base; /* what to start from; NULL: the origin's HEAD, which may be unborn */
	char *const *env; /* PATH, HOME (whose git identity it is); must outlive the tree */
};

/* All strings are the tree's. Zeroed memory is none. */
struct cc_worktree {
	enum cc_worktree_kind kind;
	char *run, *branch; /* cc/run/ID */
	char *origin;       /* canonical */
	char *home;         /* DIR/RUN */
	char *path;         /* DIR/RUN/tree: bind this, writable; work here */
	/* Directories outside it that its .git reads: bind each read-only (":ro"), or nothing can be committed. */
	struct cc_strv objects;
	struct cc_strv lenders;       /* where the origin's objects lie, whatever the kind */
	char hash[CC_REVIEW_OID + 1]; /* any id in the repository's hash */
	char base[CC_REVIEW_OID + 1]; /* empty: unborn */
	char head[CC_REVIEW_OID +
		  1]; /* once it is settled: what the branch stands on; empty: nothing ever was committed */
	bool settled, rescued, damaged; /* see the outcome */
	struct cc_strv left;
	int lock;
	char *const *env;
};

bool cc_worktree_run_ok(const char *run);
/* CC_EINVAL: an id that is none, or one that is taken. CC_ENOTFOUND: base names no commit. CC_EPOLICY: git cannot read
 * the origin. Whatever fails, nothing is left of it. */
CC_MUST enum cc_code cc_worktree_make(const struct cc_worktree_ask *ask, struct cc_worktree *out_tree,
				      struct cc_err *err);
/* One that is there already. CC_ESTATE: somebody works with it. CC_ENOTFOUND: there is none. */
CC_MUST enum cc_code cc_worktree_open(const char *dir, const char *run, char *const *env, struct cc_worktree *out_tree,
				      struct cc_err *err);
/* Lets go of it; what is on disk stays. */
void cc_worktree_done(struct cc_worktree *tree);

/* Adds what no session of these repositories may write, in any mode: the checkout, its git directory, the common one.
 * An origin that cannot be understood is an error, never an empty list. */
CC_MUST enum cc_code cc_worktree_protect(const char *origin, char *const *env, struct cc_strv *paths,
					 struct cc_err *err);

struct cc_worktree_outcome {
	bool changed; /* head is not base */
	bool rescued; /* the last commit is ours and holds what the run had not committed */
	/* The history that the run left could not be had whole: head stands on base, and the rescue holds all of it. */
	bool damaged;
	/* Paths in the copy that no commit can hold (special files, huge ones, trees too deep): it is not removed by
	 * itself. */
	struct cc_strv left;
	bool reviewed;
	struct cc_review review; /* commits, git's --stat, findings */
};

/* After the last process of the run is gone. Uncommitted work becomes a commit on top of the run's HEAD; the result is
 * in tree->head and, as refs/heads/cc/run/ID, in DIR/RUN/ours. Ignored files are no work. The directory of a nested
 * repository or a submodule counts as ordinary files; their own history stays behind.
 *
 * rules and root are those of the ORIGIN, as `ccbox review` there would compile them (what the host's git executes is
 * known from there only). rules NULL: not reviewed. A second call reviews again what was settled. */
CC_MUST enum cc_code cc_worktree_settle(struct cc_worktree *tree, const struct cc_rules *rules, const char *root,
					struct cc_worktree_outcome *out, struct cc_err *err);
void cc_worktree_outcome_done(struct cc_worktree_outcome *outcome);

/* Makes refs/heads/cc/run/ID of the origin the settled head, its objects hashed once more on their way; no other
 * reference and no file of the work tree is touched. CC_EPOLICY: not reviewed, or with findings that nobody accepted.
 */
CC_MUST enum cc_code cc_worktree_bring_back(struct cc_worktree *tree, const struct cc_worktree_outcome *outcome,
					    bool accepted, struct cc_err *err);

/* Takes DIR/RUN away, following no link. */
CC_MUST enum cc_code cc_worktree_remove(struct cc_worktree *tree, struct cc_err *err);
/* Takes the copy away and keeps the commits (DIR/RUN/ours), for a later open and bring_back. CC_ESTATE: not settled. */
CC_MUST enum cc_code cc_worktree_shrink(struct cc_worktree *tree, struct cc_err *err);
/* Ids of what lies in dir, in no order. */
CC_MUST enum cc_code cc_worktree_list(const char *dir, struct cc_strv *out_runs, struct cc_err *err);
/* What killed owners left in dir: settled, then shrunk (or removed where nothing had changed); what cannot be settled
 * whole stays as it is. out_kept: the ids that still hold something. Those that somebody works with are not touched. */
CC_MUST enum cc_code cc_worktree_sweep(const char *dir, char *const *env, struct cc_strv *out_kept, struct cc_err *err);

#endif
