#define _GNU_SOURCE
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void cc_fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

enum cc_code cc_fd_write_all(int fd, const void *bytes, size_t len, struct cc_err *err)
{
	const char *at = bytes;

	while (len) {
		ssize_t done = write(fd, at, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return cc_fail(err, CC_ESYS, errno, "cannot write");
		at += done;
		len -= (size_t)done;
	}
	return CC_OK;
}

enum cc_code cc_fd_read_all(int fd, struct cc_buf *out, struct cc_err *err)
{
	char chunk[16384];

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return cc_fail(err, CC_ESYS, errno, "cannot read");
		if (got == 0)
			return cc_buf_check(out, "the input", err);
		cc_buf_add(out, chunk, (size_t)got);
		if (out->failed)
			return cc_buf_check(out, "the input", err);
	}
}

enum cc_code cc_fd_memfile(const char *name, const void *bytes, size_t len, int *out_fd, struct cc_err *err)
{
	CC_AUTO_FD fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	enum cc_code code;

	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "memfd_create");
	code = cc_fd_write_all(fd, bytes, len, err);
	if (code != CC_OK)
		return code;
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot seal the memory file");
	*out_fd = cc_fd_take(&fd);
	return CC_OK;
}

enum cc_code cc_fd_read_file(const char *path, struct cc_buf *out, struct cc_err *err)
{
	CC_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return cc_fail(err, errno == ENOENT ? CC_ENOTFOUND : CC_ESYS, errno, "%s", path);
	return cc_fd_read_all(fd, out, err);
}

bool cc_fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return false;
	return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0;
}

bool cc_fd_set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) == 0;
}
