#define _GNU_SOURCE
#include "os/net.h"

#include "os/fd.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static socklen_t to_sockaddr(const struct cc_addr *addr, uint16_t port, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (addr->len == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, addr->bytes, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, addr->bytes, 16);
	return sizeof(*in6);
}

static bool set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

static bool set_options(int fd)
{
	return set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1) && set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1) &&
	       set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60) && set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15) &&
	       set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

enum cc_code cc_net_connect(const struct cc_addr *addr, uint16_t port, int *out_fd, bool *out_pending,
			    struct cc_err *err)
{
	struct sockaddr_storage to;
	socklen_t len = to_sockaddr(addr, port, &to);
	CC_AUTO_FD fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "socket");
	set_options(fd);
	*out_pending = connect(fd, (struct sockaddr *)&to, len) < 0;
	if (*out_pending && errno != EINPROGRESS)
		return cc_fail(err, CC_ESYS, errno, "connect");
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

int cc_net_socket_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return errno;
	return error;
}

bool cc_net_prepare_listener(int fd)
{
	int listening = 0;
	socklen_t len = sizeof(listening);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening)
		return false;
	set_options(fd);
	return cc_fd_set_nonblock(fd, true) && cc_fd_set_cloexec(fd, true);
}

int cc_net_accept(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void cc_net_reset_on_close(int fd)
{
	struct linger linger = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* A listener made inside a session's own network namespace cannot be reached from ours: the same numbers are then
 * another socket. */
static bool same_namespace(int listener)
{
	uint64_t theirs = 0;
	uint64_t ours = 0;
	socklen_t len = sizeof(theirs);
	CC_AUTO_FD probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (probe < 0 || getsockopt(listener, SOL_SOCKET, SO_NETNS_COOKIE, &theirs, &len) < 0)
		return true;
	len = sizeof(ours);
	if (getsockopt(probe, SOL_SOCKET, SO_NETNS_COOKIE, &ours, &len) < 0)
		return true;
	return theirs == ours;
}

static bool any_address(const void *bytes, size_t len)
{
	static const uint8_t zero[16];

	return memcmp(bytes, zero, len) == 0;
}

uint16_t cc_net_port(int listener)
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);

	if (getsockname(listener, (struct sockaddr *)&bound, &len) < 0)
		return 0;
	return ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
						: ((struct sockaddr_in6 *)&bound)->sin6_port);
}

bool cc_net_is_listener(int listener, const struct cc_addr *addr, uint16_t port)
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	const struct sockaddr_in *in = (const struct sockaddr_in *)&bound;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&bound;

	if (getsockname(listener, (struct sockaddr *)&bound, &len) < 0)
		return true;
	if (bound.ss_family == AF_INET)
		return ntohs(in->sin_port) == port && addr->len == 4 &&
		       (any_address(&in->sin_addr, 4) || memcmp(&in->sin_addr, addr->bytes, 4) == 0) &&
		       same_namespace(listener);
	if (bound.ss_family != AF_INET6 || ntohs(in6->sin6_port) != port)
		return false;
	return (any_address(&in6->sin6_addr, 16) ||
		(addr->len == 16 && memcmp(&in6->sin6_addr, addr->bytes, 16) == 0)) &&
	       same_namespace(listener);
}

bool cc_net_is_own(const struct cc_addr *addr)
{
	struct ifaddrs *list;
	bool own = false;

	if (getifaddrs(&list) < 0)
		return true; /* not knowing is no */
	for (const struct ifaddrs *at = list; at && !own; at = at->ifa_next) {
		if (!at->ifa_addr)
			continue;
		if (at->ifa_addr->sa_family == AF_INET && addr->len == 4)
			own = memcmp(&((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr, addr->bytes,
				     4) == 0;
		else if (at->ifa_addr->sa_family == AF_INET6 && addr->len == 16)
			own = memcmp(&((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr, addr->bytes,
				     16) == 0;
	}
	freeifaddrs(list);
	return own;
}

bool cc_net_local(int fd, struct cc_addr *out, uint16_t *out_port)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	const struct sockaddr_in *in = (const struct sockaddr_in *)&at;

	if (getsockname(fd, (struct sockaddr *)&at, &len) < 0 || at.ss_family != AF_INET)
		return false;
	*out = (struct cc_addr){.len = 4};
	memcpy(out->bytes, &in->sin_addr, 4);
	*out_port = ntohs(in->sin_port);
	return true;
}

enum cc_code cc_net_connect_loopback(int fd, uint16_t port, bool six, struct cc_err *err)
{
	static const struct cc_addr v4 = {{127, 0, 0, 1}, 4};
	static const struct cc_addr v6 = {{[15] = 1}, 16};
	static const struct cc_addr mapped = {{[10] = 0xff, 0xff, 127, 0, 0, 1}, 16};
	struct sockaddr_storage to;
	int domain = AF_INET;
	int off = 0;
	socklen_t len = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || (six && domain != AF_INET6))
		return cc_fail(err, CC_ESYS, EAFNOSUPPORT, "connect");
	if (domain == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	len = to_sockaddr(domain == AF_INET ? &v4 : six ? &v6 : &mapped, port, &to);
	set_options(fd);
	if (!cc_fd_set_nonblock(fd, true) || (connect(fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS))
		return cc_fail(err, CC_ESYS, errno, "connect");
	return CC_OK;
}

long cc_net_receive(int fd, char *into, size_t max, struct cc_net_from *out_from)
{
	socklen_t len = sizeof(out_from->room);
	ssize_t got;

	do {
		got = recvfrom(fd, into, max, 0, (struct sockaddr *)(void *)out_from->room, &len);
	} while (got < 0 && errno == EINTR);
	out_from->len = len;
	return got;
}

void cc_net_answer(int fd, const void *bytes, size_t len, const struct cc_net_from *to)
{
	(void)sendto(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)(const void *)to->room,
		     to->len);
}

bool cc_net_is_this_host(const char *name)
{
	char own[256];

	return gethostname(own, sizeof(own)) == 0 && own[0] && strcasecmp(own, name) == 0;
}
