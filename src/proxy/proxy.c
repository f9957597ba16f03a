/* proxy.c - one thread, one loop, everything edge-triggered. Whoever is in the session's network namespace may connect;
 * the first byte says whether it is SOCKS5, SOCKS4 or HTTP; conn.c carries each connection from there. The owner's
 * socket is served beside them and can neither stall the proxy nor be stalled by it. */
#define _GNU_SOURCE
#include "proxy/proxy.h"

#include "os/clock.h"
#include "os/fd.h"
#include "os/peer.h"
#include "os/proc.h"
#include "policy/rules.h"
#include "proxy/conn.h"
#include "proxy/listen.h"
#include "proxy/report.h"
#include "wire/json.h"
#include "wire/msg.h"
#include "wire/ruleset.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 64, LOOKUP_THREADS = 4 };

struct cc_proxy {
	struct cc_watch watch; /* the control socket */
	struct cc_shared shared;
	int control;
	struct cc_rules *rules;
	int64_t generation;
	struct cc_listeners listeners;
	bool over;
	bool settling; /* policy and listeners were taken: memory that only this needed goes back */
	bool full;     /* messages wait for room in the owner's socket, and the loop watches for it */
	bool last;     /* the owner ends the session: everything is closed and told, then it is over */
	enum cc_code fault;
	struct cc_err why;
	struct cc_peer_msg msg;
};

static void fail(struct cc_proxy *proxy, const char *step, const struct cc_err *why, bool fatal)
{
	cc_report_failed(proxy->shared.report, step, why);
	if (!fatal)
		return;
	proxy->why = *why;
	proxy->fault = why->code;
	proxy->over = true;
}

static void tell_ready(struct cc_proxy *proxy)
{
	if (!proxy->rules || !proxy->listeners.count)
		return;
	cc_report_ready(proxy->shared.report, proxy->generation);
	proxy->settling = true;
}

/* ---- messages of the owner */

static enum cc_code read_policy(struct cc_peer_msg *msg, struct cc_rules **out_rules, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_buf text;
	const struct cc_json *root;
	enum cc_code code;

	if (msg->fd_count != 1)
		return cc_fail(err, CC_EPROTO, 0, "a policy message carries one descriptor, this one %zu",
			       msg->fd_count);
	cc_buf_init(&text, CC_JSON_TEXT_MAX);
	(void)lseek(msg->fds[0], 0, SEEK_SET); /* the owner may share the file, and with it the offset */
	code = cc_fd_read_all(msg->fds[0], &text, err);
	if (code == CC_OK)
		code = cc_json_parse("policy", cc_buf_view(&text), 0, &doc, err);
	cc_buf_done(&text);
	if (code != CC_OK)
		return code;
	root = cc_json_root(doc);
	if (cc_json_int(root, "v", 0) != CC_SETUP_VERSION)
		return cc_fail(err, CC_EPROTO, 0, "policy of version %lld, not %d",
			       (long long)cc_json_int(root, "v", 0), CC_SETUP_VERSION);
	return cc_ruleset_read(cc_json_get(root, "rules"), out_rules, err);
}

static void rejudge_all(struct cc_proxy *proxy)
{
	struct cc_conn *next;

	for (struct cc_conn *conn = proxy->shared.conns; conn; conn = next) {
		next = conn->next;
		cc_conn_rejudge(conn);
	}
}

/* An update that cannot be read leaves the last good policy in force. */
static void take_policy(struct cc_proxy *proxy, const struct cc_json *root)
{
	struct cc_rules *rules = NULL;
	struct cc_err err = {0};

	if (read_policy(&proxy->msg, &rules, &err) != CC_OK) {
		fail(proxy, "policy", &err, proxy->rules == NULL);
		return;
	}
	proxy->shared.net = rules->net;
	proxy->shared.rules++;
	proxy->shared.conns_max = rules->net->conns_max ? rules->net->conns_max : CC_NET_CONNS;
	cc_dialer_set_rules(proxy->shared.dialer, rules->net);
	cc_rules_free(proxy->rules);
	proxy->rules = rules;
	proxy->generation = cc_json_int(root, "generation", 0);
	cc_report_generation(proxy->shared.report, proxy->generation);
	rejudge_all(proxy);
	tell_ready(proxy);
}

static void take_listeners(struct cc_proxy *proxy, const struct cc_json *root)
{
	struct cc_err err = {0};

	if (cc_listeners_take(&proxy->listeners, cc_json_get(root, "kinds"), &proxy->msg, &err) != CC_OK)
		fail(proxy, "listen", &err, true);
	else
		tell_ready(proxy);
}

static void take_sockets(struct cc_proxy *proxy, const struct cc_json *root)
{
	(void)root;
	for (size_t i = 0; i < proxy->msg.fd_count; i++) {
		cc_conn_inside(&proxy->shared, proxy->msg.fds[i]);
		proxy->msg.fds[i] = -1;
	}
}

static void take_end(struct cc_proxy *proxy, const struct cc_json *root)
{
	(void)root;
	proxy->last = proxy->over = true;
}

static const struct {
	const char *name;
	void (*take)(struct cc_proxy *proxy, const struct cc_json *root);
} messages[] = {
	{"policy", take_policy},
	{"listen", take_listeners},
	{"sockets", take_sockets},
	{"end", take_end},
};

static void take_message(struct cc_proxy *proxy)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err = {0};
	const char *name = "";
	size_t row = 0;

	if (cc_json_parse("message", (struct cc_view){proxy->msg.text, proxy->msg.len}, 0, &doc, &err) == CC_OK)
		name = cc_json_str(cc_json_root(doc), "m", "");
	while (row < CC_COUNT(messages) && strcmp(messages[row].name, name) != 0)
		row++;
	if (row < CC_COUNT(messages)) {
		messages[row].take(proxy, cc_json_root(doc));
	} else {
		cc_fail(&err, CC_EPROTO, 0, "unknown message \"%.40s\"", name);
		fail(proxy, "message", &err, true);
	}
	cc_peer_msg_close(&proxy->msg);
}

static void control_ready(struct cc_watch *watch, unsigned events)
{
	struct cc_proxy *proxy = (struct cc_proxy *)watch;
	struct cc_err err;

	if (events & CC_LOOP_WRITE)
		cc_report_flush(proxy->shared.report);
	while (!proxy->over) {
		enum cc_code code = cc_peer_recv(proxy->control, &proxy->msg, &err);

		if (code == CC_ETIMEOUT)
			return;
		if (code != CC_OK || proxy->msg.len == 0)
			proxy->over = true; /* the owner is gone: so is the session */
		else
			take_message(proxy);
	}
}

/* ---- the loop */

static void tick_conns(struct cc_shared *shared)
{
	struct cc_conn *next;

	if (shared->now < shared->due)
		return;
	shared->due = INT64_MAX;
	for (struct cc_conn *conn = shared->conns; conn; conn = next) {
		next = conn->next;
		cc_conn_tick(conn);
	}
}

static void step_ready(struct cc_shared *shared)
{
	struct cc_conn *conn = shared->ready;

	shared->ready = NULL;
	while (conn) {
		struct cc_conn *next = conn->ready_next;

		conn->ready = false;
		cc_conn_step(conn);
		conn = next;
	}
}

static void sweep(struct cc_shared *shared)
{
	struct cc_conn **at = &shared->ready;

	while (*at) {
		if ((*at)->phase == CC_PHASE_DEAD)
			*at = (*at)->ready_next;
		else
			at = &(*at)->ready_next;
	}
	while (shared->dead) {
		struct cc_conn *conn = shared->dead;

		shared->dead = conn->next;
		cc_conn_free(conn);
	}
	cc_dialer_sweep(shared->dialer);
}

static int until(int64_t now, int64_t due)
{
	if (due == INT64_MAX)
		return -1;
	if (due <= now)
		return 0;
	return due - now > INT_MAX ? INT_MAX : (int)(due - now);
}

/* What time alone brings about; returns how long the loop may sleep. */
static int tick(struct cc_proxy *proxy)
{
	struct cc_shared *shared = &proxy->shared;
	int64_t due;
	int64_t other;

	due = cc_dialer_tick(shared->dialer, shared->now);
	tick_conns(shared);
	cc_listeners_tick(&proxy->listeners);
	other = cc_report_tick(shared->report, shared->now);
	due = other < due ? other : due;
	due = shared->due < due ? shared->due : due;
	due = proxy->listeners.again < due ? proxy->listeners.again : due;
	return until(shared->now, due);
}

/* Room in the owner's socket is asked for only while something waits for it: each message that the owner reads would
 * wake us otherwise. */
static enum cc_code watch_owner(struct cc_proxy *proxy, struct cc_err *err)
{
	bool full = !cc_report_idle(proxy->shared.report);

	if (full == proxy->full)
		return CC_OK;
	proxy->full = full;
	return cc_loop_modify(proxy->shared.loop, proxy->control, CC_LOOP_READ | (full ? CC_LOOP_WRITE : 0),
			      &proxy->watch, err);
}

/* One connection after the other, as fast as the owner reads: each end is told. The owner waits, and not for ever. */
static void say_goodbye(struct cc_proxy *proxy)
{
	struct cc_shared *shared = &proxy->shared;
	struct pollfd owner = {.fd = proxy->control, .events = POLLOUT};

	for (;;) {
		while (shared->conns && cc_report_idle(shared->report))
			cc_conn_close(shared->conns, true);
		cc_report_flush(shared->report);
		if (!shared->conns && cc_report_idle(shared->report))
			break;
		if (poll(&owner, 1, CC_CONN_DRAIN_MS) <= 0 || owner.revents & (POLLERR | POLLHUP))
			return;
	}
	cc_report_last(shared->report, shared->now);
	cc_report_flush(shared->report);
}

enum cc_code cc_proxy_run(struct cc_proxy *proxy, struct cc_err *err)
{
	struct cc_shared *shared = &proxy->shared;
	struct cc_loop_event events[BATCH];

	while (!proxy->over) {
		size_t count = 0;
		int timeout = tick(proxy);
		enum cc_code code;

		sweep(shared);
		if (proxy->settling)
			cc_proc_settle();
		proxy->settling = false;
		code = watch_owner(proxy, err);
		if (code != CC_OK)
			return code;
		code = cc_loop_wait(shared->loop, shared->ready ? 0 : timeout, events, BATCH, &count, err);
		if (code != CC_OK)
			return code;
		shared->now = cc_clock_ms();
		for (size_t i = 0; i < count; i++) {
			struct cc_watch *watch = events[i].data;

			watch->ready(watch, events[i].events);
		}
		step_ready(shared);
	}
	if (proxy->last)
		say_goodbye(proxy);
	if (proxy->fault != CC_OK)
		*err = proxy->why;
	return proxy->fault;
}

enum cc_code cc_proxy_new(int control, cc_lookup_fn *fn, void *context, struct cc_proxy **out_proxy, struct cc_err *err)
{
	CC_AUTO(cc_proxy) proxy = calloc(1, sizeof(*proxy));
	struct cc_shared *shared;
	enum cc_code code;

	if (!proxy)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	shared = &proxy->shared;
	proxy->watch.ready = control_ready;
	proxy->control = shared->control = control;
	shared->due = INT64_MAX;
	shared->conns_max = CC_NET_CONNS;
	cc_listeners_init(&proxy->listeners, shared);
	shared->now = cc_clock_ms();
	if (!cc_fd_set_nonblock(control, true))
		return cc_fail(err, CC_ESYS, errno, "the control socket");
	code = cc_loop_new(&shared->loop, err);
	if (code == CC_OK)
		code = cc_pumps_new(&shared->pumps, err);
	if (code == CC_OK)
		code = cc_report_new(control, &shared->report, err);
	if (code == CC_OK)
		code = cc_dialer_new(shared->loop, LOOKUP_THREADS, fn, context, &shared->dialer, err);
	if (code == CC_OK)
		code = cc_loop_add(shared->loop, control, CC_LOOP_READ, &proxy->watch, err);
	if (code == CC_OK)
		*out_proxy = cc_proxy_take(&proxy);
	return code;
}

void cc_proxy_free(struct cc_proxy *proxy)
{
	if (!proxy)
		return;
	while (proxy->shared.conns)
		cc_conn_close(proxy->shared.conns, true);
	if (proxy->shared.dialer)
		sweep(&proxy->shared);
	cc_listeners_done(&proxy->listeners);
	cc_names_free(proxy->shared.names);
	cc_dialer_free(proxy->shared.dialer);
	cc_report_free(proxy->shared.report);
	cc_pumps_free(proxy->shared.pumps);
	cc_loop_free(proxy->shared.loop);
	cc_rules_free(proxy->rules);
	free(proxy);
}
