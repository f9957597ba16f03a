#define _GNU_SOURCE
#include "work/stock.h"

#include "base/buf.h"
#include "os/fd.h"
#include "work/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (cc_hex_value(text[i]) < 0 || (text[i] >= 'A' && text[i] <= 'F'))
			return false;
	return true;
}

static bool is_loose(const char *name)
{
	size_t len = strlen(name);

	return (len == 38 || len == 62) && is_hex(name, len);
}

static bool is_pack(const char *name)
{
	static const char *const ends[] = {".pack", ".idx", ".rev"};
	size_t stem = strcspn(name, ".");

	if (strncmp(name, "pack-", 5) != 0 || (stem != 45 && stem != 69) || !is_hex(name + 5, stem - 5))
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(name + stem, ends[i]) == 0)
			return true;
	return false;
}

static enum cc_code clone_file(int from, int to, const char *name, struct cc_err *err)
{
	CC_AUTO_FD source = cc_files_open(from, name, O_RDONLY);
	CC_AUTO_FD copy = -1;
	enum cc_code code = CC_OK;

	if (source < 0)
		return cc_fail(err, CC_EUNSUPPORTED, errno, "an object cannot be read");
	copy = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (copy < 0 && errno == EEXIST)
		return CC_OK;
	if (copy < 0 || ioctl(copy, FICLONE, source) < 0)
		code = cc_fail(err, CC_EUNSUPPORTED, errno, "an object cannot be cloned");
	return code;
}

static enum cc_code take_file(int from, int to, const char *name, enum cc_stock_how how, struct cc_err *err)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return cc_fail(err, CC_EUNSUPPORTED, errno, "an object went away");
	if (!S_ISREG(st.st_mode))
		return CC_OK;
	if (how == CC_STOCK_CLONE)
		return clone_file(from, to, name, err);
	return renameat(from, name, to, name) == 0 ? CC_OK : cc_fail(err, CC_ESYS, errno, "an object cannot be moved");
}

/* One directory of them; sub is made in to when something is there to be taken. */
static enum cc_code take_dir(int from, int to, const char *sub, enum cc_stock_how how, size_t *left, struct cc_err *err)
{
	bool packs = strcmp(sub, "pack") == 0;
	int fd = cc_files_open(from, sub, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	CC_AUTO_FD into = -1;
	const struct dirent *entry;
	enum cc_code code = CC_OK;

	if (!dir) /* absent, or a link: then there is nothing of ours to take */
		return CC_OK;
	if (mkdirat(to, sub, 0700) < 0 && errno != EEXIST)
		code = cc_fail(err, CC_ESYS, errno, "a directory for objects");
	into = openat(to, sub, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (code == CC_OK && into >= 0 && (entry = readdir(dir))) {
		if (packs ? !is_pack(entry->d_name) : !is_loose(entry->d_name))
			continue;
		if ((*left)-- == 0) {
			code = cc_fail(err, CC_ELIMIT, 0, "there are too many objects");
			break;
		}
		code = take_file(fd, into, entry->d_name, how, err);
	}
	closedir(dir);
	return code == CC_OK && into < 0 ? cc_fail(err, CC_ESYS, errno, "a directory for objects") : code;
}

enum cc_code cc_stock_take(int from, int to, enum cc_stock_how how, size_t max, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (unsigned i = 0; code == CC_OK && i < 256; i++) {
		char sub[3];

		snprintf(sub, sizeof(sub), "%02x", i);
		code = take_dir(from, to, sub, how, &max, err);
	}
	/* packs last: what a repack that is running takes out of the others is in one by then */
	return code == CC_OK ? take_dir(from, to, "pack", how, &max, err) : code;
}

bool cc_stock_clones(const char *file, const char *dir)
{
	char path[PATH_MAX];
	CC_AUTO_FD source = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	CC_AUTO_FD copy = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/probe", dir) >= sizeof(path) || source < 0)
		return false;
	copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (copy < 0)
		return false;
	unlink(path);
	return ioctl(copy, FICLONE, source) == 0;
}

enum cc_code cc_stock_borrow(const char *git_dir, const struct cc_strv *lenders, struct cc_err *err)
{
	char dir[PATH_MAX];
	struct cc_buf text;
	enum cc_code code;

	if (lenders->count == 0)
		return CC_OK;
	if ((size_t)snprintf(dir, sizeof(dir), "%s/objects/info", git_dir) >= sizeof(dir))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", git_dir);
	cc_buf_init(&text, 1 << 20);
	for (size_t i = 0; i < lenders->count; i++)
		cc_buf_addf(&text, "%s\n", lenders->items[i]);
	code = cc_buf_check(&text, "a list of directories", err);
	if (code == CC_OK)
		code = cc_files_write(dir, "alternates", cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code;
}
