/* memory.h - a caller's memory, copied once: nothing is decided by what may have changed since. */
#ifndef CC_KERNEL_MEMORY_H
#define CC_KERNEL_MEMORY_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* len bytes. 0 or -EFAULT. */
int cc_memory_read(pid_t tid, void *to, uint64_t from, size_t len);
/* Into the caller's memory: for a result that the call itself would have put there. 0 or -EFAULT. */
int cc_memory_write(pid_t tid, uint64_t to, const void *from, size_t len);
/* A path with its NUL. 0, -EFAULT, -ENAMETOOLONG. */
int cc_memory_path(pid_t tid, uint64_t from, char path[PATH_MAX]);

#endif
