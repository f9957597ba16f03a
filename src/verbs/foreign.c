#define _GNU_SOURCE
#include "verbs/foreign.h"

#include "os/fd.h"
#include "policy/names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGS_MAX = 8 << 20 };

static enum cc_code read_words(const char *number, struct cc_strv *out, struct cc_err *err)
{
	char *end;
	long fd = number ? strtol(number, &end, 10) : -1;
	struct cc_buf text;
	enum cc_code code;

	if (fd < 0 || *end || end == number)
		return cc_fail(err, CC_EINVAL, 0, "--args takes a descriptor");
	cc_buf_init(&text, ARGS_MAX);
	code = cc_fd_read_all((int)fd, &text, err);
	for (size_t at = 0; code == CC_OK && at < text.len;) {
		size_t len = strnlen(text.data + at, text.len - at);

		code = cc_strv_push_view(out, (struct cc_view){text.data + at, len}, err);
		at += len + 1;
	}
	cc_buf_done(&text);
	close((int)fd);
	return code;
}

/* Values are not looked at: as bubblewrap has it, only a word where an option may stand is one, and --args itself has
 * no meaning as a value of anything but --setenv, which these tools do not use so. */
enum cc_code cc_foreign_words(char *const *argv, struct cc_strv *out, struct cc_err *err)
{
	enum cc_code code = CC_OK;
	bool options = true;

	for (; code == CC_OK && *argv; argv++) {
		options = options && strcmp(*argv, "--") != 0;
		if (!options || strcmp(*argv, "--args") != 0) {
			code = cc_strv_push(out, *argv, err);
			continue;
		}
		code = read_words(argv[1], out, err);
		argv += argv[1] != NULL;
	}
	return code;
}

bool cc_foreign_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static bool in_writable(const struct cc_foreign *foreign, const char *path)
{
	for (size_t i = 0; i < foreign->place_count; i++)
		if (foreign->places[i].kind == CC_FOREIGN_RW &&
		    cc_path_within(cc_view_of(path), cc_view_of(foreign->places[i].path)))
			return true;
	return false;
}

static enum cc_code apply_bind(const struct cc_foreign *foreign, const struct cc_foreign_place *place,
			       struct cc_spec *spec, struct cc_err *err)
{
	bool read_only = place->kind == CC_FOREIGN_RO;
	struct stat st;

	/* outside of what is written, read-only is the kernel's answer already */
	if (read_only && !in_writable(foreign, place->path))
		return CC_OK;
	if (stat(place->path, &st) < 0)
		return cc_fail(err, CC_ENOTFOUND, errno, "bubblewrap is to show %s", place->path);
	if (S_ISSOCK(st.st_mode))
		return CC_OK;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return cc_fail(err, CC_EUNSUPPORTED, 0,
			       "bubblewrap is to show %s writable, which is neither a file nor a directory",
			       place->path);
	return cc_spec_add_bind(spec, place->path, read_only, err);
}

enum cc_code cc_foreign_apply(const struct cc_foreign *foreign, struct cc_spec *spec, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	spec->foreign = true;
	for (size_t i = 0; code == CC_OK && i < foreign->place_count; i++) {
		const struct cc_foreign_place *place = &foreign->places[i];

		if (place->kind == CC_FOREIGN_PRIVATE)
			code = cc_strv_push(&spec->private_dirs, place->path, err);
		else if (place->kind != CC_FOREIGN_OTHER)
			code = apply_bind(foreign, place, spec, err);
	}
	for (size_t i = 0; code == CC_OK && i < foreign->named.count; i++) {
		struct stat st;

		if (stat(foreign->named.items[i], &st) == 0 && S_ISSOCK(st.st_mode))
			code = cc_strv_push(&spec->policy.allow_sockets, foreign->named.items[i], err);
	}
	return code;
}

static bool is_bwraps(const struct cc_foreign *foreign, int fd)
{
	for (size_t i = 0; i < foreign->fd_count; i++)
		if (foreign->fds[i] == fd)
			return true;
	return false;
}

enum cc_code cc_foreign_inherited(const struct cc_foreign *foreign, struct cc_inherited *out, struct cc_err *err)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	enum cc_code code = CC_OK;

	out->count = 0;
	if (!dir)
		return cc_fail(err, CC_ESYS, errno, "/proc/self/fd");
	while (code == CC_OK && (entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd < 3 || fd == dirfd(dir) || is_bwraps(foreign, fd))
			continue;
		if (out->count == CC_INHERIT_MAX || fd > CC_INHERIT_HIGHEST)
			code = cc_fail(err, CC_ELIMIT, 0,
				       "more than %d descriptors, or one above %d, were left open for the command",
				       CC_INHERIT_MAX, CC_INHERIT_HIGHEST);
		else
			out->fds[out->count++] = fd;
	}
	closedir(dir);
	return code;
}
