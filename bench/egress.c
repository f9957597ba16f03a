/* The load of bench/egress.py, on loopback only:
 *   bench-egress serve                                   a server; prints its port. Echoes; "GET" gets a small answer; "B" is
 *                                                        followed by a number: so many MiB come
 *   bench-egress proxy BINARY PORTS ENTRIES CONNS        cc-proxy with an allowlist of that many entries; prints its pid and ports
 *   bench-egress tunnels PORT KIND HOST TO COUNT         COUNT tunnels (connect or socks), 8 at once: open, one byte there and back
 *   bench-egress requests PORT HOST TO COUNT             COUNT requests over 8 kept connections
 *   bench-egress bulk PORT KIND HOST TO MIB              one tunnel, so many MiB down
 *   bench-egress idle PORT KIND HOST TO COUNT            opens COUNT tunnels, says "open", holds them until its input ends
 * Each prints the seconds that it took. */
#define _GNU_SOURCE
#include "../tests/vectors/rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 8, CHUNK = 1 << 20 };

static struct {
	uint16_t port;
	const char *kind, *host;
	unsigned to;
	unsigned count;
} job;
static atomic_uint left, failures;

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static bool read_all(int fd, void *into, size_t len)
{
	char *at = into;

	while (len) {
		ssize_t got = read(fd, at, len);

		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

/* To the empty line; true when it began with a 200. */
static bool read_head(int fd)
{
	char first[13] = "";
	char last[4] = "";

	if (!read_all(fd, first, 12))
		return false;
	memcpy(last, first + 8, 4);
	while (memcmp(last, "\r\n\r\n", 4) != 0) {
		memmove(last, last + 1, 3);
		if (read(fd, last + 3, 1) != 1)
			return false;
	}
	return memcmp(first + 8, " 200", 4) == 0;
}

static int dial(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static bool ask_connect(int fd)
{
	char text[300];
	int len = snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", job.host, job.to, job.host,
			   job.to);

	return rig_send(fd, text, (size_t)len) && read_head(fd);
}

static bool ask_socks(int fd)
{
	unsigned char text[300] = {5, 1, 0};
	size_t len = strlen(job.host);

	if (!rig_send(fd, text, 3) || !read_all(fd, text, 2) || text[1] != 0)
		return false;
	memcpy(text, (unsigned char[]){5, 1, 0, 3, (unsigned char)len}, 5);
	memcpy(text + 5, job.host, len);
	text[5 + len] = (unsigned char)(job.to >> 8);
	text[6 + len] = (unsigned char)job.to;
	return rig_send(fd, text, 7 + len) && read_all(fd, text, 10) && text[1] == 0;
}

static int open_tunnel(void)
{
	int fd = dial(strcmp(job.kind, "direct") == 0 ? (uint16_t)job.to : job.port);

	if (fd >= 0 && (strcmp(job.kind, "connect") == 0 ? !ask_connect(fd)
			: strcmp(job.kind, "socks") == 0 ? !ask_socks(fd)
							 : false)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool take(void)
{
	unsigned seen = atomic_load(&left);

	while (seen && !atomic_compare_exchange_weak(&left, &seen, seen - 1))
		;
	return seen > 0;
}

static void *tunnel_worker(void *context)
{
	(void)context;
	while (take()) {
		int fd = open_tunnel();
		char byte = 'x';

		if (fd < 0 || !rig_send(fd, &byte, 1) || !read_all(fd, &byte, 1))
			atomic_fetch_add(&failures, 1);
		close(fd);
	}
	return NULL;
}

static void *request_worker(void *context)
{
	char text[300];
	char body[5];
	int fd = -1;
	int len = snprintf(text, sizeof(text), "GET http://%s:%u/ HTTP/1.1\r\nHost: %s:%u\r\n\r\n", job.host, job.to, job.host,
			   job.to);

	(void)context;
	while (take()) {
		bool ok = false;

		for (int tries = 0; tries < 2 && !ok; tries++) {
			if (fd < 0)
				fd = dial(job.port);
			ok = fd >= 0 && rig_send(fd, text, (size_t)len) && read_head(fd) && read_all(fd, body, 5);
			if (!ok) { /* a proxy that keeps no connection */
				close(fd);
				fd = -1;
			}
		}
		failures += !ok;
	}
	close(fd);
	return NULL;
}

static int many(void *(*worker)(void *))
{
	pthread_t threads[AT_ONCE];
	double start = now();

	atomic_store(&left, job.count);
	for (int i = 0; i < AT_ONCE; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
	printf("%.6f\n", now() - start);
	if (failures)
		fprintf(stderr, "bench-egress: %u of %u failed\n", atomic_load(&failures), job.count);
	return failures > job.count / 100;
}

static int bulk(void)
{
	static char bytes[CHUNK];
	double start = now();
	uint64_t rest = (uint64_t)job.count << 20;
	int fd = open_tunnel();
	char ask[16];

	if (fd < 0 || !rig_send(fd, ask, (size_t)snprintf(ask, sizeof(ask), "B%u\n", job.count)))
		return 1;
	while (rest) {
		ssize_t got = read(fd, bytes, rest < CHUNK ? rest : CHUNK);

		if (got <= 0)
			return 1;
		rest -= (uint64_t)got;
	}
	printf("%.6f\n", now() - start);
	return 0;
}

static int idle(void)
{
	unsigned open = 0;
	char byte = 'x';

	for (unsigned i = 0; i < job.count; i++) {
		int fd = open_tunnel();

		open += fd >= 0 && rig_send(fd, &byte, 1) && read_all(fd, &byte, 1);
	}
	printf("open %u\n", open);
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}

/* ---- the two servers */

static void serve(struct stub *stub, int fd)
{
	static char bytes[CHUNK];
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello";
	char text[8192];
	int one = 1;
	ssize_t got;

	(void)stub;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while ((got = read(fd, text, sizeof(text) - 1)) > 0) {
		text[got] = '\0';
		if (text[0] == 'G') {
			rig_send(fd, answer, sizeof(answer) - 1);
		} else if (text[0] == 'B') {
			for (unsigned long rest = strtoul(text + 1, NULL, 10); rest; rest--)
				rig_send(fd, bytes, CHUNK);
		} else {
			rig_send(fd, text, (size_t)got);
		}
	}
}

static int run_server(void)
{
	static struct stub stub;

	stub_start(&stub, NULL, serve);
	printf("%u\n", stub.port);
	fflush(stdout);
	pause();
	return 0;
}

static int run_proxy(const char *binary, unsigned entries, unsigned conns)
{
	char *allow = malloc(entries * 24 + 64);
	char *at = allow + sprintf(allow, "127.0.0.1 up.test");
	struct rig_policy policy = {.hosts = "up.test=127.0.0.1", .conns_max = conns};
	static struct rig rig;

	for (unsigned i = 2; i < entries; i++)
		at += sprintf(at, i % 3 ? " n%u.test" : " *.n%u.test", i);
	policy.allow = allow;
	rig_start(&rig, binary, &policy);
	printf("%d %u %u\n", rig.pid, rig.http, rig.socks);
	fflush(stdout);
	/* Events are read, as an owner would. */
	while (rig_event(&rig, "\"m\"") || getppid() != 1)
		;
	
	return 0;
}

static void raise_files(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	raise_files();
	if (strcmp(what, "serve") == 0)
		return run_server();
	if (strcmp(what, "proxy") == 0 && argc == 5)
		return run_proxy(argv[2], (unsigned)strtoul(argv[3], NULL, 10), (unsigned)strtoul(argv[4], NULL, 10));
	if (argc != 7)
		return 2;
	job.port = (uint16_t)strtoul(argv[2], NULL, 10);
	job.kind = argv[3];
	job.host = argv[4];
	job.to = (unsigned)strtoul(argv[5], NULL, 10);
	job.count = (unsigned)strtoul(argv[6], NULL, 10);
	return strcmp(what, "tunnels") == 0    ? many(tunnel_worker)
	       : strcmp(what, "requests") == 0 ? many(request_worker)
	       : strcmp(what, "bulk") == 0     ? bulk()
	       : strcmp(what, "idle") == 0     ? idle()
					       : 2;
}
