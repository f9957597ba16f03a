#define _GNU_SOURCE
#include "web/inside.h"

#include "os/fd.h"
#include "os/listen.h"
#include "os/net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADER_BYTES = 8192, OURS_OF = 8, KEEP_ALIVE_SECONDS = 30, TALK_SECONDS = 20 };

static void forget(struct cc_web *web, const struct lws *wsi)
{
	for (size_t i = 0; i < web->foreign_count; i++)
		if (web->foreign[i] == wsi) {
			web->foreign[i] = web->foreign[--web->foreign_count];
			return;
		}
}

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct cc_web *web = lws_context_user(lws_get_context(wsi));

	(void)user;
	if (reason == LWS_CALLBACK_WSI_DESTROY && web->connections > 0) {
		web->connections--;
		forget(web, wsi);
	}
	/* HTTP/2 is not ours: its streams are no connections, and name their host where it is not looked for */
	if (reason == LWS_CALLBACK_HTTP_CONFIRM_UPGRADE && strcasecmp(in, "websocket") != 0) {
		(void)!lws_return_http_status(wsi, HTTP_STATUS_HTTP_VERSION_NOT_SUPPORTED, "HTTP/1.1 only");
		return -1;
	}
	if (reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION)
		return -1; /* an upgrade that names no protocol of ours */
	return cc_call_event(web, wsi, reason, in, len);
}

static int on_socket(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	(void)user;
	return cc_socket_event(lws_context_user(lws_get_context(wsi)), wsi, reason, in, len);
}

static const struct lws_protocols protocols[] = {
	{.name = "http", .callback = on_http},
	{.name = "ccbox.v1", .callback = on_socket, .rx_buffer_size = 64 << 10},
	{0},
};

static struct lws_vhost *add_vhost(struct cc_web *web, const char *name, bool tls)
{
	struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN_SERVER,
						 .protocols = protocols,
						 .vhost_name = name,
						 .keepalive_timeout = KEEP_ALIVE_SECONDS,
						 .timeout_secs = TALK_SECONDS,
						 .alpn = "http/1.1"};

	if (tls) {
		info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
		info.ssl_cert_filepath = web->config.tls_cert;
		info.ssl_private_key_filepath = web->config.tls_key;
	}
	return lws_create_vhost(web->lws, &info);
}

enum cc_code cc_web_open(const struct cc_web_config *config, struct cc_web **out_web, struct cc_err *err)
{
	struct cc_web *web = calloc(1, sizeof(*web));
	void *loops[1] = {config->loop};
	struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN_SERVER,
						 .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_LIBUV,
						 .foreign_loops = loops,
						 .user = web,
						 .max_http_header_data2 = HEADER_BYTES,
						 .max_http_header_pool2 = (unsigned)config->connections_max,
						 .count_threads = 1};

	if (!web)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	web->config = *config;
	web->foreign = calloc(config->connections_max, sizeof(struct lws *));
	if (!web->foreign) {
		free(web);
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	if (config->tls_cert)
		info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	web->lws = lws_create_context(&info);
	if (!web->lws) {
		free(web->foreign);
		free(web);
		return cc_fail(err, CC_EUNSUPPORTED, 0,
			       "libwebsockets did not start: is its libuv plugin (libwebsockets-evlib-uv) installed?");
	}
	web->tcp = add_vhost(web, "tcp", config->tls_cert != NULL);
	web->local = add_vhost(web, "local", false);
	if (!web->tcp || !web->local) {
		cc_web_close(web);
		return cc_fail(err, CC_EINVAL, 0, "the certificate %s or its key %s cannot be used",
			       config->tls_cert ? config->tls_cert : "?", config->tls_key ? config->tls_key : "?");
	}
	*out_web = web;
	return CC_OK;
}

/* A foreign user's process at the Unix socket is cut off before a byte of it is read. */
static void adopt(struct cc_web *web, int fd, bool local)
{
	size_t max = web->config.connections_max;
	struct lws *wsi;

	/* Anybody on this machine can open what TCP has and say nothing: the last ones are kept for the Unix socket. */
	if (web->connections >= max || (!local && web->foreign_count >= max - max / OURS_OF) ||
	    (local && !cc_listen_peer_is_us(fd))) {
		close(fd);
		return;
	}
	wsi = lws_adopt_socket_vhost(local ? web->local : web->tcp, fd);
	if (!wsi)
		return;
	web->connections++;
	if (!local)
		web->foreign[web->foreign_count++] = wsi;
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct cc_web *web = poll->data;

	(void)events;
	for (size_t i = 0; status == 0 && i < web->listener_count; i++) {
		int fd;

		if (&web->listeners[i].poll != poll)
			continue;
		while ((fd = cc_listen_accept(web->listeners[i].fd)) >= 0)
			adopt(web, fd, web->listeners[i].local);
	}
}

enum cc_code cc_web_listen(struct cc_web *web, int listener, struct cc_err *err)
{
	size_t at = web->listener_count;

	if (at == CC_WEB_LISTENERS)
		return cc_fail(err, CC_ELIMIT, 0, "at most %d listening sockets", CC_WEB_LISTENERS);
	web->listeners[at].fd = listener;
	web->listeners[at].local = cc_listen_is_unix(listener);
	if (!web->listeners[at].local && !web->port)
		web->port = cc_net_port(listener);
	web->listeners[at].poll.data = web;
	if (uv_poll_init(web->config.loop, &web->listeners[at].poll, listener) != 0 ||
	    uv_poll_start(&web->listeners[at].poll, UV_READABLE, on_listener) != 0)
		return cc_fail(err, CC_ESYS, errno, "libuv");
	web->listener_count++;
	return CC_OK;
}

size_t cc_web_connections(const struct cc_web *web)
{
	return web->connections;
}

uint16_t cc_web_port(const struct cc_web *web)
{
	return web->port;
}

void cc_web_close(struct cc_web *web)
{
	for (size_t i = 0; i < web->listener_count; i++) {
		uv_poll_stop(&web->listeners[i].poll);
		cc_fd_close(&web->listeners[i].fd);
	}
	web->listener_count = 0;
	/* libwebsockets gives its handles back in turns of the loop; the process ends here */
	if (web->lws)
		lws_context_destroy(web->lws);
	web->lws = NULL;
}
