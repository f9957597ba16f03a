#include "review/config.h"

#include "policy/names.h"

#include <string.h>

/* Adds the parts of text to the absolute path in out, with "." and ".." worked out by name. */
static bool add_parts(char *out, size_t *len, size_t cap, struct cc_view text)
{
	for (size_t at = 0; at < text.len;) {
		struct cc_view part = cc_path_part(text, at);

		if (cc_view_is(part, "..")) {
			while (*len > 0 && out[--*len] != '/')
				;
		} else if (part.len && !cc_view_is(part, ".")) {
			if (*len + 1 + part.len >= cap)
				return false;
			out[(*len)++] = '/';
			memcpy(out + *len, part.ptr, part.len);
			*len += part.len;
		}
		at += part.len + 1;
	}
	return true;
}

static bool part_is(struct cc_view path, size_t at, size_t *out_end, const char *name)
{
	struct cc_view part = cc_path_part(path, at);

	*out_end = at + part.len;
	return cc_view_is(part, name);
}

/* The first part named .git. */
static bool find_git(struct cc_view path, size_t *out_at, size_t *out_end)
{
	for (*out_at = 1; *out_at < path.len; *out_at = *out_end + 1)
		if (part_is(path, *out_at, out_end, ".git"))
			return true;
	return false;
}

/* X/.git, X/.git/modules/..., X/.git/worktrees/NAME: the places where the gate judges a configuration. */
static bool is_judged_git_dir(struct cc_view path)
{
	size_t at;
	size_t end;

	if (!find_git(path, &at, &end))
		return false;
	if (end == path.len)
		return true;
	at = end + 1;
	if (part_is(path, at, &end, "modules"))
		return end < path.len;
	if (!part_is(path, at, &end, "worktrees") || end == path.len)
		return false;
	at = end + 1;
	end = at + cc_path_part(path, at).len;
	return end == path.len || cc_view_is((struct cc_view){path.ptr + end, path.len - end}, "/.git");
}

bool cc_gitworktree_ok(struct cc_view path, const char *value)
{
	char target[CC_PATH_MAX];
	size_t len = 0;
	size_t at;
	size_t end;
	size_t top;

	if (!find_git(path, &at, &end) || value[0] == '/' || !part_is(path, end + 1, &top, "modules"))
		return false;
	top = at - 1; /* without its slash */
	for (end = path.len; end > 0 && path.ptr[end - 1] != '/'; end--)
		;
	if (!add_parts(target, &len, sizeof(target), (struct cc_view){path.ptr, end}) ||
	    !add_parts(target, &len, sizeof(target), cc_view_of(value)) || len <= top + 1 ||
	    !cc_path_within((struct cc_view){target, len}, (struct cc_view){path.ptr, top}))
		return false;
	for (at = top + 1; at < len;) {
		struct cc_view part = cc_path_part((struct cc_view){target, len}, at);

		if (cc_view_eq_nocase(part, cc_view_of(".git")))
			return false;
		at += part.len + 1;
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
