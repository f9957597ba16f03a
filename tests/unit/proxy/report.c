/* What the owner hears, and that it can never make the proxy wait. */
#include "../t.h"

#include "os/fd.h"
#include "os/peer.h"
#include "proxy/outbox.h"
#include "proxy/report.h"

static const struct cc_report_net denied = {
	.proto = "connect",
	.host = {"evil.test", 9},
	.port = 443,
	.reason = CC_NET_NOT_ALLOWED,
};

struct ends {
	int ours;
	int theirs;
	char *rest; /* of the last packet */
	struct cc_report *report;
};

static int set_up(void **state)
{
	struct ends *ends = calloc(1, sizeof(*ends));
	struct cc_err err;

	T_OK(cc_peer_pair(&ends->ours, &ends->theirs, &err), err);
	cc_fd_set_nonblock(ends->ours, true);
	cc_fd_set_nonblock(ends->theirs, true);
	T_OK(cc_report_new(ends->theirs, &ends->report, &err), err);
	*state = ends;
	return 0;
}

static int tear_down(void **state)
{
	struct ends *ends = *state;

	cc_report_free(ends->report);
	cc_fd_close(&ends->ours);
	cc_fd_close(&ends->theirs);
	free(ends);
	return 0;
}

/* Copies the next message; false when there is none. A packet may hold several. */
static bool next(struct ends *ends, char *text, size_t max)
{
	static struct cc_peer_msg msg;
	struct cc_err err;
	char *line = ends->rest;

	if (!line && cc_peer_recv(ends->ours, &msg, &err) != CC_OK)
		return false;
	line = line ? line : msg.text;
	ends->rest = strchr(line, '\n');
	if (ends->rest)
		*ends->rest++ = '\0';
	snprintf(text, max, "%.*s", (int)max - 1, line);
	return true;
}

static void ever_new_names_are_told_so_far_and_then_counted(void **state)
{
	struct ends *ends = *state;
	char text[1024], host[32];
	int told = 0;

	for (int i = 0; i < 5000; i++) {
		struct cc_report_net net = denied;

		snprintf(host, sizeof(host), "h%d.test", i);
		net.host = cc_view_of(host);
		cc_report_net(ends->report, 1000, &net);
		while (next(ends, text, sizeof(text)))
			told++;
	}
	assert_in_range(told, 200, 200);
	cc_report_net(ends->report, 60000, &denied);
	assert_true(next(ends, text, sizeof(text)));
	assert_non_null(strstr(text, "\"dropped\":4800"));
}

static void the_first_is_told_and_repeats_are_counted(void **state)
{
	struct ends *ends = *state;
	char text[1000];

	cc_report_net(ends->report, 0, &denied);
	assert_true(next(ends, text, sizeof(text)));
	assert_non_null(strstr(text, "\"host\":\"evil.test\""));
	assert_non_null(strstr(text, "\"grant\":\"--allow-host evil.test\""));
	assert_non_null(strstr(text, "\"count\":1"));
	for (int i = 0; i < 7; i++)
		cc_report_net(ends->report, 10 + i, &denied);
	assert_false(next(ends, text, sizeof(text)));
	assert_int_equal(cc_report_tick(ends->report, 20), CC_REPORT_REPEAT_MS);
	cc_report_tick(ends->report, CC_REPORT_REPEAT_MS);
	assert_true(next(ends, text, sizeof(text)));
	assert_non_null(strstr(text, "\"count\":7"));
	/* quiet for long: a first one again */
	cc_report_net(ends->report, 5 * CC_REPORT_REPEAT_MS, &denied);
	assert_true(next(ends, text, sizeof(text)));
	assert_non_null(strstr(text, "\"count\":1"));
}

/* How many messages are there, and how many more they tell of. */
static void drain(struct ends *ends, unsigned *told, unsigned *lost)
{
	char text[1000];

	while (next(ends, text, sizeof(text))) {
		const char *dropped = strstr(text, "\"dropped\":");

		*told += 1;
		*lost += dropped ? (unsigned)atoi(dropped + 10) : 0;
	}
}

static void a_full_owner_costs_events_not_time(void **state)
{
	struct ends *ends = *state;
	struct cc_report_net allowed = denied;
	unsigned told = 0;
	unsigned lost = 0;

	allowed.allowed = true;
	allowed.reason = CC_NET_ALLOWED;
	for (int i = 0; i < 5000; i++)
		cc_report_net(ends->report, 0, &allowed);
	assert_false(cc_report_idle(ends->report));
	drain(ends, &told, &lost);
	assert_true(told > 0 && told < 5000);
	while (!cc_report_idle(ends->report)) {
		cc_report_flush(ends->report);
		drain(ends, &told, &lost);
	}
	cc_report_net(ends->report, 0, &allowed);
	cc_report_flush(ends->report);
	drain(ends, &told, &lost);
	assert_true(lost > 0);
	assert_int_equal(told + lost, 5001); /* each is told, or counted */
}

/* What is not urgent waits for company, and not for long; what is urgent takes it along, in order. */
static void what_is_not_urgent_travels_together(void **state)
{
	struct ends *ends = *state;
	struct cc_report_net allowed = denied;
	static struct cc_peer_msg msg;
	struct cc_err err;
	char text[1000];

	allowed.allowed = true;
	allowed.reason = CC_NET_ALLOWED;
	for (int i = 0; i < 3; i++)
		cc_report_net(ends->report, 100, &allowed);
	assert_false(next(ends, text, sizeof(text)));
	assert_int_equal(cc_report_tick(ends->report, 100), 100 + CC_OUTBOX_HOLD_MS);
	assert_false(next(ends, text, sizeof(text)));
	assert_true(cc_report_tick(ends->report, 100 + CC_OUTBOX_HOLD_MS) > 1000000);
	T_OK(cc_peer_recv(ends->ours, &msg, &err), err);
	assert_null(strchr(strchr(strchr(msg.text, '\n') + 1, '\n') + 1, '\n')); /* three lines */
	cc_report_net(ends->report, 200, &allowed);
	cc_report_net(ends->report, 200, &denied);
	assert_true(next(ends, text, sizeof(text)));
	assert_non_null(strstr(text, "\"allow\""));
	assert_true(next(ends, text, sizeof(text)));
	assert_non_null(strstr(text, "\"deny\""));
	assert_false(next(ends, text, sizeof(text)));
}

static void foreign_bytes_are_escaped_and_cut(void **state)
{
	struct ends *ends = *state;
	char raw[1000];
	char text[3000];
	struct cc_report_net net = denied;
	struct cc_buf body;

	memset(raw, '\x1b', sizeof(raw));
	net.host = (struct cc_view){raw, sizeof(raw)};
	net.reason = CC_NET_MALFORMED;
	cc_report_net(ends->report, 0, &net);
	assert_true(next(ends, text, sizeof(text)));
	assert_null(strchr(text, '\x1b'));
	assert_true(strlen(text) < CC_REPORT_TEXT_MAX * 6 + 300);
	cc_buf_init(&body, 16384);
	cc_report_refusal(&net, 400, false, &body);
	assert_null(strchr(body.data, '\x1b'));
	assert_non_null(strstr(body.data, "\\x1b"));
	cc_buf_done(&body);
}

static void a_refusal_says_what_to_do(void **state)
{
	struct cc_report_net address = denied;
	struct cc_buf out;

	(void)state;
	cc_buf_init(&out, 16384);
	cc_report_refusal(&denied, 403, false, &out);
	assert_non_null(strstr(out.data, "X-Proxy-Error: blocked-by-allowlist\r\n"));
	assert_non_null(strstr(out.data, "X-Sandbox-Reason: not-allowed\r\n"));
	assert_non_null(strstr(out.data, "--allow-host evil.test"));
	cc_buf_reset(&out);
	address.reason = CC_NET_ADDRESS;
	address.address = "10.0.0.1";
	cc_report_refusal(&address, 403, false, &out);
	assert_non_null(strstr(out.data, "network.hosts"));
	assert_null(strstr(out.data, "10.0.0.1")); /* the address is the owner's to know */
	cc_buf_reset(&out);
	cc_report_refusal(&denied, 403, true, &out);
	assert_string_equal(out.data + out.len - 4, "\r\n\r\n");
	cc_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ever_new_names_are_told_so_far_and_then_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_first_is_told_and_repeats_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_owner_costs_events_not_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_urgent_travels_together, set_up, tear_down),
		cmocka_unit_test_setup_teardown(foreign_bytes_are_escaped_and_cut, set_up, tear_down),
		cmocka_unit_test(a_refusal_says_what_to_do),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
