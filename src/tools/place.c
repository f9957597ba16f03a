#define _GNU_SOURCE
#include "tools/place.h"

#include "base/mem.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINKS_MAX = 8 };

void cc_place_done(struct cc_place *place)
{
	cc_fd_close(&place->parent);
}

/* Below root, no link out of it, no magic link: the kernel holds it whatever happens meanwhile. */
static int open_below(int root, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};

#ifdef CC_TWIN
	if (getenv("CCBOX_TWIN_OFF") && strstr(getenv("CCBOX_TWIN_OFF"), "beneath"))
		how.resolve = 0;
#endif
	return (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
}

static enum cc_code path_of(int fd, char out[PATH_MAX], struct cc_err *err)
{
	char link[48];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, out, PATH_MAX - 1);
	if (len <= 0)
		return cc_fail(err, CC_ESYS, errno, "a descriptor's path");
	out[len] = '\0';
	return CC_OK;
}

/* Absolute, without "." and "..": those are taken as text, before any link is followed. */
static enum cc_code plain(const char *workdir, const char *text, char out[PATH_MAX], struct cc_err *err)
{
	char joined[2 * PATH_MAX];
	size_t len = 0;

	if (!*text ||
	    (size_t)snprintf(joined, sizeof(joined), "%s/%s", *text == '/' ? "" : workdir, text) >= sizeof(joined))
		return cc_fail(err, CC_EINVAL, 0, "the path is empty or too long");
	for (const char *at = joined; *at;) {
		size_t part;

		at += strspn(at, "/");
		part = strcspn(at, "/");
		if (part == 2 && at[0] == '.' && at[1] == '.') {
			while (len && out[--len] != '/')
				;
		} else if (part && !(part == 1 && *at == '.')) {
			if (len + part + 2 > PATH_MAX)
				return cc_fail(err, CC_EINVAL, 0, "the path is too long");
			out[len++] = '/';
			memcpy(out + len, at, part);
			len += part;
		}
		at += part;
	}
	out[len] = '\0';
	return CC_OK;
}

static enum cc_code no_root(const struct cc_tools *tools, const char *text, struct cc_err *err)
{
	char roots[300] = "";
	size_t len = 0;

	for (size_t i = 0; i < tools->root_count && len < sizeof(roots) - 1; i++)
		len += (size_t)snprintf(roots + len, sizeof(roots) - len, "%s%s", i ? ", " : "", tools->roots[i].path);
	return cc_fail(err, CC_EPOLICY, 0, "%.150s is outside what this session may touch: %s", text, roots);
}

/* The innermost root that path lies in; *out_rest is what follows it. */
static const struct cc_tool_root *root_of(const struct cc_tools *tools, const char *path, const char **out_rest)
{
	const struct cc_tool_root *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < tools->root_count; i++) {
		const struct cc_tool_root *root = &tools->roots[i];
		size_t len = strlen(root->path);

		if (len >= longest && strncmp(path, root->path, len) == 0 && (!path[len] || path[len] == '/')) {
			best = root;
			longest = len;
			*out_rest = path + len + strspn(path + len, "/");
		}
	}
	return best;
}

enum cc_code cc_place_permit(const struct cc_tools *tools, enum cc_verb verb, const char *path, struct cc_err *err)
{
	struct cc_ask ask = {.verb = verb, .path = cc_view_of(path), .object = CC_OBJECT_FILE};
	struct cc_decision decision = cc_decide(tools->rules, &ask);
	struct cc_buf grant;
	enum cc_code code;

	if (decision.verdict == CC_ALLOW)
		return CC_OK;
	cc_buf_init(&grant, 2 * PATH_MAX);
	cc_decision_grant(&decision, &ask, &grant);
	code = cc_fail(err, CC_EPOLICY, 0, "%.150s is refused by the rule %.60s%s%.120s", path,
		       cc_decision_id(&decision), grant.len ? "; the person can allow it with " : "",
		       grant.len ? grant.data : "");
	cc_buf_done(&grant);
	return code;
}

static enum cc_code cannot(const char *text, struct cc_err *err)
{
	int error = errno;

	if (error == EXDEV)
		return cc_fail(err, CC_EPOLICY, 0, "%.200s leads outside what this session may touch", text);
	return cc_fail(err, error == ENOENT ? CC_ENOTFOUND : CC_ESYS, error, "%.200s", text);
}

/* The directories on the way, one by one, each asked for. Takes *dir, gives the last. */
static enum cc_code make_way(struct cc_tools *tools, int root, const char *rest, const char *text, int *out_dir,
			     struct cc_err *err)
{
	char way[PATH_MAX], path[PATH_MAX], full[PATH_MAX + NAME_MAX + 2];
	CC_AUTO_FD dir = open_below(root, "", O_PATH | O_DIRECTORY);
	enum cc_code code = CC_OK;

	if (dir < 0 || !cc_str_put(way, sizeof(way), rest))
		return cannot(text, err);
	for (char *at = way, *slash; code == CC_OK && *at; at = slash) {
		int next;

		slash = at + strcspn(at, "/");
		if (*slash)
			*slash++ = '\0';
		next = open_below(dir, at, O_PATH | O_DIRECTORY);
		if (next < 0 && errno == ENOENT) {
			code = path_of(dir, path, err);
			if (code == CC_OK && (size_t)snprintf(full, sizeof(full), "%s/%s", path, at) >= PATH_MAX)
				code = cc_fail(err, CC_EINVAL, 0, "the path is too long");
			if (code == CC_OK)
				code = cc_place_permit(tools, CC_VERB_MKDIR, full, err);
			if (code == CC_OK && mkdirat(dir, at, 0777) < 0 && errno != EEXIST)
				return cannot(full, err);
			next = code == CC_OK ? open_below(dir, at, O_PATH | O_DIRECTORY) : -1;
		}
		if (code == CC_OK && next < 0)
			return cannot(text, err);
		if (next >= 0) {
			cc_fd_close(&dir);
			dir = next;
		}
	}
	if (code == CC_OK)
		*out_dir = cc_fd_take(&dir);
	return code;
}

/* The file is asked about as it is written before anything is made for it, and again where it comes to lie. */
static enum cc_code make_parent(struct cc_tools *tools, const struct cc_tool_root *root, const char *parent,
				const char *rest, const char *text, int *out_dir, struct cc_err *err)
{
	char path[2 * PATH_MAX];
	enum cc_code code;

	snprintf(path, sizeof(path), "%s/%s", root->path, rest);
	code = cc_place_permit(tools, CC_VERB_CREATE, path, err);
	return code == CC_OK ? make_way(tools, root->fd, parent, text, out_dir, err) : code;
}

static enum cc_code pin(struct cc_tools *tools, const struct cc_tool_root *root, const char *rest, bool make,
			const char *text, struct cc_place *out, struct cc_err *err)
{
	char parent[PATH_MAX], path[PATH_MAX];
	const char *slash = strrchr(rest, '/'), *name = slash ? slash + 1 : rest;
	enum cc_code code = CC_OK;

	if (!*name || !cc_str_put(out->name, sizeof(out->name), name))
		return cc_fail(err, CC_EINVAL, 0, "%.200s names a directory, not a file", text);
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash ? slash - rest : 0), rest);
	cc_fd_close(&out->parent);
	out->parent = open_below(root->fd, parent, O_PATH | O_DIRECTORY);
	if (out->parent < 0 && errno == ENOENT && make)
		code = make_parent(tools, root, parent, rest, text, &out->parent, err);
	else if (out->parent < 0)
		return cannot(text, err);
	if (code == CC_OK)
		code = path_of(out->parent, path, err);
	if (code == CC_OK && (size_t)snprintf(out->path, sizeof(out->path), "%s/%s", path, name) >= sizeof(out->path))
		code = cc_fail(err, CC_EINVAL, 0, "the path is too long");
	return code;
}

/* Where a link at the end leads to, as text. */
static enum cc_code follow(const struct cc_place *place, char next[PATH_MAX], struct cc_err *err)
{
	char target[PATH_MAX], dir[PATH_MAX];
	ssize_t len = readlinkat(place->parent, place->name, target, sizeof(target) - 1);
	enum cc_code code;

	if (len <= 0)
		return cannot(place->path, err);
	target[len] = '\0';
	code = path_of(place->parent, dir, err);
	return code == CC_OK ? plain(dir, target, next, err) : code;
}

enum cc_code cc_place_find(struct cc_tools *tools, const char *text, bool make, struct cc_place *out,
			   struct cc_err *err)
{
	char path[PATH_MAX];
	CC_AUTO_PLACE place = {.parent = -1};
	enum cc_code code = plain(tools->workdir, text, path, err);

	for (int links = 0; code == CC_OK; links++) {
		const char *rest = NULL;
		const struct cc_tool_root *root = root_of(tools, path, &rest);
		struct stat st;

		if (!root)
			return no_root(tools, text, err);
		code = pin(tools, root, rest, make, text, &place, err);
		if (code != CC_OK)
			return code;
		if (fstatat(place.parent, place.name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT)
				return cannot(text, err);
			break;
		}
		if (!S_ISLNK(st.st_mode)) {
			if (!S_ISREG(st.st_mode))
				return cc_fail(err, CC_EINVAL, 0, "%.200s is not a file", text);
			place.there = true;
			place.mode = st.st_mode & 0777;
			break;
		}
		if (links == LINKS_MAX)
			return cc_fail(err, CC_EINVAL, 0, "%.200s: too many links", text);
		code = follow(&place, path, err);
	}
	if (code == CC_OK) {
		*out = place;
		place.parent = -1;
	}
	return code;
}

enum cc_code cc_place_dir(struct cc_tools *tools, const char *text, char out_path[PATH_MAX], int *out_fd,
			  struct cc_err *err)
{
	char path[PATH_MAX];
	const char *rest = NULL;
	const struct cc_tool_root *root;
	CC_AUTO_FD fd = -1;
	enum cc_code code = plain(tools->workdir, text, path, err);

	if (code != CC_OK)
		return code;
	root = root_of(tools, path, &rest);
	if (!root)
		return no_root(tools, text, err);
	fd = open_below(root->fd, rest, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return cannot(text, err);
	code = path_of(fd, out_path, err);
	if (code == CC_OK)
		*out_fd = cc_fd_take(&fd);
	return code;
}

enum cc_code cc_place_read(struct cc_tools *tools, const struct cc_place *place, struct cc_buf *out, struct cc_err *err)
{
	CC_AUTO_FD fd = -1;
	struct stat st;
	enum cc_code code = cc_place_permit(tools, CC_VERB_READ, place->path, err);

	if (code != CC_OK)
		return code;
	fd = openat(place->parent, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return cannot(place->path, err);
	if (!S_ISREG(st.st_mode))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is not a file", place->path);
	if (st.st_size > CC_TOOL_FILE_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%.200s is larger than %d MiB: read a part of it with bash",
			       place->path, CC_TOOL_FILE_MAX >> 20);
	return cc_fd_read_all(fd, out, err);
}

enum cc_code cc_tools_add_root(struct cc_tools *tools, const char *path, struct cc_err *err)
{
	struct cc_tool_root *root = &tools->roots[tools->root_count];

	if (tools->root_count == CC_TOOL_ROOTS || !cc_str_put(root->path, sizeof(root->path), path))
		return cc_fail(err, CC_ELIMIT, 0, "more binds than the tools know");
	root->fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root->fd < 0)
		return cannot(path, err);
	tools->root_count++;
	return CC_OK;
}

enum cc_code cc_tools_init(struct cc_tools *tools, const struct cc_rules *rules, enum cc_mode mode, const char *workdir,
			   struct cc_err *err)
{
	*tools = (struct cc_tools){.rules = rules, .mode = mode};
	if (!cc_str_put(tools->workdir, sizeof(tools->workdir), workdir))
		return cc_fail(err, CC_EINVAL, 0, "the working directory's path is too long");
	for (size_t i = 0; i < rules->mount_count; i++) {
		const struct cc_mount *mount = &rules->mounts[i];
		enum cc_code code;

		if (mount->mode != CC_MOUNT_RW && mount->mode != CC_MOUNT_RO)
			continue; /* the session's own, and an agent's state */
		code = cc_tools_add_root(tools, mount->path, err);
		if (code != CC_OK)
			return code;
	}
	return tools->root_count ? CC_OK : cc_fail(err, CC_EINVAL, 0, "no bind: there is nothing to work on");
}

void cc_tools_done(struct cc_tools *tools)
{
	for (size_t i = 0; i < tools->root_count; i++)
		cc_fd_close(&tools->roots[i].fd);
	tools->root_count = 0;
}
