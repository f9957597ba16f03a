#define _GNU_SOURCE
#include "rig.h"

#include "base/buf.h"
#include "os/fd.h"
#include "os/peer.h"
#include "wire/ruleset.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned tap_count;
static unsigned tap_failed;

size_t rig_hello(const char *name, size_t size, bool ech, unsigned char *out)
{
	static const unsigned char ech_ext[] = {0xfe, 0x0d, 0, 3, 'a', 'b', 'c'};
	unsigned char body[600] = {1, 0, 0, 0, 3, 3};
	size_t at = 4 + 2 + 32;
	size_t len = name ? strlen(name) : 0;
	size_t exts = (name ? len + 9 : 0) + (ech ? sizeof(ech_ext) : 0);
	size_t made = 0;

	body[at] = 0; /* session id */
	memcpy(body + at + 1, "\0\2\x13\1\1\0", 6);
	at += 7;
	body[at + 1] = (unsigned char)exts;
	if (name) {
		memcpy(body + at + 2,
		       (unsigned char[]){0, 0, 0, (unsigned char)(len + 5), 0, (unsigned char)(len + 3), 0, 0,
					 (unsigned char)len},
		       9);
		memcpy(body + at + 11, name, len);
	}
	at += 2 + exts;
	if (ech)
		memcpy(body + at - sizeof(ech_ext), ech_ext, sizeof(ech_ext));
	body[3] = (unsigned char)(at - 4);
	for (size_t from = 0; from < at; from += size) {
		size_t part = at - from < size ? at - from : size;

		memcpy(out + made, (unsigned char[]){0x16, 3, 1, 0, (unsigned char)part}, 5);
		memcpy(out + made + 5, body + from, part);
		made += 5 + part;
	}
	return made;
}

void tap(bool ok, const char *number, const char *label)
{
	tap_failed += !ok;
	printf("%sok %u - %s %s\n", ok ? "" : "not ", ++tap_count, number, label);
	fflush(stdout);
}

void tap_skip(const char *number, const char *label, const char *why)
{
	printf("ok %u - %s %s # SKIP %s\n", ++tap_count, number, label, why);
	fflush(stdout);
}

int tap_end(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed ? 1 : 0;
}

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void push_words(struct cc_strv *list, const char *words, const char *between)
{
	char *copy = strdup(words ? words : "");
	char *rest = NULL;

	for (char *word = strtok_r(copy, between, &rest); word; word = strtok_r(NULL, between, &rest))
		if (cc_strv_push(list, word, NULL) != CC_OK)
			die("cc_strv_push");
	free(copy);
}

static void add_hosts(struct cc_net_rules *net, const char *text)
{
	struct cc_strv words = {0};

	push_words(&words, text, " ");
	net->hosts = calloc(words.count + 1, sizeof(*net->hosts));
	for (size_t i = 0; i < words.count; i++) {
		char *equal = strchr(words.items[i], '=');

		push_words(&net->hosts[i].addresses, equal + 1, ",");
		*equal = '\0';
		net->hosts[i].name = strdup(words.items[i]);
		net->host_count++;
	}
	cc_strv_done(&words);
}

static void write_policy(const struct rig_policy *policy, struct cc_buf *out)
{
	struct cc_net_rules *net = calloc(1, sizeof(*net));
	char session[] = "vectors";
	struct cc_rules rules = {.session_id = session, .net = net};
	struct cc_jsonw w;

	net->enabled = !policy->off;
	push_words(&net->allow, policy->allow, " ");
	push_words(&net->deny, policy->deny, " ");
	push_words(&net->private_names, policy->private_names, " ");
	push_words(&net->owner_ports, policy->owner_ports, " ");
	net->parent = policy->parent ? strdup(policy->parent) : NULL;
	net->conns_max = policy->conns_max;
	net->gateway = policy->gateway;
	net->ech = !policy->no_ech;
	add_hosts(net, policy->hosts ? policy->hosts : "");
	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", 1);
	cc_jsonw_key(&w, "rules");
	cc_ruleset_write(&w, &rules);
	cc_jsonw_end(&w);
	cc_net_rules_free(net);
}

void rig_policy(struct rig *rig, const struct rig_policy *policy, int generation)
{
	struct cc_buf text;
	char message[80];
	int fd = -1;
	struct cc_err err;

	cc_buf_init(&text, 1 << 20);
	write_policy(policy, &text);
	snprintf(message, sizeof(message), "{\"m\":\"policy\",\"generation\":%d}", generation);
	if (cc_fd_memfile("policy", text.data, text.len, &fd, &err) != CC_OK ||
	    cc_peer_send(rig->control, message, strlen(message), &fd, 1, &err) != CC_OK)
		die(err.what);
	cc_fd_close(&fd);
	cc_buf_done(&text);
}

static int try_listen(const char *address, uint16_t *out_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct sockaddr_in6 at6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool six = address && strchr(address, ':');
	struct sockaddr *bound = six ? (struct sockaddr *)&at6 : (struct sockaddr *)&at;
	socklen_t len = six ? sizeof(at6) : sizeof(at);
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address && !six ? address : "127.0.0.1", &at.sin_addr);
	if (fd < 0 || bind(fd, bound, len) < 0 || listen(fd, 512) < 0 || getsockname(fd, bound, &len) < 0) {
		cc_fd_close(&fd);
		return -1;
	}
	*out_port = ntohs(six ? at6.sin6_port : at.sin_port);
	return fd;
}

static int listen_on(const char *address, uint16_t *out_port)
{
	int fd = try_listen(address, out_port);

	if (fd < 0)
		die("listen");
	return fd;
}

void rig_start(struct rig *rig, const char *binary, const struct rig_policy *policy)
{
	static const char message[] = "{\"m\":\"listen\",\"kinds\":[\"proxy\",\"proxy\",\"dns\"]}";
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int theirs;
	int fds[3];
	char number[16];
	struct cc_err err;

	if (cc_peer_pair(&rig->control, &theirs, &err) != CC_OK)
		die(err.what);
	rig->pid = fork();
	if (rig->pid == 0) {
		const struct rlimit few = {rig->files, rig->files};

		if (rig->files && setrlimit(RLIMIT_NOFILE, &few) < 0)
			_exit(126);
		cc_fd_set_cloexec(theirs, false);
		snprintf(number, sizeof(number), "%d", theirs);
		execl(binary, binary, number, (char *)NULL);
		_exit(127);
	}
	cc_fd_close(&theirs);
	rig_policy(rig, policy, 1);
	fds[0] = listen_on(NULL, &rig->http);
	fds[1] = listen_on(NULL, &rig->socks);
	fds[2] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(fds[2], (struct sockaddr *)&at, len) < 0 || getsockname(fds[2], (struct sockaddr *)&at, &len) < 0)
		die("bind");
	rig->dns = ntohs(at.sin_port);
	if (cc_peer_send(rig->control, message, strlen(message), fds, 3, &err) != CC_OK)
		die(err.what);
	for (size_t i = 0; i < 3; i++)
		cc_fd_close(&fds[i]);
	if (!rig_event(rig, "\"ready\""))
		die("cc-proxy is not ready");
}

static bool holds_words(const char *text, const char *words)
{
	char *copy = strdup(words);
	char *rest = NULL;
	bool all = true;

	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		all &= strstr(text, word) != NULL;
	free(copy);
	return all;
}

static bool next_event(struct rig *rig, const char *words, int *out_fd, char *text, size_t max)
{
	static struct cc_peer_msg msg;
	struct cc_err err;

	*out_fd = -1;
	for (;;) {
		char *line = rig->rest;

		if (!line) {
			cc_peer_msg_close(&msg);
			if (cc_peer_recv_wait(rig->control, RIG_WAIT_MS, &msg, &err) != CC_OK || msg.len == 0)
				return false;
			line = msg.text;
		}
		rig->rest = strchr(line, '\n'); /* a packet may hold several messages */
		if (rig->rest)
			*rig->rest++ = '\0';
		if (getenv("RIG_VERBOSE"))
			printf("# %s\n", line);
		if (!holds_words(line, words))
			continue;
		if (msg.fd_count)
			*out_fd = cc_fd_take(&msg.fds[0]);
		snprintf(text, max, "%s", line);
		return true;
	}
}

bool rig_event_fd(struct rig *rig, const char *words, int *out_fd)
{
	return next_event(rig, words, out_fd, NULL, 0);
}

bool rig_event_text(struct rig *rig, const char *words, char *text, size_t max)
{
	int fd;
	bool found = next_event(rig, words, &fd, text, max);

	cc_fd_close(&fd);
	return found;
}

bool rig_event(struct rig *rig, const char *words)
{
	return rig_event_text(rig, words, NULL, 0);
}

int rig_stop(struct rig *rig)
{
	int status = 0;

	cc_fd_close(&rig->control);
	waitpid(rig->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- servers */

struct job {
	struct stub *stub;
	int fd;
};

static void *run_job(void *context)
{
	struct job job = *(struct job *)context;

	free(context);
	job.stub->serve(job.stub, job.fd);
	close(job.fd);
	return NULL;
}

static void *run_stub(void *context)
{
	struct stub *stub = context;

	for (;;) {
		struct job *job = malloc(sizeof(*job));
		pthread_t thread;

		*job = (struct job){stub, accept(stub->fd, NULL, NULL)};
		if (job->fd < 0) {
			free(job);
			return NULL;
		}
		atomic_fetch_add(&stub->accepted, 1);
		pthread_create(&thread, NULL, run_job, job);
		pthread_detach(thread);
	}
}

bool stub_start_v6(struct stub *stub, void (*serve)(struct stub *, int))
{
	stub->serve = serve;
	stub->fd = try_listen("::1", &stub->port);
	if (stub->fd < 0)
		return false;
	pthread_create(&stub->thread, NULL, run_stub, stub);
	pthread_detach(stub->thread);
	return true;
}

void stub_start(struct stub *stub, const char *address, void (*serve)(struct stub *, int))
{
	stub->serve = serve;
	stub->fd = listen_on(address, &stub->port);
	pthread_create(&stub->thread, NULL, run_stub, stub);
	pthread_detach(stub->thread);
}

static ssize_t stub_read(struct stub *stub, int fd, char *into, size_t max)
{
	ssize_t got = read(fd, into, max);

	if (got > 0)
		atomic_fetch_add(&stub->received, (unsigned)got);
	return got;
}

void stub_echo(struct stub *stub, int fd)
{
	char bytes[16384];
	ssize_t got;

	while ((got = stub_read(stub, fd, bytes, sizeof(bytes))) > 0)
		rig_send(fd, bytes, (size_t)got);
}

void stub_count(struct stub *stub, int fd)
{
	char bytes[16384];

	while (stub_read(stub, fd, bytes, sizeof(bytes)) > 0)
		;
}

void stub_banner(struct stub *stub, int fd)
{
	rig_send(fd, "SSH-2.0-banner\r\n", 16);
	stub_echo(stub, fd);
}

void stub_reset(struct stub *stub, int fd)
{
	struct linger linger = {1, 0};
	char byte;

	stub_read(stub, fd, &byte, 1);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void stub_late(struct stub *stub, int fd)
{
	char bytes[16384];
	size_t sum = 0;
	ssize_t got;

	while ((got = stub_read(stub, fd, bytes, sizeof(bytes))) > 0)
		sum += (size_t)got;
	poll(NULL, 0, 300);
	rig_send(fd, bytes, (size_t)snprintf(bytes, sizeof(bytes), "received %zu", sum));
}

/* How long the message is whose head ends at `head`: by Content-Length, or by the last chunk. */
static size_t message_len(const char *text, size_t head)
{
	const char *length = strcasestr(text, "\r\nContent-Length:");
	const char *last;

	if (length && length < text + head)
		return head + strtoul(length + 17, NULL, 10);
	if (!strcasestr(text, "\r\nTransfer-Encoding: chunked"))
		return head;
	last = strstr(text + head - 2, "\r\n0\r\n\r\n");
	return last ? (size_t)(last - text) + 7 : SIZE_MAX;
}

static void answer(int fd, const char *request, size_t len)
{
	char head[200];
	int size = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", len);

	if (strcasestr(request, "\r\nUpgrade: websocket\r\n"))
		size = snprintf(head, sizeof(head),
				"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	rig_send(fd, head, (size_t)size);
	rig_send(fd, request, len);
}

void stub_mirror(struct stub *stub, int fd)
{
	char *text = calloc(1, RIG_TEXT + 1);
	size_t len = 0;

	for (;;) {
		char *end = strstr(text, "\r\n\r\n");
		size_t need = end ? message_len(text, (size_t)(end + 4 - text)) : SIZE_MAX;
		ssize_t got;

		if (need <= len) {
			answer(fd, text, need);
			memmove(text, text + need, len - need + 1);
			len -= need;
			continue;
		}
		got = stub_read(stub, fd, text + len, RIG_TEXT - len);
		if (got <= 0)
			break;
		len += (size_t)got;
		text[len] = '\0';
	}
	free(text);
}

/* ---- the client */

int rig_connect(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	return fd;
}

bool rig_send(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t done = send(fd, at, len, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		at += done;
		len -= (size_t)done;
	}
	return true;
}

size_t rig_read(int fd, char *text, size_t max, const char *until, char *out_end)
{
	size_t len = 0;

	*out_end = 'T';
	while (len + 1 < max) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		ssize_t got;

		text[len] = '\0';
		if (until && memmem(text, len, until, strlen(until))) {
			*out_end = '.';
			return len;
		}
		if (poll(&wait, 1, RIG_WAIT_MS) <= 0)
			return len;
		got = read(fd, text + len, max - 1 - len);
		if (got <= 0) {
			*out_end = got == 0 ? 'E' : 'R';
			return len;
		}
		len += (size_t)got;
	}
	text[len] = '\0';
	return len;
}

long rig_status(const struct rig *it, const char *what)
{
	char path[64];
	char line[256];
	long number = -1;
	size_t len = strlen(what);
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)it->pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, what, len) == 0 && line[len] == ':')
			number = strtol(line + len + 1, NULL, 10);
	if (file)
		fclose(file);
	return number;
}
