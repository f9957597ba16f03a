#define _GNU_SOURCE
#include "calls_want.h"

#include "base/mem.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/netlink.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

const enum answer call_answer[CALL_CLASSES] = {
	[CALL_TRAPPED] = GATED,     [CALL_TRAPPED_FD] = GATED, [CALL_REFUSED] = DENIED,
	[CALL_REFUSED_FD] = DENIED, [CALL_READS] = ALLOWED,    [CALL_FD] = ALLOWED,
	[CALL_SELF] = ALLOWED,      [CALL_INSIDE] = ALLOWED,   [CALL_GONE] = ALLOWED,
};

#define BIT(n)   (1ull << (n))
#define MINUS(n) (0x100000000ull - (n))
#define HIGH     BIT(32)

const uint64_t call_small[] = {0, 1, 2, 3, 5, 6, 7, 15, 17, 1024, ~0ull, HIGH, BIT(31), 0x7fffffff};
const size_t call_small_count = CC_COUNT(call_small);

/* the requests of ioctl that say "descriptor", "name", "somebody else's terminal", and harmless neighbours of theirs */
#define REQUESTS_NO                                                                                                    \
	TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, FIOSETOWN, SIOCSPGRP, FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS,              \
		FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, FS_IOC32_SETVERSION, FS_IOC_ENABLE_VERITY,                       \
		FS_IOC_SET_ENCRYPTION_POLICY, FS_IOC_ADD_ENCRYPTION_KEY, FS_IOC_REMOVE_ENCRYPTION_KEY,                 \
		FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS, FIFREEZE, FITHAW, FITRIM, BTRFS_IOC_SNAP_CREATE,               \
		BTRFS_IOC_SNAP_CREATE_V2, BTRFS_IOC_SUBVOL_CREATE, BTRFS_IOC_SUBVOL_CREATE_V2, BTRFS_IOC_SNAP_DESTROY, \
		BTRFS_IOC_SNAP_DESTROY_V2, BTRFS_IOC_SUBVOL_SETFLAGS, BTRFS_IOC_SET_RECEIVED_SUBVOL
#define REQUESTS_YES                                                                                                   \
	TIOCGWINSZ, TIOCSWINSZ, TCGETS, TCSETS, TIOCGPTN, TIOCSCTTY, FIONREAD, FIOCLEX, FS_IOC_GETFLAGS,               \
		FS_IOC_FSGETXATTR, FS_IOC_GETVERSION, FICLONE, FICLONERANGE, FIDEDUPERANGE

const uint64_t call_values[] = {0,
				1,
				2,
				3,
				4,
				5,
				6,
				7,
				8,
				9,
				10,
				11,
				12,
				14,
				15,
				16,
				17,
				30,
				31,
				36,
				38,
				40,
				45,
				77,
				132,
				136,
				262,
				1024,
				1025,
				1026,
				1030,
				1033,
				BIT(5),
				BIT(7),
				BIT(8),
				BIT(9),
				BIT(11),
				BIT(13),
				BIT(14),
				BIT(17),
				BIT(18),
				BIT(20),
				BIT(22),
				BIT(25),
				BIT(26),
				BIT(27),
				BIT(28),
				BIT(29),
				BIT(30),
				BIT(31),
				BIT(33),
				BIT(48),
				BIT(63),
				~0ull,
				MINUS(1),
				MINUS(2),
				MINUS(6),
				MINUS(7),
				MINUS(8),
				0x7fffffff,
				SOCK_STREAM | SOCK_CLOEXEC,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				SOCK_DGRAM | SOCK_CLOEXEC,
				SOCK_SEQPACKET | SOCK_NONBLOCK,
				HIGH | TIOCSTI,
				HIGH | 1,
				HIGH | FICLONE,
				HIGH | 5 << 8 | 0x94,
				0xbc00,
				0xbc01,
				0xf501,
				0x9400,
				REQUESTS_NO,
				REQUESTS_YES};
const size_t call_value_count = CC_COUNT(call_values);

static enum answer allow_if(bool good)
{
	return good ? ALLOWED : DENIED;
}

static bool reserved(uint64_t arg)
{
	int32_t pid = (int32_t)arg; /* a process, a group, or everybody */

	return (pid >= CALL_RESERVED_FIRST && pid <= CALL_RESERVED_LAST) ||
	       (pid <= -CALL_RESERVED_FIRST && pid >= -CALL_RESERVED_LAST);
}

static enum answer want_clone(const uint64_t *a)
{
	const uint64_t new = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
			     CLONE_NEWPID | CLONE_NEWNET;

	return allow_if(!(a[0] & new));
}

static enum answer want_unshare(const uint64_t *a)
{
	return a[0] & 0x80 /* CLONE_NEWTIME */ ? DENIED : want_clone(a);
}

static enum answer want_local(const uint64_t *a)
{
	int type = (int)a[1] & 0xf;

	return allow_if((int)a[0] == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET));
}

/* a datagram pair is one that the gate makes */
static enum answer want_socketpair(const uint64_t *a)
{
	return (int)a[0] == AF_UNIX && ((int)a[1] & 0xf) == SOCK_DGRAM ? GATED : want_local(a);
}

static enum answer want_socket(const uint64_t *a)
{
	int family = (int)a[0], type = (int)a[1] & 0xf, protocol = (int)a[2];

	if (family == AF_UNIX)
		return want_local(a);
	if (family == AF_NETLINK)
		return allow_if(protocol == NETLINK_ROUTE);
	if (family != AF_INET && family != AF_INET6)
		return DENIED;
	return allow_if((type == SOCK_STREAM && (protocol == 0 || protocol == 6)) ||
			(type == SOCK_DGRAM && (protocol == 0 || protocol == 17)));
}

static enum answer want_personality(const uint64_t *a)
{
	uint32_t what = (uint32_t)a[0];

	return allow_if(what == 0xffffffffu || what == PER_LINUX || what == ADDR_NO_RANDOMIZE);
}

static enum answer want_ioctl(const uint64_t *a)
{
	static const uint32_t no[] = {REQUESTS_NO}, cloning[] = {FICLONE, FICLONERANGE, FIDEDUPERANGE};
	uint32_t request = (uint32_t)a[1], type = request >> 8 & 0xff;

	for (size_t i = 0; i < CC_COUNT(no); i++)
		if (request == no[i])
			return DENIED;
	for (size_t i = 0; i < CC_COUNT(cloning); i++)
		if (request == cloning[i])
			return ALLOWED;
	return allow_if(type != BTRFS_IOCTL_MAGIC && type != 0xbc /* bcachefs */ && type != 0xf5);
}

static enum answer want_fcntl(const uint64_t *a)
{
	switch ((int)a[1]) {
	case F_SETLEASE:
	case F_NOTIFY:
	case F_SETOWN_EX:
		return DENIED;
	case F_SETOWN:
		return allow_if(!reserved(a[2]));
	default:
		return ALLOWED;
	}
}

static enum answer want_setrlimit(const uint64_t *a)
{
	return (uint32_t)a[0] == RLIMIT_CORE ? SWALLOWED : ALLOWED;
}

static enum answer want_prlimit(const uint64_t *a)
{
	if (a[2] == 0)
		return ALLOWED; /* asks only */
	return (uint32_t)a[0] != 0 ? DENIED : want_setrlimit(a + 1);
}

static enum answer want_pid(const uint64_t *a)
{
	return allow_if(!reserved(a[0]));
}

static enum answer want_two_pids(const uint64_t *a)
{
	return allow_if(!reserved(a[0]) && !reserved(a[1]));
}

static enum answer want_priority(const uint64_t *a)
{
	return allow_if((uint32_t)a[0] != PRIO_USER && !reserved(a[1]));
}

static enum answer want_ioprio(const uint64_t *a)
{
	return allow_if((uint32_t)a[0] != 3 /* IOPRIO_WHO_USER */ && !reserved(a[1]));
}

static const struct {
	const char *name;
	call_want *want;
} wants[] = {
	{"clone", want_clone},
	{"unshare", want_unshare},
	{"socket", want_socket},
	{"socketpair", want_socketpair},
	{"personality", want_personality},
	{"ioctl", want_ioctl},
	{"fcntl", want_fcntl},
	{"setrlimit", want_setrlimit},
	{"prlimit64", want_prlimit},
	{"kill", want_pid},
	{"sched_setparam", want_pid},
	{"sched_setscheduler", want_pid},
	{"sched_setaffinity", want_pid},
	{"sched_setattr", want_pid},
	{"rt_sigqueueinfo", want_pid},
	{"pidfd_open", want_pid},
	{"tkill", want_pid},
	{"tgkill", want_two_pids},
	{"rt_tgsigqueueinfo", want_two_pids},
	{"setpriority", want_priority},
	{"ioprio_set", want_ioprio},
};

call_want *call_want_of(const char *name)
{
	for (size_t i = 0; i < CC_COUNT(wants); i++)
		if (strcmp(wants[i].name, name) == 0)
			return wants[i].want;
	return NULL;
}

uint64_t call_open_flags(uint32_t set)
{
	/* O_DIRECTORY and O_NOFOLLOW have two places each, by architecture */
	static const uint64_t bits[CALL_OPEN_BITS] = {01,       02,       0100,        0200,     01000,   02000,
						      04000,    010000,   040000,      0100000,  0200000, 0400000,
						      01000000, 02000000, CALL_O_PATH, 020000000};
	uint64_t flags = 0;

	for (unsigned i = 0; i < CALL_OPEN_BITS; i++)
		if (set & 1u << i)
			flags |= bits[i];
	return flags;
}

bool call_open_writes(uint64_t flags)
{
	/* the third access mode opens for ioctl with the permission to write */
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) ||
	       (flags & (O_TMPFILE & ~(uint64_t)O_DIRECTORY));
}
