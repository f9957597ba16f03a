#define _GNU_SOURCE
#include "server/data.h"

#include "base/view.h"
#include "client/place.h"
#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* With its parents. Ours alone: somebody else's directory, or one that others may enter, would give the token away. */
static enum cc_code make_dir(const char *path, struct cc_err *err)
{
	char part[PATH_MAX];
	struct stat st;

	for (const char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return cc_fail(err, CC_ESYS, errno, "cannot make %s", part);
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return cc_fail(err, CC_ESYS, errno, "cannot make %s", path);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return cc_fail(err, CC_EPOLICY, 0, "%s is not a directory of yours", path);
	if ((st.st_mode & 077) && chmod(path, 0700) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot close %s to others", path);
	return CC_OK;
}

static enum cc_code take_lock(struct cc_data *data, struct cc_err *err)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/lock", data->dir);
	data->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (data->lock < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot open %s", path);
	if (flock(data->lock, LOCK_EX | LOCK_NB) < 0)
		return cc_fail(err, CC_ESTATE, 0, "another cc_server uses %s", data->dir);
	return CC_OK;
}

/* Written whole under another name first: a crash in between leaves no half token. */
static enum cc_code make_token(struct cc_data *data, const char *path, struct cc_err *err)
{
	char fresh[PATH_MAX + 32];
	unsigned char random[CC_TOKEN_BYTES];
	CC_AUTO_FD fd = -1;
	enum cc_code code;

	cc_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(data->token + 2 * i, 3, "%02x", random[i]);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot make %s", fresh);
	code = cc_fd_write_all(fd, data->token, strlen(data->token), err);
	if (code == CC_OK)
		code = cc_fd_write_all(fd, "\n", 1, err);
	if (code == CC_OK && (fsync(fd) < 0 || rename(fresh, path) < 0))
		code = cc_fail(err, CC_ESYS, errno, "cannot make %s", path);
	return code;
}

static enum cc_code read_token(struct cc_data *data, struct cc_err *err)
{
	char path[PATH_MAX + 16];
	char text[sizeof(data->token) + 1];
	CC_AUTO_FD fd = -1;
	struct stat st;
	ssize_t got;

	snprintf(path, sizeof(path), "%s/token", data->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return make_token(data, path, err);
	if (fd < 0 || fstat(fd, &st) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return cc_fail(
			err, CC_EPOLICY, 0,
			"%s can be read by others, or is not yours: remove it, and the next start makes a new token",
			path);
	got = read(fd, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strlen(text) != sizeof(data->token) - 1 || strspn(text, "0123456789abcdef") != strlen(text))
		return cc_fail(err, CC_EINVAL, 0, "%s holds no token: remove it, and the next start makes a new one",
			       path);
	memcpy(data->token, text, sizeof(data->token));
	return CC_OK;
}

enum cc_code cc_data_open(const char *wanted, char *const *env, struct cc_data *out_data, struct cc_err *err)
{
	struct cc_data data = {.lock = -1};
	enum cc_code code = cc_place_data(wanted, env, data.dir, err);

	if (code == CC_OK)
		code = make_dir(data.dir, err);
	if (code == CC_OK)
		code = take_lock(&data, err);
	if (code == CC_OK)
		code = read_token(&data, err);
	if (code == CC_OK)
		code = cc_place_run(data.dir, wanted != NULL, env, data.run_dir, err);
	if (code == CC_OK)
		code = make_dir(data.run_dir, err);
	if (code != CC_OK) {
		cc_fd_close(&data.lock);
		return code;
	}
	snprintf(data.socket, sizeof(data.socket), "%s/server.sock", data.run_dir);
	*out_data = data;
	return CC_OK;
}

void cc_data_close(struct cc_data *data)
{
	if (data->made_socket)
		unlink(data->socket);
	cc_fd_close(&data->lock);
}
