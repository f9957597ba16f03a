/* Keystroke echo through a WebSocket: the smallest server of forkpty and libwebsockets that echoes, and a client that asks two
 * servers in turn. usage: bench-keys serve (prints its port); bench-keys measure ROUNDS PORT PATH HEAD TOKEN PORT PATH HEAD TOKEN
 * (HEAD: bytes of numbering before the typed ones; prints "P50 P99" in microseconds for each) */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <libwebsockets.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- the smallest server: one connection, one cat */

static struct lws *viewer, *file;
static int master = -1;
static unsigned char held[LWS_PRE + 4096];
static size_t held_len;

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	lws_sock_file_fd_type fd;
	pid_t pid;
	ssize_t got;

	(void)user;
	switch ((int)reason) {
	case LWS_CALLBACK_ESTABLISHED:
		viewer = wsi;
		pid = forkpty(&master, NULL, NULL, NULL);
		if (pid == 0) {
			execl("/bin/cat", "cat", NULL);
			_exit(127);
		}
		fd.filefd = (lws_filefd_type)(long long)master;
		file = lws_adopt_descriptor_vhost(lws_get_vhost(wsi), LWS_ADOPT_RAW_FILE_DESC, fd, "keys", NULL);
		return file ? 0 : -1;
	case LWS_CALLBACK_RECEIVE:
		return write(master, in, len) == (ssize_t)len ? 0 : -1;
	case LWS_CALLBACK_RAW_RX_FILE:
		got = read(master, held + LWS_PRE + held_len, sizeof(held) - LWS_PRE - held_len);
		if (got <= 0)
			return -1;
		held_len += (size_t)got;
		lws_callback_on_writable(viewer);
		return 0;
	case LWS_CALLBACK_SERVER_WRITEABLE:
		if (held_len && lws_write(wsi, held + LWS_PRE, held_len, LWS_WRITE_BINARY) < 0)
			return -1;
		held_len = 0;
		return 0;
	case LWS_CALLBACK_CLOSED:
		exit(0);
	default:
		return 0;
	}
}

static int serve(void)
{
	static const struct lws_protocols protocols[] = {{.name = "keys", .callback = on_event}, {0}};
	struct lws_context_creation_info info = {.port = 0, .iface = "lo", .protocols = protocols};
	struct lws_context *context;

	lws_set_log_level(LLL_ERR, NULL);
	info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
	context = lws_create_context(&info);
	if (!context)
		return 1;
	printf("%d\n", lws_get_vhost_listen_port(lws_create_vhost(context, &info)));
	fflush(stdout);
	while (lws_service(context, 0) >= 0)
		;
	return 0;
}

/* ---- the client */

struct peer {
	int fd;
	size_t head;
	uint64_t typed;
	unsigned char buf[65536];
	size_t len;
	double *times;
};

static void need(struct peer *peer, size_t len)
{
	while (peer->len < len) {
		ssize_t got = recv(peer->fd, peer->buf + peer->len, sizeof(peer->buf) - peer->len, 0);

		if (got <= 0) {
			fprintf(stderr, "the server closed\n");
			exit(1);
		}
		peer->len += (size_t)got;
	}
}

static void eat(struct peer *peer, size_t len)
{
	memmove(peer->buf, peer->buf + len, peer->len - len);
	peer->len -= len;
}

static void join(struct peer *peer, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtol(argv[0], NULL, 10))};
	char text[1024];
	int one = 1, len;
	unsigned char *end;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	peer->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(peer->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		exit(1);
	setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	peer->head = (size_t)strtol(argv[2], NULL, 10);
	len = snprintf(text, sizeof(text),
		       "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		       "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
		       "Sec-WebSocket-Protocol: %s\r\nAuthorization: Bearer %s\r\n\r\n",
		       argv[1], argv[0], peer->head ? "ccbox.v1" : "keys", argv[3]);
	if (send(peer->fd, text, (size_t)len, 0) != len)
		exit(1);
	do
		need(peer, peer->len + 1);
	while (!(end = memmem(peer->buf, peer->len, "\r\n\r\n", 4)));
	if (!memmem(peer->buf, peer->len, " 101 ", 5)) {
		fprintf(stderr, "no WebSocket: %.60s\n", peer->buf);
		exit(1);
	}
	eat(peer, (size_t)(end + 4 - peer->buf));
}

static void type_byte(struct peer *peer, unsigned char byte)
{
	unsigned char frame[32] = {0x82, (unsigned char)(0x80 | (peer->head + 1))}; /* masked with zeros */

	for (size_t i = 0; i < peer->head; i++)
		frame[6 + i] = (unsigned char)(peer->typed >> (8 * (peer->head - 1 - i)));
	frame[6 + peer->head] = byte;
	peer->typed++;
	if (send(peer->fd, frame, 7 + peer->head, 0) < 0)
		exit(1);
}

/* Takes messages until so many bytes of output have come. */
static void await(struct peer *peer, size_t wanted)
{
	while (wanted) {
		size_t len, at = 2;

		need(peer, 2);
		len = peer->buf[1] & 0x7f;
		if (len == 126) {
			need(peer, 4);
			len = (size_t)(peer->buf[2] << 8 | peer->buf[3]);
			at = 4;
		}
		need(peer, at + len);
		if ((peer->buf[0] & 15) == 2)
			wanted -= len - peer->head < wanted ? len - peer->head : wanted;
		eat(peer, at + len);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A letter, whose echo is one byte, and then the key that takes it back, whose echo is three. */
static void key(struct peer *peer, double *out)
{
	double start = now();

	type_byte(peer, 'x');
	await(peer, 1);
	*out = now() - start;
	type_byte(peer, 0x7f);
	await(peer, 3);
	usleep(300); /* people type slower than that */
}

static int measure(char **argv)
{
	static struct peer peers[2];
	long rounds = strtol(argv[0], NULL, 10);
	double ignored;

	for (int i = 0; i < 2; i++) {
		join(&peers[i], argv + 1 + 4 * i);
		peers[i].times = calloc((size_t)rounds, sizeof(double));
		for (int k = 0; k < 50; k++)
			key(&peers[i], &ignored);
	}
	for (long r = 0; r < rounds; r++)
		for (int i = 0; i < 2; i++)
			key(&peers[(r + i) % 2], &peers[(r + i) % 2].times[r]);
	for (int i = 0; i < 2; i++) {
		qsort(peers[i].times, (size_t)rounds, sizeof(double), by_value);
		printf("%.1f %.1f\n", peers[i].times[rounds / 2], peers[i].times[rounds * 99 / 100]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		return serve();
	return argc == 11 && strcmp(argv[1], "measure") == 0 ? measure(argv + 2) : 2;
}
