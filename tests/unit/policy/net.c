#include "../t.h"

#include "policy/net.h"

static void push_all(struct cc_strv *list, const char *words)
{
	char copy[512];
	struct cc_err err;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		T_OK(cc_strv_push(list, word, &err), err);
}

static struct cc_net_rules *make(const char *allow, const char *deny, const char *private_names,
				 const char *private_cidrs)
{
	struct cc_net_rules *net = calloc(1, sizeof(*net));
	struct cc_err err;

	assert_non_null(net);
	net->enabled = true;
	push_all(&net->allow, allow);
	push_all(&net->deny, deny);
	push_all(&net->private_names, private_names);
	push_all(&net->private_cidrs, private_cidrs);
	net->hosts = calloc(1, sizeof(*net->hosts));
	net->hosts[0].name = cc_str_copy("Up.Test");
	push_all(&net->hosts[0].addresses, "127.0.0.1 fd00::7");
	net->host_count = 1;
	T_OK(cc_net_seal(net, &err), err);
	return net;
}

static struct cc_host host_of(const char *text)
{
	struct cc_host host = {0};
	struct cc_err err;

	T_OK(cc_host_parse(cc_view_of(text), CC_HOST_SOCKS, &host, &err), err);
	return host;
}

static const struct {
	const char *label;
	const char *host;
	enum cc_net_reason want;
	const char *entry;
} names[] = {
	{"68 a trailing dot meets the deny list", "statsig.a.test.", CC_NET_DENIED, "statsig.a.test"},
	{"69 deny wins over an exact allow", "o1.ingest.sentry.test", CC_NET_DENIED, "*.sentry.test"},
	{"NET-14", "x.a.test", CC_NET_ALLOWED, "*.a.test"},
	{"no entry", "evil.test", CC_NET_NOT_ALLOWED, NULL},
	{"a literal needs a literal entry", "127.0.0.2", CC_NET_NOT_ALLOWED, NULL},
	{"an exact literal is consent", "127.0.0.1", CC_NET_ALLOWED, "127.0.0.1"},
	{"deny beats a literal in the allow list", "169.254.169.254", CC_NET_DENIED, "169.254.169.254"},
	{"deny sees a NAT64 spelling", "64:ff9b::a9fe:a9fe", CC_NET_DENIED, "169.254.169.254"},
	{"a range opens literals", "10.2.3.4", CC_NET_ALLOWED, "10.2.0.0/16"},
	{"only inside the range", "10.3.3.4", CC_NET_NOT_ALLOWED, NULL},
};

static void names_are_decided_first(void **state)
{
	CC_AUTO(cc_net_rules)
	net = make("*.a.test o1.ingest.sentry.test 127.0.0.1 169.254.169.254",
		   "statsig.a.test *.sentry.test 169.254.169.254", "", "10.2.0.0/16");

	(void)state;
	for (size_t i = 0; i < CC_COUNT(names); i++) {
		struct cc_host host = host_of(names[i].host);
		struct cc_net_decision got = cc_net_decide(net, &host, 443);

		T_ROW(got.reason == names[i].want, names[i].label);
		T_ROW(got.allowed == (names[i].want == CC_NET_ALLOWED), names[i].label);
		T_ROW((got.entry == NULL) == (names[i].entry == NULL), names[i].label);
		T_ROW(!got.entry || strcmp(got.entry, names[i].entry) == 0, names[i].label);
	}
	net->enabled = false;
	assert_int_equal(cc_net_decide(net, &(struct cc_host){.kind = CC_HOST_NAME, .text = "x.a.test"}, 1).reason,
			 CC_NET_OFF);
}

static const struct {
	const char *label;
	const char *host;
	const char *addr;
	enum cc_net_reason want;
} addresses[] = {
	{"86 loopback is refused for a name", "x.a.test", "127.0.0.1", CC_NET_ADDRESS},
	{"86 public is dialled", "x.a.test", "93.184.216.34", CC_NET_ALLOWED},
	{"an entry for the very address is consent", "x.a.test", "127.0.0.9", CC_NET_ALLOWED},
	{"not for another port", "x.a.test", "127.0.0.8", CC_NET_ADDRESS},
	{"private is refused", "x.a.test", "10.9.0.1", CC_NET_ADDRESS},
	{"a private name may be private", "x.corp.test", "10.9.0.1", CC_NET_ALLOWED},
	{"a private name may not be local", "x.corp.test", "127.0.0.1", CC_NET_ADDRESS},
	{"a private name may not be metadata", "x.corp.test", "100.100.100.200", CC_NET_ADDRESS},
	{"a private range opens names", "x.a.test", "10.2.9.9", CC_NET_ALLOWED},
	{"a range is no consent for metadata inside", "x.a.test", "100.100.100.200", CC_NET_ADDRESS},
	{"but for what else is inside", "x.a.test", "100.100.100.201", CC_NET_ALLOWED},
	{"the deny list beats the address", "x.a.test", "169.254.169.254", CC_NET_DENIED},
	{"also inside NAT64", "x.a.test", "64:ff9b::a9fe:a9fe", CC_NET_DENIED},
	{"a deny with a port holds for the address", "x.a.test", "8.8.4.4", CC_NET_DENIED},
	{"at that port only", "x.a.test", "8.8.4.5", CC_NET_ALLOWED},
	{"the operator's address", "up.test", "127.0.0.1", CC_NET_ALLOWED},
	{"the operator's other address", "up.test", "fd00::7", CC_NET_ALLOWED},
	{"nothing else for that name", "up.test", "93.184.216.34", CC_NET_ADDRESS},
	{"localhost is loopback", "localhost", "127.0.0.1", CC_NET_ALLOWED},
	{"and nothing else", "a.localhost", "93.184.216.34", CC_NET_ADDRESS},
	{"multicast never", "x.a.test", "224.0.0.9", CC_NET_ADDRESS},
	{"a literal is dialled as itself", "10.2.3.4", "10.2.3.4", CC_NET_ALLOWED},
	{"and as nothing else", "10.2.3.4", "10.2.3.5", CC_NET_ADDRESS},
};

static void addresses_are_decided_after(void **state)
{
	CC_AUTO(cc_net_rules)
	net = make("*.test localhost 127.0.0.9:53 127.0.0.8:80 224.0.0.9", "169.254.169.254 8.8.4.4:53 8.8.4.5:80",
		   "*.corp.test", "10.2.0.0/16 100.64.0.0/10");

	(void)state;
	for (size_t i = 0; i < CC_COUNT(addresses); i++) {
		struct cc_host host = host_of(addresses[i].host);
		struct cc_host addr = host_of(addresses[i].addr);
		struct cc_net_decision got =
			cc_net_decide_addr(net, &host, 53, addr.addr, addr.kind == CC_HOST_V4 ? 4 : 16);

		T_ROW(got.reason == addresses[i].want, addresses[i].label);
		T_ROW(got.allowed == (addresses[i].want == CC_NET_ALLOWED), addresses[i].label);
	}
}

static void static_names_are_found(void **state)
{
	CC_AUTO(cc_net_rules) net = make("*.test", "", "", "");
	struct cc_host host = host_of("UP.test.");

	(void)state;
	assert_string_equal(cc_net_static(net, &host)->addresses.items[1], "fd00::7");
	host = host_of("localhost");
	assert_string_equal(cc_net_static(net, &host)->addresses.items[0], "127.0.0.1");
	host = host_of("other.test");
	assert_null(cc_net_static(net, &host));
}

static void bad_lists_are_refused(void **state)
{
	static const char *const bad[] = {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/",  "10.0.0.0/08",
					  "x.test/8",   "::/0",        "10.0.0.0/+8"};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(bad); i++) {
		CC_AUTO(cc_net_rules) net = make("*.test", "", "", "");
		struct cc_net_index *before = net->index;
		struct cc_err err = {0};

		push_all(&net->private_cidrs, bad[i]);
		T_ROW(cc_net_seal(net, &err) == CC_EINVAL, bad[i]);
		T_ROW(strstr(err.what, bad[i]) != NULL, bad[i]);
		T_ROW(net->index == before, bad[i]);
	}
}

/* What a question for a name is told: is there any port on which it could be reached? */
static void a_name_is_there_when_some_port_is_open(void **state)
{
	static const struct {
		const char *host;
		bool there;
	} rows[] = {{"all.test", true},    {"ported.test", true}, {"closed.test", false}, {"half.test", true},
		    {"x.wild.test", true}, {"wild.test", false},  {"evil.test", false},   {CC_NET_GATEWAY, false}};
	CC_AUTO(cc_net_rules)
	net = make("all.test ported.test:8443 closed.test half.test *.wild.test:22 *.internal " CC_NET_GATEWAY,
		   "closed.test half.test:80", "", "");

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_host host = host_of(rows[i].host);

		T_ROW(cc_net_decide_name(net, &host).allowed == rows[i].there, rows[i].host);
	}
	assert_false(cc_net_decide(net, &(struct cc_host){.kind = CC_HOST_NAME, .text = CC_NET_GATEWAY}, 80).allowed);
	net->gateway = true;
	assert_true(cc_net_decide(net, &(struct cc_host){.kind = CC_HOST_NAME, .text = CC_NET_GATEWAY}, 80).allowed);
	net->enabled = false;
	assert_false(cc_net_decide(net, &(struct cc_host){.kind = CC_HOST_NAME, .text = CC_NET_GATEWAY}, 80).allowed);
}

static void ports_of_the_loopback_are_asked_for_one_by_one(void **state)
{
	CC_AUTO(cc_net_rules) net = make("*.test", "", "", "");
	struct cc_err err = {0};

	(void)state;
	push_all(&net->host_ports, "5432 6379");
	push_all(&net->publish, "3000");
	push_all(&net->owner_ports, "7777");
	T_OK(cc_net_seal(net, &err), err);
	assert_true(cc_net_decide_port(net, &net->host_ports, 5432).allowed);
	assert_false(cc_net_decide_port(net, &net->host_ports, 3000).allowed);
	assert_false(cc_net_decide_port(net, &net->publish, 5432).allowed);
	assert_int_equal(cc_net_decide_port(net, &net->host_ports, 7777).reason, CC_NET_DENIED);
	assert_int_equal(cc_net_decide_port(net, &net->host_ports, 0).reason, CC_NET_NOT_ALLOWED);
	push_all(&net->host_ports, "7777");
	assert_int_equal(cc_net_seal(net, &err), CC_EPOLICY);
}

static void a_parent_is_written_one_way(void **state)
{
	static const struct {
		const char *text, *host, *login;
		uint16_t port; /* 0: refused */
	} rows[] = {
		{"http://p.test:3128", "p.test", "", 3128},
		{"p.test:1/", "p.test", "", 1},
		{"http://a:b@10.0.0.1:8080/", "10.0.0.1", "a:b", 8080},
		{"http://[::1]:8080", "::1", "", 8080},
		{"http://p.test", NULL, NULL, 0},
		{"https://p.test:1", NULL, NULL, 0},
		{"http://p.test:0", NULL, NULL, 0},
		{"", NULL, NULL, 0},
		{"http://p..test:1", NULL, NULL, 0},
		{"http://p.test:1/x", NULL, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		CC_AUTO(cc_net_rules) net = make("*.test", "", "", "");
		const struct cc_net_parent *parent;
		struct cc_err err = {0};

		assert_null(cc_net_parent(net));
		net->parent = cc_str_copy(rows[i].text);
		T_ROW((cc_net_seal(net, &err) == CC_OK) == (rows[i].port != 0), rows[i].text);
		parent = cc_net_parent(net);
		T_ROW((parent != NULL) == (rows[i].port != 0), rows[i].text);
		if (parent) {
			T_ROW(parent->port == rows[i].port && strcmp(parent->host.text, rows[i].host) == 0,
			      rows[i].text);
			T_ROW(cc_view_is(parent->login, rows[i].login), rows[i].text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_decided_first),
		cmocka_unit_test(addresses_are_decided_after),
		cmocka_unit_test(static_names_are_found),
		cmocka_unit_test(bad_lists_are_refused),
		cmocka_unit_test(a_name_is_there_when_some_port_is_open),
		cmocka_unit_test(ports_of_the_loopback_are_asked_for_one_by_one),
		cmocka_unit_test(a_parent_is_written_one_way),
	};

	return cmocka_run_group_tests_name("net", tests, NULL, NULL);
}
