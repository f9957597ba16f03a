#define _GNU_SOURCE
#include "os/listen.h"

#include "base/mem.h"
#include "base/view.h"
#include "os/fd.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, INHERITED_FIRST = 3, INHERITED_MAX = 8 };

enum cc_code cc_listen_tcp(bool any, uint16_t port, int *out_fd, struct cc_err *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(any ? INADDR_ANY : INADDR_LOOPBACK)};
	CC_AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, BACKLOG) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot listen on %s:%u", any ? "0.0.0.0" : "127.0.0.1", port);
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

static enum cc_code address(const char *path, struct sockaddr_un *out, struct cc_err *err)
{
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(out->sun_path))
		return cc_fail(err, CC_EINVAL, 0, "the socket's path %s is too long: at most %zu bytes", path,
			       sizeof(out->sun_path) - 1);
	memcpy(out->sun_path, path, strlen(path) + 1);
	return CC_OK;
}

enum cc_code cc_listen_connect(const char *path, int *out_fd, struct cc_err *err)
{
	CC_AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	enum cc_code code = address(path, &at, err);

	if (code != CC_OK)
		return code;
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "socket");
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return cc_fail(err, errno == ENOENT || errno == ECONNREFUSED ? CC_ENOTFOUND : CC_ESYS, errno,
			       "cannot reach %s", path);
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

enum cc_code cc_listen_unix(const char *path, int *out_fd, struct cc_err *err)
{
	CC_AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CC_AUTO_FD other = -1;
	struct sockaddr_un at;
	struct stat st;
	enum cc_code code = address(path, &at, err);
	mode_t before;
	int bound;

	if (code != CC_OK)
		return code;
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "socket");
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return cc_fail(err, CC_EINVAL, 0, "%s is there and is no socket", path);
		if (cc_listen_connect(path, &other, err) == CC_OK)
			return cc_fail(err, CC_ESTATE, 0, "another cc_server answers at %s", path);
		unlink(path);
	}
	before = umask(0177);
	bound = bind(fd, (struct sockaddr *)&at, sizeof(at));
	umask(before);
	if (bound < 0 || listen(fd, BACKLOG) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot listen at %s", path);
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

int cc_listen_accept(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

bool cc_listen_is_unix(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

bool cc_listen_peer_is_us(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

int cc_listen_inherited(char *const *env, int *out_first)
{
	const char *pid = cc_env_get(env, "LISTEN_PID");
	const char *count = cc_env_get(env, "LISTEN_FDS");
	long fds = count ? strtol(count, NULL, 10) : 0;

	if (!pid || strtol(pid, NULL, 10) != (long)getpid() || fds < 1 || fds > INHERITED_MAX)
		return 0;
	for (int i = 0; i < fds; i++) {
		cc_fd_set_cloexec(INHERITED_FIRST + i, true);
		cc_fd_set_nonblock(INHERITED_FIRST + i, true);
	}
	*out_first = INHERITED_FIRST;
	return (int)fds;
}
