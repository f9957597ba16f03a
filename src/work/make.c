#define _GNU_SOURCE
#include "work/inside.h"

#include "base/mem.h"
#include "os/fd.h"
#include "work/files.h"
#include "work/origin.h"
#include "work/stock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CLONED_MAX = 4096, /* more files of objects than this are borrowed sooner than cloned */
	REFS_MAX = 64 << 20,
	CONFIG_MAX = 4 << 20,
	SHALLOW_MAX = 1 << 20,
	INDEX_MAX = 512 << 20,
};

struct making {
	const struct cc_worktree_ask *ask;
	struct cc_worktree *tree;
	struct cc_git git;
	struct cc_origin origin;
	char git_dir[PATH_MAX]; /* of the copy */
};

/* DIR/RUN and its lock, as one step for those who look for what killed owners left. */
static enum cc_code claim(struct making *job, struct cc_err *err)
{
	struct cc_worktree *tree = job->tree;
	CC_AUTO_FD home = -1;
	CC_AUTO_FD door = cc_work_door(job->ask->dir, false);

	if (door < 0)
		return cc_fail(err, CC_ESYS, errno, "%.300s", job->ask->dir);
	if (mkdir(tree->home, 0700) < 0)
		return errno == EEXIST ? cc_fail(err, CC_EINVAL, 0, "there is a run %s already", tree->run)
				       : cc_fail(err, CC_ESYS, errno, "%.300s", tree->home);
	home = open(tree->home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	tree->lock = home < 0 ? -1 : cc_work_lock(home, true);
	tree->kind = CC_WORKTREE_BORROWED;
	return tree->lock < 0 ? cc_fail(err, CC_ESYS, errno, "the lock of %.200s", tree->home) : CC_OK;
}

static enum cc_code start_repository(struct making *job, struct cc_err *err)
{
	char branch[128];
	const char *const words[] = {
		"init", "-q", "--template=", job->origin.sha256 ? "--object-format=sha256" : "--object-format=sha1",
		branch, ".",  NULL};

	snprintf(branch, sizeof(branch), "--initial-branch=%s", job->tree->branch);
	snprintf(job->git_dir, sizeof(job->git_dir), "%s/.git", job->tree->path);
	if (mkdir(job->tree->path, 0700) < 0)
		return cc_fail(err, CC_ESYS, errno, "%.300s", job->tree->path);
	return cc_git_do(&job->git, job->tree->path, words, err);
}

/* What a clone could not finish is taken away again. */
static enum cc_code clone_objects(struct making *job, bool *out_done, struct cc_err *err)
{
	char path[PATH_MAX + 16];
	struct cc_err why;
	enum cc_code code = CC_OK;
	CC_AUTO_FD to = -1;

	snprintf(path, sizeof(path), "%s/HEAD", job->origin.git_dir);
	if (!cc_stock_clones(path, job->tree->home))
		return CC_OK;
	snprintf(path, sizeof(path), "%s/objects", job->git_dir);
	to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; code == CC_OK && i < job->origin.objects.count; i++) {
		CC_AUTO_FD from = open(job->origin.objects.items[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		code = from < 0 || to < 0 ? CC_EUNSUPPORTED : cc_stock_take(from, to, CC_STOCK_CLONE, CLONED_MAX, &why);
	}
	*out_done = code == CC_OK;
	if (*out_done)
		return CC_OK;
	code = cc_files_remove(job->git_dir, "objects", err);
	return code == CC_OK && mkdir(path, 0700) < 0 ? cc_fail(err, CC_ESYS, errno, "%.300s", path) : code;
}

static enum cc_code give_objects(struct making *job, struct cc_err *err)
{
	struct cc_worktree *tree = job->tree;
	char path[PATH_MAX + 16];
	bool cloned = false;
	enum cc_code code = cc_strv_copy(&tree->lenders, &job->origin.objects, err);

	if (code == CC_OK)
		code = clone_objects(job, &cloned, err);
	if (cloned)
		tree->kind = CC_WORKTREE_REFLINK;
	if (code != CC_OK || cloned)
		return code;
	snprintf(path, sizeof(path), "%s/objects/info", job->git_dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return cc_fail(err, CC_ESYS, errno, "%.300s", path);
	code = cc_stock_borrow(job->git_dir, &tree->lenders, err);
	return code == CC_OK ? cc_strv_copy(&tree->objects, &tree->lenders, err) : code;
}

/* Where the origin's past ends, the copy's ends. */
static enum cc_code give_end(struct making *job, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, SHALLOW_MAX);
	code = cc_fd_read_file(job->origin.shallow, &text, err);
	if (code == CC_OK)
		code = cc_files_write(job->git_dir, "shallow", cc_buf_view(&text), err);
	if (code == CC_OK)
		code = cc_files_write(job->tree->home, CC_WORK_SHALLOW, cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code == CC_ENOTFOUND ? CC_OK : code;
}

/* The origin's branches and tags, as a clone would have them: names to compare with, not to write to. */
static enum cc_code give_refs(struct making *job, struct cc_err *err)
{
	static const char *const words[] = {"for-each-ref", "--format=%(objectname) %(refname)", "refs/heads",
					    "refs/tags", NULL};
	struct cc_buf answer, text;
	enum cc_code code = cc_git_run(&job->git, job->origin.top, REFS_MAX, &answer, words, err);
	const char *at = answer.data;

	cc_buf_init(&text, REFS_MAX);
	cc_buf_adds(&text, "# pack-refs with: \n");
	while (code == CC_OK && at && *at) {
		size_t len = strcspn(at, "\n"), id = strcspn(at, " ");
		struct cc_view name = {at + id + 1, len > id ? len - id - 1 : 0};

		if (cc_view_starts(name, "refs/heads/") && !memchr(name.ptr, '\r', name.len))
			cc_buf_addf(&text, "%.*s refs/remotes/origin/%.*s\n", (int)id, at, (int)name.len - 11,
				    name.ptr + 11);
		else if (cc_view_starts(name, "refs/tags/"))
			cc_buf_addf(&text, "%.*s\n", (int)len, at);
		at += len + (at[len] == '\n');
	}
	if (code == CC_OK)
		code = cc_buf_check(&text, "the origin's references", err);
	if (code == CC_OK)
		code = cc_files_write(job->git_dir, "packed-refs", cc_buf_view(&text), err);
	cc_buf_done(&answer);
	cc_buf_done(&text);
	return code;
}

/* A value as git's configuration files have it; false: it is none that fits in a line. */
static bool add_value(struct cc_buf *text, const char *key, const char *value)
{
	cc_buf_addf(text, "\t%s = \"", key);
	for (; *value; value++) {
		if ((unsigned char)*value < ' ' || *value == 0x7f)
			return false;
		if (*value == '"' || *value == '\\')
			cc_buf_add(text, "\\", 1);
		cc_buf_add(text, value, 1);
	}
	cc_buf_adds(text, "\"\n");
	return true;
}

/* Appends to the configuration that git has just made. */
static enum cc_code add_identity(const struct making *job, const char *name, const char *email, struct cc_err *err)
{
	char path[PATH_MAX + 16];
	struct cc_buf text;
	bool good;
	enum cc_code code;

	snprintf(path, sizeof(path), "%s/config", job->git_dir);
	cc_buf_init(&text, 65536);
	code = cc_fd_read_file(path, &text, err);
	cc_buf_adds(&text, "[user]\n");
	good = (!name || add_value(&text, "name", name)) && (!email || add_value(&text, "email", email));
	if (code == CC_OK)
		code = good ? cc_buf_check(&text, "a configuration", err)
			    : cc_fail(err, CC_EINVAL, 0, "your user.name or user.email has a control character in it");
	if (code == CC_OK)
		code = cc_files_write(job->git_dir, "config", cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code;
}

/* Who commits: what the person's own configuration says in the origin. Asking executes nothing; nothing else is taken.
 */
static enum cc_code give_identity(struct making *job, struct cc_err *err)
{
	static const char *const words[] = {"config", "--list", "-z", NULL};
	static const char name_key[] = "user.name\n", email_key[] = "user.email\n";
	const char *name = NULL, *email = NULL;
	struct cc_git asker;
	struct cc_buf text;
	enum cc_code code = cc_git_init(&asker, job->ask->env, err);

	cc_buf_init(&text, CONFIG_MAX);
	if (code == CC_OK)
		code = cc_git_persons(&asker, job->ask->env, err);
	if (code == CC_OK)
		code = cc_git_run(&asker, job->origin.top, CONFIG_MAX, &text, words, err);
	/* the last one said holds */
	for (size_t at = 0; code == CC_OK && at < text.len; at += strlen(text.data + at) + 1) {
		const char *line = text.data + at;

		if (strncmp(line, name_key, strlen(name_key)) == 0)
			name = line + strlen(name_key);
		if (strncmp(line, email_key, strlen(email_key)) == 0)
			email = line + strlen(email_key);
	}
	if (code == CC_OK && (name || email))
		code = add_identity(job, name, email, err);
	cc_buf_done(&text);
	cc_git_done(&asker);
	return code;
}

static enum cc_code check_out(struct making *job, struct cc_err *err)
{
	struct cc_worktree *tree = job->tree;
	const char *const words[] = {"-c", "checkout.workers=0", "reset", "-q", "--hard", tree->base, NULL};
	char index[PATH_MAX + 16];
	struct cc_buf text;
	enum cc_code code;

	if (!tree->base[0])
		return CC_OK;
	code = cc_git_set(&job->git, err, "GIT_DIR=%s", job->git_dir);
	if (code == CC_OK)
		code = cc_git_set(&job->git, err, "GIT_WORK_TREE=%s", tree->path);
	if (code == CC_OK)
		code = cc_git_do(&job->git, tree->path, words, err);
	if (code != CC_OK)
		return code;
	snprintf(index, sizeof(index), "%s/index", job->git_dir);
	cc_buf_init(&text, INDEX_MAX);
	code = cc_fd_read_file(index, &text, err);
	if (code == CC_OK)
		code = cc_files_write(tree->home, CC_WORK_INDEX, cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code;
}

static enum cc_code find_base(struct making *job, struct cc_err *err)
{
	struct cc_worktree *tree = job->tree;
	const char *const any = job->origin.sha256 ? "0000000000000000000000000000000000000000000000000000000000000000"
						   : "0000000000000000000000000000000000000000";

	snprintf(tree->hash, sizeof(tree->hash), "%s", any);
	tree->origin = cc_str_copy(job->origin.top);
	if (!tree->origin || strchr(tree->origin, '\n'))
		return cc_fail(err, CC_EINVAL, 0, "the origin's path is too strange");
	return job->ask->base ? cc_git_commit(&job->git, job->origin.top, job->ask->base, tree->base, err)
			      : cc_origin_head(&job->git, &job->origin, tree->base, err);
}

static enum cc_code build(struct making *job, struct cc_err *err)
{
	enum cc_code code = start_repository(job, err);

	if (code == CC_OK)
		code = give_objects(job, err);
	if (code == CC_OK)
		code = give_end(job, err);
	if (code == CC_OK)
		code = give_refs(job, err);
	if (code == CC_OK)
		code = give_identity(job, err);
	if (code == CC_OK)
		code = check_out(job, err);
	return code == CC_OK ? cc_work_note(job->tree, err) : code;
}

enum cc_code cc_worktree_make(const struct cc_worktree_ask *ask, struct cc_worktree *out_tree, struct cc_err *err)
{
	struct cc_worktree tree = {.lock = -1};
	struct making job = {.ask = ask, .tree = &tree};
	struct cc_err ignored;
	bool claimed = false;
	enum cc_code code = cc_files_private(ask->dir, err);

	if (code == CC_OK)
		code = cc_work_name(&tree, ask->dir, ask->run, ask->env, err);
	if (code == CC_OK)
		code = cc_work_git(&job.git, &tree, err);
	if (code == CC_OK)
		code = cc_origin_find(&job.git, ask->origin, &job.origin, err);
	if (code == CC_OK)
		code = find_base(&job, err);
	if (code == CC_OK) {
		code = claim(&job, err);
		claimed = code == CC_OK;
		job.git.keep = tree.lock;
	}
	if (code == CC_OK)
		code = build(&job, err);
	cc_origin_done(&job.origin);
	cc_git_done(&job.git);
	if (code == CC_OK) {
		*out_tree = tree;
		return CC_OK;
	}
	if (claimed && cc_work_remove(ask->dir, tree.run, &ignored) != CC_OK)
		code = cc_fail(err, code, 0, "%.250s; and its directory stays: %.100s", err->what, ignored.what);
	cc_worktree_done(&tree);
	return code;
}

enum cc_code cc_worktree_protect(const char *origin, char *const *env, struct cc_strv *paths, struct cc_err *err)
{
	struct cc_origin found = {0};
	struct cc_git git;
	enum cc_code code = cc_git_init(&git, env, err);

	if (code == CC_OK)
		code = cc_origin_find(&git, origin, &found, err);
	if (code == CC_OK)
		code = cc_strv_add(paths, found.top, err);
	if (code == CC_OK)
		code = cc_strv_add(paths, found.git_dir, err);
	if (code == CC_OK)
		code = cc_strv_add(paths, found.common_dir, err);
	cc_origin_done(&found);
	cc_git_done(&git);
	return code;
}
