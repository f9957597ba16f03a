/* calls.h - the Linux calls behind the gate, by raw number and our own layouts, because libc (musl above all) lacks
 * most of them. Results are a value >= 0 or -errno, so that a handler passes them straight on. */
#ifndef CC_KERNEL_CALLS_H
#define CC_KERNEL_CALLS_H

#include "base/err.h"
#include "plan/bpf.h"
#include "plan/landlock.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* struct statx of the UAPI */
struct cc_statx {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, pad0;
	uint64_t ino, size, blocks, attributes_mask;
	uint64_t times[8];
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mnt_id;
	uint64_t rest[13];
};

/* openat2's resolve bits */
enum {
	CC_RESOLVE_NO_XDEV = 1,
	CC_RESOLVE_NO_MAGICLINKS = 2,
	CC_RESOLVE_NO_SYMLINKS = 4,
	CC_RESOLVE_BENEATH = 8,
	CC_RESOLVE_IN_ROOT = 16,
	CC_RESOLVE_CACHED = 32,
};

struct cc_open_how {
	uint64_t flags, mode, resolve;
};

/* What libc answers, as such a result. */
static inline int cc_k_done(long result)
{
	return result < 0 ? -errno : (int)result;
}

/* O_CLOEXEC is added. */
int cc_k_openat2(int dir, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);
/* name "" asks about fd itself; links are not followed. */
int cc_k_statx(int fd, const char *name, struct cc_statx *out);
/* A path that leads to what fd refers to. */
enum { CC_K_FDLINK = 32 };
void cc_k_fdlink(int fd, char out[CC_K_FDLINK]);
/* The kernel's own spelling of what fd refers to; its length. */
int cc_k_fdpath(int fd, char *out, size_t cap);
/* The text of a short file of procfs, with a NUL; its length. 0 and the empty text where it cannot be read. */
size_t cc_k_proc_text(char *out, size_t cap, const char *path, ...) CC_PRINTF(3, 4);
/* The process that thread tid belongs to; -1 when it is gone. */
pid_t cc_k_leader(pid_t tid);
/* A pidfd of the process that thread tid belongs to. */
int cc_k_pidfd(pid_t tid);
/* A pidfd of thread tid itself; before Linux 6.9 only the first thread of a process has one. */
int cc_k_pidfd_thread(pid_t tid);
int cc_k_pidfd_getfd(int pidfd, int fd);
/* Bytes of the memory of thread tid: how many came, -1 for none. */
ssize_t cc_k_read_memory(pid_t tid, void *to, uint64_t from, size_t len);
int cc_k_close_range(unsigned first);

int cc_k_landlock_abi(void); /* 0 or less: none */
/* Enters the floor: NO_NEW_PRIVS must be set. CC_EUNSUPPORTED without Landlock. */
CC_MUST enum cc_code cc_k_floor(const struct cc_landlock *floor, struct cc_err *err);

/* Installs the program on this thread. With a listener: *out_listener, WAIT_KILLABLE_RECV required, because without
 * it an interrupted call is done twice (spec/names 8). */
CC_MUST enum cc_code cc_k_filter(const struct cc_bpf *program, int *out_listener, struct cc_err *err);
/* Installs it on every thread of the process. */
CC_MUST enum cc_code cc_k_filter_all(const struct cc_bpf *program, struct cc_err *err);
bool cc_k_sync_wake_up(int listener);

enum cc_arch cc_k_arch(void);

#endif
