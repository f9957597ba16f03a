#include "bpf_vm.h"

#include <string.h>

static int jump(uint16_t code, uint32_t a, uint32_t k, int *taken)
{
	switch (code & 0xf0) {
	case 0x10:
		*taken = a == k;
		return 1;
	case 0x20:
		*taken = a > k;
		return 1;
	case 0x30:
		*taken = a >= k;
		return 1;
	case 0x40:
		*taken = (a & k) != 0;
		return 1;
	default:
		return 0;
	}
}

uint32_t vm_run(const struct cc_bpf *program, const struct vm_data *data, unsigned *steps)
{
	uint32_t a = 0;
	unsigned count = 0;

	for (size_t pc = 0; pc < program->count; pc++) {
		const struct cc_bpf_insn *in = &program->insn[pc];
		int taken;

		count++;
		if (steps)
			*steps = count;
		if (in->code == 0x20) {
			if (in->k > sizeof(*data) - 4 || in->k % 4)
				return VM_FAULT;
			memcpy(&a, (const char *)data + in->k, 4);
		} else if (in->code == 0x06) {
			return in->k;
		} else if (in->code == 0x05) {
			pc += in->k;
		} else if (in->code == 0x54) {
			a &= in->k;
		} else if (in->code == 0x74) {
			a >>= in->k;
		} else if ((in->code & 0x0f) == 0x05 && jump(in->code, a, in->k, &taken)) {
			pc += taken ? in->jt : in->jf;
		} else {
			return VM_FAULT;
		}
	}
	return VM_FAULT; /* ran off the end */
}
