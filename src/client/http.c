#define _GNU_SOURCE
#include "client/http.h"

#include "os/fd.h"
#include "os/listen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

static enum cc_code send_all(int fd, const char *bytes, size_t len, struct cc_err *err)
{
	while (len) {
		ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) /* an early answer closes while we still send: it is read all the same */
			return errno == EPIPE ? CC_OK : cc_fail(err, CC_ESYS, errno, "the server's socket");
		bytes += sent;
		len -= (size_t)sent;
	}
	return CC_OK;
}

enum cc_code cc_http_more(struct cc_http *http, int timeout_ms, bool *out_more, struct cc_err *err)
{
	struct pollfd wait = {.fd = http->fd, .events = POLLIN};
	char chunk[CHUNK];
	ssize_t got;
	int ready;

	*out_more = false;
	if (http->over)
		return CC_OK;
	ready = poll(&wait, 1, timeout_ms);
	if (ready <= 0)
		return ready < 0 && errno != EINTR ? cc_fail(err, CC_ESYS, errno, "poll") : CC_OK;
	got = read(http->fd, chunk, sizeof(chunk));
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return CC_OK;
	if (got < 0 && errno != ECONNRESET)
		return cc_fail(err, CC_ESYS, errno, "the server's socket");
	http->over = got <= 0;
	*out_more = got > 0;
	if (got > 0)
		cc_buf_add(&http->in, chunk, (size_t)got);
	return cc_buf_check(&http->in, "the server's answer", err);
}

static enum cc_code read_head(struct cc_http *http, struct cc_err *err)
{
	const char *end = NULL, *at;
	bool more = true;
	enum cc_code code = CC_OK;

	while (code == CC_OK && !http->over &&
	       !(end = http->in.data ? memmem(http->in.data, http->in.len, "\r\n\r\n", 4) : NULL) &&
	       http->in.len < CC_HTTP_HEAD_MAX)
		code = cc_http_more(http, -1, &more, err);
	if (code != CC_OK)
		return code;
	if (!end || http->in.len < 13 || memcmp(http->in.data, "HTTP/1.1 ", 9) != 0)
		return cc_fail(err, CC_EPROTO, 0, "the server went away before it answered");
	http->status = (int)strtol(http->in.data + 9, NULL, 10);
	for (at = http->in.data; at < end; at = strstr(at, "\r\n") + 2)
		if (strncasecmp(at, "ccbox-command:", 14) == 0)
			http->command = (int)strtol(at + 14, NULL, 10);
	cc_buf_eat(&http->in, (size_t)(end - http->in.data) + 4);
	return CC_OK;
}

enum cc_code cc_http_call(const char *socket_path, const char *method, const char *path, const void *body, size_t len,
			  struct cc_http *out, struct cc_err *err)
{
	struct cc_http http = {.fd = -1};
	struct cc_buf head;
	enum cc_code code = cc_listen_connect(socket_path, &http.fd, err);

	if (code != CC_OK)
		return code;
	cc_buf_init(&http.in, CC_HTTP_ANSWER_MAX);
	cc_buf_init(&head, CC_HTTP_HEAD_MAX);
	cc_buf_addf(&head, "%s %s HTTP/1.1\r\nHost: ccbox\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", method,
		    path, len);
	code = cc_buf_check(&head, "the call", err);
	if (code == CC_OK)
		code = send_all(http.fd, head.data, head.len, err);
	if (code == CC_OK && len)
		code = send_all(http.fd, body, len, err);
	cc_buf_done(&head);
	if (code == CC_OK)
		code = read_head(&http, err);
	if (code != CC_OK) {
		cc_http_done(&http);
		return code;
	}
	*out = http;
	return CC_OK;
}

enum cc_code cc_http_rest(struct cc_http *http, struct cc_err *err)
{
	bool more;
	enum cc_code code = CC_OK;

	while (code == CC_OK && !http->over)
		code = cc_http_more(http, -1, &more, err);
	return code;
}

void cc_http_done(struct cc_http *http)
{
	cc_fd_close(&http->fd);
	cc_buf_done(&http->in);
}
