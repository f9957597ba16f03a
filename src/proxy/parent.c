#define _GNU_SOURCE
#include "proxy/parent.h"

#include "base/buf.h"
#include "parse/http.h"

#include <errno.h>
#include <sys/socket.h>

struct cc_parent {
	struct cc_buf ask;
	size_t sent;
};

static void add_base64(struct cc_buf *out, struct cc_view bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t three = (uint32_t)(unsigned char)bytes.ptr[i] << 16;
		char four[4] = {'=', '=', '=', '='};

		three |= left > 1 ? (uint32_t)(unsigned char)bytes.ptr[i + 1] << 8 : 0;
		three |= left > 2 ? (uint32_t)(unsigned char)bytes.ptr[i + 2] : 0;
		for (size_t k = 0; k < (left > 2 ? 4 : left + 1); k++)
			four[k] = digits[(three >> (18 - 6 * k)) & 63];
		cc_buf_add(out, four, sizeof(four));
	}
}

struct cc_parent *cc_parent_new(const struct cc_net_parent *rules, const struct cc_host *host, uint16_t port)
{
	struct cc_parent *parent = calloc(1, sizeof(*parent));
	const char *open = host->kind == CC_HOST_V6 ? "[" : "";
	const char *close = host->kind == CC_HOST_V6 ? "]" : "";

	if (!parent)
		return NULL;
	cc_buf_init(&parent->ask, 4096);
	cc_buf_addf(&parent->ask, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n", open, host->text, close, port,
		    open, host->text, close, port);
	if (rules->login.len) {
		cc_buf_adds(&parent->ask, "Proxy-Authorization: Basic ");
		add_base64(&parent->ask, rules->login);
		cc_buf_adds(&parent->ask, "\r\n");
	}
	cc_buf_adds(&parent->ask, "\r\n");
	if (parent->ask.failed) {
		cc_parent_free(parent);
		return NULL;
	}
	return parent;
}

static enum cc_parent_step send_rest(struct cc_parent *parent, int fd)
{
	while (parent->sent < parent->ask.len) {
		ssize_t done = send(fd, parent->ask.data + parent->sent, parent->ask.len - parent->sent, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno == EAGAIN ? CC_PARENT_WAIT : CC_PARENT_REFUSED;
		parent->sent += (size_t)done;
	}
	return CC_PARENT_READY;
}

/* Peeks, so that the first bytes of a host that speaks at once stay where they are. */
static enum cc_parent_step read_answer(int fd)
{
	static struct cc_http_head head; /* the loop is one thread */
	static char text[CC_HTTP_HEAD_MAX];
	struct cc_http_fault fault;
	size_t scanned = 0;
	ssize_t got;
	enum cc_http_step step;

	do {
		got = recv(fd, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 && errno == EAGAIN ? CC_PARENT_WAIT : CC_PARENT_REFUSED;
	step = cc_http_scan((struct cc_view){text, (size_t)got}, &scanned, &fault);
	if (step == CC_HTTP_MORE && got < (ssize_t)sizeof(text))
		return CC_PARENT_WAIT;
	/* The answer to CONNECT has no body, whatever its head says: as with HEAD. */
	if (step != CC_HTTP_DONE || !cc_http_response((struct cc_view){text, scanned}, true, &head, &fault) ||
	    head.status < 200 || head.status > 299)
		return CC_PARENT_REFUSED;
	do {
		got = recv(fd, text, scanned, MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	return got == (ssize_t)scanned ? CC_PARENT_READY : CC_PARENT_REFUSED;
}

enum cc_parent_step cc_parent_go(struct cc_parent *parent, int fd)
{
	enum cc_parent_step step = send_rest(parent, fd);

	return step == CC_PARENT_READY ? read_answer(fd) : step;
}

void cc_parent_free(struct cc_parent *parent)
{
	if (!parent)
		return;
	cc_buf_done(&parent->ask);
	free(parent);
}
