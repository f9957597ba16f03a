/* syscalls.h - what the filter does with each system call, as data: name, number on each architecture, and the form
 * of the answer. Numbers are literals, because the headers of the build host may be older than the kernel it runs on.
 *
 * A call that stands in no row is allowed up to CC_SYSCALL_LAST, the last number somebody has read and thought about;
 * anything newer does not exist (ENOSYS), nor does a number that an architecture has left free. Pure data; spec/names 4
 * and attacks E are its source. */
#ifndef CC_PLAN_SYSCALLS_H
#define CC_PLAN_SYSCALLS_H

#include <stddef.h>
#include <stdint.h>

enum cc_arch { CC_ARCH_X86_64 = 0, CC_ARCH_AARCH64, CC_ARCH_COUNT };

enum { CC_SYSCALL_LAST = 469 }; /* file_setattr; both architectures number alike from 424 on */

/* Linux's own numbers: the planner also runs where errno.h has others. */
enum { CC_LINUX_EPERM = 1, CC_LINUX_ENOSYS = 38, CC_LINUX_EAFNOSUPPORT = 97 };

enum cc_sys_form {
	CC_SYS_ERRNO = 0, /* arg: the errno */
	CC_SYS_ALLOW,
	CC_SYS_NOTIFY,
	CC_SYS_OPEN,        /* arg: index of the flags; path descriptors pass, writing is notified, reading if asked */
	CC_SYS_MASK,        /* arg: index; EPERM when any bit of value is set in it */
	CC_SYS_SOCKET,      /* the family table */
	CC_SYS_SOCKETPAIR,  /* AF_UNIX stream and seqpacket */
	CC_SYS_IOCTL,       /* the request table */
	CC_SYS_FCNTL,       /* leases, directory notification and F_SETOWN_EX refused; F_SETOWN: no pid of ours */
	CC_SYS_PERSONALITY, /* query, plain, no randomisation */
	CC_SYS_PRLIMIT,     /* another process' limits refused; core limit swallowed */
	CC_SYS_RLIMIT,      /* core limit swallowed */
	CC_SYS_RESERVED,    /* arg: index of a pid that must not be ours */
	CC_SYS_RESERVED2,   /* arg and arg + 1 */
	CC_SYS_WHO,         /* arg 0 == arg ("of a user") refused; arg 1 a pid that must not be ours */
	CC_SYS_FORM_COUNT,
};

struct cc_syscall {
	const char *name;
	int16_t nr[CC_ARCH_COUNT]; /* -1: the architecture has no such call */
	enum cc_sys_form form;
	uint32_t arg;
	uint32_t value;
};

extern const struct cc_syscall cc_syscalls[];
extern const size_t cc_syscall_count;

/* Numbers below the last that no call has on this architecture: whoever gets one of them later is newer than we know.
 */
struct cc_syscall_gap {
	enum cc_arch arch;
	int16_t first, last;
};

extern const struct cc_syscall_gap cc_syscall_gaps[];
extern const size_t cc_syscall_gap_count;

/* What PID 1 may call itself once it runs. */
extern const struct cc_syscall cc_init_calls[];
extern const size_t cc_init_call_count;

/* The ioctl table: refused whatever the descriptor. */
extern const uint32_t cc_ioctl_refused[];
extern const size_t cc_ioctl_refused_count;
extern const uint32_t cc_ioctl_cloning[]; /* of type 0x94, yet allowed: they clone data, not names */
extern const size_t cc_ioctl_cloning_count;
extern const uint32_t cc_ioctl_types[]; /* whole types refused */
extern const size_t cc_ioctl_type_count;

#endif
