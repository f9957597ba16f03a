/* sock.c - case 40, attacks 3 and 8, IPC-06..08: sockets bound, connected, and every family. */
#define _GNU_SOURCE
#include "a.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

static socklen_t name(struct sockaddr_un *at, const char *path)
{
	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	strcpy(at->sun_path, path);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
}

static int stream(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long bind_at(int fd, const char *path)
{
	struct sockaddr_un at;
	socklen_t len = name(&at, path);

	return bind(fd, (struct sockaddr *)&at, len);
}

static long connect_to(int fd, const char *path)
{
	struct sockaddr_un at;
	socklen_t len = name(&at, path);

	return connect(fd, (struct sockaddr *)&at, len);
}

static void local(void)
{
	int server = stream(), client, pair[2], one = 1;
	struct sockaddr_un at;
	socklen_t len = sizeof(at);

	denied("40", "bind at a denied name", bind_at(stream(), "s.pem"));
	works("40", "bind at a good one", bind_at(server, "good.sock"));
	say(getsockname(server, (struct sockaddr *)&at, &len) == 0 && strcmp(at.sun_path, "good.sock") == 0, "40",
	    "getsockname as asked for", errno);
	listen(server, 5);
	works("40", "connect to it", connect_to(stream(), "good.sock"));
	client = stream();
	works("40", "connect by its absolute path", connect_to(client, in_tree("good.sock")));
	len = sizeof(at);
	say(getpeername(client, (struct sockaddr *)&at, &len) == 0 && strcmp(at.sun_path, "good.sock") == 0, "40",
	    "getpeername", errno);
	server = stream();
	works("40", "bind by an absolute path", bind_at(server, in_tree("sub/abs.sock")));
	len = sizeof(at);
	say(getsockname(server, (struct sockaddr *)&at, &len) == 0 && strcmp(at.sun_path, in_tree("sub/abs.sock")) == 0,
	    "40", "getsockname keeps it", errno);
	fails("40", "bind at an existing name", bind_at(stream(), "good.sock"), EADDRINUSE);
	fails("40", "nobody listens", connect_to(stream(), in_tree("sub/abs.sock")), ECONNREFUSED);
	fails("40", "no socket", connect_to(stream(), "plain.txt"), ECONNREFUSED);
	fails("40", "no such name", connect_to(stream(), "none.sock"), ENOENT);
	works("IPC-08", "bind in /tmp", bind_at(server = stream(), "/tmp/t.sock"));
	listen(server, 5);
	works("IPC-08", "connect in /tmp", connect_to(stream(), "/tmp/t.sock"));
	works("IPC-07", "socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	works("IPC-07", "SO_PASSCRED", setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)));
}

static void host(void)
{
	struct sockaddr_un at;
	socklen_t len;
	int fd, pair[2];

	fails("3-attacks", "a host listener in the tree", connect_to(stream(), "host.sock"), ECONNREFUSED);
	symlink("host.sock", "innocent");
	fails("3-attacks", "through a symlink", connect_to(stream(), "innocent"), ECONNREFUSED);
	fails("3-attacks", "renamed", (rename("host.sock", "moved.sock"), connect_to(stream(), "moved.sock")),
	      ECONNREFUSED);
	rename("moved.sock", "host.sock");
	fails("3-attacks", "seqpacket", connect_to(socket(AF_UNIX, SOCK_SEQPACKET, 0), "host.sock"), ECONNREFUSED);
	fails("3-attacks", "no datagram sockets", socket(AF_UNIX, SOCK_DGRAM, 0), EAFNOSUPPORT);
	fd = stream();
	len = name(&at, "host.dgram");
	say(sendto(fd, "x", 1, 0, (struct sockaddr *)&at, len) < 0, "3-attacks", "sendto by path", errno);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	say(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&at, len) < 0, "3-attacks", "sendto by path from a pair",
	    errno);
}

/* A datagram pair keeps packets apart and its flags, and no address makes it send elsewhere. */
static void datagram_pair(void)
{
	struct sockaddr_un at;
	socklen_t len = name(&at, "host.dgram");
	int pair[2] = {-1, -1}, *nowhere = (int *)sysconf(_SC_PAGESIZE);
	char got[8] = "";

	works("IPC-06", "a datagram pair", socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
	say(pair[0] >= 0 && pair[1] >= 0 && pair[0] != pair[1], "IPC-06", "two descriptors", errno);
	say(fcntl(pair[0], F_GETFD) == FD_CLOEXEC && fcntl(pair[1], F_GETFL) & O_NONBLOCK, "IPC-06", "its flags",
	    errno);
	say(write(pair[0], "ab", 2) == 2 && write(pair[0], "c", 1) == 1 && read(pair[1], got, 8) == 2 &&
		    read(pair[1], got, 8) == 1,
	    "IPC-06", "packets stay apart", errno);
	sendto(pair[0], "to-host", 7, 0, (struct sockaddr *)&at, len);
	say(recv(pair[1], got, sizeof(got), MSG_DONTWAIT) == 7 || errno == EISCONN, "3-attacks",
	    "an address given to it means nothing", errno);
	fails("IPC-06", "numbers that have no place", socketpair(AF_UNIX, SOCK_DGRAM, 0, nowhere), EFAULT);
	fails("IPC-06", "a protocol that is none", socketpair(AF_UNIX, SOCK_DGRAM, 77, pair), EPROTONOSUPPORT);
}

static void families(void)
{
	static const int open_families[] = {AF_UNIX, AF_INET, AF_INET6};
	bool all = true;

	for (int family = 0; family <= 46; family++) {
		bool wanted = false;
		int fd;

		for (size_t i = 0; i < 3; i++)
			wanted = wanted || open_families[i] == family;
		if (family == AF_NETLINK || wanted)
			continue;
		for (int type = 1; type <= 5; type++) {
			fd = socket(family, type, 0);
			if (fd >= 0)
				printf("# family %d type %d is open\n", family, type);
			all = all && fd < 0;
		}
	}
	say(all, "8-attacks", "every other family is refused", 0);
	works("8-attacks", "netlink route", socket(AF_NETLINK, SOCK_RAW, 0));
	fails("8-attacks", "netlink audit", socket(AF_NETLINK, SOCK_RAW, 9), EAFNOSUPPORT);
	fails("8-attacks", "mptcp", socket(AF_INET, SOCK_STREAM, 262), EAFNOSUPPORT);
	fails("8-attacks", "vsock", socket(40, SOCK_STREAM, 0), EAFNOSUPPORT);
}

static void inet(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET}, proxy = {.sin_family = AF_INET, .sin_port = htons(3128)};
	socklen_t len = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), fd;

	at.sin_addr.s_addr = proxy.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	works("connect", "bind of an inet socket", bind(server, (struct sockaddr *)&at, sizeof(at)));
	listen(server, 5);
	getsockname(server, (struct sockaddr *)&at, &len);
	works("connect", "inet", connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at)));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	say(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 || errno == EINPROGRESS, "connect", "not blocking",
	    errno);
	say(fcntl(fd, F_GETFL) & O_NONBLOCK, "connect", "it stays not blocking", 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	works("connect", "the proxy's listener", connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)));
	say(!(fcntl(fd, F_GETFL) & O_NONBLOCK), "connect", "it stays blocking", 0);
	close(server);
	fails("connect", "nobody listens", connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at)),
	      ECONNREFUSED);
	at.sin_addr.s_addr = htonl(0x01010101);
	fails("connect", "the world", connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at)),
	      ENETUNREACH);
	fails("connect", "not a socket", connect(0, (struct sockaddr *)&at, sizeof(at)), ENOTSOCK);
	fails("connect", "no descriptor", connect(99, (struct sockaddr *)&at, sizeof(at)), EBADF);
	say(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&proxy, sizeof(proxy)) < 0, "17-attacks",
	    "the proxy's port cannot be shared", errno);
}

static struct sockaddr_un raced;
static int race_fd;
static volatile bool stop;

static void *flip(void *context)
{
	int unix_fd = stream(), inet_fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)context;
	while (!stop) {
		name(&raced, "host.sock");
		dup2(unix_fd, race_fd);
		name(&raced, "good.sock");
		dup2(inet_fd, race_fd);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	unsigned tries = 0;

	printf("expect \"action\":\"network-outbound\"\n");
	local();
	host();
	datagram_pair();
	families();
	inet();
	race_fd = stream();
	pthread_create(&thread, NULL, flip, NULL);
	for (; tries < 3000; tries++)
		connect(race_fd, (struct sockaddr *)&raced, sizeof(raced));
	stop = true;
	pthread_join(thread, NULL);
	say(true, "3-attacks", "address and descriptor raced (the host saw nothing: see below)", 0);
	return 0;
}
