/* console.h - terminals and the page, as a part of the daemon: what this room needs of it, and the rows it adds to its
 * tables. The context of the daemon's web begins with a cc_console, so that a handler finds it behind its call. */
#ifndef CC_CONSOLE_CONSOLE_H
#define CC_CONSOLE_CONSOLE_H

#include "console/login.h"
#include "policy/spec.h"
#include "session/probe.h"
#include "web/web.h"

#include <uv.h>

struct cc_terminals;

struct cc_console {
	/* filled by the daemon before it serves, and borrowed */
	uv_loop_t *loop;
	struct cc_web *web;
	bool tls;
	const struct cc_probe *probe;
	char *const *env;
	const char *data_dir, *run_dir; /* of the daemon: not read in any native terminal */
	void (*log)(bool warning, const char *line);
	enum cc_backend_kind configured; /* a terminal's backend where the client names none; UNSET is none */
	/* this room's own */
	struct cc_logins logins;
	struct cc_terminals *terminals; /* NULL until the first */
	bool ending;
	uv_timer_t ending_timer;
	int64_t ending_until;
	void (*ended)(void *context);
	void *ended_context;
};

extern const struct cc_route cc_routes_login[];
extern const struct cc_route cc_routes_terminal[];
extern const struct cc_asset cc_assets_console[];
extern const struct cc_socket_row cc_sockets_terminal[];

/* For the web (knows_cookie): one of the cookies is a browser's that has logged in. */
bool cc_console_cookie(void *context, const char *cookies);
/* Hangs up on every terminal, tells their viewers that the server goes, and calls done when all have heard it or had
 * their time. Nothing new is started from now on. */
void cc_console_end(struct cc_console *console, void (*done)(void *context), void *context);
/* What is left then is ended and freed. */
void cc_console_stop(struct cc_console *console);

#endif
