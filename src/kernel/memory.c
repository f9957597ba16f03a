#define _GNU_SOURCE
#include "kernel/memory.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, FIRST_READ = 256 };

/* Some kernels lack process_vm_readv (no CROSS_MEMORY_ATTACH): /proc/TID/mem gives the same bytes. */
static ssize_t read_by_file(pid_t tid, void *to, uint64_t from, size_t len)
{
	char path[32];
	CC_AUTO_FD fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return pread(fd, to, len, (off_t)from);
}

static ssize_t read_some(pid_t tid, void *to, uint64_t from, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(size_t)from, len};
	ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	if (got < 0 && (errno == ENOSYS || errno == EPERM))
		got = read_by_file(tid, to, from, len);
	return got;
}

int cc_memory_read(pid_t tid, void *to, uint64_t from, size_t len)
{
	return read_some(tid, to, from, len) == (ssize_t)len ? 0 : -EFAULT;
}

int cc_memory_write(pid_t tid, uint64_t to, const void *from, size_t len)
{
	struct iovec local = {(void *)(size_t)from, len}, remote = {(void *)(size_t)to, len};

	return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

int cc_memory_path(pid_t tid, uint64_t from, char path[PATH_MAX])
{
	size_t len = 0;

	/* Page by page: a string may end right before an unmapped page. Most end in the first read. */
	while (len < PATH_MAX) {
		size_t want = PAGE - (from + len) % PAGE;
		ssize_t got;

		if (len == 0 && want > FIRST_READ)
			want = FIRST_READ;
		if (want > PATH_MAX - len)
			want = PATH_MAX - len;
		got = read_some(tid, path + len, from + len, want);
		if (got <= 0)
			return -EFAULT;
		if (memchr(path + len, '\0', (size_t)got))
			return 0;
		len += (size_t)got;
	}
	return -ENAMETOOLONG;
}
