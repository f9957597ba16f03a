/* cc-connect HOST PORT - ssh's ProxyCommand inside a sandbox: opens HOST:PORT through the session's SOCKS proxy and
 * copies standard input and output, each direction to its own end. The name is sent as it is and looked up by the
 * proxy. Libc only and static: it must run whatever the sandbox shows. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EXIT_USAGE = 64, EXIT_REFUSED = 1, COPY_BYTES = 128 * 1024, HOST_LEN_MAX = 255 };

static const char default_proxy[] = "socks5h://127.0.0.1:1080";

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "cc-connect: %s%s%s\n", what, why ? ": " : "", why ? why : "");
	return EXIT_REFUSED;
}

/* "socks5h://127.0.0.1:1080" with or without the scheme; an address, because nothing can be looked up here. */
static bool parse_proxy(const char *text, struct sockaddr_in *out)
{
	const char *scheme = strstr(text, "://");
	const char *colon;
	char host[64];
	char *end;
	unsigned long port;

	if (scheme)
		text = scheme + 3;
	colon = strrchr(text, ':');
	if (!colon || (size_t)(colon - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	port = strtoul(colon + 1, &end, 10);
	if (end == colon + 1 || (*end && strcmp(end, "/") != 0) || port == 0 || port > 65535)
		return false;
	*out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
	return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &out->sin_addr) == 1;
}

static bool write_all(int fd, const unsigned char *bytes, size_t len)
{
	while (len) {
		ssize_t done = write(fd, bytes, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		len -= (size_t)done;
	}
	return true;
}

static bool read_all(int fd, unsigned char *bytes, size_t len)
{
	while (len) {
		ssize_t got = read(fd, bytes, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		bytes += got;
		len -= (size_t)got;
	}
	return true;
}

static const char *const replies[] = {
	[1] = "the proxy could not do it (malformed host, or a limit was reached)",
	[2] = "not allowed by this session's network policy",
	[3] = "the network is unreachable",
	[4] = "the host is unreachable or its name does not exist",
	[5] = "the host refused the connection",
	[6] = "it took too long",
	[7] = "the proxy does not know the command",
	[8] = "the proxy does not know this type of address",
};

static int refused(const char *host, const char *port, unsigned code)
{
	const char *why = code < sizeof(replies) / sizeof(replies[0]) && replies[code] ? replies[code] : "refused";

	fprintf(stderr, "cc-connect: %s:%s: %s\n", host, port, why);
	if (code == 2)
		fprintf(stderr, "cc-connect: to allow it, start the session with --allow-host %s\n", host);
	return EXIT_REFUSED;
}

/* Greeting and request in one write; the answers one after the other. */
static int shake(int fd, const char *host, const char *port)
{
	unsigned char ask[3 + 5 + HOST_LEN_MAX + 2] = {5, 1, 0, 5, 1, 0, 3};
	unsigned char answer[2 + 10];
	size_t len = strlen(host);
	unsigned long number = strtoul(port, NULL, 10);

	ask[7] = (unsigned char)len;
	memcpy(ask + 8, host, len);
	ask[8 + len] = (unsigned char)(number >> 8);
	ask[9 + len] = (unsigned char)number;
	if (!write_all(fd, ask, 10 + len) || !read_all(fd, answer, 2))
		return complain("the proxy closed the connection", NULL);
	if (answer[0] != 5 || answer[1] != 0)
		return complain("the proxy wants another kind of greeting", NULL);
	if (!read_all(fd, answer, 10))
		return complain("the proxy closed the connection", NULL);
	return answer[1] ? refused(host, port, answer[1]) : 0;
}

/* False: that direction is over. */
static bool copy(int from, int to)
{
	static unsigned char bytes[COPY_BYTES];
	ssize_t got = read(from, bytes, sizeof(bytes));

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	return got > 0 && write_all(to, bytes, (size_t)got);
}

static int carry(int fd)
{
	struct pollfd waits[2] = {{.fd = 0, .events = POLLIN}, {.fd = fd, .events = POLLIN}};

	/* ssh closes our input when it is done, and reads our output until it ends. */
	while (waits[1].fd >= 0) {
		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			return complain("poll", strerror(errno));
		if (waits[0].fd >= 0 && waits[0].revents && !copy(0, fd)) {
			waits[0].fd = -1;
			shutdown(fd, SHUT_WR);
		}
		if (waits[1].revents && !copy(fd, 1))
			waits[1].fd = -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *proxy = getenv("CC_SOCKS");
	struct sockaddr_in to;
	char *end = NULL;
	unsigned long port = argc == 3 ? strtoul(argv[2], &end, 10) : 0;
	int fd;
	int code;

	if (argc != 3 || *argv[1] == '\0' || strlen(argv[1]) > HOST_LEN_MAX || *end || port == 0 || port > 65535) {
		fputs("usage: cc-connect HOST PORT   (through $CC_SOCKS, default socks5h://127.0.0.1:1080)\n", stderr);
		return EXIT_USAGE;
	}
	if (!parse_proxy(proxy && *proxy ? proxy : default_proxy, &to))
		return complain("CC_SOCKS is not socks5h://ADDRESS:PORT", proxy);
	signal(SIGPIPE, SIG_IGN);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return complain("cannot reach the session's proxy", strerror(errno));
	code = shake(fd, argv[1], argv[2]);
	return code ? code : carry(fd);
}
