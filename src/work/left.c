#define _GNU_SOURCE
#include "work/left.h"

#include "os/fd.h"
#include "work/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_MAX = 4096, PACKED_MAX = 64 << 20 };

/* The first line of a small file. */
static bool read_line(int dir, const char *path, char out[HEAD_MAX])
{
	struct cc_buf text;
	struct cc_err err;
	bool good = cc_files_read(dir, path, HEAD_MAX - 1, &text, &err) == CC_OK && text.len;

	if (good) {
		size_t len = strcspn(text.data, "\n");

		memcpy(out, text.data, len);
		out[len] = '\0';
	}
	cc_buf_done(&text);
	return good;
}

static bool take_oid(const char *text, char out[CC_GIT_OID + 1])
{
	return cc_git_is_oid(text) && cc_str_put(out, CC_GIT_OID + 1, text);
}

static bool packed(int dir, const char *ref, char out[CC_GIT_OID + 1])
{
	char want[HEAD_MAX + 2], id[CC_GIT_OID + 1];
	struct cc_buf text;
	struct cc_err err;
	const char *at = NULL;
	bool found = false;

	snprintf(want, sizeof(want), " %s\n", ref);
	if (cc_files_read(dir, "packed-refs", PACKED_MAX, &text, &err) == CC_OK && text.len)
		at = strstr(text.data, want);
	if (at) {
		const char *line = at;

		while (line > text.data && line[-1] != '\n')
			line--;
		if (at - line <= CC_GIT_OID) {
			memcpy(id, line, (size_t)(at - line));
			id[at - line] = '\0';
			found = take_oid(id, out);
		}
	}
	cc_buf_done(&text);
	return found;
}

void cc_left_head(int git_dir, char out[CC_GIT_OID + 1])
{
	static const char prefix[] = "ref: ";
	char head[HEAD_MAX], text[HEAD_MAX];
	const char *ref = head + strlen(prefix);

	out[0] = '\0';
	if (!read_line(git_dir, "HEAD", head) || take_oid(head, out))
		return;
	if (strncmp(head, prefix, strlen(prefix)) != 0 || strncmp(ref, "refs/heads/", 11) != 0 || strstr(ref, ".."))
		return;
	if (read_line(git_dir, ref, text))
		take_oid(text, out);
	else
		packed(git_dir, ref, out);
}

struct walk {
	const struct cc_worktree *tree;
	struct cc_strv *skip;
	struct stat since; /* of our index: when the copy was made */
	int nested;        /* where other repositories' .git goes */
	unsigned moved;
	char path[PATH_MAX]; /* from the top */
	struct cc_err *err;
};

static enum cc_code skip(struct walk *walk)
{
	if (walk->skip->count == CC_LEFT_SKIPPED)
		return cc_fail(walk->err, CC_ELIMIT, 0, "more than %d files that no commit can hold", CC_LEFT_SKIPPED);
	return cc_strv_push(walk->skip, walk->path, walk->err);
}

static bool later(const struct timespec *left, const struct timespec *right)
{
	return left->tv_sec != right->tv_sec ? left->tv_sec > right->tv_sec : left->tv_nsec > right->tv_nsec;
}

static bool is_dot_git(const char *name)
{
	return cc_view_eq_nocase(cc_view_of(name), cc_view_of(".git"));
}

static enum cc_code put_aside(struct walk *walk, int dir, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", walk->moved++);
	if (fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) < 0 && errno != EOPNOTSUPP && errno != ENOTSUP)
		return cc_fail(walk->err, CC_ESYS, errno, "%.200s", walk->path);
	return renameat(dir, name, walk->nested, number) == 0
		       ? CC_OK
		       : cc_fail(walk->err, CC_ESYS, errno, "%.200s cannot be put aside", walk->path);
}

static enum cc_code walk_dir(struct walk *walk, int fd, size_t len, int depth);

static enum cc_code walk_into(struct walk *walk, int dir, const char *name, size_t len, int depth)
{
	int fd;

	if (depth == CC_LEFT_DEPTH)
		return skip(walk);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return cc_fail(walk->err, CC_ESYS, errno, "%.200s", walk->path);
	return walk_dir(walk, fd, len, depth + 1);
}

static enum cc_code walk_file(struct walk *walk, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return cc_fail(walk->err, CC_ESYS, errno, "%.200s", walk->path);
	if (S_ISLNK(st.st_mode))
		return CC_OK;
	/* within the clock's own step of that moment it may be new: better named for nothing than read for hours */
	if (!S_ISREG(st.st_mode) || (st.st_size > CC_LEFT_FILE && !later(&walk->since.st_ctim, &st.st_ctim)))
		return skip(walk);
	if (!(st.st_mode & 0400) && fchmodat(dir, name, (st.st_mode & 0777) | 0600, 0) < 0)
		return cc_fail(walk->err, CC_ESYS, errno, "%.200s", walk->path);
	return CC_OK;
}

/* Owns fd. path[0..len) is the directory's own path, with its slash. */
static enum cc_code walk_dir(struct walk *walk, int fd, size_t len, int depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	enum cc_code code = CC_OK;

	if (!dir) {
		close(fd);
		return cc_fail(walk->err, CC_ESYS, errno, "%.200s", walk->path);
	}
	while (code == CC_OK && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		size_t full = len + strlen(name);
		struct stat st;
		bool is_dir = entry->d_type == DT_DIR;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (full + 2 >= sizeof(walk->path)) {
			walk->path[len] = '\0';
			code = skip(walk);
			break;
		}
		memcpy(walk->path + len, name, full - len + 1);
		if (entry->d_type == DT_UNKNOWN)
			is_dir = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
		if (is_dot_git(name)) {
			code = put_aside(walk, fd, name);
		} else if (is_dir) {
			walk->path[full] = '/';
			walk->path[full + 1] = '\0';
			code = walk_into(walk, fd, name, full + 1, depth);
		} else {
			code = walk_file(walk, fd, name);
		}
	}
	closedir(dir);
	return code;
}

enum cc_code cc_left_walk(const struct cc_worktree *tree, struct cc_strv *out_skip, struct cc_err *err)
{
	struct walk walk = {.tree = tree, .skip = out_skip, .nested = -1, .err = err};
	CC_AUTO_FD home = open(tree->home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	enum cc_code code;
	int top;

	if (home < 0 || (fstatat(home, CC_WORK_INDEX, &walk.since, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT))
		return cc_fail(err, CC_ESYS, errno, "%.300s", tree->home);
	/* a settling that was interrupted has moved some already */
	code = cc_files_remove(tree->home, CC_WORK_NESTED, err);
	if (code == CC_OK && mkdirat(home, CC_WORK_NESTED, 0700) < 0)
		code = cc_fail(err, CC_ESYS, errno, "%.300s", tree->home);
	if (code != CC_OK)
		return code;
	walk.nested = openat(home, CC_WORK_NESTED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	top = openat(home, CC_WORK_TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0 || walk.nested < 0)
		code = cc_fail(err, CC_ESYS, errno, "%.300s", tree->path);
	if (code == CC_OK)
		code = walk_dir(&walk, cc_fd_take(&top), 0, 0);
	cc_fd_close(&top);
	cc_fd_close(&walk.nested);
	return code;
}
