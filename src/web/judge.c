#define _GNU_SOURCE
/* judge.c - who calls, and whether they may. */
#include "web/inside.h"

#include "os/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cc_web_token(struct lws *wsi, enum lws_token_indexes token, char *out, size_t cap)
{
	int len = lws_hdr_total_length(wsi, token);

	out[0] = '\0';
	return len > 0 && (size_t)len < cap && lws_hdr_copy(wsi, out, (int)cap, token) == len;
}

/* scheme://host[:port] of ours: as the browser sees us, which is by the Host it asked for. */
static bool is_own_origin(const struct cc_web *web, const char *origin, const char *host)
{
	const char *scheme = web->config.tls_cert ? "https://" : "http://";
	size_t len = strlen(scheme);

	return host[0] && strncmp(origin, scheme, len) == 0 && strcmp(origin + len, host) == 0;
}

static bool is_loopback_name(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < CC_COUNT(names); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(host, names[i], len) == 0 && (!host[len] || host[len] == ':'))
			return true;
	}
	return false;
}

/* A foreign name that resolves to this machine would make its pages ours in a browser's eyes. */
static bool is_good_host(const struct cc_web *web, const char *host)
{
	if (!host[0] || is_loopback_name(host))
		return true;
	for (size_t i = 0; web->config.origins && i < web->config.origins->count; i++) {
		const char *at = strstr(web->config.origins->items[i], "://");

		if (at && strcmp(at + 3, host) == 0)
			return true;
	}
	/* served to the network on purpose: any name may be ours */
	return web->config.tls_cert != NULL;
}

void cc_web_look(struct cc_web *web, struct lws *wsi, struct cc_web_caller *out_caller)
{
	char text[2048];
	char host[256];

	/* By the socket itself: the library chooses among its virtual hosts by the Host that the caller names. */
	int fd = lws_get_socket_fd(lws_get_network_wsi(wsi));

	*out_caller = (struct cc_web_caller){.local = fd >= 0 && cc_listen_is_unix(fd) && cc_listen_peer_is_us(fd)};
	out_caller->known = out_caller->local;
	if (cc_web_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, text, sizeof(text)) && strncasecmp(text, "Bearer ", 7) == 0)
		out_caller->known |= cc_web_same_secret(text + 7, strlen(text + 7), web->config.token);
	if (!out_caller->known && web->config.knows_cookie &&
	    cc_web_token(wsi, WSI_TOKEN_HTTP_COOKIE, text, sizeof(text)))
		out_caller->known = out_caller->by_cookie = web->config.knows_cookie(web->config.context, text);
	/* one that is too long to be read is not absent */
	out_caller->host_good =
		cc_web_token(wsi, WSI_TOKEN_HOST, host, sizeof(host)) || lws_hdr_total_length(wsi, WSI_TOKEN_HOST) <= 0;
	out_caller->host_good = out_caller->local || (out_caller->host_good && is_good_host(web, host));
	out_caller->origin_said = lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0;
	out_caller->origin_good = !out_caller->origin_said;
	if (!out_caller->origin_said || !cc_web_token(wsi, WSI_TOKEN_ORIGIN, text, 256))
		return;
	out_caller->origin_good = is_own_origin(web, text, host);
	if (!out_caller->origin_good && web->config.origins && cc_strv_has(web->config.origins, text)) {
		out_caller->origin_good = true;
		snprintf(out_caller->origin, sizeof(out_caller->origin), "%.255s", text);
	}
}

enum cc_code cc_web_admit(const struct cc_web_caller *caller, unsigned flags, bool changes, struct cc_err *err)
{
	if (!caller->host_good)
		return cc_fail(err, CC_EPOLICY, 0, "this server is not known by that name");
	if (!caller->origin_good)
		return cc_fail(err, CC_EPOLICY, 0, "calls from that origin are not allowed");
	if ((flags & CC_WEB_LOCAL) && !caller->local)
		return cc_fail(err, CC_EPOLICY, 0, "only over the Unix socket");
	/* A cookie goes along by itself: what changes something has to say that it comes from our own page. */
	if (caller->by_cookie && changes && !caller->origin_said)
		return cc_fail(err, CC_EPOLICY, 0, "calls from that origin are not allowed");
	return CC_OK;
}
