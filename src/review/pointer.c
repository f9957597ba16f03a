#include "review/config.h"

#include "policy/names.h"

#include <string.h>

/* Adds the parts of text to the absolute path in out, with "." and ".." worked out by name. */
static bool add_parts(char *out, size_t *len, size_t cap, struct cc_view text)
{
	for (size_t at = 0; at < text.len;) {
		size_t end = at;

		while (end < text.len && text.ptr[end] != '/')
			end++;
		if (end - at == 2 && memcmp(text.ptr + at, "..", 2) == 0) {
			while (*len > 0 && out[--*len] != '/')
				;
		} else if (end > at && !(end - at == 1 && text.ptr[at] == '.')) {
			if (*len + 1 + (end - at) >= cap)
				return false;
			out[(*len)++] = '/';
			memcpy(out + *len, text.ptr + at, end - at);
			*len += end - at;
		}
		at = end + 1;
	}
	return true;
}

static bool part_is(struct cc_view path, size_t at, size_t *out_end, const char *name)
{
	size_t end = at;

	while (end < path.len && path.ptr[end] != '/')
		end++;
	*out_end = end;
	return cc_view_is((struct cc_view){path.ptr + at, end - at}, name);
}

/* X/.git, X/.git/modules/..., X/.git/worktrees/NAME: the places where the gate judges a configuration. */
static bool is_judged_git_dir(struct cc_view path)
{
	size_t at = 1;
	size_t end = 0;

	while (at < path.len && !part_is(path, at, &end, ".git"))
		at = end + 1;
	if (at >= path.len)
		return false;
	if (end == path.len)
		return true;
	at = end + 1;
	if (part_is(path, at, &end, "modules"))
		return end < path.len;
	if (!part_is(path, at, &end, "worktrees") || end == path.len)
		return false;
	at = end + 1;
	(void)part_is(path, at, &end, "");
	return end == path.len || cc_view_is((struct cc_view){path.ptr + end, path.len - end}, "/.git");
}

bool cc_gitworktree_ok(struct cc_view path, const char *value)
{
	char target[CC_PATH_MAX];
	size_t len = 0;
	size_t at = 1;
	size_t end = 0;
	size_t top;

	while (at < path.len && !part_is(path, at, &end, ".git"))
		at = end + 1;
	if (at >= path.len || value[0] == '/' || !part_is(path, end + 1, &top, "modules"))
		return false;
	top = at - 1; /* without its slash */
	for (end = path.len; end > 0 && path.ptr[end - 1] != '/'; end--)
		;
	if (!add_parts(target, &len, sizeof(target), (struct cc_view){path.ptr, end}) ||
	    !add_parts(target, &len, sizeof(target), cc_view_of(value)) || len <= top + 1 ||
	    !cc_path_within((struct cc_view){target, len}, (struct cc_view){path.ptr, top}))
		return false;
	for (at = top + 1; at < len; at = end + 1) {
		struct cc_view part = {target + at, 0};

		for (end = at; end < len && target[end] != '/'; end++)
			part.len++;
		if (cc_view_eq_nocase(part, cc_view_of(".git")))
			return false;
	}
	return true;
}

/* Which part of the way to X/.git is only a name inside the bind? A link may be put in its place later, and then the
 * pointer leads out of the bind. Up ("..") and the bind's own root cannot be replaced. */
static bool passes_a_name(struct cc_view text, struct cc_view root)
{
	bool absolute = text.len && text.ptr[0] == '/', inside = false;

	if (absolute && !cc_path_within(text, root))
		return true;
	for (size_t at = absolute ? root.len + 1 : 0; at < text.len;) {
		struct cc_view part = cc_path_part(text, at);
		bool up = cc_view_is(part, "..");

		/* below .git there are no links, but the way out of it again leads anywhere */
		if (inside ? up : part.len && !up && !cc_view_is(part, ".") && !cc_view_is(part, ".git"))
			return true;
		inside = inside || cc_view_is(part, ".git");
		at += part.len + 1;
	}
	return false;
}

static enum cc_code refuse(struct cc_err *err, const char *what)
{
	return cc_fail(err, CC_EPOLICY, 0, "git pointer file: %s", what);
}

enum cc_code cc_gitpointer_judge(struct cc_view path, struct cc_view text, struct cc_view root, struct cc_err *err)
{
	static const char prefix[] = "gitdir: ";
	char target[CC_PATH_MAX];
	size_t len = 0;
	size_t dir = path.len;

	while (dir > 0 && path.ptr[dir - 1] != '/')
		dir--;
	if (text.len > CC_GITPOINTER_MAX)
		return refuse(err, "it is too long");
	if (cc_view_ends(path, "/.git")) {
		if (!cc_view_starts(text, prefix))
			return refuse(err, "it does not start with \"gitdir: \"");
		text.ptr += sizeof(prefix) - 1;
		text.len -= sizeof(prefix) - 1;
	}
	if (text.len > 0 && text.ptr[text.len - 1] == '\n')
		text.len--;
	if (text.len == 0)
		return refuse(err, "it names nothing");
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
			return refuse(err, "it holds a control character");
	if (text.ptr[0] != '/' && !add_parts(target, &len, sizeof(target), (struct cc_view){path.ptr, dir}))
		return refuse(err, "the path is too long");
	if (!add_parts(target, &len, sizeof(target), text))
		return refuse(err, "the path is too long");
	if (!cc_path_within((struct cc_view){target, len}, root))
		return refuse(err, "it leads out of the bind");
	if (!is_judged_git_dir((struct cc_view){target, len}))
		return refuse(err, "it leads to a directory whose configuration nobody judges");
	/* "gitdir" inside of a repository is only read to clean up. */
	if (!cc_view_ends(path, "/gitdir") && passes_a_name(text, root))
		return refuse(err, "it leads through a directory that a link could replace");
	return CC_OK;
}

const struct cc_bare_name cc_bare_names[] = {
	{"HEAD", CC_BARE_HEAD},     {"objects", CC_BARE_OBJECTS},     {"refs", CC_BARE_REFS},
	{"config", CC_BARE_CONFIG}, {"commondir", CC_BARE_COMMONDIR}, {NULL, 0},
};

unsigned cc_bare_part_of(struct cc_view name)
{
	for (const struct cc_bare_name *known = cc_bare_names; known->name; known++)
		if (cc_view_eq_nocase(name, cc_view_of(known->name)))
			return known->part;
	return 0;
}

bool cc_bare_completes(unsigned parts)
{
	/* The configuration is not needed: without one, git still runs the hooks. */
	const unsigned own = CC_BARE_HEAD | CC_BARE_OBJECTS | CC_BARE_REFS;
	const unsigned borrowed = CC_BARE_HEAD | CC_BARE_COMMONDIR;

	/* git takes the objects and references of a directory with HEAD and commondir from the other directory. */
	return (parts & own) == own || (parts & borrowed) == borrowed;
}
