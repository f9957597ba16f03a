#define _GNU_SOURCE
#include "init/listen.h"

#include "kernel/calls.h"
#include "init/bridge.h"
#include "init/capture.h"
#include "os/fd.h"
#include "os/peer.h"
#include "policy/net.h"
#include "wire/json.h"
#include "wire/msg.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IP_TRANSPARENT
#define IP_TRANSPARENT 19
#endif

struct sockets {
	int fds[CC_PEER_FDS];
	const char *kinds[CC_PEER_FDS];
	size_t count;
};

static enum cc_code bound(int type, uint16_t port, int *out_fd, struct cc_err *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	CC_AUTO_FD fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* Not REUSEPORT: nobody inside may share the port. */
	if (fd < 0 || (type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot bind 127.0.0.1:%u", port);
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

static enum cc_code listen_on(struct sockets *sockets, const char *kind, uint16_t port, struct cc_err *err)
{
	CC_AUTO_FD fd = -1;
	enum cc_code code;

	if (sockets->count == CC_PEER_FDS)
		return cc_fail(err, CC_ELIMIT, 0, "more than %d listeners", CC_PEER_FDS);
	code = bound(SOCK_STREAM, port, &fd, err);
	if (code == CC_OK && listen(fd, SOMAXCONN) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot listen on 127.0.0.1:%u", port);
	if (code == CC_OK) {
		sockets->kinds[sockets->count] = kind;
		sockets->fds[sockets->count++] = cc_fd_take(&fd);
	}
	return code;
}

/* off: as if the kernel could not (twin builds only). */
static enum cc_code capture(struct sockets *sockets, const struct cc_net_rules *net, bool off, struct cc_err *err)
{
	size_t before = sockets->count;
	int one = 1;
	enum cc_code code = listen_on(sockets, "catch", CC_PORT_CATCH, err);

	if (code == CC_OK && setsockopt(sockets->fds[before], SOL_IP, IP_TRANSPARENT, &one, sizeof(one)) < 0)
		code = cc_fail(err, CC_ESYS, errno, "IP_TRANSPARENT");
	if (code == CC_OK)
		code = cc_capture_routes(net, err);
	if (code == CC_OK)
		code = off ? cc_fail(err, CC_ESYS, EOPNOTSUPP, "the capture rule: left off by the test")
			   : cc_capture_rule(CC_PORT_CATCH, err);
	if (code == CC_OK)
		code = bound(SOCK_DGRAM, CC_PORT_DNS, &sockets->fds[sockets->count], err);
	if (code == CC_OK) {
		sockets->kinds[sockets->count++] = "dns";
		return CC_OK;
	}
	while (sockets->count > before)
		cc_fd_close(&sockets->fds[--sockets->count]);
	return code;
}

static enum cc_code make_all(struct cc_init *init, struct sockets *sockets, struct cc_err *err)
{
	const struct cc_net_rules *net = init->rules->net;
	bool off = (init->off & CC_OFF_CAPTURE) != 0;
	struct cc_err why = {0};
	enum cc_code code = CC_OK;

	if (init->rules->network_open)
		return CC_OK; /* these would be the host's own ports */
	for (size_t i = 0; code == CC_OK && i < init->port_count; i++)
		code = listen_on(sockets, "proxy", init->ports[i], err);
	for (size_t i = 0; code == CC_OK && i < net->host_ports.count; i++)
		code = listen_on(sockets, "host", cc_host_port(cc_view_of(net->host_ports.items[i])), err);
	if (code != CC_OK || net->transparent == CC_TRANSPARENT_OFF)
		return code;
	if (net->transparent == CC_TRANSPARENT_MUST)
		return capture(sockets, net, off, err);
	if (capture(sockets, net, off, &why) != CC_OK)
		snprintf(init->capture_fault, sizeof(init->capture_fault), "%.190s", why.what);
	return CC_OK;
}

/* Which directory each bind of the host has become: bubblewrap took it by name, and the owner knows which it meant. */
static void add_roots(const struct cc_rules *rules, struct cc_jsonw *w)
{
	cc_jsonw_key(w, "roots");
	cc_jsonw_array(w);
	for (size_t i = 0; i < rules->mount_count; i++) {
		CC_AUTO_FD fd = -1;
		struct cc_statx st = {0};
		char text[64];

		if (rules->mounts[i].mode == CC_MOUNT_PRIVATE)
			continue;
		fd = open(rules->mounts[i].path, O_PATH | O_CLOEXEC);
		if (fd >= 0)
			(void)cc_k_statx(fd, "", &st);
		snprintf(text, sizeof(text), "%x:%x:%llx", st.dev_major, st.dev_minor, (unsigned long long)st.ino);
		cc_jsonw_str(w, text);
	}
	cc_jsonw_end(w);
}

static enum cc_code tell(struct cc_init *init, const struct sockets *sockets, struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_jsonw_message(&w, &text, 60000, "listeners");
	cc_jsonw_key(&w, "kinds");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < sockets->count; i++)
		cc_jsonw_str(&w, sockets->kinds[i]);
	cc_jsonw_end(&w);
	add_roots(init->rules, &w);
	cc_jsonw_end(&w);
	code = cc_buf_check(&text, "the list of binds", err);
	if (code == CC_OK)
		code = cc_tell_owner(init->control, text.data, text.len, sockets->fds, sockets->count, err);
	cc_buf_done(&text);
	return code;
}

enum cc_code cc_step_listen(struct cc_init *init, struct cc_err *err)
{
	struct sockets sockets = {.count = 0};
	enum cc_code code = make_all(init, &sockets, err);

	if (code == CC_OK && init->bridge[0])
		code = cc_bridge_inside(init->bridge, err);
	if (code == CC_OK)
		code = tell(init, &sockets, err);
	while (sockets.count)
		cc_fd_close(&sockets.fds[--sockets.count]);
	return code;
}
