/* egress.c - what the proxy is handed by way of us: sockets that only another network namespace can make, and rules. */
#define _GNU_SOURCE
#include "backend/linux/native.h"

#include "os/fd.h"
#include "wire/msg.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { SOCKETS_MAX = 16, BRIDGES = 2 };

/* On this host's loopback only. */
static enum cc_code listen_here(uint16_t port, int *out_fd, struct cc_err *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	CC_AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, SOMAXCONN) < 0)
		return cc_fail(err, CC_ESYS, errno,
			       errno == EADDRINUSE ? "--publish %u: another program listens on that port of this host; "
						     "end it, or use another port inside"
						   : "--publish %u: cannot listen on this port of 127.0.0.1",
			       port);
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

static enum cc_code write_kinds(const struct cc_native_box *box, size_t published, bool bridged, struct cc_buf *out,
				size_t *count, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *kinds;
	struct cc_jsonw w;
	enum cc_code code = cc_json_parse("cc-init", (struct cc_view){box->msg.text, box->msg.len}, 0, &doc, err);

	if (code != CC_OK)
		return code;
	kinds = cc_json_get(cc_json_root(doc), "kinds");
	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "m", "listen");
	cc_jsonw_key(&w, "kinds");
	cc_jsonw_array(&w);
	for (const struct cc_json *word = kinds ? kinds->child : NULL; word; word = word->next)
		cc_jsonw_view(&w, word->text);
	for (size_t i = 0; i < published; i++)
		cc_jsonw_str(&w, "publish");
	for (size_t i = 0; bridged && i < BRIDGES; i++)
		cc_jsonw_str(&w, "proxy");
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	*count = kinds ? kinds->count : 0;
	return CC_OK;
}

enum cc_code cc_native_listen(struct cc_native_box *box, const struct cc_net_rules *net, const int *bridge,
			      struct cc_err *err)
{
	int fds[CC_PEER_FDS];
	int here[CC_NET_PORTS_MAX];
	size_t opened = 0;
	size_t count = 0;
	struct cc_buf text;
	enum cc_code code = CC_OK;

	cc_buf_init(&text, CC_PEER_MAX);
	while (code == CC_OK && opened < net->publish.count) {
		code = listen_here(cc_host_port(cc_view_of(net->publish.items[opened])), &here[opened], err);
		opened += code == CC_OK;
	}
	if (code == CC_OK)
		code = write_kinds(box, opened, bridge != NULL, &text, &count, err);
	if (code == CC_OK && (count != box->msg.fd_count || count + opened + BRIDGES > CC_PEER_FDS))
		code = cc_fail(err, CC_EPROTO, 0, "cc-init sent %zu listeners", box->msg.fd_count);
	if (code == CC_OK) {
		memcpy(fds, box->msg.fds, count * sizeof(*fds));
		memcpy(fds + count, here, opened * sizeof(*fds));
		if (bridge)
			memcpy(fds + count + opened, bridge, BRIDGES * sizeof(*fds));
		code = cc_peer_send(box->egress, text.data, text.len, fds, count + opened + (bridge ? BRIDGES : 0),
				    err);
	}
	while (opened)
		cc_fd_close(&here[--opened]);
	cc_buf_done(&text);
	return code;
}

enum cc_code cc_native_update(struct cc_box *box, const struct cc_rules *rules, int64_t generation, struct cc_err *err)
{
	struct cc_native_box *native = (struct cc_native_box *)box;
	CC_AUTO_FD file = -1;
	char message[80];
	int len = snprintf(message, sizeof(message), "{\"m\":\"policy\",\"generation\":%lld}", (long long)generation);
	enum cc_code code;

	if (native->egress < 0)
		return cc_fail(err, CC_EUNSUPPORTED, 0, "this session has the host's network and no rules for it");
	code = cc_native_write_rules(rules, NULL, &file, err);

	return code == CC_OK ? cc_peer_send(native->egress, message, (size_t)len, &file, 1, err) : code;
}

bool cc_native_pass_sockets(struct cc_native_box *box, int from, const struct cc_json *root)
{
	int64_t count = cc_json_int(root, "count", 0);
	char text[64];
	int len;

	if (strcmp(cc_json_str(root, "m", ""), "sockets") != 0)
		return false;
	if (from == box->init) {
		/* A full socket: the connection that waits is closed when its time is over. */
		(void)!cc_native_say(box->egress, "sockets", box->msg.fds, box->msg.fd_count, NULL);
		return true;
	}
	count = count < 1 ? 1 : count > SOCKETS_MAX ? SOCKETS_MAX : count;
	len = snprintf(text, sizeof(text), "{\"m\":\"sockets\",\"count\":%d}", (int)count);
	(void)!cc_peer_send(box->init, text, (size_t)len, NULL, 0, NULL);
	return true;
}
