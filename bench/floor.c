/* The least that a tunnel or a request can cost in one process: accept, connect, copy, close, and nothing else. Nothing is
 * judged, told, limited or timed. What cc-proxy costs is read beside it (docs/decisions/floor.md).
 *   bench-floor          CONNECT HOST:PORT to that port of the loopback; prints its pid and port
 *   bench-floor PORT     every connection goes to that port as it is */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 64 };
enum state { ASKED_NOTHING = 0, CONNECTING, JOINED, GONE };

struct end {
	struct pair *pair;
	struct end *other;
	int fd;
	bool ended;
};

struct pair {
	struct end client;
	struct end server;
	enum state state;
	struct pair *next; /* to be freed after the batch */
};

static char bytes[256 * 1024];
static int epoll;
static int fixed_port;
static struct pair *gone;

static void watch(struct end *end)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = end};

	epoll_ctl(epoll, EPOLL_CTL_ADD, end->fd, &event);
}

static void drop(struct pair *pair)
{
	close(pair->client.fd);
	if (pair->server.fd >= 0)
		close(pair->server.fd);
	pair->state = GONE;
	pair->next = gone;
	gone = pair;
}

static void accept_all(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct pair *pair = calloc(1, sizeof(*pair));

		if (!pair)
			exit(1);
		pair->client = (struct end){pair, &pair->server, fd, false};
		pair->server = (struct end){pair, &pair->client, -1, false};
		watch(&pair->client);
	}
}

static void dial(struct pair *pair)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	ssize_t got = recv(pair->client.fd, bytes, 1000, fixed_port ? MSG_PEEK : 0);
	const char *colon;
	int one = 1;

	if (got <= 0) {
		if (got == 0 || errno != EAGAIN)
			drop(pair);
		return;
	}
	bytes[got] = '\0';
	colon = strchr(bytes, ':');
	to.sin_port = htons((uint16_t)(fixed_port ? fixed_port : colon ? atoi(colon + 1) : 0));
	pair->server.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(pair->server.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)!connect(pair->server.fd, (struct sockaddr *)&to, sizeof(to));
	watch(&pair->server);
	pair->state = CONNECTING;
}

static void copy(struct end *from)
{
	ssize_t got = recv(from->fd, bytes, sizeof(bytes), 0);

	if (got > 0) {
		send(from->other->fd, bytes, (size_t)got, MSG_NOSIGNAL);
	} else if (got < 0 && errno == EAGAIN) {
		return;
	} else if (got < 0 || from->other->ended) {
		drop(from->pair);
	} else if (!from->ended) {
		from->ended = true;
		shutdown(from->other->fd, SHUT_WR);
	}
}

static void ready(struct end *end, unsigned events)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\n\r\n";
	struct pair *pair = end->pair;

	if (pair->state == ASKED_NOTHING) {
		dial(pair);
	} else if (pair->state == CONNECTING && end == &pair->server && events & EPOLLOUT) {
		pair->state = JOINED;
		if (fixed_port)
			copy(&pair->client);
		else
			send(pair->client.fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
	} else if (pair->state == JOINED && events & EPOLLIN) {
		copy(end);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int one = 1;

	fixed_port = argc > 1 ? atoi(argv[1]) : 0;
	setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, SOMAXCONN) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0)
		return 1;
	printf("%d %u\n", getpid(), ntohs(at.sin_port));
	fflush(stdout);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		struct epoll_event events[BATCH];
		int count = epoll_wait(epoll, events, BATCH, -1);

		for (int i = 0; i < count; i++) {
			struct end *end = events[i].data.ptr;

			if (!end)
				accept_all(listener);
			else if (end->pair->state != GONE)
				ready(end, events[i].events);
		}
		while (gone) {
			struct pair *next = gone->next;

			free(gone);
			gone = next;
		}
	}
}
