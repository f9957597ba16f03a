/* Plans as text: what would be started for a given spec on a given host, compared byte for byte. To accept a change on
 * purpose: GOLDEN_UPDATE=1 build/tests/golden/golden DIR, then read the difference. */
#define _GNU_SOURCE
#include "../unit/t.h"

#include "os/fd.h"
#include "plan/bpf.h"
#include "plan/linux.h"
#include "wire/json.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const char *golden_dir;

static struct cc_fact_path system_paths[] = {
	{(char *)"/usr", CC_PATH_DIR, NULL},
	{(char *)"/bin", CC_PATH_LINK, (char *)"usr/bin"},
	{(char *)"/lib64", CC_PATH_LINK, (char *)"usr/lib64"},
	{(char *)"/etc/passwd", CC_PATH_FILE, NULL},
	{(char *)"/etc/localtime", CC_PATH_LINK, (char *)"/usr/share/zoneinfo/UTC"},
};
static struct cc_fact_path home_paths[] = {
	{(char *)"/home/ann/.cargo/bin", CC_PATH_DIR, NULL},
	{(char *)"/home/ann/.local/bin", CC_PATH_DIR, NULL},
};
static char *env_items[] = {(char *)"PATH=/home/ann/.local/bin:/usr/bin",
			    (char *)"LANG=en_GB.UTF-8",
			    (char *)"AWS_SECRET_ACCESS_KEY=very-secret",
			    (char *)"LD_PRELOAD=/tmp/x.so",
			    (char *)"TERM=xterm-256color",
			    NULL};

static struct cc_facts host_facts(void)
{
	return (struct cc_facts){.home = (char *)"/home/ann",
				 .memory = 8ULL << 30,
				 .init_path = (char *)"/opt/ccbox/cc-init",
				 .connect_path = (char *)"/opt/ccbox/cc-connect",
				 .system = system_paths,
				 .system_count = CC_COUNT(system_paths),
				 .home_dirs = home_paths,
				 .home_count = CC_COUNT(home_paths),
				 .env = {env_items, 5, 6}};
}

static void set_default(struct cc_spec *spec)
{
	struct cc_err err;

	spec->session_id = cc_str_copy("golden");
	assert_int_equal(cc_spec_add_bind(spec, "/home/ann/proj", false, &err), CC_OK);
}

static void set_review(struct cc_spec *spec)
{
	struct cc_err err;

	spec->mode = CC_MODE_REVIEW;
	spec->session_id = cc_str_copy("golden");
	assert_int_equal(cc_spec_add_bind(spec, "/home/ann/proj", true, &err), CC_OK);
	assert_int_equal(cc_strv_push(&spec->runner_state_dirs, "/var/lib/runner/state", &err), CC_OK);
}

static void set_home(struct cc_spec *spec)
{
	struct cc_err err;

	spec->session_id = cc_str_copy("golden");
	assert_int_equal(cc_spec_add_bind(spec, "/home/ann", false, &err), CC_OK);
}

static void set_literal(struct cc_spec *spec)
{
	struct cc_err err;

	set_default(spec);
	assert_int_equal(cc_strv_push(&spec->policy.allowed_domains, "127.0.0.1", &err), CC_OK);
	assert_int_equal(cc_strv_push(&spec->policy.env, "GH_TOKEN=abc", &err), CC_OK);
}

static const struct {
	const char *name;
	void (*set)(struct cc_spec *spec); /* NULL: a terminal */
} cases[] = {{"linux-default", set_default},
	     {"linux-review", set_review},
	     {"linux-home", set_home},
	     {"linux-literal", set_literal},
	     {"linux-terminal", NULL}};

static void print_case(size_t index, struct cc_buf *out)
{
	struct cc_facts facts = host_facts();
	struct cc_rule_facts rule_facts = {.home = facts.home};
	CC_AUTO(cc_rules) rules = NULL;
	struct cc_linux_plan plan;
	struct cc_spec spec;
	struct cc_linux_ask ask = {.env = &spec.policy.env};
	struct cc_err err;

	cc_spec_init(&spec);
	if (cases[index].set) {
		cases[index].set(&spec);
		T_OK(cc_rules_compile(&spec, &rule_facts, &rules, &err), err);
	} else {
		ask.shell = "/bin/bash";
		T_OK(cc_rules_terminal("golden", "/srv/work", NULL, &rule_facts, &rules, &err), err);
	}
	T_OK(cc_linux_plan_make(rules, &facts, &ask, &plan, &err), err);
	cc_linux_plan_print(&plan, out);
	cc_linux_plan_done(&plan);
	cc_spec_done(&spec);
}

static void compare(const char *name, struct cc_buf *got)
{
	struct cc_buf want;
	struct cc_err err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.want", golden_dir, name);
	cc_buf_init(&want, 1 << 20);
	if (getenv("GOLDEN_UPDATE")) {
		CC_AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		assert_int_equal(cc_fd_write_all(fd, got->data, got->len, &err), CC_OK);
	} else {
		T_OK(cc_fd_read_file(path, &want, &err), err);
		T_ROW(want.len == got->len && memcmp(want.data, got->data, got->len) == 0, name);
	}
	cc_buf_done(&want);
}

static void every_plan_is_as_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(cases); i++) {
		struct cc_buf got;

		cc_buf_init(&got, 1 << 20);
		print_case(i, &got);
		compare(cases[i].name, &got);
		cc_buf_done(&got);
	}
}

/* One instruction a line, with the place that a jump goes to. */
static void print_filter(const struct cc_bpf *program, struct cc_buf *out)
{
	static const struct {
		uint16_t code;
		const char *name;
	} codes[] = {{0x20, "load"}, {0x05, "go"},  {0x15, "=="}, {0x25, ">"},  {0x35, ">="},
		     {0x45, "&"},    {0x54, "and"}, {0x74, ">>"}, {0x06, "ret"}};

	for (size_t at = 0; at < program->count; at++) {
		const struct cc_bpf_insn *in = &program->insn[at];
		const char *name = "?";

		for (size_t i = 0; i < CC_COUNT(codes); i++)
			if (codes[i].code == in->code)
				name = codes[i].name;
		cc_buf_addf(out, "%zu: %s %#x", at, name, in->k);
		if (in->code == 0x05)
			cc_buf_addf(out, " -> %zu", at + 1 + in->k);
		else if ((in->code & 7) == 5)
			cc_buf_addf(out, " -> %zu else %zu", at + 1 + in->jt, at + 1 + in->jf);
		cc_buf_adds(out, "\n");
	}
}

static void every_filter_is_as_written(void **state)
{
	static const struct {
		const char *name;
		enum cc_arch arch;
		bool init;
	} filters[] = {{"filter-x86_64", CC_ARCH_X86_64, false},
		       {"filter-aarch64", CC_ARCH_AARCH64, false},
		       {"filter-init-aarch64", CC_ARCH_AARCH64, true}};
	static struct cc_bpf program;

	(void)state;
	for (size_t i = 0; i < CC_COUNT(filters); i++) {
		struct cc_bpf_options options = {.arch = filters[i].arch, .reserved_first = 1, .reserved_last = 4};
		struct cc_buf got;
		struct cc_err err;

		cc_buf_init(&got, 1 << 20);
		if (filters[i].init)
			T_OK(cc_bpf_emit_init(filters[i].arch, &program, &err), err);
		else
			T_OK(cc_bpf_emit(&options, &program, &err), err);
		print_filter(&program, &got);
		compare(filters[i].name, &got);
		cc_buf_done(&got);
	}
}

static void no_secret_value_is_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(cases); i++) {
		struct cc_buf got;

		cc_buf_init(&got, 1 << 20);
		print_case(i, &got);
		assert_null(strstr(got.data, "very-secret"));
		assert_null(strstr(got.data, "abc\n"));
		assert_null(strstr(got.data, "/tmp/x.so"));
		cc_buf_done(&got);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_plan_is_as_written),
		cmocka_unit_test(every_filter_is_as_written),
		cmocka_unit_test(no_secret_value_is_printed),
	};

	if (argc != 2)
		return 2;
	golden_dir = argv[1];
	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
