/* bpf_vm.h - a small interpreter of classic BPF over struct seccomp_data, written from the instruction set's
 * definition and sharing nothing with the emitter. A jump outside the program or an unknown instruction is a fault. */
#ifndef CC_TESTS_BPF_VM_H
#define CC_TESTS_BPF_VM_H

#include "plan/bpf.h"

struct vm_data {
	uint32_t nr;
	uint32_t arch;
	uint64_t ip;
	uint64_t args[6];
};

enum { VM_FAULT = 1 }; /* no seccomp action has this value */

/* steps (may be NULL) counts instructions. */
uint32_t vm_run(const struct cc_bpf *program, const struct vm_data *data, unsigned *steps);

#endif
