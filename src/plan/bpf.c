#include "plan/bpf.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Instruction codes of classic BPF, those used here. */
enum {
	LOAD = 0x20, /* A = word at absolute offset k */
	JUMP = 0x05,
	JEQ = 0x15,
	JGT = 0x25,
	JGE = 0x35,
	JSET = 0x45,
	RSH = 0x74,
	AND = 0x54,
	RET = 0x06,
};

enum { AT_NR = 0, AT_ARCH = 4, AT_ARGS = 16, NR_LIMIT = CC_SYSCALL_LAST + 1 };

/* open(2)'s flag register. The bare O_TMPFILE bit: glibc's macro holds O_DIRECTORY too, and using it would notify
 * every opendir. O_DIRECTORY and O_NOFOLLOW swap places between architectures; none of these bits does. */
#define FLAG_PATH  010000000u
#define FLAG_WRITE (03u | 0100u | 01000u | 020000000u)

struct emitter {
	const struct cc_bpf_options *options;
	struct cc_bpf *out;
	bool full;
};

static void put(struct emitter *em, unsigned code, uint32_t k, unsigned jt, unsigned jf)
{
	if (em->out->count == CC_BPF_MAX) {
		em->full = true;
		return;
	}
	em->out->insn[em->out->count++] = (struct cc_bpf_insn){(uint16_t)code, (uint8_t)jt, (uint8_t)jf, k};
}

static void ret(struct emitter *em, uint32_t action)
{
	put(em, RET, action, 0, 0);
}

static void load_arg(struct emitter *em, unsigned index)
{
	put(em, LOAD, AT_ARGS + 8 * index, 0, 0);
}

static void ret_if(struct emitter *em, unsigned test, uint32_t k, uint32_t action)
{
	put(em, test, k, 0, 1);
	ret(em, action);
}

/* Goes on when A == k, else jumps to where end_unless is called. */
static size_t unless_eq(struct emitter *em, uint32_t k)
{
	put(em, JEQ, k, 0, 0);
	return em->out->count - 1;
}

static void end_unless(struct emitter *em, size_t at)
{
	em->out->insn[at].jf = (uint8_t)(em->out->count - at - 1);
}

static void ret_if_reserved(struct emitter *em, unsigned index)
{
	uint32_t first = em->options->reserved_first, last = em->options->reserved_last;

	if (!last)
		return;
	load_arg(em, index);
	put(em, JGE, first, 0, 2);
	put(em, JGT, last, 1, 0);
	ret(em, CC_BPF_ERRNO(CC_LINUX_EPERM));
	/* The same as process groups, and -1 ("everything") with them: attacks 13. */
	put(em, JGE, 0u - last, 0, 2);
	put(em, JGT, 0u - first, 1, 0);
	ret(em, CC_BPF_ERRNO(CC_LINUX_EPERM));
}

static void form_errno(struct emitter *em, const struct cc_syscall *row)
{
	ret(em, CC_BPF_ERRNO(row->arg));
}

static void form_allow(struct emitter *em, const struct cc_syscall *row)
{
	(void)row;
	ret(em, CC_BPF_ALLOW);
}

static void form_notify(struct emitter *em, const struct cc_syscall *row)
{
	(void)row;
	ret(em, CC_BPF_NOTIFY);
}

static void form_open(struct emitter *em, const struct cc_syscall *row)
{
	load_arg(em, row->arg);
	ret_if(em, JSET, FLAG_PATH, CC_BPF_ALLOW);
	ret_if(em, JSET, FLAG_WRITE, CC_BPF_NOTIFY);
	ret(em, em->options->reads_judged ? CC_BPF_NOTIFY : CC_BPF_ALLOW);
}

static void form_mask(struct emitter *em, const struct cc_syscall *row)
{
	load_arg(em, row->arg);
	ret_if(em, JSET, row->value, CC_BPF_ERRNO(CC_LINUX_EPERM));
	ret(em, CC_BPF_ALLOW);
}

static void local_types(struct emitter *em)
{
	load_arg(em, 1);
	put(em, AND, 0xf, 0, 0);
	ret_if(em, JEQ, 1, CC_BPF_ALLOW); /* SOCK_STREAM */
	ret_if(em, JEQ, 5, CC_BPF_ALLOW); /* SOCK_SEQPACKET */
	ret(em, CC_BPF_ERRNO(CC_LINUX_EAFNOSUPPORT));
}

static void form_socketpair(struct emitter *em, const struct cc_syscall *row)
{
	size_t local;

	(void)row;
	load_arg(em, 0);
	local = unless_eq(em, 1);
	load_arg(em, 1);
	put(em, AND, 0xf, 0, 0);
	ret_if(em, JEQ, 2, CC_BPF_NOTIFY); /* SOCK_DGRAM: the gate gives a pair that cannot be addressed */
	local_types(em);
	end_unless(em, local);
	ret(em, CC_BPF_ERRNO(CC_LINUX_EAFNOSUPPORT));
}

static void inet_type(struct emitter *em, uint32_t type, uint32_t protocol)
{
	size_t other;

	load_arg(em, 1);
	put(em, AND, 0xf, 0, 0);
	other = unless_eq(em, type);
	load_arg(em, 2);
	ret_if(em, JEQ, 0, CC_BPF_ALLOW);
	ret_if(em, JEQ, protocol, CC_BPF_ALLOW);
	end_unless(em, other);
}

/* AF_UNIX without datagrams: one end of a datagram pair can be sent to any path (attacks 3). vsock, alg, packet and
 * the rest are not namespaced or not needed (attacks 8). */
static void form_socket(struct emitter *em, const struct cc_syscall *row)
{
	size_t local, netlink, inet;

	(void)row;
	load_arg(em, 0);
	local = unless_eq(em, 1);
	local_types(em);
	end_unless(em, local);
	netlink = unless_eq(em, 16);
	load_arg(em, 2);
	ret_if(em, JEQ, 0, CC_BPF_ALLOW); /* NETLINK_ROUTE */
	ret(em, CC_BPF_ERRNO(CC_LINUX_EAFNOSUPPORT));
	end_unless(em, netlink);
	put(em, JEQ, 2, 1, 0);
	inet = unless_eq(em, 10);
	inet_type(em, 1, 6);
	inet_type(em, 2, 17);
	end_unless(em, inet);
	ret(em, CC_BPF_ERRNO(CC_LINUX_EAFNOSUPPORT));
}

static void form_ioctl(struct emitter *em, const struct cc_syscall *row)
{
	(void)row;
	load_arg(em, 1);
	for (size_t i = 0; i < cc_ioctl_refused_count; i++)
		ret_if(em, JEQ, cc_ioctl_refused[i], CC_BPF_ERRNO(CC_LINUX_EPERM));
	for (size_t i = 0; i < cc_ioctl_cloning_count; i++)
		ret_if(em, JEQ, cc_ioctl_cloning[i], CC_BPF_ALLOW);
	put(em, RSH, 8, 0, 0);
	put(em, AND, 0xff, 0, 0);
	for (size_t i = 0; i < cc_ioctl_type_count; i++)
		ret_if(em, JEQ, cc_ioctl_types[i], CC_BPF_ERRNO(CC_LINUX_EPERM));
	ret(em, CC_BPF_ALLOW);
}

static void form_fcntl(struct emitter *em, const struct cc_syscall *row)
{
	(void)row;
	load_arg(em, 1);
	ret_if(em, JEQ, 1024, CC_BPF_ERRNO(CC_LINUX_EPERM)); /* F_SETLEASE */
	ret_if(em, JEQ, 1026, CC_BPF_ERRNO(CC_LINUX_EPERM)); /* F_NOTIFY */
	/* Who owns a descriptor gets its signal, and F_SETSIG makes that SIGKILL: F_SETOWN by number, F_SETOWN_EX by a
	 * structure that cannot be looked into. */
	ret_if(em, JEQ, 15, CC_BPF_ERRNO(CC_LINUX_EPERM));
	put(em, JEQ, 8, 1, 0);
	ret(em, CC_BPF_ALLOW);
	ret_if_reserved(em, 2);
	ret(em, CC_BPF_ALLOW);
}

static void form_personality(struct emitter *em, const struct cc_syscall *row)
{
	(void)row;
	load_arg(em, 0);
	ret_if(em, JEQ, 0xffffffffu, CC_BPF_ALLOW);
	ret_if(em, JEQ, 0, CC_BPF_ALLOW);
	ret_if(em, JEQ, 0x40000, CC_BPF_ALLOW); /* ADDR_NO_RANDOMIZE */
	ret(em, CC_BPF_ERRNO(CC_LINUX_EPERM));
}

static void ret_by_core_limit(struct emitter *em, unsigned index)
{
	load_arg(em, index);
	ret_if(em, JEQ, 4, CC_BPF_ERRNO(0)); /* RLIMIT_CORE: said yes, done nothing (attacks 18) */
	ret(em, CC_BPF_ALLOW);
}

static void form_prlimit(struct emitter *em, const struct cc_syscall *row)
{
	(void)row;
	load_arg(em, 2); /* the new limit: both halves of the pointer */
	put(em, JEQ, 0, 0, 3);
	put(em, LOAD, AT_ARGS + 8 * 2 + 4, 0, 0);
	ret_if(em, JEQ, 0, CC_BPF_ALLOW);
	load_arg(em, 0);
	put(em, JEQ, 0, 1, 0);
	ret(em, CC_BPF_ERRNO(CC_LINUX_EPERM));
	ret_by_core_limit(em, 1);
}

static void form_rlimit(struct emitter *em, const struct cc_syscall *row)
{
	(void)row;
	ret_by_core_limit(em, 0);
}

static void form_reserved(struct emitter *em, const struct cc_syscall *row)
{
	ret_if_reserved(em, row->arg);
	ret(em, CC_BPF_ALLOW);
}

static void form_reserved2(struct emitter *em, const struct cc_syscall *row)
{
	ret_if_reserved(em, row->arg);
	ret_if_reserved(em, row->arg + 1);
	ret(em, CC_BPF_ALLOW);
}

static void form_who(struct emitter *em, const struct cc_syscall *row)
{
	load_arg(em, 0);
	ret_if(em, JEQ, row->arg, CC_BPF_ERRNO(CC_LINUX_EPERM)); /* "of a user" covers PID 1 */
	ret_if_reserved(em, 1);
	ret(em, CC_BPF_ALLOW);
}

typedef void form_fn(struct emitter *em, const struct cc_syscall *row);
static form_fn *const forms[CC_SYS_FORM_COUNT] = {
	[CC_SYS_ERRNO] = form_errno,
	[CC_SYS_ALLOW] = form_allow,
	[CC_SYS_NOTIFY] = form_notify,
	[CC_SYS_OPEN] = form_open,
	[CC_SYS_MASK] = form_mask,
	[CC_SYS_SOCKET] = form_socket,
	[CC_SYS_SOCKETPAIR] = form_socketpair,
	[CC_SYS_IOCTL] = form_ioctl,
	[CC_SYS_FCNTL] = form_fcntl,
	[CC_SYS_PERSONALITY] = form_personality,
	[CC_SYS_PRLIMIT] = form_prlimit,
	[CC_SYS_RLIMIT] = form_rlimit,
	[CC_SYS_RESERVED] = form_reserved,
	[CC_SYS_RESERVED2] = form_reserved2,
	[CC_SYS_WHO] = form_who,
};

/* A stretch of numbers with one answer. */
struct stretch {
	uint32_t start;
	struct cc_syscall row;
};

struct layout {
	size_t count;
	struct stretch stretch[NR_LIMIT]; /* each number begins one at most */
};

static bool same_answer(const struct cc_syscall *left, const struct cc_syscall *right)
{
	return left->form == right->form && left->arg == right->arg && left->value == right->value;
}

/* What the table says of this architecture's numbers; rest for those it does not name. */
static void lay_out(enum cc_arch arch, struct cc_syscall rest, const struct cc_syscall *table, size_t count,
		    struct layout *layout)
{
	struct cc_syscall by_nr[NR_LIMIT];

	for (size_t i = 0; i < CC_COUNT(by_nr); i++)
		by_nr[i] = rest;
	for (size_t i = 0; i < cc_syscall_gap_count; i++)
		for (int nr = cc_syscall_gaps[i].first;
		     cc_syscall_gaps[i].arch == arch && nr <= cc_syscall_gaps[i].last; nr++)
			by_nr[nr] = (struct cc_syscall){.form = CC_SYS_ERRNO, .arg = CC_LINUX_ENOSYS};
	for (size_t i = 0; i < count; i++) {
		int nr = table[i].nr[arch];

		if (nr >= 0 && nr < NR_LIMIT)
			by_nr[nr] = table[i];
	}
	for (uint32_t nr = 0; nr < NR_LIMIT; nr++) {
		if (layout->count && same_answer(&layout->stretch[layout->count - 1].row, &by_nr[nr]))
			continue;
		layout->stretch[layout->count++] = (struct stretch){nr, by_nr[nr]};
	}
}

/* stretches [low, high): a comparison in the middle, the lower half, the upper half. */
static void emit_tree(struct emitter *em, const struct layout *layout, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2, at, length;

	if (high - low == 1) {
		const struct cc_syscall *row = &layout->stretch[low].row;

		forms[row->form](em, row);
		return;
	}
	/* A conditional jump reaches 255 instructions; a plain one, any. */
	put(em, JGE, layout->stretch[middle].start, 0, 1);
	at = em->out->count;
	put(em, JUMP, 0, 0, 0);
	emit_tree(em, layout, low, middle);
	length = em->out->count - at - 1;
	if (!em->full)
		em->out->insn[at].k = (uint32_t)length;
	emit_tree(em, layout, middle, high);
}

static enum cc_code emit(struct emitter *em, struct cc_syscall rest, const struct cc_syscall *table, size_t count,
			 uint32_t beyond, struct cc_err *err)
{
	enum cc_arch arch = em->options->arch;
	struct layout *layout;

	if ((unsigned)arch >= CC_ARCH_COUNT)
		return cc_fail(err, CC_EINVAL, 0, "no filter for this architecture");
	layout = calloc(1, sizeof(*layout));
	if (!layout)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	lay_out(arch, rest, table, count, layout);
	em->out->count = 0;
	put(em, LOAD, AT_ARCH, 0, 0);
	put(em, JEQ, arch == CC_ARCH_X86_64 ? CC_AUDIT_X86_64 : CC_AUDIT_AARCH64, 1, 0);
	ret(em, CC_BPF_KILL); /* another ABI has other numbers */
	put(em, LOAD, AT_NR, 0, 0);
	/* Newer than we know, x32, or negative. */
	ret_if(em, JGT, CC_SYSCALL_LAST, beyond);
	emit_tree(em, layout, 0, layout->count);
	free(layout);
	if (em->full)
		return cc_fail(err, CC_ELIMIT, 0, "the filter is longer than %d instructions", CC_BPF_MAX);
	return CC_OK;
}

enum cc_code cc_bpf_emit(const struct cc_bpf_options *options, struct cc_bpf *out, struct cc_err *err)
{
	const struct cc_syscall rest = {.form = CC_SYS_ALLOW};
	struct emitter em = {.options = options, .out = out};

	return emit(&em, rest, cc_syscalls, cc_syscall_count, CC_BPF_ERRNO(CC_LINUX_ENOSYS), err);
}

enum cc_code cc_bpf_emit_init(enum cc_arch arch, struct cc_bpf *out, struct cc_err *err)
{
	const struct cc_syscall rest = {.form = CC_SYS_ERRNO, .arg = CC_LINUX_EPERM};
	struct cc_bpf_options options = {.arch = arch};
	struct emitter em = {.options = &options, .out = out};

	return emit(&em, rest, cc_init_calls, cc_init_call_count, CC_BPF_ERRNO(CC_LINUX_EPERM), err);
}
