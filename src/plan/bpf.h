/* bpf.h - the seccomp program as plain data. Pure: the applier (gate/kernel) hands it to the kernel, the unit test
 * runs it on an interpreter of its own, --dry-run counts it.
 *
 * The program is a binary search over the numbers, so that each call costs about seven comparisons, and a number
 * whose answer depends on nothing else is answered by the kernel's own bitmap without running it at all. */
#ifndef CC_PLAN_BPF_H
#define CC_PLAN_BPF_H

#include "base/err.h"
#include "plan/syscalls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The layout of struct sock_filter. */
struct cc_bpf_insn {
	uint16_t code;
	uint8_t jt;
	uint8_t jf;
	uint32_t k;
};

enum { CC_BPF_MAX = 4096 }; /* the kernel's own limit */

struct cc_bpf {
	size_t count;
	struct cc_bpf_insn insn[CC_BPF_MAX];
};

struct cc_bpf_options {
	enum cc_arch arch;
	bool reads_judged; /* read-opens are notified too */
	/* PID 1, its threads and the zygote: no signal, scheduling or limit call may name them. 0 0 = none. */
	uint32_t reserved_first;
	uint32_t reserved_last;
};

/* seccomp's return values, as the UAPI has them */
#define CC_BPF_KILL     0x80000000u
#define CC_BPF_ERRNO(e) (0x00050000u | (uint32_t)(e))
#define CC_BPF_NOTIFY   0x7fc00000u
#define CC_BPF_ALLOW    0x7fff0000u

#define CC_AUDIT_X86_64  0xc000003eu
#define CC_AUDIT_AARCH64 0xc00000b7u

CC_MUST enum cc_code cc_bpf_emit(const struct cc_bpf_options *options, struct cc_bpf *out, struct cc_err *err);

/* The allow-list of PID 1 itself after start (attacks 13): whatever the gate does not need is EPERM. */
CC_MUST enum cc_code cc_bpf_emit_init(enum cc_arch arch, struct cc_bpf *out, struct cc_err *err);

#endif
