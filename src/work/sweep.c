#define _GNU_SOURCE
#include "work/inside.h"

#include "os/fd.h"
#include "work/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS_MAX = 10000 };

enum cc_code cc_work_remove(const char *dir, const char *name, struct cc_err *err)
{
	CC_AUTO_FD door = cc_work_door(dir, false);

	return door < 0 ? cc_fail(err, CC_ESYS, errno, "%.300s", dir) : cc_files_remove(dir, name, err);
}

enum cc_code cc_worktree_remove(struct cc_worktree *tree, struct cc_err *err)
{
	char dir[PATH_MAX];
	enum cc_code code;

	if (!cc_str_put(dir, sizeof(dir), tree->home) || !strrchr(dir, '/'))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is no place of a run", tree->home);
	*strrchr(dir, '/') = '\0';
	code = cc_work_remove(dir, tree->run, err);
	if (code == CC_OK)
		cc_worktree_done(tree);
	return code;
}

enum cc_code cc_worktree_list(const char *dir, struct cc_strv *out_runs, struct cc_err *err)
{
	DIR *at = opendir(dir);
	const struct dirent *entry;
	enum cc_code code = CC_OK;

	if (!at)
		return errno == ENOENT ? CC_OK : cc_fail(err, CC_ESYS, errno, "%.300s", dir);
	for (size_t count = 0; code == CC_OK && (entry = readdir(at));)
		if (cc_worktree_run_ok(entry->d_name)) {
			if (++count > RUNS_MAX)
				code = cc_fail(err, CC_ELIMIT, 0, "more than %d runs in %.200s", RUNS_MAX, dir);
			else
				code = cc_strv_push(out_runs, entry->d_name, err);
		}
	closedir(at);
	return code;
}

/* What removals left in dir that were killed themselves. */
static enum cc_code list_trash(const char *dir, struct cc_strv *names, struct cc_err *err)
{
	DIR *at = opendir(dir);
	const struct dirent *entry;
	enum cc_code code = CC_OK;

	if (!at)
		return cc_fail(err, CC_ESYS, errno, "%.300s", dir);
	while (code == CC_OK && (entry = readdir(at)))
		if (cc_view_starts(cc_view_of(entry->d_name), CC_FILES_TRASH))
			code = cc_strv_push(names, entry->d_name, err);
	closedir(at);
	return code;
}

enum cc_code cc_worktree_shrink(struct cc_worktree *tree, struct cc_err *err)
{
	struct cc_strv gone = {0};
	enum cc_code code;

	if (!tree->settled)
		return cc_fail(err, CC_ESTATE, 0, "the run %s is not settled", tree->run);
	code = list_trash(tree->home, &gone, err);
	if (code == CC_OK)
		code = cc_strv_push(&gone, CC_WORK_TREE, err);
	if (code == CC_OK)
		code = cc_strv_push(&gone, CC_WORK_INDEX, err);
	for (size_t i = 0; code == CC_OK && i < gone.count; i++)
		code = cc_files_remove(tree->home, gone.items[i], err);
	cc_strv_done(&gone);
	return code;
}

/* A directory without a lock, or without a word about it, was being made when its owner died: nobody has worked there.
 */
static bool unfinished(const char *dir, const char *run)
{
	char path[2 * PATH_MAX];
	int home, lock;
	bool none;

	snprintf(path, sizeof(path), "%s/%s", dir, run);
	home = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (home < 0)
		return false;
	lock = cc_work_lock(home, false);
	none = (lock < 0 && errno == ENOENT) ||
	       (lock >= 0 && faccessat(home, CC_WORK_ABOUT, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
	cc_fd_close(&lock);
	cc_fd_close(&home);
	return none;
}

static enum cc_code sweep_one(const char *dir, const char *run, char *const *env, struct cc_strv *kept,
			      struct cc_err *err)
{
	struct cc_worktree tree = {0};
	struct cc_worktree_outcome outcome = {0};
	struct cc_err why;
	enum cc_code code;

	code = cc_worktree_open(dir, run, env, &tree, &why);
	if (code == CC_ESTATE)
		return CC_OK;
	if (code == CC_OK)
		code = cc_worktree_settle(&tree, NULL, NULL, &outcome, &why);
	/* What cannot be settled stays, whole, for a person to look at. */
	if (code != CC_OK || outcome.left.count)
		code = cc_strv_push(kept, run, err);
	else if (outcome.changed || outcome.damaged)
		code = cc_worktree_shrink(&tree, err) == CC_OK ? cc_strv_push(kept, run, err) : err->code;
	else
		code = cc_worktree_remove(&tree, err);
	cc_worktree_outcome_done(&outcome);
	cc_worktree_done(&tree);
	return code;
}

enum cc_code cc_worktree_sweep(const char *dir, char *const *env, struct cc_strv *out_kept, struct cc_err *err)
{
	struct cc_strv runs = {0}, gone = {0};
	struct stat st;
	int door;
	enum cc_code code;

	if (lstat(dir, &st) < 0 && errno == ENOENT)
		return CC_OK;
	code = cc_files_private(dir, err);
	if (code != CC_OK)
		return code;
	/* alone, nobody is making or removing anything: what is half made or half removed is nobody's */
	door = cc_work_door(dir, true);
	code = door < 0 ? cc_fail(err, CC_ESYS, errno, "%.300s", dir) : list_trash(dir, &gone, err);
	if (code == CC_OK)
		code = cc_worktree_list(dir, &runs, err);
	for (size_t i = 0; code == CC_OK && i < runs.count; i++)
		if (unfinished(dir, runs.items[i]))
			code = cc_strv_push(&gone, runs.items[i], err);
	cc_fd_close(&door);
	for (size_t i = 0; code == CC_OK && i < gone.count; i++)
		code = cc_work_remove(dir, gone.items[i], err);
	for (size_t i = 0; code == CC_OK && i < runs.count; i++)
		if (!cc_strv_has(&gone, runs.items[i]))
			code = sweep_one(dir, runs.items[i], env, out_kept, err);
	cc_strv_done(&gone);
	cc_strv_done(&runs);
	return code;
}
