#define _GNU_SOURCE
#include "work/inside.h"

#include "base/mem.h"
#include "os/fd.h"
#include "work/files.h"
#include "work/stock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ABOUT_MAX = 1 << 20, RUN_MAX = 80 };

static const char first_line[] = "ccbox worktree 1\n";

const char *cc_worktree_kind_name(enum cc_worktree_kind kind)
{
	static const char *const names[] = {"none", "reflink", "borrowed"};

	return (size_t)kind < CC_COUNT(names) ? names[kind] : names[0];
}

bool cc_worktree_run_ok(const char *run)
{
	size_t len = strlen(run);

	for (size_t i = 0; i < len; i++) {
		unsigned char low = cc_ascii_lower((unsigned char)run[i]);
		bool word = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') || low == '_' || low == '-';
		bool dot = low == '.' && i > 0 && i + 1 < len && run[i - 1] != '.';

		if (!word && !dot)
			return false;
	}
	return len > 0 && len <= RUN_MAX && run[0] != '-' && !cc_view_ends(cc_view_of(run), ".lock");
}

bool cc_work_path(const struct cc_worktree *tree, const char *name, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s/%s", tree->home, name) < PATH_MAX;
}

enum cc_code cc_work_git(struct cc_git *git, const struct cc_worktree *tree, struct cc_err *err)
{
	static const char *const who[] = {"GIT_AUTHOR_NAME=ccbox", "GIT_AUTHOR_EMAIL=ccbox@localhost",
					  "GIT_COMMITTER_NAME=ccbox", "GIT_COMMITTER_EMAIL=ccbox@localhost"};
	enum cc_code code = cc_git_init(git, tree->env, err);

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(who); i++)
		code = cc_git_set(git, err, "%s", who[i]);
	git->keep = tree->lock;
	return code;
}

enum cc_code cc_work_bare(const struct cc_worktree *tree, const struct cc_git *git, const char *name,
			  const struct cc_strv *lenders, struct cc_err *err)
{
	char dir[PATH_MAX];
	struct cc_buf text;
	CC_AUTO_FD home = open(tree->home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	enum cc_code code = cc_files_remove(tree->home, name, err);

	if (code != CC_OK)
		return code;
	if (!cc_work_path(tree, name, dir) || mkdir(dir, 0700) < 0)
		return cc_fail(err, CC_ESYS, errno, "%.200s/%s", tree->home, name);
	code = cc_git_start(git, dir, tree->hash, err);
	if (code == CC_OK)
		code = cc_stock_borrow(dir, lenders, err);
	if (code != CC_OK)
		return code;
	code = cc_files_read(home, CC_WORK_SHALLOW, ABOUT_MAX, &text, err);
	if (code == CC_OK)
		code = cc_files_write(dir, "shallow", cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code == CC_ENOTFOUND ? CC_OK : code;
}

void cc_worktree_done(struct cc_worktree *tree)
{
	if (tree->kind != CC_WORKTREE_NONE)
		cc_fd_close(&tree->lock);
	free(tree->run);
	free(tree->branch);
	free(tree->origin);
	free(tree->home);
	free(tree->path);
	cc_strv_done(&tree->objects);
	cc_strv_done(&tree->lenders);
	cc_strv_done(&tree->left);
	*tree = (struct cc_worktree){0};
}

enum cc_code cc_work_note(const struct cc_worktree *tree, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, ABOUT_MAX);
	cc_buf_adds(&text, first_line);
	cc_buf_addf(&text, "origin %s\nkind %s\nhash %s\nbase %s\n", tree->origin, cc_worktree_kind_name(tree->kind),
		    tree->hash, tree->base);
	for (size_t i = 0; i < tree->lenders.count; i++)
		cc_buf_addf(&text, "lender %s\n", tree->lenders.items[i]);
	if (tree->settled)
		cc_buf_addf(&text, "head %s\n%s%s", tree->head, tree->rescued ? "rescued \n" : "",
			    tree->damaged ? "damaged \n" : "");
	for (size_t i = 0; i < tree->left.count; i++)
		cc_buf_addf(&text, "left %s\n", strchr(tree->left.items[i], '\n') ? "?" : tree->left.items[i]);
	code = cc_buf_check(&text, "what is known of a copy", err);
	if (code == CC_OK)
		code = cc_files_write(tree->home, CC_WORK_ABOUT, cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code;
}

static bool put_oid(char out[CC_REVIEW_OID + 1], const char *value)
{
	return (!*value || cc_git_is_oid(value)) && cc_str_put(out, CC_REVIEW_OID + 1, value);
}

/* One line of what cc_work_note wrote. */
static bool take_line(struct cc_worktree *tree, const char *key, const char *value)
{
	struct cc_err err;

	if (strcmp(key, "origin") == 0 && !tree->origin)
		return value[0] == '/' && (tree->origin = cc_str_copy(value));
	if (strcmp(key, "kind") == 0)
		for (int kind = CC_WORKTREE_REFLINK; kind <= CC_WORKTREE_BORROWED; kind++)
			if (strcmp(value, cc_worktree_kind_name((enum cc_worktree_kind)kind)) == 0)
				return (tree->kind = (enum cc_worktree_kind)kind);
	if (strcmp(key, "hash") == 0)
		return *value && put_oid(tree->hash, value);
	if (strcmp(key, "base") == 0)
		return put_oid(tree->base, value);
	if (strcmp(key, "lender") == 0)
		return value[0] == '/' && cc_strv_push(&tree->lenders, value, &err) == CC_OK;
	if (strcmp(key, "left") == 0)
		return cc_strv_push(&tree->left, value, &err) == CC_OK;
	if (strcmp(key, "head") == 0)
		return (tree->settled = put_oid(tree->head, value));
	if (strcmp(key, "rescued") == 0)
		return (tree->rescued = true);
	if (strcmp(key, "damaged") == 0)
		return (tree->damaged = true);
	return false;
}

static enum cc_code read_about(struct cc_worktree *tree, int home, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code = cc_files_read(home, CC_WORK_ABOUT, ABOUT_MAX, &text, err);
	char *at = text.data, *end;
	bool good = code == CC_OK && text.len && cc_view_starts(cc_buf_view(&text), first_line);

	for (at = good ? at + strlen(first_line) : NULL; good && (end = strchr(at, '\n')); at = end + 1) {
		char *space = memchr(at, ' ', (size_t)(end - at));

		*end = '\0';
		good = space != NULL;
		if (good) {
			*space = '\0';
			good = take_line(tree, at, space + 1);
		}
	}
	cc_buf_done(&text);
	if (code == CC_OK && (!good || !tree->origin || !tree->kind || !tree->hash[0]))
		code = cc_fail(err, CC_EPOLICY, 0, "%.200s/about is not understood", tree->home);
	if (code == CC_OK && tree->kind == CC_WORKTREE_BORROWED)
		code = cc_strv_copy(&tree->objects, &tree->lenders, err);
	return code;
}

enum cc_code cc_work_name(struct cc_worktree *tree, const char *dir, const char *run, char *const *env,
			  struct cc_err *err)
{
	char real[PATH_MAX], text[PATH_MAX + 128];

	*tree = (struct cc_worktree){.lock = -1, .env = env};
	if (!cc_worktree_run_ok(run))
		return cc_fail(err, CC_EINVAL, 0, "\"%.80s\" is no id of a run", run);
	if (!realpath(dir, real))
		return cc_fail(err, CC_ENOTFOUND, errno, "%.300s", dir);
	if (strpbrk(real, "\n=") || snprintf(text, sizeof(text), "%s/%s", real, run) >= PATH_MAX - 64)
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long or too strange", real);
	tree->home = cc_str_copy(text);
	tree->run = cc_str_copy(run);
	snprintf(text, sizeof(text), "%s/%s/" CC_WORK_TREE, real, run);
	tree->path = cc_str_copy(text);
	snprintf(text, sizeof(text), "cc/run/%s", run);
	tree->branch = cc_str_copy(text);
	return tree->home && tree->run && tree->path && tree->branch ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "memory");
}

int cc_work_door(const char *dir, bool alone)
{
	char path[PATH_MAX];
	int fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/" CC_WORK_DOOR, dir) < sizeof(path))
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd >= 0 && flock(fd, alone ? LOCK_EX : LOCK_SH) < 0)
		if (errno != EINTR)
			cc_fd_close(&fd);
	return fd;
}

int cc_work_lock(int home, bool make)
{
	int fd = openat(home, CC_WORK_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT | O_EXCL : 0), 0600);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		cc_fd_close(&fd);
	return fd;
}

enum cc_code cc_worktree_open(const char *dir, const char *run, char *const *env, struct cc_worktree *out_tree,
			      struct cc_err *err)
{
	struct cc_worktree tree;
	CC_AUTO_FD home = -1;
	enum cc_code code = cc_work_name(&tree, dir, run, env, err);

	if (code == CC_OK) {
		home = open(tree.home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (home < 0)
			code = cc_fail(err, CC_ENOTFOUND, errno, "there is no run %s", run);
	}
	if (code == CC_OK) {
		tree.lock = cc_work_lock(home, false);
		if (tree.lock < 0)
			code = errno == EWOULDBLOCK ? cc_fail(err, CC_ESTATE, 0, "somebody works with the run %s", run)
						    : cc_fail(err, CC_ENOTFOUND, errno, "the run %s has no lock", run);
	}
	if (code == CC_OK)
		code = read_about(&tree, home, err);
	if (code == CC_OK) {
		*out_tree = tree;
		return CC_OK;
	}
	cc_fd_close(&tree.lock);
	tree.kind = CC_WORKTREE_NONE;
	cc_worktree_done(&tree);
	return code;
}
