#include "../t.h"

#include "bpf_vm.h"
#include "plan/landlock.h"

#define A(e)   CC_BPF_ERRNO(e)
#define OK     CC_BPF_ALLOW
#define NOTIFY CC_BPF_NOTIFY
#define X86    CC_AUDIT_X86_64
#define ARM    CC_AUDIT_AARCH64

static struct cc_bpf x86, arm, judged;

/* reserved pids: 1..6 */
static const struct {
	const char *label;
	uint32_t arch, nr;
	uint64_t args[3];
	uint32_t want;
} rows[] = {
	{"i386 is another ABI", 0x40000003u, 5, {0}, CC_BPF_KILL},
	{"x32 does not exist", X86, 0x40000002u, {0}, A(38)},
	{"x32 without a number", X86, 0x40000000u, {0}, A(38)},
	{"a negative number", X86, 0xffffffffu, {0}, A(38)},
	{"the last classified", X86, 468, {0}, OK},
	{"one past the last classified", X86, 470, {0}, A(38)},
	{"arm: one past the last", ARM, 470, {0}, A(38)},
	{"x86 arch in the arm filter", X86, 0, {0}, OK},
	{"read", X86, 0, {0}, OK},
	{"getppid", X86, 110, {0}, OK},
	{"execve", X86, 59, {0}, OK},
	{"execveat", X86, 322, {0}, OK},
	{"open for reading", X86, 2, {0, 0}, OK},
	{"open for writing", X86, 2, {0, 1}, NOTIFY},
	{"open access mode 3", X86, 2, {0, 3}, NOTIFY},
	{"openat O_RDONLY|O_CREAT", X86, 257, {0, 0, 0100}, NOTIFY},
	{"openat O_RDONLY|O_TRUNC", X86, 257, {0, 0, 01000}, NOTIFY},
	{"openat bare O_TMPFILE bit", X86, 257, {0, 0, 020000000}, NOTIFY},
	{"openat O_DIRECTORY only", X86, 257, {0, 0, 0200000}, OK},
	{"openat O_PATH|O_WRONLY", X86, 257, {0, 0, 010000001}, OK},
	{"openat flags above 32 bits do not count", X86, 257, {0, 0, 1ull << 32}, OK},
	{"openat2", X86, 437, {0}, NOTIFY},
	{"creat", X86, 85, {0}, NOTIFY},
	{"io_uring_setup", X86, 425, {0}, A(38)},
	{"io_uring_enter", X86, 426, {0}, A(38)},
	{"io_uring_register", X86, 427, {0}, A(38)},
	{"clone3", X86, 435, {0}, A(38)},
	{"clone as fork", X86, 56, {17}, OK},
	{"clone NEWUSER", X86, 56, {0x10000000}, A(1)},
	{"clone NEWNS", X86, 56, {0x20000}, A(1)},
	{"unshare NEWTIME", X86, 272, {0x80}, A(1)},
	{"unshare FS", X86, 272, {0x200}, OK},
	{"mount", X86, 165, {0}, A(1)},
	{"open_tree_attr", X86, 467, {0}, A(1)},
	{"setns", X86, 308, {0}, A(1)},
	{"open_by_handle_at", X86, 304, {0}, A(1)},
	{"file_setattr", X86, 469, {0}, A(1)},
	{"fchmodat2", X86, 452, {0}, NOTIFY},
	{"setxattrat", X86, 463, {0}, NOTIFY},
	{"utimensat", X86, 280, {0}, NOTIFY},
	{"connect", X86, 42, {0}, NOTIFY},
	{"bind", X86, 49, {0}, NOTIFY},
	{"socket unix stream", X86, 41, {1, 1, 0}, OK},
	{"socket unix stream cloexec nonblock", X86, 41, {1, 1 | 02004000, 0}, OK},
	{"socket unix seqpacket", X86, 41, {1, 5, 0}, OK},
	{"socket unix dgram", X86, 41, {1, 2, 0}, A(97)},
	{"socket unix raw (a datagram too)", X86, 41, {1, 3, 0}, A(97)},
	{"socket inet stream", X86, 41, {2, 1, 6}, OK},
	{"socket inet6 dgram", X86, 41, {10, 2, 17}, OK},
	{"socket inet mptcp", X86, 41, {2, 1, 262}, A(97)},
	{"socket inet udplite", X86, 41, {2, 2, 136}, A(97)},
	{"socket inet raw", X86, 41, {2, 3, 1}, A(97)},
	{"socket inet icmp", X86, 41, {2, 2, 1}, A(97)},
	{"socket netlink route", X86, 41, {16, 3, 0}, OK},
	{"socket netlink audit", X86, 41, {16, 3, 9}, A(97)},
	{"socket vsock", X86, 41, {40, 1, 0}, A(97)},
	{"socket alg", X86, 41, {38, 5, 0}, A(97)},
	{"socket packet", X86, 41, {17, 3, 0}, A(97)},
	{"socketpair unix seqpacket", X86, 53, {1, 5, 0}, OK},
	{"socketpair unix dgram", X86, 53, {1, 2, 0}, NOTIFY},
	{"socketpair tipc", X86, 53, {30, 1, 0}, A(97)},
	{"TIOCSTI", X86, 16, {0, 0x5412}, A(1)},
	{"TIOCSTI with the high half set", X86, 16, {0, 0xf00000000ull | 0x5412}, A(1)},
	{"TIOCLINUX", X86, 16, {0, 0x541c}, A(1)},
	{"TIOCGWINSZ", X86, 16, {0, 0x5413}, OK},
	{"FS_IOC_SETFLAGS", X86, 16, {0, 0x40086602}, A(1)},
	{"FS_IOC_GETFLAGS", X86, 16, {0, 0x80086601}, OK},
	{"btrfs SUBVOL_CREATE", X86, 16, {0, 0x5000940e}, A(1)},
	{"FICLONE", X86, 16, {0, 0x40049409}, OK},
	{"FIDEDUPERANGE", X86, 16, {0, 0xc0189436}, OK},
	{"bcachefs", X86, 16, {0, 0x4000bc10}, A(1)},
	{"F_SETLEASE", X86, 72, {0, 1024}, A(1)},
	{"F_NOTIFY", X86, 72, {0, 1026}, A(1)},
	{"F_DUPFD_CLOEXEC", X86, 72, {0, 1030}, OK},
	{"personality query", X86, 135, {0xffffffff}, OK},
	{"personality no randomisation", X86, 135, {0x40000}, OK},
	{"personality READ_IMPLIES_EXEC", X86, 135, {0x400000}, A(1)},
	{"prlimit of self", X86, 302, {0, 7, 0x1000}, OK},
	{"prlimit of self, core", X86, 302, {0, 4, 0x1000}, A(0)},
	{"prlimit of another, reading", X86, 302, {5, 7, 0}, OK},
	{"prlimit of another, setting", X86, 302, {500, 7, 0x1000}, A(1)},
	{"prlimit of another, pointer in the high half", X86, 302, {500, 7, 1ull << 32}, A(1)},
	{"setrlimit core", X86, 160, {4}, A(0)},
	{"setrlimit nofile", X86, 160, {7}, OK},
	{"kill init", X86, 62, {1, 9}, A(1)},
	{"kill a gate thread", X86, 62, {4, 9}, A(1)},
	{"kill the zygote", X86, 62, {6, 9}, A(1)},
	{"kill its group", X86, 62, {0xfffffffau, 9}, A(1)},
	{"kill everything", X86, 62, {0xffffffffu, 9}, A(1)},
	{"kill a neighbour", X86, 62, {7, 9}, OK},
	{"kill a neighbour's group", X86, 62, {0xfffffff9u, 9}, OK},
	{"kill the own group", X86, 62, {0, 15}, OK},
	{"tkill a gate thread", X86, 200, {2, 9}, A(1)},
	{"tgkill, second argument", X86, 234, {77, 2, 9}, A(1)},
	{"tgkill a neighbour", X86, 234, {77, 77, 9}, OK},
	{"setpriority of the user", X86, 141, {2, 0}, A(1)},
	{"setpriority of a gate thread", X86, 141, {0, 3}, A(1)},
	{"setpriority of self", X86, 141, {0, 0}, OK},
	{"ioprio_set of the user", X86, 251, {3, 0}, A(1)},
	{"sched_setaffinity of init", X86, 203, {1}, A(1)},
	{"pidfd_open of the zygote", X86, 434, {6}, A(1)},
	{"pidfd_send_signal", X86, 424, {3, 9}, NOTIFY},
	{"memfd_create", X86, 319, {0}, OK},
	{"bpf", X86, 321, {0}, A(1)},
	{"keyctl", X86, 250, {0}, A(1)},
	{"arm openat for writing", ARM, 56, {0, 0, 1}, NOTIFY},
	{"arm openat for reading", ARM, 56, {0, 0, 0}, OK},
	{"arm renameat2", ARM, 276, {0}, NOTIFY},
	{"arm unlinkat", ARM, 35, {0}, NOTIFY},
	{"arm mount", ARM, 40, {0}, A(1)},
	{"arm socket unix dgram", ARM, 198, {1, 2}, A(97)},
	{"arm connect", ARM, 203, {0}, NOTIFY},
	{"arm ioctl TIOCSTI", ARM, 29, {0, 0x5412}, A(1)},
	{"arm clone NEWUSER", ARM, 220, {0x10000000}, A(1)},
	{"arm 32-bit", 0x40000028u, 5, {0}, CC_BPF_KILL},
};

static void each_row_has_its_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct vm_data data = {.nr = rows[i].nr, .arch = rows[i].arch};
		const struct cc_bpf *program = strstr(rows[i].label, "arm") == rows[i].label ? &arm : &x86;

		memcpy(data.args, rows[i].args, sizeof(rows[i].args));
		if (strcmp(rows[i].label, "x86 arch in the arm filter") == 0)
			assert_int_equal(vm_run(&arm, &data, NULL), CC_BPF_KILL);
		T_ROW(vm_run(program, &data, NULL) == rows[i].want, rows[i].label);
	}
}

static void judged_reads_are_notified(void **state)
{
	struct vm_data data = {.nr = 257, .arch = X86};

	(void)state;
	assert_int_equal(vm_run(&judged, &data, NULL), NOTIFY);
	data.args[2] = 010000000;
	assert_int_equal(vm_run(&judged, &data, NULL), OK);
}

static void no_number_faults_and_the_walk_is_short(void **state)
{
	const struct {
		const struct cc_bpf *program;
		uint32_t arch;
	} both[] = {{&x86, X86}, {&arm, ARM}};

	(void)state;
	for (size_t which = 0; which < CC_COUNT(both); which++) {
		for (uint32_t nr = 0; nr < 1024; nr++) {
			struct vm_data data = {.nr = nr, .arch = both[which].arch};
			unsigned steps = 0;
			uint32_t action = vm_run(both[which].program, &data, &steps);

			assert_int_not_equal(action, VM_FAULT);
			assert_in_range(steps, 1, 64);
			if (action == OK && nr != 16 && nr != 29)
				assert_in_range(steps, 1, 40);
		}
	}
}

static void the_table_names_each_call_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < cc_syscall_count; i++)
		for (size_t k = i + 1; k < cc_syscall_count; k++)
			for (size_t arch = 0; arch < CC_ARCH_COUNT; arch++) {
				T_ROW(strcmp(cc_syscalls[i].name, cc_syscalls[k].name) != 0, cc_syscalls[i].name);
				T_ROW(cc_syscalls[i].nr[arch] < 0 || cc_syscalls[i].nr[arch] != cc_syscalls[k].nr[arch],
				      cc_syscalls[i].name);
			}
}

static void init_keeps_files_and_loses_exec(void **state)
{
	static const struct {
		const char *label;
		uint32_t nr, want;
		uint64_t args[3];
	} calls[] = {
		{"read", 0, OK, {0}},
		{"openat2", 437, OK, {0}},
		{"connect", 42, OK, {0}},
		{"execve", 59, A(1), {0}},
		{"execveat", 322, A(1), {0}},
		{"clone", 56, A(1), {0}},
		{"fork", 57, A(1), {0}},
		{"socket of its own network", 41, OK, {2, 1, 0}},
		{"socket of a strange family", 41, A(97), {40, 1, 0}},
		{"packet socket", 41, A(97), {17, 3, 0}},
		{"ptrace", 101, A(1), {0}},
		{"mount", 165, A(1), {0}},
		{"newer", 470, A(1), {0}},
		{"x32", 0x40000000u, A(1), {0}},
		{"process_vm_writev", 311, OK, {0}},
		{"socketpair of packets", 53, OK, {1, 5, 0}},
		{"bpf", 321, A(1), {0}},
	};
	static struct cc_bpf program;
	struct cc_err err;

	(void)state;
	T_OK(cc_bpf_emit_init(CC_ARCH_X86_64, &program, &err), err);
	for (size_t i = 0; i < CC_COUNT(calls); i++) {
		struct vm_data data = {
			.nr = calls[i].nr, .arch = X86, .args = {calls[i].args[0], calls[i].args[1], calls[i].args[2]}};

		T_ROW(vm_run(&program, &data, NULL) == calls[i].want, calls[i].label);
	}
}

static void the_floor_grants_devices_only(void **state)
{
	struct cc_landlock floor;

	(void)state;
	cc_landlock_plan(7, &floor);
	assert_int_equal(floor.handled_fs, 0x3ff2);
	assert_int_equal(floor.scoped, 3);
	assert_int_equal(floor.attr_size, 24);
	for (size_t i = 0; i < floor.grant_count; i++) {
		T_ROW(strncmp(floor.grants[i].path, "/dev/", 5) == 0, floor.grants[i].path);
		T_ROW(floor.grants[i].access == 1u << 1, floor.grants[i].path);
	}
	cc_landlock_plan(1, &floor);
	assert_int_equal(floor.handled_fs, 0x1ff2);
	assert_int_equal(floor.scoped, 0);
	assert_int_equal(floor.attr_size, 8);
	assert_int_equal(floor.grants[0].access, 1u << 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_has_its_answer),
		cmocka_unit_test(judged_reads_are_notified),
		cmocka_unit_test(no_number_faults_and_the_walk_is_short),
		cmocka_unit_test(the_table_names_each_call_once),
		cmocka_unit_test(init_keeps_files_and_loses_exec),
		cmocka_unit_test(the_floor_grants_devices_only),
	};
	struct cc_bpf_options options = {.arch = CC_ARCH_X86_64, .reserved_first = 1, .reserved_last = 6};
	struct cc_err err;

	if (cc_bpf_emit(&options, &x86, &err) != CC_OK)
		return 1;
	options.reads_judged = true;
	if (cc_bpf_emit(&options, &judged, &err) != CC_OK)
		return 1;
	options = (struct cc_bpf_options){.arch = CC_ARCH_AARCH64, .reserved_first = 1, .reserved_last = 6};
	if (cc_bpf_emit(&options, &arm, &err) != CC_OK)
		return 1;
	return cmocka_run_group_tests_name("bpf", tests, NULL, NULL);
}
