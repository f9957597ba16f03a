#define _GNU_SOURCE
#include "tools/walk.h"

#include "base/mem.h"
#include "os/fd.h"
#include "policy/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct walk {
	struct cc_tools *tools;
	cc_walk_seen *seen;
	void *context;
	size_t entries;
	bool over, cut;
	size_t start; /* bytes of path before the relative one */
	char path[PATH_MAX];
};

static bool passed_by(const char *name)
{
	static const char *const names[] = {".git", "node_modules", ".dart_tool", "build", ".fvm"};

	for (size_t i = 0; i < CC_COUNT(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void visit(struct walk *walk, int fd, unsigned depth);

/* One entry of the directory fd, whose name stands at the end of walk->path. */
static void entry_of(struct walk *walk, int fd, const char *name, unsigned depth)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		int below;

		if (passed_by(name))
			return;
		if (depth == CC_WALK_DEPTH) {
			walk->cut = true;
			return;
		}
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			visit(walk, below, depth + 1);
	} else if (S_ISREG(st.st_mode) && cc_place_permit(walk->tools, CC_VERB_READ, walk->path, NULL) == CC_OK) {
		struct cc_walk_file file = {fd, name, walk->path + walk->start, walk->path, &st};

		walk->over |= !walk->seen(walk->context, &file);
	}
}

/* Takes fd. */
static void visit(struct walk *walk, int fd, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	size_t len = strlen(walk->path);
	struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	while (!walk->over && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++walk->entries > CC_WALK_ENTRIES) {
			walk->over = walk->cut = true;
			break;
		}
		if ((size_t)snprintf(walk->path + len, sizeof(walk->path) - len, "/%s", entry->d_name) <
		    sizeof(walk->path) - len)
			entry_of(walk, dirfd(dir), entry->d_name, depth);
		walk->path[len] = '\0';
	}
	closedir(dir);
}

enum cc_code cc_walk(struct cc_tools *tools, const char *start, cc_walk_seen *seen, void *context, bool *out_cut,
		     struct cc_err *err)
{
	struct walk walk = {.tools = tools, .seen = seen, .context = context};
	int fd;
	enum cc_code code = cc_place_dir(tools, *start ? start : ".", walk.path, &fd, err);

	if (code != CC_OK)
		return code;
	walk.start = strlen(walk.path) + 1;
	visit(&walk, fd, 0);
	*out_cut = walk.cut;
	return CC_OK;
}

struct cc_glob {
	struct cc_pattern pattern;
	bool whole;
};

enum cc_code cc_glob_parse(const char *text, struct cc_glob **out_glob, struct cc_err *err)
{
	CC_AUTO(cc_glob) glob = calloc(1, sizeof(*glob));
	enum cc_code code;

	if (!glob)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	glob->whole = strchr(text, '/') && strncmp(text, "**/", 3) != 0;
	code = cc_pattern_parse(text, true, &glob->pattern, err);
	if (code == CC_OK)
		*out_glob = cc_glob_take(&glob);
	return code;
}

bool cc_glob_is(const struct cc_glob *glob, const char *rel)
{
	struct cc_view path = cc_view_of(rel);

	for (size_t at = 0; at < path.len; at += cc_path_part(path, at).len + 1) {
		if (cc_pattern_names(&glob->pattern, path, at))
			return true;
		if (glob->whole)
			return false;
	}
	return false;
}

void cc_glob_free(struct cc_glob *glob)
{
	if (glob)
		cc_pattern_done(&glob->pattern);
	free(glob);
}
