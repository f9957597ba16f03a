/* Vectors 86 to 90 with a resolver that counts, in a network and mount namespace of its own: dns BINARY */
#define _GNU_SOURCE
#include "rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char public_address[] = "93.184.216.34"; /* routed to lo, nobody's own */
static const char own_address[] = "93.184.217.1";     /* lo's own */
static const char private_address[] = "10.9.0.1";     /* routed to lo */

/* What the resolver says: the first time, and after that. */
static struct zone {
	const char *name;
	const char *first;
	const char *later;
	atomic_uint asked; /* A queries */
} zones[] = {
	{"two.test", "127.0.0.1 93.184.216.34", NULL, 0},
	{"loop.test", "127.0.0.1", NULL, 0},
	{"flip.test", "93.184.216.34 127.0.0.1", "127.0.0.1", 0},
	{"own.test", "93.184.217.1", NULL, 0},
	{"metadata.test", "169.254.169.254", NULL, 0},
	{"corp.test", "10.9.0.1", NULL, 0},
	{"inner.test", "10.9.0.1", NULL, 0},
	{"evil.test", "93.184.216.34", NULL, 0},
	{"flood.test",
	 "10.9.0.1 10.9.0.2 10.9.0.3 10.9.0.4 10.9.0.5 10.9.0.6 10.9.0.7 10.9.0.8 10.9.0.9 10.9.0.10 10.9.0.11", NULL,
	 0},
};
static atomic_uint all_queries;

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool cover(const char *path, const char *text)
{
	char real[PATH_MAX];
	char temporary[] = "/tmp/cc-vectors-XXXXXX";
	int fd;
	bool ok;

	if (!realpath(path, real))
		return false;
	fd = mkstemp(temporary);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, 0644) == 0 &&
	     mount(temporary, real, NULL, MS_BIND, NULL) == 0;
	if (fd >= 0) {
		close(fd);
		unlink(temporary);
	}
	return ok;
}

static bool own_namespaces(void)
{
	unsigned uid = geteuid();
	unsigned gid = getegid();
	char map[64];

	if (uid == 0)
		return unshare(CLONE_NEWNET | CLONE_NEWNS) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) < 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!write_file("/proc/self/uid_map", map) || !write_file("/proc/self/setgroups", "deny"))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_file("/proc/self/gid_map", map);
}

static bool set_interface(const char *name, const char *address)
{
	struct ifreq ask = {0};
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = true;

	snprintf(ask.ifr_name, sizeof(ask.ifr_name), "%s", name);
	if (address) {
		inet_pton(AF_INET, address, &at.sin_addr);
		memcpy(&ask.ifr_addr, &at, sizeof(at));
		ok = ioctl(fd, SIOCSIFADDR, &ask) == 0;
	}
	ask.ifr_flags = IFF_UP | IFF_RUNNING;
	ok = ok && ioctl(fd, SIOCSIFFLAGS, &ask) == 0;
	close(fd);
	return ok;
}

/* `ip route add local NET/BITS dev lo`: every address of it answers here without being an interface's own. */
static bool route_to_lo(const char *net, unsigned char bits)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr to;
		struct in_addr net;
		struct rtattr out;
		int index;
	} ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK},
		.route = {.rtm_family = AF_INET,
			  .rtm_dst_len = bits,
			  .rtm_table = RT_TABLE_LOCAL,
			  .rtm_protocol = RTPROT_BOOT,
			  .rtm_scope = RT_SCOPE_HOST,
			  .rtm_type = RTN_LOCAL},
		.to = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_DST},
		.out = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_OIF},
		.index = 1,
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bool ok;

	inet_pton(AF_INET, net, &ask.net);
	ok = fd >= 0 && send(fd, &ask, sizeof(ask), 0) == sizeof(ask) && recv(fd, &answer, sizeof(answer), 0) > 0 &&
	     answer.error.error == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static const char *prepare(void)
{
	if (!own_namespaces())
		return "no network and mount namespace can be made here";
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return "the mount namespace cannot be made private";
	if (!set_interface("lo", NULL) || !set_interface("lo:1", own_address) || !route_to_lo("93.184.216.0", 24) ||
	    !route_to_lo("10.9.0.0", 16))
		return "the loopback interface cannot be set up";
	if (!cover("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n") ||
	    !cover("/etc/nsswitch.conf", "hosts: files dns\n"))
		return "/etc/resolv.conf and /etc/nsswitch.conf cannot be covered";
	return NULL;
}

static size_t read_name(const unsigned char *query, size_t len, char *name, size_t max)
{
	size_t at = 12;
	size_t used = 0;

	while (at < len && query[at] && at + query[at] < len && used + query[at] + 2 < max) {
		if (used)
			name[used++] = '.';
		memcpy(name + used, query + at + 1, query[at]);
		used += query[at];
		at += 1 + (size_t)query[at];
	}
	name[used] = '\0';
	return at + 1;
}

static size_t add_answers(unsigned char *out, size_t len, const char *addresses)
{
	static const unsigned char head[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4};
	char copy[200];
	char *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", addresses);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		memcpy(out + len, head, sizeof(head));
		inet_pton(AF_INET, word, out + len + sizeof(head));
		len += sizeof(head) + 4;
		out[7]++;
	}
	return len;
}

static size_t answer(const unsigned char *query, size_t len, unsigned char *out)
{
	char name[256];
	size_t end = read_name(query, len, name, sizeof(name));
	bool want_a = end + 1 < len && query[end + 1] == 1;

	if (end + 4 > len)
		return 0;
	atomic_fetch_add(&all_queries, 1);
	memcpy(out, query, end + 4);
	out[2] = 0x81;
	out[3] = 0x83; /* no such name */
	memset(out + 6, 0, 6);
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		unsigned before;

		if (strcasecmp(zones[i].name, name) != 0)
			continue;
		out[3] = 0x80;
		if (!want_a)
			return end + 4;
		before = atomic_fetch_add(&zones[i].asked, 1);
		return add_answers(out, end + 4, before && zones[i].later ? zones[i].later : zones[i].first);
	}
	return end + 4;
}

static void *resolver(void *context)
{
	int fd = *(int *)context;

	for (;;) {
		unsigned char query[1024];
		unsigned char out[2048];
		struct sockaddr_storage from;
		socklen_t from_len = sizeof(from);
		ssize_t got = recvfrom(fd, query, sizeof(query), 0, (struct sockaddr *)&from, &from_len);
		size_t len = got > 12 ? answer(query, (size_t)got, out) : 0;

		if (got < 0)
			return NULL;
		if (memmem(query, (size_t)got, "\4hang\4test", 10))
			continue; /* never an answer */
		/* Each answer a hundred times, some of them broken: who floods may hope for a place in a queue. */
		for (int i = 0; len && memmem(query, (size_t)got, "\5flood\4test", 11) && i < 100; i++)
			sendto(fd, out, i % 2 ? len : len / 2, 0, (struct sockaddr *)&from, from_len);
		if (len)
			sendto(fd, out, len, 0, (struct sockaddr *)&from, from_len);
	}
}

static bool start_resolver(void)
{
	static int fd;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(53)};
	pthread_t thread;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	       pthread_create(&thread, NULL, resolver, &fd) == 0;
}

/* CONNECT host:port, then its answer */
static void ask(struct rig *rig, const char *host, uint16_t port, char *text)
{
	char bytes[300];
	char end;
	int fd = rig_connect(rig->http);

	snprintf(bytes, sizeof(bytes), "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, port);
	rig_send(fd, bytes, strlen(bytes));
	shutdown(fd, SHUT_WR);
	rig_read(fd, text, RIG_TEXT, NULL, &end);
	close(fd);
}

static bool refused(const char *text, const char *reason)
{
	char want[80];

	snprintf(want, sizeof(want), "X-Sandbox-Reason: %s\r\n", reason);
	return strstr(text, "403 Forbidden") && strstr(text, want);
}

static void vectors(struct rig *rig)
{
	static char text[RIG_TEXT];
	struct stub public = {0};
	struct stub corp = {0};
	unsigned before = atomic_load(&all_queries);

	stub_start(&public, public_address, stub_banner);
	stub_start(&corp, private_address, stub_banner);

	ask(rig, "evil.test", 443, text);
	ask(rig, "x.denied.test", 443, text);
	tap(refused(text, "denied") && atomic_load(&all_queries) == before, "89", "a denied name asks no resolver");
	ask(rig, "two.test", public.port, text);
	tap(strstr(text, "SSH-2.0-banner") && atomic_load(&public.accepted) == 1, "86",
	    "only the public address is dialled");
	tap(rig_event(rig, "\"allow\" \"two.test\" \"public\" \"93.184.216.34\""), "86", "and the event names it");
	ask(rig, "loop.test", public.port, text);
	tap(refused(text, "address") && !strstr(text, "127.0.0.1"), "87",
	    "loopback alone is refused, its address not told");
	tap(rig_event(rig, "\"deny\" \"address\" \"loopback\" \"127.0.0.1\""), "87", "but the owner's event has it");
	ask(rig, "flip.test", public.port, text);
	tap(strstr(text, "SSH-2.0-banner") != NULL, "88", "the first answer is dialled");
	ask(rig, "flip.test", public.port, text);
	tap(strstr(text, "SSH-2.0-banner") && atomic_load(&zones[2].asked) == 1, "88",
	    "and the name is looked up once");
	ask(rig, "own.test", public.port, text);
	tap(refused(text, "address"), "90", "an interface's own address is refused");
	ask(rig, "metadata.test", 80, text);
	tap(refused(text, "denied"), "NET-15", "a name for the metadata address is refused");
	ask(rig, "inner.test", corp.port, text);
	tap(refused(text, "address"), "2.3", "a private address is refused");
	ask(rig, "corp.test", corp.port, text);
	tap(strstr(text, "SSH-2.0-banner") != NULL, "2.3", "unless the name may be private");
	ask(rig, "absent.test", 80, text);
	tap(strstr(text, "502 Bad") && strstr(text, "does not exist"), "2.4", "a name that does not exist is 502");
}

static int start_connect(struct rig *rig, const char *host, uint16_t port)
{
	char bytes[300];
	int fd = rig_connect(rig->http);

	snprintf(bytes, sizeof(bytes), "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, port);
	rig_send(fd, bytes, strlen(bytes));
	return fd;
}

/* More names that hang than there are threads to ask for them: what needs no resolver goes on, and each ends. */
static void hanging(struct rig *rig, uint16_t port)
{
	static char text[RIG_TEXT];
	int fds[12];
	unsigned late = 0;
	char name[32];
	char end;

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "h%d.hang.test", i);
		fds[i] = start_connect(rig, name, 443);
	}
	ask(rig, "static.test", port, text);
	tap(strstr(text, "SSH-2.0-banner") != NULL, "DNS", "while twelve names hang, others are served");
	for (int i = 0; i < 12; i++) {
		rig_read(fds[i], text, RIG_TEXT, NULL, &end);
		late += strncmp(text, "HTTP/1.1 50", 11) == 0;
		close(fds[i]);
	}
	tap(late == 12, "DNS", "each name that hangs is answered in the end");
}

/* A client that goes away while its name is looked up costs nothing that stays. */
static void gone_while_asked(struct rig *rig, uint16_t port)
{
	static char text[RIG_TEXT];
	struct linger now = {1, 0};

	for (int i = 0; i < 50; i++) {
		int fd = start_connect(rig, "z.hang.test", 443);

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(fd);
	}
	ask(rig, "static.test", port, text);
	tap(strstr(text, "SSH-2.0-banner") != NULL, "DNS", "clients that reset meanwhile leave room");
}

static void hostile_resolver(struct rig *rig)
{
	static char text[RIG_TEXT];
	struct stub here = {0};
	static const struct rig_policy policy = {.allow = "*.hang.test flood.test static.test",
						 .hosts = "static.test=127.0.0.1"};

	stub_start(&here, NULL, stub_banner);
	rig_policy(rig, &policy, 3);
	rig_event(rig, "\"generation\":3");
	ask(rig, "flood.test", 443, text);
	tap(refused(text, "address") || strstr(text, "502 Bad"), "DNS",
	    "a resolver that floods with broken copies changes nothing");
	hanging(rig, here.port);
	gone_while_asked(rig, here.port);
}

/* The proxy itself, even where the operator's list has its very address. */
static void own_listener(struct rig *rig)
{
	static char text[RIG_TEXT];
	const struct rig_policy policy = {.allow = "127.0.0.1 evil.test", .hosts = "evil.test=127.0.0.1"};

	rig_policy(rig, &policy, 2);
	rig_event(rig, "\"generation\":2");
	ask(rig, "127.0.0.1", rig->http, text);
	tap(refused(text, "address"), "90", "the proxy's own listener is refused");
	ask(rig, "evil.test", rig->socks, text);
	tap(refused(text, "address"), "90", "under any name");
}

int main(int argc, char **argv)
{
	static const struct rig_policy policy = {
		.allow =
			"two.test loop.test flip.test own.test metadata.test corp.test inner.test absent.test *.denied.test",
		.deny = "*.denied.test 169.254.169.254",
		.private_names = "corp.test",
	};
	static const char *const numbers[] = {"86", "87", "88", "89", "90"};
	const char *why = argc == 2 ? prepare() : "usage";
	struct rig rig;

	if (!why && !start_resolver())
		why = "the stub resolver cannot be started";
	if (why) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			tap_skip(numbers[i], "a resolver that counts", why);
		return tap_end();
	}
	rig_start(&rig, argv[1], &policy);
	vectors(&rig);
	own_listener(&rig);
	hostile_resolver(&rig);
	tap(rig_stop(&rig) == 0, "7.1", "the proxy ends when its owner does");
	return tap_end();
}
