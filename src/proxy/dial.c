#include "proxy/dial.h"

#include "os/fd.h"
#include "proxy/parent.h"
#include "proxy/resolver.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { LISTENERS_MAX = 32 };

struct attempt {
	struct cc_watch watch;
	struct cc_dial *dial;
	int fd; /* -1: not under way */
	int64_t deadline;
};

struct cc_dial {
	struct cc_dialer *dialer;
	struct cc_dial *prev, *next;
	struct cc_host host; /* who is wanted */
	uint16_t port;
	struct cc_host to; /* who is dialled: the same, or the parent proxy */
	uint16_t to_port;
	bool granted;                    /* an explicit grant instead of the two decisions */
	struct cc_parent *parent;        /* while the parent is asked */
	const struct cc_resolved *entry; /* while the name is looked up */
	struct cc_addrs addrs;
	struct attempt attempts[CC_ADDRS_MAX];
	size_t started; /* attempts begun */
	size_t open;    /* attempts under way */
	int64_t stagger;
	int64_t deadline;
	int last_error;
	bool finished; /* result is ready to be told */
	struct cc_dial_result result;
	cc_dial_done_fn *done;
	void *context;
};

struct cc_dialer {
	struct cc_loop *loop;
	struct cc_resolver *resolver;
	const struct cc_net_rules *rules;
	int listeners[LISTENERS_MAX];
	uint16_t listener_ports[LISTENERS_MAX];
	size_t listener_count;
	struct cc_dial *dials;
	struct cc_dial *dead;
	int64_t due;
	int64_t now;
};

static void want_tick(struct cc_dialer *dialer, int64_t when)
{
	if (when < dialer->due)
		dialer->due = when;
}

static void finish(struct cc_dial *dial, enum cc_dial_outcome outcome, int sys)
{
	dial->finished = true;
	dial->result.outcome = outcome;
	dial->result.sys = sys;
	want_tick(dial->dialer, 0);
}

static void close_attempts(struct cc_dial *dial)
{
	for (size_t i = 0; i < dial->started; i++)
		cc_fd_close(&dial->attempts[i].fd);
	dial->open = 0;
}

/* The parent has it all from here; only its answer is awaited. */
static void ask_parent(struct cc_dial *dial, int fd)
{
	enum cc_parent_step step = cc_parent_go(dial->parent, fd);

	dial->result.fd = fd;
	if (step == CC_PARENT_WAIT)
		return;
	if (step == CC_PARENT_READY) {
		finish(dial, CC_DIAL_CONNECTED, 0);
		return;
	}
	cc_fd_close(&dial->result.fd);
	finish(dial, CC_DIAL_PARENT, 0);
}

static void connected(struct cc_dial *dial, struct attempt *attempt)
{
	int fd = cc_fd_take(&attempt->fd);

	dial->result.addr = dial->addrs.list[attempt - dial->attempts];
	close_attempts(dial);
	dial->result.fd = fd;
	if (dial->parent)
		ask_parent(dial, fd);
	else
		finish(dial, CC_DIAL_CONNECTED, 0);
}

static void begin_next(struct cc_dial *dial);

static void attempt_failed(struct cc_dial *dial, struct attempt *attempt, int error)
{
	cc_fd_close(&attempt->fd);
	dial->open--;
	dial->last_error = error;
	if (dial->started < dial->addrs.count)
		begin_next(dial);
	else if (dial->open == 0)
		finish(dial, error == ETIMEDOUT ? CC_DIAL_TIMEOUT : CC_DIAL_FAILED, error);
}

static void attempt_ready(struct cc_watch *watch, unsigned events)
{
	struct attempt *attempt = (struct attempt *)watch;
	int error;

	if (attempt->dial->parent && attempt->dial->result.fd >= 0 && !attempt->dial->finished) {
		ask_parent(attempt->dial, attempt->dial->result.fd);
		return;
	}
	if (attempt->fd < 0 || attempt->dial->finished || !(events & (CC_LOOP_WRITE | CC_LOOP_ERROR)))
		return;
	error = events & CC_LOOP_ERROR ? cc_net_socket_error(attempt->fd) : 0;
	if (error)
		attempt_failed(attempt->dial, attempt, error);
	else
		connected(attempt->dial, attempt);
}

static void begin_next(struct cc_dial *dial)
{
	struct cc_dialer *dialer = dial->dialer;

	while (dial->started < dial->addrs.count) {
		struct attempt *attempt = &dial->attempts[dial->started];
		struct cc_err err = {0};
		bool pending;

		*attempt = (struct attempt){.watch = {attempt_ready}, .dial = dial, .fd = -1};
		dial->started++;
		if (cc_net_connect(&dial->addrs.list[dial->started - 1], dial->to_port, &attempt->fd, &pending, &err) !=
			    CC_OK ||
		    cc_loop_add(dialer->loop, attempt->fd, CC_LOOP_READ | CC_LOOP_WRITE, &attempt->watch, &err) !=
			    CC_OK) {
			cc_fd_close(&attempt->fd);
			dial->last_error = err.sys;
			continue;
		}
		dial->open++;
		attempt->deadline = dialer->now + CC_DIAL_ADDRESS_MS;
		dial->stagger = dialer->now + CC_DIAL_STAGGER_MS;
		want_tick(dialer, dial->started < dial->addrs.count ? dial->stagger : attempt->deadline);
		return;
	}
	if (dial->open == 0)
		finish(dial, CC_DIAL_FAILED, dial->last_error);
}

static bool is_own(void *context, const struct cc_addr *addr, uint16_t port, bool consented)
{
	const struct cc_dialer *dialer = context;

	for (size_t i = 0; i < dialer->listener_count; i++)
		if (dialer->listener_ports[i] == port && cc_net_is_listener(dialer->listeners[i], addr, port))
			return true;
	/* The owner's own API: at any address of this host, and no consent opens it. */
	if (cc_net_is_owner_port(dialer->rules, port))
		return cc_addr_classify(addr->bytes, addr->len) == CC_ADDR_LOOPBACK ||
		       cc_addr_classify(addr->bytes, addr->len) == CC_ADDR_UNSPECIFIED || cc_net_is_own(addr);
	return !consented && cc_net_is_own(addr);
}

/* A grant names the place itself, and so does a parent proxy; our own listeners are never it. */
static void keep_foreign(struct cc_dial *dial, const struct cc_addrs *found)
{
	dial->result.decision = (struct cc_net_decision){false, CC_NET_ADDRESS, NULL};
	dial->result.own = true;
	for (size_t i = 0; i < found->count; i++)
		if (!is_own(dial->dialer, &found->list[i], dial->to_port, true))
			dial->addrs.list[dial->addrs.count++] = found->list[i];
		else
			dial->result.addr = found->list[i];
}

/* The addresses are there: judge, then dial. The rules may have changed while the resolver worked. */
static void resolved(struct cc_dial *dial, const struct cc_addrs *found)
{
	struct cc_net_decision name = {.allowed = dial->granted};

	if (!dial->granted)
		name = cc_net_decide(dial->dialer->rules, &dial->host, dial->port);

	if (!name.allowed) {
		dial->result.decision = name;
		finish(dial, CC_DIAL_REFUSED, 0);
		return;
	}
	if (dial->granted || dial->parent)
		keep_foreign(dial, found);
	else
		cc_dial_select(dial->dialer->rules, &dial->host, dial->port, found, is_own, dial->dialer, &dial->addrs,
			       &dial->result);
	if (dial->addrs.count == 0)
		finish(dial, CC_DIAL_REFUSED, 0);
	else
		begin_next(dial);
}

static const enum cc_dial_outcome lookup_outcomes[] = {
	[CC_LOOKUP_FAILED] = CC_DIAL_NO_ANSWER,
	[CC_LOOKUP_OK] = CC_DIAL_CONNECTED,
	[CC_LOOKUP_NONE] = CC_DIAL_NO_NAME,
	[CC_LOOKUP_AGAIN] = CC_DIAL_NO_ANSWER,
};

static void use_entry(struct cc_dial *dial, const struct cc_resolved *entry)
{
	dial->entry = NULL;
	if (entry->outcome == CC_LOOKUP_OK)
		resolved(dial, &entry->addrs);
	else
		finish(dial, lookup_outcomes[entry->outcome], 0);
}

static void answered(void *context, const struct cc_resolved *entry)
{
	struct cc_dialer *dialer = context;

	for (struct cc_dial *dial = dialer->dials; dial; dial = dial->next)
		if (dial->entry == entry)
			use_entry(dial, entry);
}

static void look_up(struct cc_dial *dial)
{
	const struct cc_resolved *entry = cc_resolver_ask(dial->dialer->resolver, dial->to.text, dial->dialer->now);

	if (!entry)
		finish(dial, CC_DIAL_LIMIT, 0);
	else if (entry->known)
		use_entry(dial, entry);
	else
		dial->entry = entry;
}

static void add_written(const struct cc_static_host *given, struct cc_addrs *out)
{
	for (size_t i = 0; i < given->addresses.count && out->count < CC_ADDRS_MAX; i++) {
		struct cc_host literal;
		struct cc_addr *addr = &out->list[out->count];

		if (cc_host_parse(cc_view_of(given->addresses.items[i]), CC_HOST_SOCKS, &literal, NULL) != CC_OK)
			continue;
		addr->len = literal.kind == CC_HOST_V4 ? 4 : 16;
		memcpy(addr->bytes, literal.addr, sizeof(addr->bytes));
		out->count++;
	}
}

static void find_addresses(struct cc_dial *dial)
{
	const struct cc_host *to = &dial->to;
	const struct cc_static_host *given = cc_net_static(dial->dialer->rules, to);
	struct cc_addrs written = {0};

	if (to->kind != CC_HOST_NAME) {
		written.list[0].len = to->kind == CC_HOST_V4 ? 4 : 16;
		memcpy(written.list[0].bytes, to->addr, sizeof(to->addr));
		written.count = 1;
		if (dial->granted &&
		    to->kind == CC_HOST_V4) /* a port of this host's loopback, on whichever it listens */
			written.list[written.count++] = (struct cc_addr){{[15] = 1}, 16};
		resolved(dial, &written);
	} else if (given) {
		add_written(given, &written);
		resolved(dial, &written);
	} else {
		look_up(dial);
	}
}

struct cc_dial *cc_dial_start(struct cc_dialer *dialer, const struct cc_dial_ask *ask, int64_t now,
			      cc_dial_done_fn *done, void *context)
{
	const struct cc_net_parent *parent = ask->granted ? NULL : cc_net_parent(dialer->rules);
	struct cc_dial *dial = calloc(1, sizeof(*dial));

	if (!dial)
		return NULL;
	*dial = (struct cc_dial){.dialer = dialer,
				 .host = *ask->host,
				 .port = ask->port,
				 .to = parent ? parent->host : *ask->host,
				 .to_port = parent ? parent->port : ask->port,
				 .granted = ask->granted,
				 .done = done,
				 .context = context};
	dial->result.fd = -1;
	dial->parent = parent ? cc_parent_new(parent, ask->host, ask->port) : NULL;
	if (parent && !dial->parent) {
		free(dial);
		return NULL;
	}
	dialer->now = now;
	cc_resolver_now(dialer->resolver, now);
	dial->deadline = now + CC_DIAL_TOTAL_MS;
	want_tick(dialer, dial->deadline);
	dial->next = dialer->dials;
	if (dial->next)
		dial->next->prev = dial;
	dialer->dials = dial;
	find_addresses(dial);
	return dial;
}

void cc_dial_cancel(struct cc_dial *dial)
{
	struct cc_dialer *dialer = dial->dialer;

	close_attempts(dial);
	cc_fd_close(&dial->result.fd);
	if (dial->prev)
		dial->prev->next = dial->next;
	else
		dialer->dials = dial->next;
	if (dial->next)
		dial->next->prev = dial->prev;
	dial->finished = true;
	dial->next = dialer->dead;
	dialer->dead = dial;
}

/* What time alone does to a dial. */
static void dial_tick(struct cc_dial *dial, int64_t now)
{
	if (now >= dial->deadline) {
		close_attempts(dial);
		cc_fd_close(&dial->result.fd);
		finish(dial, CC_DIAL_TIMEOUT, 0);
		return;
	}
	want_tick(dial->dialer, dial->deadline);
	for (size_t i = 0; i < dial->started && !dial->finished; i++) {
		struct attempt *attempt = &dial->attempts[i];

		if (attempt->fd >= 0 && now >= attempt->deadline)
			attempt_failed(dial, attempt, ETIMEDOUT);
		else if (attempt->fd >= 0)
			want_tick(dial->dialer, attempt->deadline);
	}
	if (dial->finished || dial->started == 0 || dial->started == dial->addrs.count || dial->result.fd >= 0)
		return;
	if (now >= dial->stagger)
		begin_next(dial);
	else
		want_tick(dial->dialer, dial->stagger);
}

int64_t cc_dialer_tick(struct cc_dialer *dialer, int64_t now)
{
	struct cc_dial *next;

	dialer->now = now;
	cc_resolver_now(dialer->resolver, now);
	if (now < dialer->due)
		return dialer->due;
	dialer->due = INT64_MAX;
	for (struct cc_dial *dial = dialer->dials; dial; dial = dial->next)
		if (!dial->finished)
			dial_tick(dial, now);
	for (struct cc_dial *dial = dialer->dials; dial; dial = next) {
		cc_dial_done_fn *done = dial->done;
		void *context = dial->context;
		struct cc_dial_result result = dial->result;

		next = dial->next;
		if (!dial->finished)
			continue;
		dial->result.fd = -1;
		cc_dial_cancel(dial);
		done(context, &result);
		/* done may have started or cancelled others */
		next = dialer->dials;
	}
	return dialer->due;
}

void cc_dialer_sweep(struct cc_dialer *dialer)
{
	while (dialer->dead) {
		struct cc_dial *dial = dialer->dead;

		dialer->dead = dial->next;
		cc_parent_free(dial->parent);
		free(dial);
	}
}

void cc_dialer_set_rules(struct cc_dialer *dialer, const struct cc_net_rules *rules)
{
	dialer->rules = rules;
}

void cc_dialer_set_listeners(struct cc_dialer *dialer, const int *fds, size_t count)
{
	dialer->listener_count = count < LISTENERS_MAX ? count : LISTENERS_MAX;
	for (size_t i = 0; i < dialer->listener_count; i++) {
		dialer->listeners[i] = fds[i];
		dialer->listener_ports[i] = cc_net_port(fds[i]);
	}
}

enum cc_code cc_dialer_new(struct cc_loop *loop, unsigned threads, cc_lookup_fn *fn, void *context,
			   struct cc_dialer **out_dialer, struct cc_err *err)
{
	CC_AUTO(cc_dialer) dialer = calloc(1, sizeof(*dialer));
	enum cc_code code;

	if (!dialer)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	*dialer = (struct cc_dialer){.loop = loop, .due = INT64_MAX};
	code = cc_resolver_new(loop, threads, fn, context, answered, dialer, &dialer->resolver, err);
	if (code == CC_OK)
		*out_dialer = cc_dialer_take(&dialer);
	return code;
}

void cc_dialer_free(struct cc_dialer *dialer)
{
	if (!dialer)
		return;
	while (dialer->dials)
		cc_dial_cancel(dialer->dials);
	cc_dialer_sweep(dialer);
	cc_resolver_free(dialer->resolver);
	free(dialer);
}
