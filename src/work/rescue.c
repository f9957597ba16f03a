#define _GNU_SOURCE
#include "work/rescue.h"

#include "base/mem.h"
#include "os/fd.h"
#include "work/files.h"
#include "work/left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 256 << 20, LINKS_MAX = 1000, INDEX_MAX = 512 << 20 };

#define PATHS "paths" /* below DIR/RUN: a list for git */

struct rescue {
	const struct cc_worktree *tree;
	struct cc_git git;
	const char *head;
	struct cc_strv links; /* submodules of head, as "160000,ID,PATH" */
};

/* The index starts as it was when the copy was made: what the run did not touch needs no second look. */
static enum cc_code start_index(struct rescue *job, struct cc_err *err)
{
	const char *const words[] = {"read-tree", "-i", "-m", job->head, NULL};
	const char *const nothing[] = {"read-tree", "--empty", NULL};
	CC_AUTO_FD home = open(job->tree->home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct cc_buf text;
	enum cc_code code = cc_files_read(home, CC_WORK_INDEX, INDEX_MAX, &text, err);

	/* what a git that was killed has left */
	if (home >= 0 && unlinkat(home, "index.rescue.lock", 0) < 0 && errno != ENOENT)
		code = cc_fail(err, CC_ESYS, errno, "%.200s", job->tree->home);
	if (code == CC_OK)
		code = cc_files_write(job->tree->home, "index.rescue", cc_buf_view(&text), err);
	cc_buf_done(&text);
	/* an unborn copy has none; nor has what was begun by a rescue of such */
	if (code == CC_ENOTFOUND)
		code = cc_files_remove(job->tree->home, "index.rescue", err);
	if (code == CC_OK)
		code = cc_git_set(&job->git, err, "GIT_INDEX_FILE=%s/index.rescue", job->tree->home);
	return code == CC_OK ? cc_git_do(&job->git, job->tree->path, job->head[0] ? words : nothing, err) : code;
}

/* A list of names as a file that git reads, each ended by a NUL. */
static enum cc_code write_list(struct rescue *job, const struct cc_strv *names, size_t from, const char *prefix,
			       struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, LIST_MAX);
	for (size_t i = 0; i < names->count; i++) {
		cc_buf_adds(&text, prefix);
		cc_buf_add(&text, names->items[i] + from, strlen(names->items[i] + from) + 1);
	}
	code = cc_buf_check(&text, "a list of names", err);
	if (code == CC_OK)
		code = cc_files_write(job->tree->home, PATHS, cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code;
}

/* Submodules leave the index while the work tree is read: git asks what lies in a submodule's directory, and asks it as
 * a repository. Here it is a directory like any other. */
static enum cc_code hide_links(struct rescue *job, struct cc_err *err)
{
	static const char *const list[] = {"ls-files", "-s", "-z", NULL};
	char file[PATH_MAX];
	const char *words[] = {"--literal-pathspecs", "rm", "-q", "-f", "--cached", "--ignore-unmatch",
			       "--pathspec-file-nul", file, NULL};
	struct cc_strv paths = {0};
	struct cc_buf text;
	enum cc_code code = cc_git_run(&job->git, job->tree->path, LIST_MAX, &text, list, err);

	for (size_t at = 0; code == CC_OK && at < text.len; at += strlen(text.data + at) + 1) {
		char *line = text.data + at, *tab = strchr(line, '\t');
		size_t id;

		if (!tab || strncmp(line, "160000 ", 7) != 0)
			continue;
		id = strcspn(line + 7, " ");
		if (paths.count == LINKS_MAX)
			code = cc_fail(err, CC_ELIMIT, 0, "more than %d submodules", LINKS_MAX);
		if (code == CC_OK)
			code = cc_strv_push(&paths, tab + 1, err);
		if (code == CC_OK)
			code = cc_strv_pushf(&job->links, err, "160000,%.*s,%s", (int)id, line + 7, tab + 1);
	}
	cc_buf_done(&text);
	if (code == CC_OK && paths.count)
		code = write_list(job, &paths, 0, "", err);
	snprintf(file, sizeof(file), "--pathspec-from-file=%.4000s/" PATHS, job->tree->home);
	if (code == CC_OK && paths.count)
		code = cc_git_do(&job->git, job->tree->path, words, err);
	cc_strv_done(&paths);
	return code;
}

/* ... and come back where nothing was put into their directories. */
static enum cc_code show_links(struct rescue *job, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < job->links.count; i++) {
		const char *path = strchr(job->links.items[i] + 7, ',') + 1;
		const char *const ask[] = {"--literal-pathspecs", "ls-files", "-z", "--", path, NULL};
		const char *const put[] = {"update-index", "--add", "--cacheinfo", job->links.items[i], NULL};
		struct cc_buf text;

		code = cc_git_run(&job->git, job->tree->path, LIST_MAX, &text, ask, err);
		if (code == CC_OK && text.len == 0)
			code = cc_git_do(&job->git, job->tree->path, put, err);
		cc_buf_done(&text);
	}
	return code;
}

/* What git cannot add, it leaves out and says so by its status alone: then nobody may take the copy away. */
static enum cc_code add_all(struct rescue *job, struct cc_strv *left, struct cc_err *err)
{
	char file[PATH_MAX];
	const char *words[] = {"add", "-A", "--ignore-errors", "--pathspec-file-nul", file, NULL};
	struct cc_strv paths = {0};
	struct cc_err why;
	enum cc_code code = cc_strv_push(&paths, ".", err);

	for (size_t i = 0; code == CC_OK && i < left->count; i++)
		code = cc_strv_pushf(&paths, err, ":(top,exclude,literal)%s", left->items[i]);
	if (code == CC_OK)
		code = write_list(job, &paths, 0, "", err);
	cc_strv_done(&paths);
	if (code != CC_OK)
		return code;
	snprintf(file, sizeof(file), "--pathspec-from-file=%.4000s/" PATHS, job->tree->home);
	code = cc_git_do(&job->git, job->tree->path, words, &why);
	if (code == CC_EPOLICY)
		return cc_strv_push(left, ".", err);
	return code == CC_OK ? CC_OK : cc_fail(err, code, 0, "%s", why.what);
}

static enum cc_code commit(struct rescue *job, char out[CC_GIT_OID + 1], struct cc_err *err)
{
	static const char *const write[] = {"write-tree", NULL};
	char id[CC_GIT_OID + 1], old[CC_GIT_OID + 1], name[CC_GIT_OID + 8];
	const char *const same[] = {"rev-parse", "--verify", "--quiet", "--end-of-options", name, NULL};
	const char *words[] = {"commit-tree", "-m", "Uncommitted work, kept when the run ended", id, NULL, NULL, NULL};
	enum cc_code code = cc_git_line(&job->git, job->tree->path, id, sizeof(id), write, err);

	if (code != CC_OK)
		return code;
	if (job->head[0]) {
		snprintf(name, sizeof(name), "%s^{tree}", job->head);
		code = cc_git_line(&job->git, job->tree->path, old, sizeof(old), same, err);
		words[4] = "-p";
		words[5] = job->head;
	} else {
		snprintf(old, sizeof(old), "%s", cc_git_empty_tree(job->tree->hash));
	}
	if (code == CC_OK && strcmp(id, old) == 0)
		return cc_str_put(out, CC_GIT_OID + 1, job->head) ? CC_OK : CC_EINVAL;
	return code == CC_OK ? cc_git_line(&job->git, job->tree->path, out, CC_GIT_OID + 1, words, err) : code;
}

enum cc_code cc_rescue(const struct cc_worktree *tree, const char *ours, const char *head,
		       char out_commit[CC_GIT_OID + 1], struct cc_strv *out_left, struct cc_err *err)
{
	struct rescue job = {.tree = tree, .head = head};
	enum cc_code code = cc_left_walk(tree, out_left, err);

	if (code == CC_OK)
		code = cc_work_git(&job.git, tree, err);
	if (code == CC_OK)
		code = cc_git_set(&job.git, err, "GIT_DIR=%s", ours);
	if (code == CC_OK)
		code = cc_git_set(&job.git, err, "GIT_WORK_TREE=%s", tree->path);
	if (code == CC_OK)
		code = start_index(&job, err);
	if (code == CC_OK)
		code = hide_links(&job, err);
	if (code == CC_OK)
		code = add_all(&job, out_left, err);
	if (code == CC_OK)
		code = show_links(&job, err);
	if (code == CC_OK)
		code = commit(&job, out_commit, err);
	cc_strv_done(&job.links);
	cc_git_done(&job.git);
	return code;
}
