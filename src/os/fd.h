/* fd.h - descriptors: owned locals, whole reads and writes, memory files. Everything opens CLOEXEC. */
#ifndef CC_OS_FD_H
#define CC_OS_FD_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

void cc_fd_close(int *fd); /* closes *fd when it is >= 0 and sets it to -1; errno is preserved */
#define CC_AUTO_FD __attribute__((cleanup(cc_fd_close))) int
static inline int cc_fd_take(int *fd)
{
	int given = *fd;

	*fd = -1;
	return given;
}

/* Writes all bytes, going on after EINTR and short writes. */
CC_MUST enum cc_code cc_fd_write_all(int fd, const void *bytes, size_t len, struct cc_err *err);
/* Reads to the end of the file into out (which bounds it). */
CC_MUST enum cc_code cc_fd_read_all(int fd, struct cc_buf *out, struct cc_err *err);
/* A sealed memory file holding the bytes, positioned at 0. */
CC_MUST enum cc_code cc_fd_memfile(const char *name, const void *bytes, size_t len, int *out_fd, struct cc_err *err);
/* Opens path read-only and reads all of it. CC_ENOTFOUND when it is absent. */
CC_MUST enum cc_code cc_fd_read_file(const char *path, struct cc_buf *out, struct cc_err *err);
bool cc_fd_set_nonblock(int fd, bool on);
bool cc_fd_set_cloexec(int fd, bool on);

#endif
