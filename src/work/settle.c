#define _GNU_SOURCE
#include "base/mem.h"
#include "os/fd.h"
#include "work/files.h"
#include "work/left.h"
#include "work/rescue.h"
#include "work/stock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cc_worktree_outcome_done(struct cc_worktree_outcome *outcome)
{
	cc_strv_done(&outcome->left);
	cc_review_done(&outcome->review);
	*outcome = (struct cc_worktree_outcome){0};
}

/* The run's .git leaves the copy, whatever it is by now; an interrupted settling has done so already. */
static enum cc_code part(const struct cc_worktree *tree, struct cc_err *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;

	if (!cc_work_path(tree, CC_WORK_TREE "/.git", from) || !cc_work_path(tree, CC_WORK_THEIRS, to))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", tree->home);
	if (lstat(tree->path, &st) < 0 || !S_ISDIR(st.st_mode))
		return cc_fail(err, CC_EPOLICY, 0, "%.200s is no directory any more", tree->path);
	if (lstat(from, &st) < 0)
		return errno == ENOENT ? CC_OK : cc_fail(err, CC_ESYS, errno, "%.300s", from);
	/* after an interruption there are two: the second was made by nobody that has anything to say */
	if (lstat(to, &st) == 0)
		return cc_files_remove(tree->path, ".git", err);
	return rename(from, to) == 0 ? CC_OK : cc_fail(err, CC_ESYS, errno, "%.300s", from);
}

/* The objects that the run left are moved file by file, some of them perhaps by a settling that was interrupted; a
 * repository of ours, made anew each time, reads them. */
static enum cc_code make_source(const struct cc_worktree *tree, const struct cc_git *git, int theirs,
				struct cc_err *err)
{
	char path[PATH_MAX];
	struct cc_strv lenders = {0};
	CC_AUTO_FD from = cc_files_open(theirs, "objects", O_RDONLY | O_DIRECTORY);
	CC_AUTO_FD to = -1;
	enum cc_code code;

	if (!cc_work_path(tree, CC_WORK_TAKEN, path))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", tree->home);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return cc_fail(err, CC_ESYS, errno, "%.300s", path);
	to = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0 || to < 0)
		return cc_fail(err, CC_EPOLICY, errno, "the objects of the run are not there");
	code = cc_stock_take(from, to, CC_STOCK_MOVE, CC_STOCK_FILES, err);
	if (code == CC_OK)
		code = cc_strv_push(&lenders, path, err);
	for (size_t i = 0; code == CC_OK && i < tree->lenders.count; i++)
		code = cc_strv_push(&lenders, tree->lenders.items[i], err);
	if (code == CC_OK)
		code = cc_work_bare(tree, git, CC_WORK_SOURCE, &lenders, err);
	cc_strv_done(&lenders);
	return code;
}

/* The run's commits into ours: each object hashed anew, the whole checked by git. What the origin has already is not
 * sent, because base is known here. */
static enum cc_code take_history(const struct cc_worktree *tree, const struct cc_git *git, const char *head,
				 struct cc_err *err)
{
	char ours[PATH_MAX], source[PATH_MAX], want[CC_GIT_OID + 32];
	const char *const mark[] = {"update-ref", "refs/ccbox/base", tree->base, NULL};
	const char *const words[] = {CC_GIT_FETCH, source, want, NULL};
	enum cc_code code = CC_OK;

	if (!cc_work_path(tree, CC_WORK_OURS, ours) || !cc_work_path(tree, CC_WORK_SOURCE, source))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", tree->home);
	snprintf(want, sizeof(want), "%s:refs/ccbox/head", head);
	if (tree->base[0])
		code = cc_git_do(git, ours, mark, err);
	return code == CC_OK ? cc_git_do(git, ours, words, err) : code;
}

/* Where the run's HEAD stands, with its commits in ours; else base, and the tree is damaged. */
static enum cc_code settle_history(struct cc_worktree *tree, const struct cc_git *git, char head[CC_GIT_OID + 1],
				   struct cc_err *err)
{
	char path[PATH_MAX];
	struct cc_err why;
	CC_AUTO_FD theirs = -1;
	enum cc_code code = cc_work_bare(tree, git, CC_WORK_OURS, &tree->lenders, err);

	if (code != CC_OK)
		return code;
	head[0] = '\0';
	if (cc_work_path(tree, CC_WORK_THEIRS, path))
		theirs = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (theirs >= 0)
		cc_left_head(theirs, head);
	if (strcmp(head, tree->base) == 0)
		return CC_OK;
	tree->damaged = !head[0];
	if (head[0])
		tree->damaged =
			make_source(tree, git, theirs, &why) != CC_OK || take_history(tree, git, head, &why) != CC_OK;
	if (!tree->damaged)
		return CC_OK;
	/* whatever half of it came is not to be trusted */
	memcpy(head, tree->base, CC_GIT_OID + 1);
	return cc_work_bare(tree, git, CC_WORK_OURS, &tree->lenders, err);
}

static enum cc_code settle(struct cc_worktree *tree, struct cc_err *err)
{
	static const char *const gone[] = {CC_WORK_THEIRS, CC_WORK_SOURCE, CC_WORK_TAKEN,
					   CC_WORK_NESTED, "paths",        "index.rescue"};
	char ours[PATH_MAX], ref[128], head[CC_GIT_OID + 1], commit[CC_GIT_OID + 1] = "";
	const char *const words[] = {"update-ref", ref, commit, NULL};
	struct cc_git git;
	enum cc_code code = part(tree, err);

	cc_strv_done(&tree->left);
	if (code == CC_OK && !cc_work_path(tree, CC_WORK_OURS, ours))
		code = cc_fail(err, CC_EINVAL, 0, "%.200s is too long", tree->home);
	if (code != CC_OK)
		return code;
	code = cc_work_git(&git, tree, err);
	if (code == CC_OK)
		code = settle_history(tree, &git, head, err);
	if (code == CC_OK)
		code = cc_rescue(tree, ours, head, commit, &tree->left, err);
	snprintf(ref, sizeof(ref), "refs/heads/%s", tree->branch);
	if (code == CC_OK && commit[0])
		code = cc_git_do(&git, ours, words, err);
	cc_git_done(&git);
	if (code != CC_OK)
		return code;
	tree->rescued = strcmp(commit, head) != 0;
	memcpy(tree->head, commit, sizeof(commit));
	tree->settled = true;
	code = cc_work_note(tree, err);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(gone); i++)
		code = cc_files_remove(tree->home, gone[i], err);
	return code;
}

enum cc_code cc_worktree_settle(struct cc_worktree *tree, const struct cc_rules *rules, const char *root,
				struct cc_worktree_outcome *out, struct cc_err *err)
{
	char ours[PATH_MAX];
	struct cc_review_ask ask = {.dir = ours,
				    .base = tree->base[0] ? tree->base : NULL,
				    .head = tree->head,
				    .root = root,
				    .rules = rules,
				    .env = tree->env,
				    .ours = true};
	struct cc_worktree_outcome outcome = {0};
	enum cc_code code = tree->settled ? CC_OK : settle(tree, err);

	if (code == CC_OK)
		code = cc_strv_copy(&outcome.left, &tree->left, err);
	outcome.changed = strcmp(tree->head, tree->base) != 0;
	outcome.rescued = tree->rescued;
	outcome.damaged = tree->damaged;
	if (code == CC_OK && !cc_work_path(tree, CC_WORK_OURS, ours))
		code = cc_fail(err, CC_EINVAL, 0, "%.200s is too long", tree->home);
	if (code == CC_OK && rules && outcome.changed)
		code = cc_review_run(&ask, &outcome.review, err);
	outcome.reviewed = code == CC_OK && rules;
	if (code != CC_OK) {
		cc_worktree_outcome_done(&outcome);
		return code;
	}
	*out = outcome;
	return CC_OK;
}

enum cc_code cc_worktree_bring_back(struct cc_worktree *tree, const struct cc_worktree_outcome *outcome, bool accepted,
				    struct cc_err *err)
{
	char ours[PATH_MAX], refs[2 * CC_GIT_OID + 128], self[2 * PATH_MAX + 32];
	/* The origin's configuration may rewrite addresses, prune, tag, or count commits: not here. */
	const char *const words[] = {CC_GIT_FILES,
				     "-c",
				     self,
				     "-c",
				     "fetch.writeCommitGraph=false",
				     "-c",
				     "fetch.unpackLimit=100",
				     "fetch",
				     "-q",
				     "--no-tags",
				     "--no-prune",
				     "--no-auto-maintenance",
				     "--no-write-fetch-head",
				     "--no-recurse-submodules",
				     CC_GIT_UPLOAD,
				     ours,
				     refs,
				     NULL};
	struct cc_git git;
	struct cc_err why;
	enum cc_code code;

	if (!tree->settled || !outcome->changed || !tree->head[0])
		return cc_fail(err, CC_ESTATE, 0, "the run %s has nothing that could be brought back", tree->run);
	if (!outcome->reviewed || (outcome->review.count && !accepted))
		return cc_fail(err, CC_EPOLICY, 0, "what the run %s made %s", tree->run,
			       outcome->reviewed ? "has findings, which nobody has accepted" : "was not looked at");
	if (!cc_work_path(tree, CC_WORK_OURS, ours))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", tree->home);
	snprintf(refs, sizeof(refs), "%s:refs/heads/%s", tree->head, tree->branch);
	snprintf(self, sizeof(self), "url.%s.insteadOf=%s", ours, ours);
	code = cc_work_git(&git, tree, err);
	if (code == CC_OK && cc_git_do(&git, tree->origin, words, &why) != CC_OK)
		code = cc_fail(err, CC_EPOLICY, 0,
			       "%s could not be brought to %.200s: a branch of that name has other work, "
			       "or the repository takes nothing",
			       tree->branch, tree->origin);
	cc_git_done(&git);
	return code;
}
