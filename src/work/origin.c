#define _GNU_SOURCE
#include "work/origin.h"

#include "base/mem.h"
#include "os/fd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_MAX = 1 << 20, REFS_MAX = 64 << 20, LENDERS_MAX = 64 };

void cc_origin_done(struct cc_origin *origin)
{
	free(origin->top);
	free(origin->git_dir);
	free(origin->common_dir);
	free(origin->shallow);
	cc_strv_done(&origin->objects);
	*origin = (struct cc_origin){0};
}

/* Cuts the next line off *text; NULL at the end. */
static char *next_line(char **text)
{
	char *line = *text, *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line;
}

static enum cc_code add_lender(struct cc_origin *origin, const char *path, struct cc_err *err)
{
	char real[PATH_MAX];

	if (path[0] != '/' || !realpath(path, real))
		return cc_fail(err, CC_EPOLICY, errno, "the objects of %.150s lie in %.150s, which cannot be read",
			       origin->git_dir, path);
	if (strchr(real, '\n') || origin->objects.count == LENDERS_MAX)
		return cc_fail(err, CC_EPOLICY, 0, "%.200s borrows its objects from too many or too strange places",
			       origin->git_dir);
	return cc_strv_add(&origin->objects, real, err);
}

/* git itself follows who borrows from whom. */
static enum cc_code find_lenders(const struct cc_git *git, const char *dir, struct cc_origin *origin,
				 struct cc_err *err)
{
	static const char *const words[] = {"count-objects", "-v", NULL};
	static const char key[] = "alternate: ";
	struct cc_buf text;
	enum cc_code code = cc_git_run(git, dir, ANSWER_MAX, &text, words, err);
	char *at = text.data;
	const char *line;

	while (code == CC_OK && (line = next_line(&at)))
		if (strncmp(line, key, strlen(key)) == 0)
			code = add_lender(origin, line + strlen(key), err);
	cc_buf_done(&text);
	return code;
}

static enum cc_code take_paths(struct cc_origin *origin, char *answer, struct cc_err *err)
{
	enum { GIT_DIR, COMMON, OBJECTS, SHALLOW, BARE, FORMAT, LINES };
	const char *lines[LINES];

	for (int i = 0; i < LINES; i++) {
		lines[i] = next_line(&answer);
		if (!lines[i])
			return cc_fail(err, CC_EPOLICY, 0, "git's answer is too short");
	}
	if (next_line(&answer) || (strcmp(lines[FORMAT], "sha1") != 0 && strcmp(lines[FORMAT], "sha256") != 0))
		return cc_fail(err, CC_EPOLICY, 0, "git's answer is not understood");
	origin->git_dir = realpath(lines[GIT_DIR], NULL);
	origin->common_dir = realpath(lines[COMMON], NULL);
	origin->shallow = cc_str_copy(lines[SHALLOW]);
	origin->bare = strcmp(lines[BARE], "true") == 0;
	origin->sha256 = strcmp(lines[FORMAT], "sha256") == 0;
	if (!origin->git_dir || !origin->common_dir || !origin->shallow)
		return cc_fail(err, CC_EPOLICY, errno, "the git directory");
	return add_lender(origin, lines[OBJECTS], err);
}

enum cc_code cc_origin_find(const struct cc_git *git, const char *dir, struct cc_origin *out_origin, struct cc_err *err)
{
	static const char *const where[] = {"rev-parse",
					    "--path-format=absolute",
					    "--git-dir",
					    "--git-common-dir",
					    "--git-path",
					    "objects",
					    "--git-path",
					    "shallow",
					    "--is-bare-repository",
					    "--show-object-format",
					    NULL};
	static const char *const above[] = {"rev-parse", "--show-toplevel", NULL};
	char top[PATH_MAX];
	struct cc_origin origin = {0};
	struct cc_buf text;
	struct cc_err why;
	enum cc_code code;

	if (access(dir, R_OK | X_OK) < 0)
		return cc_fail(err, CC_ENOTFOUND, errno, "%.300s", dir);
	code = cc_git_run(git, dir, ANSWER_MAX, &text, where, &why);
	if (code == CC_OK)
		code = take_paths(&origin, text.data, &why);
	cc_buf_done(&text);
	if (code == CC_OK && !origin.bare)
		code = cc_git_line(git, dir, top, sizeof(top), above, &why);
	if (code == CC_OK) {
		origin.top = origin.bare ? cc_str_copy(origin.git_dir) : realpath(top, NULL);
		code = origin.top ? CC_OK : cc_fail(&why, CC_ESYS, errno, "its top");
	}
	if (code == CC_OK)
		code = find_lenders(git, dir, &origin, &why);
	if (code != CC_OK) {
		cc_origin_done(&origin);
		return cc_fail(err, code, 0, "%.150s is no repository that can be copied: %.200s", dir, why.what);
	}
	*out_origin = origin;
	return CC_OK;
}

/* Is there nothing at all by this name? A file that cannot be read is something. */
static bool is_unborn(const struct cc_origin *origin, const char *ref)
{
	char path[2 * PATH_MAX], line[PATH_MAX];
	struct cc_buf text;
	struct cc_err why;
	bool none;

	snprintf(path, sizeof(path), "%s/%s", origin->common_dir, ref);
	if (access(path, F_OK) == 0 || errno != ENOENT)
		return false;
	snprintf(path, sizeof(path), "%s/packed-refs", origin->common_dir);
	snprintf(line, sizeof(line), " %s\n", ref);
	cc_buf_init(&text, REFS_MAX);
	none = access(path, F_OK) < 0 && errno == ENOENT;
	if (!none)
		none = cc_fd_read_file(path, &text, &why) == CC_OK && !strstr(text.data ? text.data : "", line);
	cc_buf_done(&text);
	return none;
}

enum cc_code cc_origin_head(const struct cc_git *git, const struct cc_origin *origin, char out[CC_GIT_OID + 1],
			    struct cc_err *err)
{
	static const char *const words[] = {"symbolic-ref", "-q", "HEAD", NULL};
	const char *dir = origin->top;
	char ref[PATH_MAX / 2];
	struct cc_err why;
	enum cc_code code = cc_git_commit(git, dir, "HEAD", out, err);

	if (code != CC_ENOTFOUND || cc_git_line(git, dir, ref, sizeof(ref), words, &why) != CC_OK)
		return code;
	if (strncmp(ref, "refs/heads/", 11) != 0 || !is_unborn(origin, ref))
		return code;
	out[0] = '\0';
	return CC_OK;
}
