#define _GNU_SOURCE
#include "proxy/listen.h"

#include "os/fd.h"
#include "parse/dns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { PER_WAKE = 64, BACK_OFF_MS = 100 };

static const char *const kinds[] = {[CC_FROM_PROXY] = "proxy",
				    [CC_FROM_CATCH] = "catch",
				    [CC_FROM_HOST] = "host",
				    [CC_FROM_PUBLISH] = "publish",
				    [CC_FROM_DNS] = "dns"};

/* Out of descriptors: one is kept to take the waiting connection with and drop it, so that it does not wait for ever.
 */
static void relieve(struct cc_listeners *all, int listener)
{
	int fd;

	cc_fd_close(&all->spare);
	fd = cc_net_accept(listener);
	cc_fd_close(&fd);
	all->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	all->again = all->shared->now + BACK_OFF_MS;
}

static void accept_some(struct cc_listener *listener)
{
	struct cc_listeners *all = listener->all;
	struct cc_shared *shared = all->shared;

	for (int i = 0; i < PER_WAKE; i++) {
		int fd;

		if (shared->count >= shared->conns_max + CC_CONNS_SPARE) {
			all->again = shared->now + BACK_OFF_MS;
			return;
		}
		fd = cc_net_accept(listener->fd);
		if (fd >= 0) {
			cc_conn_open(shared, fd, listener->kind, listener->port);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE) {
			relieve(all, listener->fd);
			return;
		}
		if (errno == EAGAIN) {
			listener->waiting = false;
			return;
		}
	}
	all->again = shared->now;
}

/* ---- questions for names */

/* The first denial of a name is told, repeats are counted: as for a connection. */
static void report_name(struct cc_shared *shared, const struct cc_dns_query *query, enum cc_net_reason reason,
			const char *entry, const char *detail)
{
	struct cc_report_net net = {.proto = "dns",
				    .host = {query->name, query->name_len},
				    .reason = reason,
				    .entry = entry,
				    .detail = detail};

	cc_report_net(shared->report, shared->now, &net);
}

static size_t answer_reverse(struct cc_shared *shared, const struct cc_dns_query *query, uint8_t *out)
{
	uint8_t addr[4];
	const char *name = cc_dns_reverse(query, addr) ? cc_names_at(shared->names, addr) : NULL;

	return cc_dns_answer(query, name ? CC_DNS_OK : CC_DNS_NO_NAME, NULL, name, out);
}

static size_t answer_host(struct cc_shared *shared, const struct cc_dns_query *query, const struct cc_host *host,
			  uint8_t *out)
{
	static const uint8_t loopback[4] = {127, 0, 0, 1};
	struct cc_net_decision decision;
	uint8_t addr[4];
	const uint8_t *given = addr;

	/* Many programs ask for the machine's own name, and mean the place they are in. */
	if (strcmp(host->text, "localhost") == 0 || cc_view_ends(cc_view_of(host->text), ".localhost") ||
	    cc_net_is_this_host(host->text))
		return cc_dns_answer(query, CC_DNS_OK, query->type == CC_DNS_A ? loopback : NULL, NULL, out);
	decision = cc_net_decide_name(shared->net, host);
	if (!decision.allowed) {
		report_name(shared, query, decision.reason, decision.entry, NULL);
		return cc_dns_answer(query, CC_DNS_NO_NAME, NULL, NULL, out);
	}
	/* There are no IPv6 addresses and no service records here: the name exists and has none. */
	if (query->type != CC_DNS_A && query->type != CC_DNS_ANY)
		given = NULL;
	else if (!cc_names_address(shared->names, host->text, addr))
		return cc_dns_answer(query, CC_DNS_REFUSED, NULL, NULL, out);
	return cc_dns_answer(query, CC_DNS_OK, given, NULL, out);
}

static size_t answer(struct cc_shared *shared, struct cc_view packet, uint8_t *out)
{
	struct cc_dns_query query;
	struct cc_host host;
	struct cc_err err = {0};

	if (!cc_dns_parse(packet, &query))
		return 0;
	if (!query.plain)
		return cc_dns_answer(&query, query.flags & 0x7800 ? CC_DNS_NOT_IMPLEMENTED : CC_DNS_FORMAT, NULL, NULL,
				     out);
	if (cc_view_ends((struct cc_view){query.name, query.name_len}, ".arpa"))
		return answer_reverse(shared, &query, out);
	if (cc_host_parse((struct cc_view){query.name, query.name_len}, CC_HOST_URI, &host, &err) != CC_OK ||
	    host.kind != CC_HOST_NAME) {
		report_name(shared, &query, CC_NET_MALFORMED, NULL, err.what[0] ? err.what : "an address is no name");
		return cc_dns_answer(&query, CC_DNS_NO_NAME, NULL, NULL, out);
	}
	return answer_host(shared, &query, &host, out);
}

static void answer_some(struct cc_listener *listener)
{
	for (int i = 0; i < PER_WAKE; i++) {
		char packet[1500];
		uint8_t out[CC_DNS_MAX];
		struct cc_net_from from;
		long got = cc_net_receive(listener->fd, packet, sizeof(packet), &from);
		size_t len;

		if (got < 0) {
			listener->waiting = errno != EAGAIN;
			if (listener->waiting)
				listener->all->again = listener->all->shared->now + BACK_OFF_MS;
			return;
		}
		len = answer(listener->all->shared, (struct cc_view){packet, (size_t)got}, out);
		if (len)
			cc_net_answer(listener->fd, out, len, &from);
	}
	listener->all->again = listener->all->shared->now;
}

static void take_some(struct cc_listener *listener)
{
	if (listener->kind == CC_FROM_DNS)
		answer_some(listener);
	else
		accept_some(listener);
}

static void listener_ready(struct cc_watch *watch, unsigned events)
{
	struct cc_listener *listener = (struct cc_listener *)watch;

	(void)events;
	listener->waiting = true;
	take_some(listener);
}

void cc_listeners_tick(struct cc_listeners *all)
{
	if (all->again > all->shared->now)
		return;
	all->again = INT64_MAX;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].waiting)
			take_some(&all->list[i]);
}

static bool find_kind(const struct cc_json *word, enum cc_arrival *out)
{
	for (size_t i = 0; word && word->kind == CC_JSON_STRING && i < CC_COUNT(kinds); i++)
		if (cc_view_is(word->text, kinds[i])) {
			*out = (enum cc_arrival)i;
			return true;
		}
	return false;
}

static enum cc_code take_one(struct cc_listeners *all, enum cc_arrival kind, int *fd, struct cc_err *err)
{
	struct cc_listener *listener = &all->list[all->count];
	bool good = kind == CC_FROM_DNS ? cc_fd_set_nonblock(*fd, true) : cc_net_prepare_listener(*fd);

	*listener = (struct cc_listener){{listener_ready}, all, *fd, kind, cc_net_port(*fd), false};
	if (!good)
		return cc_fail(err, CC_EPROTO, errno, "descriptor %zu is not a listening socket", all->count);
	*fd = -1;
	all->count++;
	if (kind == CC_FROM_DNS && !all->shared->names)
		all->shared->names = cc_names_new();
	if (kind == CC_FROM_DNS && !all->shared->names)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	return cc_loop_add(all->shared->loop, listener->fd, CC_LOOP_READ, &listener->watch, err);
}

enum cc_code cc_listeners_take(struct cc_listeners *all, const struct cc_json *kind_list, struct cc_peer_msg *msg,
			       struct cc_err *err)
{
	const struct cc_json *word = kind_list ? kind_list->child : NULL;
	int fds[CC_PEER_FDS];
	enum cc_code code = CC_OK;

	if (all->count || msg->fd_count == 0 || (kind_list && kind_list->count != msg->fd_count))
		return cc_fail(err, CC_EPROTO, 0, "listeners are given once, one at least, each with its kind");
	for (size_t i = 0; code == CC_OK && i < msg->fd_count; i++) {
		enum cc_arrival kind = CC_FROM_PROXY;

		if (kind_list && !find_kind(word, &kind))
			return cc_fail(err, CC_EPROTO, 0, "an unknown kind of listener");
		word = kind_list ? word->next : NULL;
		code = take_one(all, kind, &msg->fds[i], err);
	}
	for (size_t i = 0; i < all->count; i++)
		fds[i] = all->list[i].fd;
	cc_dialer_set_listeners(all->shared->dialer, fds, all->count);
	return code;
}

void cc_listeners_init(struct cc_listeners *all, struct cc_shared *shared)
{
	all->shared = shared;
	all->again = INT64_MAX;
	all->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void cc_listeners_done(struct cc_listeners *all)
{
	for (size_t i = 0; i < all->count; i++)
		cc_fd_close(&all->list[i].fd);
	cc_fd_close(&all->spare);
}
