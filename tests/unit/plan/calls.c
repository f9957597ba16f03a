/* A second opinion on the filter. calls.def says, apart from the planner's table, what each system call is; the
 * kernel's headers of the build machine (calls.sh) say which there are and what their numbers are. The emitted program
 * is then run over every number of every ABI with the arguments that could matter, and has to answer as the class
 * demands. */
#define _GNU_SOURCE
#include "../t.h"

#include "bpf_vm.h"
#include "calls_want.h"

enum { NUMBERS = 601, X32 = 0x40000000 };
enum { AUDIT_I386 = 0x40000003, AUDIT_ARM = 0x40000028 };
enum abi { ABI_BOTH, ABI_X86_64, ABI_AARCH64, ABI_X32, ABI_I386 };

static const struct {
	enum abi abi;
	const char *name;
	int nr;
} headers[] = {
#define HEADER_CALL(abi, name, nr) {ABI_##abi, #name, nr},
#include "plan/calls_headers.h"
};

static const struct call {
	enum call_class is;
	const char *name;
	int nr; /* -1: the headers know it */
	enum abi abi;
} calls[] = {
#define CALL(class, name)         {CALL_##class, #name, -1, ABI_BOTH},
#define NEW(class, name, nr, abi) {CALL_##class, #name, nr, ABI_##abi},
#include "calls.def"
};

static const struct arch {
	const char *name;
	enum abi abi;
	enum cc_arch arch;
	uint32_t audit;
} arches[] = {{"x86-64", ABI_X86_64, CC_ARCH_X86_64, CC_AUDIT_X86_64},
	      {"aarch64", ABI_AARCH64, CC_ARCH_AARCH64, CC_AUDIT_AARCH64}};

static struct cc_bpf plain[2], judged[2], own[2];
static const struct call *by_nr[2][NUMBERS];

static const struct call *find(const char *name)
{
	for (size_t i = 0; i < CC_COUNT(calls); i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	return NULL;
}

/* The number of a call, or -1 where the architecture has none. */
static int number(size_t at, const char *name)
{
	const struct call *call = find(name);

	for (size_t i = 0; i < CC_COUNT(headers); i++)
		if (headers[i].abi == arches[at].abi && strcmp(headers[i].name, name) == 0)
			return headers[i].nr;
	return call && (call->abi == ABI_BOTH || call->abi == arches[at].abi) ? call->nr : -1;
}

static enum answer answer(const struct cc_bpf *program, uint32_t audit, uint32_t nr, const uint64_t *args)
{
	struct vm_data data = {.nr = nr, .arch = audit};
	uint32_t action;

	if (args)
		memcpy(data.args, args, sizeof(data.args));
	action = vm_run(program, &data, NULL);
	switch (action) {
	case CC_BPF_ALLOW:
		return ALLOWED;
	case CC_BPF_NOTIFY:
		return GATED;
	case CC_BPF_KILL:
		return KILLED;
	case CC_BPF_ERRNO(0):
		return SWALLOWED;
	case CC_BPF_ERRNO(CC_LINUX_EPERM):
	case CC_BPF_ERRNO(CC_LINUX_ENOSYS):
	case CC_BPF_ERRNO(CC_LINUX_EAFNOSUPPORT):
		return DENIED;
	default:
		return FAULTY;
	}
}

static void each_call_of_the_headers_is_classified(void **state)
{
	size_t seen[5] = {0};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(headers); i++) {
		seen[headers[i].abi]++;
		/* i386 and x32 are refused whole: their numbers are run, their names need no class. */
		if (headers[i].abi != ABI_X86_64 && headers[i].abi != ABI_AARCH64)
			continue;
		T_ROW(find(headers[i].name), headers[i].name);
		T_ROW(headers[i].nr < NUMBERS, headers[i].name);
	}
	assert_true(seen[ABI_X86_64] > 300 && seen[ABI_AARCH64] > 250);
	assert_true(seen[ABI_X32] > 300 && seen[ABI_I386] > 400);
	for (size_t i = 0; i < CC_COUNT(calls); i++)
		T_ROW(find(calls[i].name) == &calls[i], calls[i].name);
	for (size_t i = 0; i < CC_COUNT(calls); i++) /* what the headers came to know has the number written down */
		for (size_t k = 0; calls[i].nr >= 0 && k < CC_COUNT(headers); k++)
			if (headers[k].abi == ABI_X86_64 && strcmp(headers[k].name, calls[i].name) == 0)
				T_ROW(headers[k].nr == calls[i].nr, calls[i].name);
}

static void the_planner_has_the_numbers_of_the_headers(void **state)
{
	const struct {
		const struct cc_syscall *rows;
		size_t count;
	} tables[] = {{cc_syscalls, cc_syscall_count}, {cc_init_calls, cc_init_call_count}};

	(void)state;
	for (size_t t = 0; t < CC_COUNT(tables); t++)
		for (size_t i = 0; i < tables[t].count; i++)
			for (size_t at = 0; at < CC_COUNT(arches); at++)
				T_ROW(tables[t].rows[i].nr[arches[at].arch] == number(at, tables[t].rows[i].name),
				      tables[t].rows[i].name);
}

/* Every value of the first three arguments with every other, then each alone in each of the six. */
static void answers(size_t at, uint32_t nr, enum answer want, const char *name)
{
	for (size_t i = 0; i < call_small_count; i++)
		for (size_t j = 0; j < call_small_count; j++)
			for (size_t k = 0; k < call_small_count; k++) {
				uint64_t args[6] = {call_small[i], call_small[j], call_small[k]};

				T_ROW(answer(&plain[at], arches[at].audit, nr, args) == want, name);
			}
	for (size_t arg = 0; arg < 6; arg++)
		for (size_t i = 0; i < call_value_count; i++) {
			uint64_t args[6] = {0};

			args[arg] = call_values[i];
			T_ROW(answer(&plain[at], arches[at].audit, nr, args) == want, name);
			T_ROW(answer(&judged[at], arches[at].audit, nr, args) == want, name);
		}
}

static void argued(size_t at, uint32_t nr, const char *name)
{
	call_want *want = call_want_of(name);

	T_ROW(want, name);
	for (size_t i = 0; i < call_value_count; i++)
		for (size_t j = 0; j < call_value_count; j++)
			for (size_t k = 0; k < call_small_count; k++) {
				uint64_t args[6] = {call_values[i], call_values[j], call_small[k]};

				if (answer(&plain[at], arches[at].audit, nr, args) != want(args))
					fail_msg("%s %s(%#llx, %#llx, %#llx)", arches[at].name, name,
						 (unsigned long long)args[0], (unsigned long long)args[1],
						 (unsigned long long)args[2]);
			}
}

static void each_number_is_answered_as_its_class_demands(void **state)
{
	size_t count[CALL_CLASSES] = {0};

	(void)state;
	for (size_t at = 0; at < CC_COUNT(arches); at++)
		for (uint32_t nr = 0; nr < NUMBERS; nr++) {
			const struct call *call = by_nr[at][nr];

			/* A number that nobody has thought about does not exist, in a gap or past the end. */
			if (!call) {
				answers(at, nr, DENIED, "a number without a call");
				continue;
			}
			count[call->is]++;
			if (call->is == CALL_ARGUED)
				argued(at, nr, call->name);
			else if (call->is != CALL_ARGUED_NAME)
				answers(at, nr, call_answer[call->is], call->name);
		}
	for (size_t i = 0; i < CC_COUNT(count); i++)
		assert_int_not_equal(count[i], 0);
}

/* The heart of it, said once more without the classes' help: whatever the registers hold, a call that changes something
 * by name is never simply let through, but for an open whose flags ask for reading or for a bare path. */
static void no_call_that_writes_by_name_is_allowed(void **state)
{
	unsigned opens = 0;

	(void)state;
	for (size_t at = 0; at < CC_COUNT(arches); at++)
		for (uint32_t nr = 0; nr < NUMBERS; nr++) {
			const struct call *call = by_nr[at][nr];

			if (!call || call->is != CALL_ARGUED_NAME)
				continue;
			opens++;
			for (uint32_t set = 0; set < 1u << CALL_OPEN_BITS; set++) {
				uint64_t flags = call_open_flags(set);
				uint64_t args[6] = {7, strcmp(call->name, "open") == 0 ? flags : 7, flags};
				bool bare = flags & CALL_O_PATH, writes = call_open_writes(flags);
				enum answer got = answer(&plain[at], arches[at].audit, nr, args);
				enum answer read = answer(&judged[at], arches[at].audit, nr, args);

				T_ROW(got == (!bare && writes ? GATED : ALLOWED), call->name);
				T_ROW(read == (bare ? ALLOWED : GATED), call->name);
				args[1] ^= 1ull << 40; /* the high half is not looked at by the kernel either */
				args[2] ^= 1ull << 40;
				T_ROW(answer(&plain[at], arches[at].audit, nr, args) == got, call->name);
			}
		}
	assert_int_equal(opens, 3);
}

static void another_abi_is_no_way_in(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(headers); i++) {
		uint32_t nr = (uint32_t)headers[i].nr;

		if (headers[i].abi == ABI_I386)
			T_ROW(answer(&plain[0], AUDIT_I386, nr, NULL) == KILLED, headers[i].name);
		if (headers[i].abi == ABI_X32)
			T_ROW(answer(&plain[0], CC_AUDIT_X86_64, nr | X32, NULL) == DENIED, headers[i].name);
	}
	for (uint32_t nr = 0; nr < NUMBERS; nr++) {
		assert_int_equal(answer(&plain[0], AUDIT_I386, nr, NULL), KILLED);
		assert_int_equal(answer(&plain[0], AUDIT_I386, nr | X32, NULL), KILLED);
		assert_int_equal(answer(&plain[0], CC_AUDIT_AARCH64, nr, NULL), KILLED);
		assert_int_equal(answer(&plain[0], CC_AUDIT_X86_64, nr | X32, NULL), DENIED);
		assert_int_equal(answer(&plain[0], CC_AUDIT_X86_64, nr | 0x80000000u, NULL), DENIED);
		assert_int_equal(answer(&plain[1], AUDIT_ARM, nr, NULL), KILLED);
		assert_int_equal(answer(&plain[1], CC_AUDIT_X86_64, nr, NULL), KILLED);
		assert_int_equal(answer(&plain[1], CC_AUDIT_AARCH64, nr | X32, NULL), DENIED);
	}
	for (uint32_t nr = CC_SYSCALL_LAST + 1; nr < 1u << 16; nr++)
		for (size_t at = 0; at < CC_COUNT(arches); at++)
			assert_int_equal(answer(&plain[at], arches[at].audit, nr, NULL), DENIED);
}

/* PID 1's own list: nothing that makes a process or a socket, reaches the kernel, or is unknown. */
static void init_is_allowed_no_power(void **state)
{
	static const char *const powers[] = {"execve", "execveat",   "fork",   "vfork",      "clone",   "clone3",
					     "socket", "socketpair", "ptrace", "unshare",    "seccomp", "memfd_secret",
					     "setuid", "setgid",     "capset", "personality"};

	(void)state;
	for (size_t at = 0; at < CC_COUNT(arches); at++)
		for (uint32_t nr = 0; nr < NUMBERS; nr++) {
			const struct call *call = by_nr[at][nr];
			enum answer got = answer(&own[at], arches[at].audit, nr, NULL);
			bool power = !call || call->is == CALL_REFUSED || call->is == CALL_REFUSED_FD ||
				     call->is == CALL_GONE;

			for (size_t i = 0; call && i < CC_COUNT(powers); i++)
				power = power || strcmp(powers[i], call->name) == 0;
			T_ROW(got == ALLOWED || got == DENIED, call ? call->name : "a number without a call");
			T_ROW(!power || got == DENIED, call ? call->name : "a number without a call");
		}
}

static enum cc_code emit(void)
{
	struct cc_err err;
	enum cc_code code = CC_OK;

	for (size_t at = 0; at < CC_COUNT(arches); at++) {
		struct cc_bpf_options options = {.arch = arches[at].arch,
						 .reserved_first = CALL_RESERVED_FIRST,
						 .reserved_last = CALL_RESERVED_LAST};

		if (code == CC_OK)
			code = cc_bpf_emit(&options, &plain[at], &err);
		options.reads_judged = true;
		if (code == CC_OK)
			code = cc_bpf_emit(&options, &judged[at], &err);
		if (code == CC_OK)
			code = cc_bpf_emit_init(arches[at].arch, &own[at], &err);
		for (size_t i = 0; i < CC_COUNT(calls); i++) {
			int nr = number(at, calls[i].name);

			if (nr >= 0 && nr < NUMBERS)
				by_nr[at][nr] = &calls[i];
		}
	}
	return code;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_of_the_headers_is_classified),
		cmocka_unit_test(the_planner_has_the_numbers_of_the_headers),
		cmocka_unit_test(each_number_is_answered_as_its_class_demands),
		cmocka_unit_test(no_call_that_writes_by_name_is_allowed),
		cmocka_unit_test(another_abi_is_no_way_in),
		cmocka_unit_test(init_is_allowed_no_power),
	};

	if (emit() != CC_OK)
		return 1;
	return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
