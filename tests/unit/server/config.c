#include "../t.h"

#include "server/report.h"

static const struct {
	const char *label, *env[3], *argv[5];
	const char *says; /* NULL: it is taken */
} rows[] = {
	{"nothing said", {0}, {0}, NULL},
	{"off", {0}, {"--sandbox", "off"}, NULL},
	{"off, joined", {0}, {"--sandbox=off"}, NULL},
	{"a word that is nearly off is no default", {0}, {"--sandbox", "OFF"}, "on or off"},
	{"an empty value is none", {0}, {"--sandbox="}, "on or off"},
	{"the variable's value is checked too", {"CC_SERVER_SANDBOX=of"}, {0}, "CC_SERVER_SANDBOX"},
	{"unknown option, with the near one", {0}, {"--sandbx", "off"}, "did you mean --sandbox"},
	{"a word", {0}, {"off"}, "unknown option"},
	{"a missing value", {0}, {"--port"}, "needs a value"},
	{"a port that is none", {0}, {"--port", "65536"}, "0 to 65535"},
	{"a signed port", {0}, {"--port", "+1"}, "0 to 65535"},
	{"an empty port", {0}, {"--port", ""}, "0 to 65535"},
	{"any without TLS", {0}, {"--bind", "any"}, "TLS"},
	{"any, knowingly", {0}, {"--bind", "any", "--insecure"}, NULL},
	{"any with half of TLS", {0}, {"--bind", "any", "--tls-cert", "x"}, "go together"},
	{"another bind", {0}, {"--bind", "0.0.0.0"}, "loopback or any"},
	{"origins", {0}, {"--allowed-origins", "http://a:1,https://b"}, NULL},
	{"an origin with a path", {0}, {"--allowed-origins", "http://a/"}, "--allowed-origins"},
	{"every origin", {0}, {"--allowed-origins", "*"}, "--allowed-origins"},
	{"a switch with a value", {0}, {"--insecure=yes"}, "no value"},
	{"a level that is none", {0}, {"--log-level", "loud"}, "--log-level"},
};

static void words_are_taken_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_server_config config;
		struct cc_err err = {0};
		enum cc_code code;

		cc_server_config_init(&config);
		code = cc_server_config_read((char *const *)(size_t)rows[i].argv, (char *const *)(size_t)rows[i].env,
					     &config, &err);
		T_ROW((code == CC_OK) == !rows[i].says, rows[i].label);
		if (rows[i].says)
			T_ROW(strstr(err.what, rows[i].says), err.what);
		cc_server_config_done(&config);
	}
}

static void the_flag_wins_over_the_variable(void **state)
{
	char *env[] = {(char *)(size_t) "CC_SERVER_SANDBOX=off", (char *)(size_t) "CC_SERVER_PORT=7", NULL};
	char *argv[] = {(char *)(size_t) "--sandbox", (char *)(size_t) "on", NULL};
	struct cc_server_config config;
	struct cc_err err;

	(void)state;
	cc_server_config_init(&config);
	assert_true(config.sandbox);
	assert_int_equal(config.port, 9030);
	T_OK(cc_server_config_read(argv, env, &config, &err), err);
	assert_true(config.sandbox);
	assert_int_equal(config.port, 7);
	cc_server_config_done(&config);
}

static const struct {
	bool sandbox, available, enforceable;
	const char *want;
} lines[] = {
	{true, true, true, "agent sandbox ON: NOTE"},
	{true, true, false, "agent sandbox ON: NOTE (refusing: STEP)"},
	{true, false, false, "no OS-native agent sandbox on this host: HINT"},
	{false, true, true, "agent sandbox DISABLED by --sandbox off"},
	{false, false, false, "agent sandbox DISABLED by --sandbox off"},
};

static void one_line_says_how_it_stands(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(lines); i++) {
		struct cc_server_config config = {.sandbox = lines[i].sandbox};
		static struct cc_probe probe;
		struct cc_buf out;

		probe = (struct cc_probe){.available = lines[i].available,
					  .enforceable = lines[i].enforceable,
					  .note = "NOTE",
					  .install_hint = "HINT",
					  .failing.step = "STEP"};
		cc_buf_init(&out, 4096);
		cc_report_start(&config, &probe, &out);
		assert_string_equal(out.data, lines[i].want);
		cc_buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_taken_or_refused),
		cmocka_unit_test(the_flag_wins_over_the_variable),
		cmocka_unit_test(one_line_says_how_it_stands),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
