#define _GNU_SOURCE
#include "session/gitplace.h"

#include "base/buf.h"
#include "base/mem.h"
#include "os/fd.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { POINTER_MAX = 8192, LEVELS_MAX = 256 };

void cc_git_place_done(struct cc_git_place *place)
{
	free(place->top);
	free(place->git_dir);
	free(place->common_dir);
	free(place->separate);
	*place = (struct cc_git_place){0};
}

/* First line of a small file, without its prefix, resolved against dir. */
static bool read_pointer(const char *file, const char *prefix, const char *dir, char out[PATH_MAX])
{
	struct cc_buf text;
	struct cc_err err;
	char joined[PATH_MAX];
	bool good = false;

	cc_buf_init(&text, POINTER_MAX);
	if (cc_fd_read_file(file, &text, &err) == CC_OK && text.len && cc_view_starts(cc_buf_view(&text), prefix)) {
		char *at = text.data + strlen(prefix);

		at[strcspn(at, "\r\n")] = '\0';
		good = snprintf(joined, sizeof(joined), "%s%s%s", at[0] == '/' ? "" : dir, at[0] == '/' ? "" : "/",
				at) < (int)sizeof(joined) &&
		       realpath(joined, out);
	}
	cc_buf_done(&text);
	return good;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A linked work tree's administration names the .git file it belongs to: both must agree (cases GIT-05). */
static bool points_back(const char *git_dir, const char *dot_git)
{
	char file[PATH_MAX + 16];
	char back[PATH_MAX];
	char mine[PATH_MAX];

	snprintf(file, sizeof(file), "%s/gitdir", git_dir);
	return read_pointer(file, "", git_dir, back) && realpath(dot_git, mine) && strcmp(back, mine) == 0;
}

static bool has_git_part(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/.git")); at++)
		if (at[5] == '/' || at[5] == '\0')
			return true;
	return false;
}

static enum cc_code place_of_link(const char *dir, const char *dot_git, struct cc_git_place *place, struct cc_err *err)
{
	char git_dir[PATH_MAX];
	char common[PATH_MAX];
	char file[PATH_MAX + 16];
	char expect[PATH_MAX + 16];

	if (!read_pointer(dot_git, "gitdir: ", dir, git_dir) || !is_dir(git_dir))
		return cc_fail(err, CC_EPOLICY, 0,
			       "%s points at a git directory that is not there; repair it with "
			       "`git worktree repair` or name the directories with --bind",
			       dot_git);
	snprintf(file, sizeof(file), "%s/commondir", git_dir);
	if (!read_pointer(file, "", git_dir, common)) {
		/* a submodule: its git directory lies below the outer one; or one that stands for itself */
		if (!place->separate && !has_git_part(git_dir))
			place->separate = cc_str_copy(git_dir);
		return CC_ENOTFOUND;
	}
	snprintf(expect, sizeof(expect), "%s/worktrees/", common);
	if (strncmp(git_dir, expect, strlen(expect)) != 0 || !points_back(git_dir, dot_git))
		return cc_fail(err, CC_EPOLICY, 0,
			       "%s points at %s, which does not point back; nothing is granted from "
			       "a forged pointer. Name the directories with --bind",
			       dot_git, git_dir);
	place->found = place->linked = true;
	place->top = cc_str_copy(dir);
	place->git_dir = cc_str_copy(git_dir);
	place->common_dir = cc_str_copy(common);
	return CC_OK;
}

enum cc_code cc_git_place_find(const char *dir, struct cc_git_place *out_place, struct cc_err *err)
{
	char at[PATH_MAX];
	char dot_git[PATH_MAX + 8];
	struct stat st;

	*out_place = (struct cc_git_place){0};
	if (!realpath(dir, at))
		return cc_fail(err, CC_ENOTFOUND, errno, "%s", dir);
	for (int level = 0; level < LEVELS_MAX && strcmp(at, "/") != 0; level++) {
		char *slash;

		snprintf(dot_git, sizeof(dot_git), "%s/.git", at);
		if (lstat(dot_git, &st) == 0 && S_ISDIR(st.st_mode)) {
			out_place->found = true;
			out_place->top = cc_str_copy(at);
			out_place->git_dir = cc_str_copy(dot_git);
			out_place->common_dir = cc_str_copy(dot_git);
			return CC_OK;
		}
		if (lstat(dot_git, &st) == 0 && S_ISREG(st.st_mode)) {
			enum cc_code code = place_of_link(at, dot_git, out_place, err);

			if (code != CC_ENOTFOUND)
				return code;
		}
		slash = strrchr(at, '/');
		at[slash == at ? 1 : slash - at] = '\0';
	}
	return CC_OK;
}

static enum cc_code add_worktrees(const char *git_dir, struct cc_strv *paths, struct cc_err *err)
{
	static const char *const names[] = {"commondir", "gitdir", "config.worktree"};
	char path[PATH_MAX + 16];
	const struct dirent *entry;
	enum cc_code code = CC_OK;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/worktrees", git_dir);
	dir = opendir(path);
	for (int count = 0; dir && code == CC_OK && count < LEVELS_MAX && (entry = readdir(dir)); count++)
		for (size_t i = 0; entry->d_name[0] != '.' && code == CC_OK && i < CC_COUNT(names); i++)
			code = cc_strv_pushf(paths, err, "%s/%s/%s", path, entry->d_name, names[i]);
	if (dir)
		closedir(dir);
	return code;
}

static enum cc_code add_linked(const char *path, struct cc_strv *paths, struct cc_err *err)
{
	char real[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode) || !realpath(path, real))
		return CC_OK;
	return cc_strv_push(paths, real, err);
}

/* Hooks are often links to scripts of the tree: what git runs is what they lead to. */
static enum cc_code add_hooks(const char *git_dir, struct cc_strv *paths, struct cc_err *err)
{
	char dir_path[PATH_MAX + 16];
	char path[2 * PATH_MAX];
	const struct dirent *entry;
	enum cc_code code;
	DIR *dir;

	snprintf(dir_path, sizeof(dir_path), "%s/hooks", git_dir);
	code = add_linked(dir_path, paths, err);
	dir = code == CC_OK ? opendir(dir_path) : NULL;
	if (!dir)
		return code;
	for (int count = 0; code == CC_OK && count < LEVELS_MAX && (entry = readdir(dir)); count++) {
		snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		code = add_linked(path, paths, err);
	}
	closedir(dir);
	return code;
}

enum cc_code cc_git_place_content(const struct cc_git_place *place, struct cc_strv *out_paths, struct cc_err *err)
{
	static const char *const names[] = {"hooks",       "config",    "config.worktree",         "info/attributes",
					    "info/grafts", "commondir", "objects/info/alternates", "modules"};
	const char *dirs[] = {place->common_dir, place->separate};
	enum cc_code code = CC_OK;

	for (size_t d = 0; d < CC_COUNT(dirs); d++) {
		if (dirs[d] && code == CC_OK)
			code = add_hooks(dirs[d], out_paths, err);
		if (!dirs[d] || has_git_part(dirs[d]))
			continue;
		for (size_t i = 0; code == CC_OK && i < CC_COUNT(names); i++)
			code = cc_strv_pushf(out_paths, err, "%s/%s", dirs[d], names[i]);
		if (code == CC_OK)
			code = add_worktrees(dirs[d], out_paths, err);
	}
	return code;
}
