/* The byte vectors of spec/egress 3.3 to 3.5 against the real cc-proxy: proxy BINARY */
#define _GNU_SOURCE
#include "rig.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES(text) text, sizeof(text) - 1

static struct rig rig;
static struct stub mirror = {0};
static struct stub echo = {0};
static struct stub count = {0};
static struct stub banner = {0};
static struct stub reset = {0};
static struct stub late = {0};

/* "PPPPP" in the bytes becomes the mirror's port. */
static const struct {
	const char *number;
	const char *label;
	const char *bytes;
	size_t len;
	const char *want;   /* stands in the answer */
	const char *absent; /* does not, or NULL */
} https[] = {
	{"91", "a denied host is 403 with X-Proxy-Error", BYTES("CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
	 "403 Forbidden\r\n", NULL},
	{"91", "and says which error", BYTES("CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
	 "X-Proxy-Error: blocked-by-allowlist\r\nX-Sandbox-Reason: not-allowed\r\n", NULL},
	{"91", "and the flag that would allow it", BYTES("CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
	 "--allow-host evil.test\n", NULL},
	{"93", "CONNECT in HTTP/1.0 without Host",
	 BYTES("CONNECT up.test:PPPPP HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\nHost: up.test\r\n\r\n"),
	 "HTTP/1.1 200 Connection", NULL},
	{"94", "a foreign Host on CONNECT is not compared",
	 BYTES("CONNECT up.test:PPPPP HTTP/1.1\r\nHost: up.test\r\n\r\nGET / HTTP/1.0\r\nHost: up.test\r\n\r\n"),
	 "HTTP/1.1 200 Connection", NULL},
	{"95", "no port", BYTES("CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\n\r\n"), "400 Bad", NULL},
	{"96", "port 0", BYTES("CONNECT up.test:0 HTTP/1.1\r\nHost: x\r\n\r\n"), "400 Bad", NULL},
	{"97", "port 72547", BYTES("CONNECT up.test:72547 HTTP/1.1\r\nHost: x\r\n\r\n"), "400 Bad", NULL},
	{"98", "port 07011", BYTES("CONNECT up.test:07011 HTTP/1.1\r\nHost: x\r\n\r\n"), "400 Bad", NULL},
	{"99", "a number for an address", BYTES("CONNECT 2130706433:7011 HTTP/1.1\r\nHost: x\r\n\r\n"), "400 Bad",
	 NULL},
	{"101", "user information", BYTES("CONNECT user@up.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"), "400 Bad", NULL},
	{"102", "Host is replaced by the target's authority",
	 BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"),
	 "\r\nHost: up.test:PPPPP\r\n", "evil.test"},
	{"103", "two Host fields", BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), "400 Bad",
	 NULL},
	{"104", "user information in the target", BYTES("GET http://allowed@up.test/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	 "400 Bad", NULL},
	{"105", "CL and TE",
	 BYTES("POST http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "0\r\n\r\n"),
	 "400 Bad", NULL},
	{"106", "two CL",
	 BYTES("POST http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"),
	 "400 Bad", NULL},
	{"107", "xchunked",
	 BYTES("POST http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n"), "400 Bad",
	 NULL},
	{"108", "a chunk extension is dropped",
	 BYTES("POST http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
	       "3;a=b\r\nabc\r\n0\r\n\r\n"),
	 "\r\n\r\n3\r\nabc\r\n0\r\n\r\n", ";a=b"},
	{"109", "obs-fold", BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"), "400 Bad",
	 NULL},
	{"110", "bare LF", BYTES("GET http://up.test:PPPPP/ HTTP/1.1\nHost: a\n\n"), "400 Bad", NULL},
	{"111", "a space before the colon", BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost : a\r\n\r\n"), "400 Bad",
	 NULL},
	{"112", "NUL in a value", BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"), "400 Bad",
	 NULL},
	{"113", "HTTP/2", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505 HTTP", NULL},
	{"114", "origin form", BYTES("GET / HTTP/1.1\r\nHost: up.test\r\n\r\n"), "400 Bad", NULL},
	{"114", "the asterisk", BYTES("OPTIONS * HTTP/1.1\r\nHost: up.test\r\n\r\n"), "400 Bad", NULL},
	{"115", "https in absolute form names CONNECT", BYTES("GET https://up.test/ HTTP/1.1\r\nHost: up.test\r\n\r\n"),
	 "use CONNECT", NULL},
	{"117", "a field that Connection names stays",
	 BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nConnection: X-Foo, close\r\nX-Foo: bar\r\n\r\n"),
	 "200 OK", "bar"},
	{"118", "Connection: content-length does not break the framing",
	 BYTES("POST http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nConnection: content-length, close\r\nContent-Length: 4\r\n"
	       "\r\nbody"),
	 "\r\nContent-Length: 4\r\n", NULL},
	{"122", "Expect to a denied host is 403 at once",
	 BYTES("POST http://evil.test/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"),
	 "403 Forb", " 100 "},
	{"2.4", "TRACE is 405", BYTES("TRACE http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\n\r\n"), "405 Method", NULL},
	{"2.4", "a closed port is 502", BYTES("GET http://up.test:1/ HTTP/1.1\r\nHost: a\r\n\r\n"), "502 Bad", NULL},
	{"NET-04", "a trailing dot meets the deny list", BYTES("CONNECT denied.test.:443 HTTP/1.1\r\n\r\n"),
	 "X-Sandbox-Reason: denied\r\n", NULL},
	{"NET-05", "upper case meets the deny list", BYTES("CONNECT DENIED.TEST:443 HTTP/1.1\r\n\r\n"),
	 "X-Sandbox-Reason: denied\r\n", NULL},
	{"NET-12", "a name in brackets", BYTES("CONNECT [up.test]:443 HTTP/1.1\r\n\r\n"), "400 Bad", NULL},
	{"NET-07", "a mapped address", BYTES("CONNECT [::ffff:127.0.0.9]:443 HTTP/1.1\r\n\r\n"), "403 Forb", NULL},
	{"NET-07", "NAT64", BYTES("CONNECT [64:ff9b::7f00:1]:443 HTTP/1.1\r\n\r\n"), "403 Forb", NULL},
	{"NET-07", "a zone", BYTES("CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\n\r\n"), "400 Bad", NULL},
};

static size_t put_port(char *out, const char *bytes, size_t len)
{
	char port[8];

	memcpy(out, bytes, len);
	out[len] = '\0';
	snprintf(port, sizeof(port), "%05u", mirror.port);
	for (char *at = out; (at = memmem(at, len - (size_t)(at - out), "PPPPP", 5)) != NULL;)
		memcpy(at, port, 5);
	return len;
}

static size_t exchange(uint16_t port, const void *bytes, size_t len, char *text, char *end)
{
	int fd = rig_connect(port);
	size_t got;

	rig_send(fd, bytes, len);
	shutdown(fd, SHUT_WR);
	got = rig_read(fd, text, RIG_TEXT, NULL, end);
	close(fd);
	return got;
}

static void http_bytes(void)
{
	static char text[RIG_TEXT];
	char bytes[2000];
	char want[500];

	for (size_t i = 0; i < sizeof(https) / sizeof(https[0]); i++) {
		size_t len = put_port(bytes, https[i].bytes, https[i].len);
		char end;
		size_t got;

		put_port(want, https[i].want, strlen(https[i].want));
		got = exchange(i % 2 ? rig.socks : rig.http, bytes, len, text, &end);
		tap(memmem(text, got, want, strlen(want)) && end == 'E' &&
			    !(https[i].absent && memmem(text, got, https[i].absent, strlen(https[i].absent))),
		    https[i].number, https[i].label);
	}
}

/* "PPPP" in the hex is the echo server's port; behind ":" what must come back, "*" at its end: and anything more. */
static const struct {
	const char *number;
	const char *label;
	const char *send;
	const char *want;
} sockses[] = {
	{"123", "no authentication", "050100", "0500"},
	{"124", "a password is not needed, but taken", "0501020101750170", "05020100"},
	{"125", "no method in common", "050101", "05ff"},
	{"126", "no method at all", "0500", "05ff"},
	{"127", "payload in the same write", "050100050100017f000001PPPP68656c6c6f",
	 "05000500000100000000000068656c6c6f"},
	{"128", "a literal as text", "05010005010003093132372e302e302e31PPPP68656c6c6f",
	 "05000500000100000000000068656c6c6f"},
	{"129", "a name of no length", "0501000501000300PPPP", "050005010001000000000000"},
	{"130", "BIND", "050100050200017f000001PPPP", "050005070001000000000000"},
	{"131", "UDP ASSOCIATE", "050100050300017f000001PPPP", "050005070001000000000000"},
	{"132", "unknown type of address", "05010005010009", "050005080001000000000000"},
	{"134", "a mapped address is the v4 one", "0501000501000400000000000000000000ffff7f000001PPPP68656c6c6f",
	 "05000500000100000000000068656c6c6f"},
	{"135", "NUL inside a name", "050100050100030e3132372e302e302e31006576696cPPPP", "050005010001000000000000"},
	{"136", "port 0", "050100050100017f0000010000", "050005010001000000000000"},
	{"137", "RSV is ignored", "050100050107017f000001PPPP68656c6c6f", "05000500000100000000000068656c6c6f"},
	{"138", "a denied name",
	 "0501000501000309"
	 "6576696c2e74657374"
	 "01bb",
	 "050005020001000000000000"},
	{"139", "a closed port", "050100050100017f0000010001", "050005050001000000000000"},
	{"141", "SOCKS4a", "0401PPPP00000001006563686f2e746573740068656c6c6f", "005a00000000000068656c6c6f"},
};

static size_t from_hex(const char *hex, uint16_t port, unsigned char *out)
{
	char copy[1200];
	char digits[8];
	char *at;
	size_t len = 0;

	snprintf(copy, sizeof(copy), "%s", hex);
	snprintf(digits, sizeof(digits), "%04x", port);
	at = strstr(copy, "PPPP");
	if (at)
		memcpy(at, digits, 4);
	for (at = copy; at[0] && at[1]; at += 2) {
		unsigned byte = 0;

		sscanf(at, "%2x", &byte);
		out[len++] = (unsigned char)byte;
	}
	return len;
}

static void socks_bytes(void)
{
	static char text[RIG_TEXT];

	for (size_t i = 0; i < sizeof(sockses) / sizeof(sockses[0]); i++) {
		unsigned char bytes[600];
		unsigned char want[600];
		size_t len = from_hex(sockses[i].send, echo.port, bytes);
		size_t want_len = from_hex(sockses[i].want, echo.port, want);
		char end;
		size_t got = exchange(i % 2 ? rig.http : rig.socks, bytes, len, text, &end);

		tap(got == want_len && memcmp(text, want, got) == 0 && end == 'E', sockses[i].number, sockses[i].label);
	}
}

static void socks_long_name(void)
{
	unsigned char bytes[300] = {5, 1, 0, 5, 1, 0, 3, 255};
	static char text[RIG_TEXT];
	char end;
	size_t got;

	memset(bytes + 8, 'a', 255);
	for (size_t i = 50; i < 255; i += 50)
		bytes[8 + i] = '.';
	bytes[8 + 256] = 80;
	got = exchange(rig.socks, bytes, 8 + 255 + 2, text, &end);
	tap(got == 12 && text[3] == 1, "140", "a name of 255 bytes");
}

static void v6_literals(void)
{
	static char text[RIG_TEXT];
	static struct stub six;
	unsigned char bytes[64];
	char connect[80];
	char end;
	size_t len;

	if (!stub_start_v6(&six, stub_echo)) {
		tap_skip("133", "ATYP 4 ::1", "no IPv6 loopback here");
		tap_skip("100", "CONNECT [::1]", "no IPv6 loopback here");
		return;
	}
	len = from_hex("0501000501000400000000000000000000000000000001PPPP7878", six.port, bytes);
	len = exchange(rig.socks, bytes, len, text, &end);
	tap(len == 14 && text[3] == 0 && memcmp(text + 12, "xx", 2) == 0, "133", "ATYP 4 ::1");
	snprintf(connect, sizeof(connect), "CONNECT [::1]:%u HTTP/1.1\r\n\r\nxyz", six.port);
	len = exchange(rig.http, connect, strlen(connect), text, &end);
	tap(memmem(text, len, "200 Connection", 14) && memmem(text, len, "xyz", 3), "100", "CONNECT [::1]");
}

static void pipelined_denial(void)
{
	static char junk[200000];
	static char text[RIG_TEXT];
	int fd = rig_connect(rig.http);
	char end;
	size_t got;

	memset(junk, 'j', sizeof(junk));
	rig_send(fd, BYTES("CONNECT evil.test:443 HTTP/1.1\r\n\r\n"));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (size_t at = 0; at < sizeof(junk);) { /* as much as it takes: the proxy need not read all of it */
		struct pollfd wait = {.fd = fd, .events = POLLOUT};
		ssize_t done = send(fd, junk + at, sizeof(junk) - at, MSG_NOSIGNAL);

		if (done > 0)
			at += (size_t)done;
		else if (poll(&wait, 1, 1000) <= 0 || wait.revents & POLLERR)
			break;
	}
	got = rig_read(fd, text, RIG_TEXT, NULL, &end);
	tap(memmem(text, got, "403 Forbidden", 13) != NULL, "92", "403 is read with 200 kB behind the request");
	close(fd);
}

static void second_request_denied(void)
{
	static char text[RIG_TEXT];
	char bytes[500];
	char end;
	size_t len = put_port(bytes, BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\n\r\n"
					   "GET http://evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n"));
	size_t got = exchange(rig.http, bytes, len, text, &end);
	const char *ok = memmem(text, got, "200 OK", 6);

	tap(ok && memmem(ok, got - (size_t)(ok - text), "403 Forbidden", 13), "116", "each request is decided anew");
}

static void websocket(void)
{
	static char text[RIG_TEXT];
	char bytes[500];
	char end;
	int fd = rig_connect(rig.http);
	size_t len = put_port(bytes, BYTES("GET http://up.test:PPPPP/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
					   "Upgrade: websocket\r\n\r\n"));
	size_t got;

	rig_send(fd, bytes, len);
	got = rig_read(fd, text, RIG_TEXT, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET", &end);
	tap(end == '.' && memmem(text, got, "101 Switching", 13), "119", "an upgrade passes, and its answer");
	close(fd);
}

static void large_head(void)
{
	static char text[RIG_TEXT];
	static char head[17 * 1024];
	char end;
	size_t got;

	memset(head, 'a', sizeof(head));
	memcpy(head, "GET http://up.test/", 19);
	got = exchange(rig.http, head, sizeof(head), text, &end);
	tap(memmem(text, got, "431 Request", 11) != NULL, "120", "a head of 17 KiB");
}

static size_t open_tunnel(int *out_fd, const char *host, uint16_t port, char *text)
{
	char bytes[300];
	char end;

	*out_fd = rig_connect(rig.http);
	snprintf(bytes, sizeof(bytes), "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, port);
	rig_send(*out_fd, bytes, strlen(bytes));
	return rig_read(*out_fd, text, RIG_TEXT, "\r\n\r\n", &end);
}

static const struct {
	const char *number;
	const char *label;
	const char *host;
	const char *name;
	size_t record;
	bool slow; /* byte by byte */
	bool through;
} hellos[] = {
	{"143", "the same name", "echo.test", "echo.test", 200, false, true},
	{"144", "another name", "echo.test", "evil.test", 200, false, false},
	{"145", "upper case and a trailing dot", "echo.test", "ECHO.TEST.", 200, false, true},
	{"146", "in segments of one byte", "echo.test", "echo.test", 200, true, true},
	{"147", "a foreign name in the second record", "echo.test", "evil.test", 48, false, false},
	{"148", "no name, tunnel to a name", "echo.test", NULL, 200, false, false},
	{"148", "no name, tunnel to a literal", "127.0.0.1", NULL, 200, false, true},
};

static void server_names(void)
{
	static char text[RIG_TEXT];

	for (size_t i = 0; i < sizeof(hellos) / sizeof(hellos[0]); i++) {
		unsigned char bytes[800];
		size_t len = rig_hello(hellos[i].name, hellos[i].record, false, bytes);
		unsigned before = atomic_load(&echo.received);
		size_t piece = hellos[i].slow ? 1 : len;
		size_t got;
		char end;
		int fd;

		open_tunnel(&fd, hellos[i].host, echo.port, text);
		for (size_t at = 0; at < len; at += piece)
			rig_send(fd, bytes + at, piece);
		shutdown(fd, SHUT_WR);
		got = rig_read(fd, text, RIG_TEXT, NULL, &end);
		close(fd);
		if (hellos[i].through)
			tap(got == len && memcmp(text, bytes, len) == 0, hellos[i].number, hellos[i].label);
		else
			tap(got <= 7 && end != 'T' && atomic_load(&echo.received) == before &&
				    rig_event(&rig, "\"deny\" \"sni\" \"echo.test\""),
			    hellos[i].number, hellos[i].label);
	}
}

static void clear_tunnels(void)
{
	static char text[RIG_TEXT];
	char end;
	size_t got;
	unsigned before;
	int fd;

	open_tunnel(&fd, "echo.test", echo.port, text);
	rig_send(fd, BYTES("SSH-2.0-me\r\n"));
	got = rig_read(fd, text, RIG_TEXT, "SSH-2.0-me\r\n", &end);
	tap(end == '.' && got == 12, "149", "SSH passes");
	close(fd);

	open_tunnel(&fd, "banner.test", banner.port, text);
	got = strstr(text, "SSH-2.0-banner") ? 1 : rig_read(fd, text, RIG_TEXT, "SSH-2.0-banner", &end);
	tap(got > 0, "150", "a server that speaks first is heard");
	close(fd);

	before = atomic_load(&count.received);
	open_tunnel(&fd, "count.test", count.port, text);
	rig_send(fd, BYTES("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"));
	rig_read(fd, text, RIG_TEXT, NULL, &end);
	tap(end != 'T' && atomic_load(&count.received) == before, "151", "another Host in clear text is closed");
	close(fd);

	open_tunnel(&fd, "reset.test", reset.port, text);
	rig_send(fd, "x", 1);
	rig_read(fd, text, RIG_TEXT, NULL, &end);
	tap(end == 'R', "154", "a reset is passed on as a reset");
	close(fd);
}

static void half_close(void)
{
	static char text[RIG_TEXT];
	static char bytes[100000];
	char end;
	int fd;

	memset(bytes, 'b', sizeof(bytes));
	open_tunnel(&fd, "late.test", late.port, text);
	rig_send(fd, bytes, sizeof(bytes));
	shutdown(fd, SHUT_WR);
	rig_read(fd, text, RIG_TEXT, NULL, &end);
	tap(end == 'E' && strcmp(text, "received 100000") == 0, "152", "the answer arrives after the client's end");
	close(fd);
}

static void slow_reader(void)
{
	static char text[RIG_TEXT];
	static char bytes[65536];
	long before = rig_status(&rig, "RssAnon");
	long after;
	int fd;

	memset(bytes, 's', sizeof(bytes));
	open_tunnel(&fd, "echo.test", echo.port, text);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int idle = 0; idle < 5;) {
		struct pollfd wait = {.fd = fd, .events = POLLOUT};

		if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
			idle = 0;
		else if (poll(&wait, 1, 100) <= 0)
			idle++;
	}
	after = rig_status(&rig, "RssAnon");
	if (before < 0 || after < 0)
		tap_skip("153", "a reader that stops costs less than 1 MiB",
			 "/proc/PID/status does not tell the memory");
	else
		tap(after - before < 1024, "153", "a reader that stops costs less than 1 MiB");
	close(fd);
}

/* Two clients that send one byte a second: started first, looked at last. */
struct slow {
	uint16_t port;
	const char *bytes;
	size_t len;
	bool closed;
	pthread_t thread;
};

static void *run_slow(void *context)
{
	struct slow *slow = context;
	int fd = rig_connect(slow->port);

	for (size_t i = 0; i < slow->len && !slow->closed; i++) {
		struct pollfd wait = {.fd = fd, .events = POLLIN | POLLRDHUP};

		slow->closed = !rig_send(fd, slow->bytes + i, 1) || poll(&wait, 1, 1000) > 0;
	}
	close(fd);
	return NULL;
}

static void policy_swap(const struct rig_policy *policy)
{
	static char text[RIG_TEXT];
	struct rig_policy tight = *policy;
	char end;
	int fd;

	open_tunnel(&fd, "echo.test", echo.port, text);
	tight.allow = "up.test";
	rig_policy(&rig, &tight, 2);
	rig_read(fd, text, RIG_TEXT, NULL, &end);
	tap(end == 'R', "2.2", "a tightened policy closes the tunnels it no longer allows");
	tap(rig_event(&rig, "\"ready\" \"generation\":2"), "2.2", "and says that it is in force");
	close(fd);
	tight.allow = "bad..pattern";
	rig_policy(&rig, &tight, 3);
	tap(rig_event(&rig, "\"failed\" \"policy\" bad..pattern"), "2.2", "an invalid policy is reported");
	exchange(rig.http, BYTES("GET http://up.test:1/ HTTP/1.1\r\nHost: a\r\n\r\n"), text, &end);
	tap(strstr(text, "502 Bad") != NULL, "2.2", "and the last good one stays in force");
	tight.allow = policy->allow;
	tight.off = true;
	rig_policy(&rig, &tight, 4);
	rig_event(&rig, "\"generation\":4");
	exchange(rig.http, BYTES("CONNECT up.test:443 HTTP/1.1\r\n\r\n"), text, &end);
	tap(strstr(text, "403 Forbidden") != NULL, "7.5", "with the network off everything is refused");
	rig_policy(&rig, policy, 5);
	tap(rig_event(&rig, "\"generation\":5"), "2.2", "and back");
}

int main(int argc, char **argv)
{
	static const struct rig_policy policy = {
		.allow = "up.test echo.test count.test banner.test reset.test late.test denied.test 127.0.0.1 ::1",
		.deny = "denied.test",
		.hosts = "up.test=127.0.0.1 echo.test=127.0.0.1 count.test=127.0.0.1 banner.test=127.0.0.1 "
			 "reset.test=127.0.0.1 late.test=127.0.0.1",
	};
	struct slow slows[2] = {{.bytes = "GET http://up.test/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", .len = 50},
				{.bytes = "\5\1\0\5\1\0\3\60aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", .len = 50}};

	if (argc != 2)
		return 2;
	stub_start(&mirror, NULL, stub_mirror);
	stub_start(&echo, NULL, stub_echo);
	stub_start(&count, NULL, stub_count);
	stub_start(&banner, NULL, stub_banner);
	stub_start(&reset, NULL, stub_reset);
	stub_start(&late, NULL, stub_late);
	rig_start(&rig, argv[1], &policy);
	for (int i = 0; i < 2; i++) {
		slows[i].port = i ? rig.socks : rig.http;
		pthread_create(&slows[i].thread, NULL, run_slow, &slows[i]);
	}
	http_bytes();
	pipelined_denial();
	second_request_denied();
	websocket();
	large_head();
	socks_bytes();
	socks_long_name();
	v6_literals();
	server_names();
	clear_tunnels();
	half_close();
	slow_reader();
	for (int i = 0; i < 2; i++) {
		pthread_join(slows[i].thread, NULL);
		tap(slows[i].closed, i ? "142" : "121", "one byte a second is closed before the end");
	}
	policy_swap(&policy);
	tap_skip("155", "another uid or session cannot reach the listener", "left to the tests with a real sandbox");
	tap(rig_stop(&rig) == 0, "7.1", "the proxy ends when its owner does");
	return tap_end();
}
