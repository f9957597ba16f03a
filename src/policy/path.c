#include "policy/path.h"

#include <string.h>

static const char *fault_of(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/')
		return "must be absolute";
	if (len >= CC_PATH_MAX)
		return "is too long";
	if (len > 1 && path[len - 1] == '/')
		return "must not end in a slash";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return "holds a control character";
	for (const char *part = path; len > 1 && part; part = strchr(part, '/')) {
		size_t size = strcspn(++part, "/");

		if (size == 0)
			return "holds an empty part";
		if (size > CC_NAME_MAX)
			return "holds a name longer than 255 bytes";
		if (part[0] == '.' && (size == 1 || (size == 2 && part[1] == '.')))
			return "must not hold \".\" or \"..\"";
	}
	return NULL;
}

enum cc_code cc_path_check(const char *what, const char *path, struct cc_err *err)
{
	const char *fault = path && *path ? fault_of(path) : "is empty";

	if (fault)
		return cc_fail(err, CC_EINVAL, 0, "%s %s: \"%.200s\"", what, fault, path ? path : "");
	return CC_OK;
}

bool cc_path_within(struct cc_view path, struct cc_view root)
{
	if (root.len == 1 && root.ptr[0] == '/')
		return path.len >= 1 && path.ptr[0] == '/';
	return root.len > 0 && path.len >= root.len && memcmp(path.ptr, root.ptr, root.len) == 0 &&
	       (path.len == root.len || path.ptr[root.len] == '/');
}

bool cc_path_is_glob(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}
