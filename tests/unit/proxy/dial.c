/* From a name to a socket, with a resolver of the test's own. Everything dialled is loopback. */
#include "../t.h"

#include "os/clock.h"
#include "os/fd.h"
#include "proxy/dial.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>

static atomic_uint lookups;

/* "good" is 127.0.0.1, "mixed" has a refused address first, "bad" only refused ones, "never" does not exist. */
static enum cc_lookup_outcome fake(void *context, const char *name, struct cc_addrs *out)
{
	static const struct cc_addr here = {{127, 0, 0, 1}, 4};
	static const struct cc_addr private = {{10, 0, 0, 1}, 4};

	(void)context;
	atomic_fetch_add(&lookups, 1);
	if (strcmp(name, "never.test") == 0)
		return CC_LOOKUP_NONE;
	if (strcmp(name, "broken.test") == 0)
		return CC_LOOKUP_AGAIN;
	if (strcmp(name, "good.test") != 0)
		out->list[out->count++] = private;
	if (strcmp(name, "bad.test") != 0)
		out->list[out->count++] = here;
	return CC_LOOKUP_OK;
}

struct world {
	struct cc_loop *loop;
	struct cc_dialer *dialer;
	struct cc_net_rules *net;
	int listener;
	uint16_t port;
};

struct outcome {
	bool done;
	struct cc_dial_result result;
};

static void on_done(void *context, struct cc_dial_result *result)
{
	struct outcome *outcome = context;

	outcome->done = true;
	outcome->result = *result;
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);
	struct cc_err err;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	world->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(world->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(world->listener, 64), 0);
	assert_int_equal(getsockname(world->listener, (struct sockaddr *)&at, &len), 0);
	world->port = ntohs(at.sin_port);
	T_OK(cc_loop_new(&world->loop, &err), err);
	T_OK(cc_dialer_new(world->loop, 2, fake, NULL, &world->dialer, &err), err);
	world->net = calloc(1, sizeof(*world->net));
	world->net->enabled = true;
	T_OK(cc_strv_push(&world->net->allow, "*.test", &err), err);
	T_OK(cc_strv_push(&world->net->allow, "127.0.0.1", &err), err);
	T_OK(cc_net_seal(world->net, &err), err);
	cc_dialer_set_rules(world->dialer, world->net);
	atomic_store(&lookups, 0);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	cc_dialer_free(world->dialer);
	cc_loop_free(world->loop);
	cc_net_rules_free(world->net);
	cc_fd_close(&world->listener);
	free(world);
	return 0;
}

static struct cc_dial *start(struct world *world, const char *name, uint16_t port, struct outcome *outcome)
{
	struct cc_host host;
	struct cc_err err;

	T_OK(cc_host_parse(cc_view_of(name), CC_HOST_SOCKS, &host, &err), err);
	return cc_dial_start(world->dialer, &(struct cc_dial_ask){&host, port, false}, cc_clock_ms(), on_done, outcome);
}

static void run_until(struct world *world, const struct outcome *outcome)
{
	struct cc_err err;

	while (!outcome->done) {
		struct cc_loop_event events[16];
		size_t count;
		int64_t now = cc_clock_ms();
		int64_t due = cc_dialer_tick(world->dialer, now);

		if (outcome->done)
			break;
		T_OK(cc_loop_wait(world->loop, due <= now ? 0 : 20, events, 16, &count, &err), err);
		for (size_t i = 0; i < count; i++) {
			struct cc_watch *watch = events[i].data;

			watch->ready(watch, events[i].events);
		}
		cc_dialer_sweep(world->dialer);
	}
}

static const struct {
	const char *name;
	bool own_port; /* the port somebody listens at; else 1 */
	enum cc_dial_outcome want;
	enum cc_net_reason reason;
} rows[] = {
	{"good.test", true, CC_DIAL_CONNECTED, 0},
	{"mixed.test", true, CC_DIAL_CONNECTED, 0},          /* 86: only what survives is dialled */
	{"bad.test", true, CC_DIAL_REFUSED, CC_NET_ADDRESS}, /* 87 */
	{"never.test", true, CC_DIAL_NO_NAME, 0},
	{"broken.test", true, CC_DIAL_NO_ANSWER, 0},
	{"good.test", false, CC_DIAL_FAILED, 0},
	{"127.0.0.1", true, CC_DIAL_CONNECTED, 0},
	{"10.0.0.1", true, CC_DIAL_REFUSED, CC_NET_NOT_ALLOWED},
};

static void names_become_sockets(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct outcome outcome = {0};

		T_ROW(start(world, rows[i].name, rows[i].own_port ? world->port : 1, &outcome), rows[i].name);
		T_ROW(!outcome.done, rows[i].name); /* never told from within start */
		run_until(world, &outcome);
		T_ROW(outcome.result.outcome == rows[i].want, rows[i].name);
		if (rows[i].want == CC_DIAL_CONNECTED) {
			T_ROW(outcome.result.fd >= 0 && outcome.result.addr.bytes[0] == 127, rows[i].name);
			cc_fd_close(&outcome.result.fd);
		} else {
			T_ROW(outcome.result.fd < 0, rows[i].name);
		}
		if (rows[i].want == CC_DIAL_REFUSED)
			T_ROW(outcome.result.decision.reason == rows[i].reason, rows[i].name);
	}
}

static void a_name_is_asked_once(void **state)
{
	struct world *world = *state;
	struct outcome first = {0};
	struct outcome second = {0};
	struct outcome third = {0};

	start(world, "good.test", world->port, &first);
	start(world, "good.test", world->port, &second);
	run_until(world, &first);
	run_until(world, &second);
	start(world, "good.test", world->port, &third);
	run_until(world, &third);
	assert_int_equal(third.result.outcome, CC_DIAL_CONNECTED);
	assert_int_equal(atomic_load(&lookups), 1); /* 88 */
	cc_fd_close(&first.result.fd);
	cc_fd_close(&second.result.fd);
	cc_fd_close(&third.result.fd);
}

/* The rules changed while the resolver worked: what it answers is judged by the new ones. */
static void the_rules_of_the_moment_count(void **state)
{
	struct world *world = *state;
	struct outcome outcome = {0};
	struct cc_err err;

	start(world, "good.test", world->port, &outcome);
	T_OK(cc_strv_push(&world->net->deny, "good.test", &err), err);
	T_OK(cc_net_seal(world->net, &err), err);
	run_until(world, &outcome);
	assert_int_equal(outcome.result.outcome, CC_DIAL_REFUSED);
	assert_int_equal(outcome.result.decision.reason, CC_NET_DENIED);
}

static void the_listener_is_never_dialled(void **state)
{
	struct world *world = *state;
	struct outcome outcome = {0};

	cc_dialer_set_listeners(world->dialer, &world->listener, 1); /* 90 */
	start(world, "127.0.0.1", world->port, &outcome);
	run_until(world, &outcome);
	assert_int_equal(outcome.result.outcome, CC_DIAL_REFUSED);
	assert_int_equal(outcome.result.decision.reason, CC_NET_ADDRESS);
}

static void a_cancelled_dial_is_silent(void **state)
{
	struct world *world = *state;
	struct outcome gone = {0};
	struct outcome stays = {0};

	cc_dial_cancel(start(world, "good.test", world->port, &gone));
	start(world, "good.test", world->port, &stays);
	run_until(world, &stays);
	assert_false(gone.done);
	cc_fd_close(&stays.result.fd);
}

static void families_take_turns(void **state)
{
	struct world *world = *state;
	struct cc_addrs found = {.count = 5};
	struct cc_addrs out;
	struct cc_dial_result refused = {0};
	struct cc_host host;
	struct cc_err err;
	static const uint8_t lens[] = {16, 16, 16, 4, 4};
	static const uint8_t want[] = {0, 3, 1, 4, 2};

	for (size_t i = 0; i < found.count; i++) {
		found.list[i].len = lens[i];
		found.list[i].bytes[0] = lens[i] == 4 ? 93 : 0x26;
		found.list[i].bytes[lens[i] - 1] = (uint8_t)(i + 1);
	}
	T_OK(cc_host_parse(cc_view_of("x.test"), CC_HOST_URI, &host, &err), err);
	cc_dial_select(world->net, &host, 443, &found, NULL, NULL, &out, &refused);
	assert_int_equal(out.count, 5);
	for (size_t i = 0; i < out.count; i++)
		assert_int_equal(out.list[i].bytes[out.list[i].len - 1], want[i] + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_become_sockets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_name_is_asked_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_rules_of_the_moment_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_listener_is_never_dialled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cancelled_dial_is_silent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(families_take_turns, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("dial", tests, NULL, NULL);
}
