#define _GNU_SOURCE
/* base.c - what the daemon says of itself and of this host. */
#include "server/server.h"

#include "os/clock.h"
#include "wire/json.h"

#ifndef CC_VERSION
#define CC_VERSION "0"
#endif

/* Says nothing of the sandbox (contract 1.5): it is open to everybody who can reach the port. */
static void get_health(struct cc_call *call)
{
	const struct cc_server *server = cc_call_context(call);
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, 4096);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "status", "ok");
	cc_jsonw_kstr(&w, "version", CC_VERSION);
	cc_jsonw_kint(&w, "uptimeSeconds", (cc_clock_ms() - server->started_ms) / 1000);
	cc_jsonw_kint(&w, "connections", (int64_t)cc_web_connections(server->web));
	cc_jsonw_end(&w);
	cc_reply_json(call, 200, &text);
	cc_buf_done(&text);
}

static void get_probe(struct cc_call *call)
{
	const struct cc_server *server = cc_call_context(call);
	struct cc_buf text;

	cc_buf_init(&text, 1 << 16);
	cc_probe_json(&server->probe, &text);
	cc_reply_json(call, 200, &text);
	cc_buf_done(&text);
}

const struct cc_route cc_routes_base[] = {
	{"GET", "/healthz", CC_WEB_OPEN, 0, get_health},
	{"GET", "/v1/probe", 0, 0, get_probe},
	{0},
};
