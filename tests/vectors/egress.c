/* What the egress of issue 4 adds to the vectors of the spec: the session's resolver, the reserved name, the parent
 * proxy, the owner's own ports, the limit of connections, generations. egress BINARY */
#define _GNU_SOURCE
#include "rig.h"

#include "os/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rig rig;
static struct stub echo, parent, stranger;
static char parent_head[4096];
static atomic_int parent_says; /* 0: 200 and a banner, 1: 403, 2: nothing at all, 3: bytes that are no HTTP */

static void stub_parent(struct stub *stub, int fd)
{
	static const char yes[] = "HTTP/1.1 200 Fine\r\nContent-Length: 7\r\n\r\nfirst ";
	char text[4096];
	char end;
	size_t len = rig_read(fd, text, sizeof(text), "\r\n\r\n", &end);

	atomic_fetch_add(&stub->received, (unsigned)len);
	memcpy(parent_head, text, len);
	parent_head[len] = '\0';
	if (parent_says == 0) {
		for (size_t i = 0; i < sizeof(yes) - 1;
		     i++) /* a head in the smallest pieces, the host's words behind it */
			rig_send(fd, yes + i, 1);
		stub_echo(stub, fd);
	} else if (parent_says == 1) {
		rig_send(fd, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 38);
	} else if (parent_says == 3) {
		rig_send(fd, "SSH-2.0-x\r\n\r\n", 13);
	}
}

static size_t ask(const char *request, const char *until, int *out_fd)
{
	static char text[RIG_TEXT];
	char end;

	*out_fd = rig_connect(rig.http);
	rig_send(*out_fd, request, strlen(request));
	rig_read(*out_fd, text, RIG_TEXT, until, &end);
	return strtoul(text + 9, NULL, 10);
}

static unsigned status_of(const char *request)
{
	int fd;
	unsigned status = (unsigned)ask(request, "\r\n\r\n", &fd);

	close(fd);
	return status;
}

/* ---- names */

struct answer {
	int code; /* -1: none came */
	unsigned count;
	unsigned char addr[4];
};

static struct answer query(const char *name, unsigned type)
{
	unsigned char packet[600] = {0x12, 0x34, 1, 0, 0, 1};
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(rig.dns), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct answer answer = {.code = -1};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t at = 12;
	ssize_t got = -1;

	while (*name) {
		size_t len = strcspn(name, ".");

		packet[at++] = (unsigned char)len;
		memcpy(packet + at, name, len);
		at += len;
		name += len + (name[len] == '.');
	}
	packet[at + 2] = (unsigned char)type;
	packet[at + 4] = 1;
	/* A datagram may be lost where a flood fills the queue: it is sent again, as resolvers do. */
	for (int i = 0; i < 40 && got < 0; i++) {
		sendto(fd, packet, at + 5, 0, (struct sockaddr *)&to, sizeof(to));
		got = poll(&wait, 1, RIG_WAIT_MS / 40) > 0 ? recv(fd, packet, sizeof(packet), 0) : -1;
	}
	close(fd);
	if (got < 12)
		return answer;
	answer.code = packet[3] & 15;
	answer.count = packet[7];
	if (answer.count)
		memcpy(answer.addr, packet + got - 4, 4);
	return answer;
}

static void names(void)
{
	struct answer one = query("echo.test", 1);
	struct answer again = query("ECHO.test", 1);
	struct answer other = query("a.wild.test", 1);
	struct answer none;
	char own[256];

	tap(one.code == 0 && one.count == 1 && one.addr[0] == 198 && one.addr[1] == 18, "5",
	    "an allowed name has an address that stands for it");
	tap(memcmp(one.addr, again.addr, 4) == 0 && memcmp(one.addr, other.addr, 4) != 0, "5",
	    "the same name the same one, another name another");
	none = query("echo.test", 28);
	tap(none.code == 0 && none.count == 0, "5", "no IPv6 address, but the name is there");
	none = query("ported.test", 1);
	tap(none.code == 0 && none.count == 1, "5", "a name allowed on one port only has one too");
	tap(query("denied.test", 1).code == 3, "5", "a denied name does not exist");
	tap(rig_event(&rig, "\"deny\" \"dns\" denied.test \"reason\":\"denied\""), "5", "and that is told once");
	tap(query("evil.test", 1).code == 3 && query("evil.test", 28).code == 3, "5",
	    "nor does one that no entry allows");
	tap(rig_event(&rig, "\"deny\" \"dns\" evil.test not-allowed --allow-host"), "5",
	    "with the flag that would allow it");
	tap(query("wild.test", 1).code == 3, "5", "the apex of a pattern is not covered");
	tap(query("localhost", 1).addr[0] == 127, "5", "localhost is the loopback");
	tap(gethostname(own, sizeof(own)) == 0 && query(own, 1).addr[0] == 127, "5", "so is the machine's own name");
	tap(query("metadata.google.internal", 1).code == 3, "5", "metadata names do not exist");
	tap(query("gateway.ccbox.internal", 1).code == 0, "8", "the reserved name has an address");
}

static void bad_packets(void)
{
	static const char *const packets[] = {"", "x", "\x12\x34\x81",
					      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(rig.dns), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned round = 0; round < 5000; round++)
		sendto(fd, packets[round % 4], strlen(packets[round % 4]), MSG_DONTWAIT, (struct sockaddr *)&to,
		       sizeof(to));
	close(fd);
	tap(query("echo.test", 1).count == 1, "5", "a flood of rubbish later it still answers");
	tap(status_of("CONNECT evil.test:443 HTTP/1.1\r\n\r\n") == 403, "5", "and so does the proxy");
}

/* The kernel's own word on the process that parses. */
static void confinement(void)
{
	static const char *const want[] = {"Seccomp:\t2", "NoNewPrivs:\t1", "CapEff:\t0000000000000000",
					   "CapPrm:\t0000000000000000", "CapAmb:\t0000000000000000"};
	char path[64];
	char text[8192];
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", rig.pid);
	file = fopen(path, "r");
	len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[len] = '\0';
	if (file)
		fclose(file);
#ifdef CC_SANITIZED /* its run-time library could not live behind the filter */
	tap(strstr(text, want[1]) && strstr(text, want[2]), "CONFINE", "no new privileges, no capability");
#else
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		tap(strstr(text, want[i]) != NULL, "CONFINE", want[i]);
#endif
}

/* ---- the reserved name */

static void gateway(void)
{
	static char text[RIG_TEXT];
	char end;
	int fd;
	int ours;

	tap(ask("CONNECT gateway.ccbox.internal:80 HTTP/1.1\r\n\r\n", "\r\n\r\n", &fd) == 200, "8",
	    "a connection to the reserved name is made");
	tap(rig_event_fd(&rig, "\"m\":\"gateway\" \"port\":80", &ours) && ours >= 0, "8",
	    "the owner has its other end");
	rig_send(fd, "\1push x", 7);
	rig_read(ours, text, RIG_TEXT, "push x", &end);
	tap(end == '.', "8", "what the client says arrives there");
	rig_send(ours, "answer", 6);
	rig_read(fd, text, RIG_TEXT, "answer", &end);
	tap(end == '.', "8", "and back");
	close(ours);
	rig_read(fd, text, RIG_TEXT, NULL, &end);
	tap(end == 'E', "8", "the owner ends it");
	close(fd);
	fd = rig_connect(rig.http);
	rig_send(fd, "GET http://gateway.ccbox.internal/x HTTP/1.1\r\nHost: a\r\n\r\n", 57);
	tap(rig_event_fd(&rig, "\"m\":\"gateway\" \"port\":80", &ours) && ours >= 0, "8",
	    "a request in absolute form goes there too");
	rig_read(ours, text, RIG_TEXT, "\r\n\r\n", &end);
	tap(strncmp(text, "GET /x HTTP/1.1\r\nHost: gateway.ccbox.internal\r\n", 47) == 0, "8",
	    "as a request for the host itself");
	close(ours);
	close(fd);
}

/* ---- limits and the owner's own ports */

static void owner_ports(const struct rig_policy *policy)
{
	struct rig_policy mine = *policy;
	char request[80];
	char port[8];

	snprintf(request, sizeof(request), "CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", stranger.port);
	tap(status_of(request) == 200, "1", "a literal that is allowed reaches the host's loopback");
	for (int i = 0; i < 500 && atomic_load(&stranger.accepted) == 0; i++)
		usleep(10000); /* it has counted that one */
	snprintf(port, sizeof(port), "%u", stranger.port);
	mine.owner_ports = port;
	rig_policy(&rig, &mine, 2);
	rig_event(&rig, "\"ready\" \"generation\":2");
	atomic_store(&stranger.accepted, 0);
	tap(status_of(request) == 403, "1", "the owner's own port is refused, whatever entry allows its address");
	snprintf(request, sizeof(request), "CONNECT own.test:%u HTTP/1.1\r\n\r\n", stranger.port);
	tap(status_of(request) == 403, "1", "by a name of the operator's too");
	tap(atomic_load(&stranger.accepted) == 0, "1", "and was not dialled");
	tap(rig_event(&rig, "\"deny\" \"generation\":2"), "9", "an event names the generation of the rules");
	rig_policy(&rig, policy, 3);
	rig_event(&rig, "\"ready\" \"generation\":3");
}

/* Connections of the tests before may be about to end: it is asked again until there is room. */
static int patient(const char *request)
{
	for (int i = 0; i < 200; i++) {
		int fd;

		if (ask(request, "\r\n\r\n", &fd) == 200)
			return fd;
		close(fd);
		poll(NULL, 0, 20);
	}
	return -1;
}

static void limit(const struct rig_policy *policy)
{
	struct rig_policy small = *policy;
	char request[80];
	int fds[3];

	small.conns_max = 3;
	rig_policy(&rig, &small, 4);
	rig_event(&rig, "\"ready\" \"generation\":4");
	snprintf(request, sizeof(request), "CONNECT echo.test:%u HTTP/1.1\r\n\r\n", echo.port);
	for (int i = 0; i < 3; i++)
		fds[i] = patient(request);
	tap(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0, "8", "as many connections as network.maxConnections says");
	tap(status_of(request) == 503, "8", "the next one is told 503");
	tap(rig_event(&rig, "\"deny\" \"reason\":\"limit\""), "8", "with an event");
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	rig_policy(&rig, policy, 5);
	rig_event(&rig, "\"ready\" \"generation\":5");
}

/* ---- a parent proxy */

static void through_parent(const struct rig_policy *policy)
{
	static char text[RIG_TEXT];
	struct rig_policy behind = *policy;
	char where[80];
	char end;
	int fd;

	snprintf(where, sizeof(where), "http://ann:secret@127.0.0.1:%u/", parent.port);
	behind.parent = where;
	rig_policy(&rig, &behind, 6);
	rig_event(&rig, "\"ready\" \"generation\":6");
	fd = rig_connect(rig.http);
	rig_send(fd, "CONNECT far.test:443 HTTP/1.1\r\n\r\n", 33);
	rig_read(fd, text, RIG_TEXT, "first ", &end);
	tap(strstr(text, " 200 ") && end == '.', "4",
	    "a tunnel through the parent, the host's first words behind its answer");
	tap(strcmp(parent_head, "CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n"
				"Proxy-Authorization: Basic YW5uOnNlY3JldA==\r\n\r\n") == 0,
	    "4", "asked by CONNECT, with the operator's login");
	rig_send(fd, "SSH-2.0-x\r\n", 11);
	rig_read(fd, text, RIG_TEXT, "SSH-2.0-x\r\n", &end);
	tap(end == '.', "4", "bytes pass");
	close(fd);
	atomic_store(&parent.accepted, 0);
	tap(status_of("CONNECT evil.test:443 HTTP/1.1\r\n\r\n") == 403 && atomic_load(&parent.accepted) == 0, "4",
	    "a name that is not allowed does not reach the parent");
	tap(status_of("CONNECT 10.9.9.9:443 HTTP/1.1\r\n\r\n") == 403 && atomic_load(&parent.accepted) == 0, "4",
	    "nor does a literal");
	parent_says = 1;
	tap(status_of("CONNECT far.test:443 HTTP/1.1\r\n\r\n") == 502, "4", "its refusal is a bad gateway");
	parent_says = 2;
	tap(status_of("CONNECT far.test:443 HTTP/1.1\r\n\r\n") == 502, "4", "so is its silence at the end");
	parent_says = 3;
	tap(status_of("CONNECT far.test:443 HTTP/1.1\r\n\r\n") == 502, "4", "and what is no HTTP");
	rig_policy(&rig, policy, 7);
	rig_event(&rig, "\"ready\" \"generation\":7");
}

/* ---- encrypted server names: told, and refused where the policy says so */

static bool hello_passes(bool ech)
{
	static char text[RIG_TEXT];
	unsigned char bytes[800];
	size_t len = rig_hello("echo.test", 200, ech, bytes);
	char connect[80];
	char end;
	int fd;
	size_t got;

	snprintf(connect, sizeof(connect), "CONNECT echo.test:%u HTTP/1.1\r\n\r\n", echo.port);
	if (ask(connect, "\r\n\r\n", &fd) != 200)
		return false;
	rig_send(fd, bytes, len);
	shutdown(fd, SHUT_WR);
	got = rig_read(fd, text, RIG_TEXT, NULL, &end);
	close(fd);
	return got == len && memcmp(text, bytes, len) == 0;
}

/* A listener whose queue is full lets a connection wait; the rules are tightened meanwhile, and then there is room. */
static void tightened_while_dialling(const struct rig_policy *policy, bool tightened)
{
	static char text[RIG_TEXT];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	struct rig_policy strict = *policy;
	int slow = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int held[2];
	char connect_to[80];
	char end;
	int fd;

	strict.deny = "denied.test own.test";
	if (bind(slow, (struct sockaddr *)&at, len) < 0 || listen(slow, 0) < 0 ||
	    getsockname(slow, (struct sockaddr *)&at, &len) < 0)
		exit(1);
	held[0] = rig_connect(ntohs(at.sin_port));
	fd = rig_connect(rig.http);
	snprintf(connect_to, sizeof(connect_to), "CONNECT own.test:%u HTTP/1.1\r\n\r\n", ntohs(at.sin_port));
	rig_send(fd, connect_to, strlen(connect_to));
	status_of("CONNECT evil.test:443 HTTP/1.1\r\n\r\n"); /* behind it: the dial is under way */
	if (tightened)
		rig_policy(&rig, &strict, 50);
	if (tightened)
		rig_event(&rig, "\"ready\" \"generation\":50");
	held[1] = accept(slow, NULL, NULL); /* now there is room for the proxy's */
	rig_read(fd, text, RIG_TEXT, "\r\n", &end);
	tap(strstr(text, tightened ? " 403 " : " 200 ") != NULL, "3",
	    tightened ? "rules that were tightened during a dial refuse what it made" : "without that it is connected");
	close(fd);
	close(slow);
	close(held[0]);
	close(held[1]);
	rig_policy(&rig, policy, 51);
	rig_event(&rig, "\"ready\" \"generation\":51");
}

static void encrypted_names(const struct rig_policy *policy)
{
	struct rig_policy strict = *policy;

	strict.no_ech = true;
	tap(hello_passes(true) && rig_event(&rig, "\"closed\" \"echo.test\" \"ech\":true"), "2.6",
	    "an encrypted server name passes beside the true one, and is told");
	rig_policy(&rig, &strict, 30);
	tap(rig_event(&rig, "\"ready\" \"generation\":30"), "2.6", "rules that refuse it");
	tap(!hello_passes(true) && rig_event(&rig, "\"deny\" \"sni\" ECH"), "2.6", "it is refused, by its own reason");
	{
		unsigned char bytes[800];
		static char text[RIG_TEXT];
		size_t len = rig_hello("echo.test", 200, true, bytes);
		char connect[80];
		char end;
		int fd;

		rig_policy(&rig, policy, 32);
		rig_event(&rig, "\"ready\" \"generation\":32");
		snprintf(connect, sizeof(connect), "CONNECT echo.test:%u HTTP/1.1\r\n\r\n", echo.port);
		ask(connect, "\r\n\r\n", &fd);
		rig_send(fd, bytes, len);
		rig_read(fd, text, len + 1, NULL, &end);
		rig_policy(&rig, &strict, 33);
		rig_event(&rig, "\"ready\" \"generation\":33");
		rig_read(fd, text, RIG_TEXT, NULL, &end);
		tap(end == 'R', "3", "and one that is open is closed by such rules");
		close(fd);
	}
	tap(hello_passes(false), "2.6", "a hello without it passes");
	rig_policy(&rig, policy, 31);
	tap(rig_event(&rig, "\"ready\" \"generation\":31"), "2.6", "and back");
}

/* ---- the session ends: what is open then is told before the proxy goes */

static void the_last_words(void)
{
	static const char message[] = "{\"m\":\"end\"}";
	char connect[80];
	struct cc_err err;
	int fds[40];
	int told = 0;
	int made = 0;

	snprintf(connect, sizeof(connect), "CONNECT echo.test:%u HTTP/1.1\r\n\r\n", echo.port);
	for (int i = 0; i < 40; i++)
		made += ask(connect, "\r\n\r\n", &fds[i]) == 200;
	for (int i = 0; i < 5; i++)
		status_of("CONNECT last.evil:443 HTTP/1.1\r\n\r\n");
	tap(made == 40 && cc_peer_send(rig.control, message, sizeof(message) - 1, NULL, 0, &err) == CC_OK, "9",
	    "40 tunnels are open when the session ends");
	while (told < 40 && rig_event(&rig, "\"closed\" \"echo.test\""))
		told++;
	tap(told == 40, "9", "each is told with its bytes");
	tap(rig_event(&rig, "\"deny\" \"last.evil\" \"count\":4"), "9", "and the refusals that were only counted");
	for (int i = 0; i < 40; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void switched_off(const struct rig_policy *policy)
{
	struct rig_policy off = *policy;

	off.off = true;
	rig_policy(&rig, &off, 8);
	rig_event(&rig, "\"ready\" \"generation\":8");
	tap(query("echo.test", 1).code == 3, "2", "with the network off no name exists");
	tap(rig_event(&rig, "\"deny\" \"dns\" network-off"), "2", "and the event says why");
	tap(status_of("CONNECT gateway.ccbox.internal:80 HTTP/1.1\r\n\r\n") == 403, "2",
	    "the reserved name is refused too");
}

int main(int argc, char **argv)
{
	static const struct rig_policy policy = {
		.allow = "echo.test far.test own.test *.wild.test denied.test 127.0.0.1 ported.test:443",
		.deny = "denied.test metadata.google.internal",
		.hosts = "echo.test=127.0.0.1 own.test=127.0.0.1",
		.gateway = true,
	};

	if (argc != 2)
		return 2;
	stub_start(&echo, NULL, stub_echo);
	stub_start(&parent, NULL, stub_parent);
	stub_start(&stranger, NULL, stub_echo);
	rig_start(&rig, argv[1], &policy);
	confinement();
	names();
	bad_packets();
	gateway();
	owner_ports(&policy);
	limit(&policy);
	encrypted_names(&policy);
	tightened_while_dialling(&policy, false);
	tightened_while_dialling(&policy, true);
	through_parent(&policy);
	switched_off(&policy);
	rig_policy(&rig, &policy, 40);
	tap(rig_event(&rig, "\"ready\" \"generation\":40"), "9", "on again");
	the_last_words();
	tap(rig_stop(&rig) == 0, "7.1", "the proxy ends when its owner does");
	return tap_end();
}
