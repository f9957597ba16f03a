#define _GNU_SOURCE
#include "session/bridge.h"

#include "os/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_MS = 20, WAITS = 250 };

/* What the host's socat connects to, and what it offers to the inside (shown there as CC_BRIDGE_HTTP and
 * CC_BRIDGE_SOCKS of plan/linux.h). */
static const struct {
	const char *proxy, *offered;
} names[CC_BRIDGES] = {{"proxy-http", "http.sock"}, {"proxy-socks", "socks.sock"}};

void cc_bridge_init(struct cc_bridge *bridge)
{
	*bridge = (struct cc_bridge){.listeners = {-1, -1}, .children = {{-1, -1}, {-1, -1}}};
}

static enum cc_code place(const struct cc_bridge *bridge, const char *name, struct sockaddr_un *out, struct cc_err *err)
{
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((size_t)snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s", bridge->dir, name) >= sizeof(out->sun_path))
		return cc_fail(err, CC_ELIMIT, 0, "the directory %s has too long a name for a socket", bridge->dir);
	return CC_OK;
}

static enum cc_code listen_at(const struct cc_bridge *bridge, const char *name, int *out_fd, struct cc_err *err)
{
	CC_AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	enum cc_code code = place(bridge, name, &at, err);

	if (code != CC_OK)
		return code;
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, SOMAXCONN) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot listen at %s", at.sun_path);
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

static enum cc_code start_socat(struct cc_bridge *bridge, size_t number, struct cc_err *err)
{
	char from[sizeof(bridge->dir) + 64];
	char to[sizeof(bridge->dir) + 64];
	char *argv[] = {bridge->socat, from, to, NULL};
	struct cc_spawn spawn = {.argv = argv, .stdio = {-1, -1, -1}, .new_session = true, .die_with_parent = true};
	struct sockaddr_un at;
	struct stat st;
	enum cc_code code = place(bridge, names[number].offered, &at, err);

	snprintf(from, sizeof(from), "UNIX-LISTEN:%s/%s,fork,mode=600", bridge->dir, names[number].offered);
	snprintf(to, sizeof(to), "UNIX-CONNECT:%s/%s", bridge->dir, names[number].proxy);
	if (code == CC_OK)
		code = cc_proc_spawn(&spawn, &bridge->children[number], err);
	for (int i = 0; code == CC_OK && stat(at.sun_path, &st) < 0; i++) {
		if (i == WAITS)
			return cc_fail(err, CC_ETIMEOUT, 0, "socat does not listen at %s", at.sun_path);
		poll(NULL, 0, WAIT_MS);
	}
	return code;
}

static enum cc_code make_dir(char *const *env, struct cc_bridge *bridge, struct cc_err *err)
{
	const char *base = cc_env_get(env, "XDG_RUNTIME_DIR");
	int len;

	if (!base || base[0] != '/' || access(base, W_OK) < 0)
		base = "/tmp";
	len = snprintf(bridge->dir, sizeof(bridge->dir), "%s/ccbox-bridge.XXXXXX", base);
	if (len < 0 || (size_t)len >= sizeof(bridge->dir) || !mkdtemp(bridge->dir)) {
		bridge->dir[0] = '\0';
		return cc_fail(err, CC_ESYS, errno, "cannot make a directory in %s", base);
	}
	return CC_OK;
}

enum cc_code cc_bridge_open(char *const *env, struct cc_bridge *bridge, struct cc_err *err)
{
	enum cc_code code = cc_proc_which("socat", CC_PATH_SYSTEM, bridge->socat, sizeof(bridge->socat), err);

	if (code != CC_OK)
		return cc_fail(
			err, CC_ENOTFOUND, 0,
			"--bridge socat: socat is not installed (package socat); without the option it is not needed");
	code = make_dir(env, bridge, err);
	for (size_t i = 0; code == CC_OK && i < CC_BRIDGES; i++) {
		code = listen_at(bridge, names[i].proxy, &bridge->listeners[i], err);
		if (code == CC_OK)
			code = start_socat(bridge, i, err);
	}
	if (code != CC_OK)
		cc_bridge_close(bridge);
	return code;
}

void cc_bridge_close(struct cc_bridge *bridge)
{
	struct sockaddr_un at;

	for (size_t i = 0; i < CC_BRIDGES; i++) {
		cc_proc_end_group(&bridge->children[i], 0);
		cc_fd_close(&bridge->listeners[i]);
		if (bridge->dir[0] && place(bridge, names[i].proxy, &at, NULL) == CC_OK)
			unlink(at.sun_path);
		if (bridge->dir[0] && place(bridge, names[i].offered, &at, NULL) == CC_OK)
			unlink(at.sun_path);
	}
	if (bridge->dir[0])
		rmdir(bridge->dir);
	bridge->dir[0] = '\0';
}
