#define _GNU_SOURCE
#include "os/mount.h"

#include "os/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { TABLE_MAX = 4 << 20, FOLDS_CASE = 0x40000000 };
#define GET_FLAGS _IOR('f', 1, long) /* FS_IOC_GETFLAGS; linux/fs.h quarrels with sys/mount.h */

static long mount_id(int fd)
{
	char path[64];
	struct cc_buf text;
	struct cc_err err;
	const char *at;
	long id = -1;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	cc_buf_init(&text, 8192);
	if (cc_fd_read_file(path, &text, &err) == CC_OK && text.data && (at = strstr(text.data, "mnt_id:")))
		id = strtol(at + 7, NULL, 10);
	cc_buf_done(&text);
	return id;
}

bool cc_mount_line(int fd, char *out, size_t cap)
{
	long id = mount_id(fd);
	struct cc_buf text;
	struct cc_err err;
	bool found = false;

	cc_buf_init(&text, TABLE_MAX);
	if (id >= 0 && cc_fd_read_file("/proc/self/mountinfo", &text, &err) == CC_OK && text.data)
		for (const char *line = text.data; *line && !found;) {
			size_t len = strcspn(line, "\n");

			found = strtol(line, NULL, 10) == id && len < cap;
			if (found) {
				memcpy(out, line, len);
				out[len] = '\0';
			}
			line += len + (line[len] == '\n');
		}
	cc_buf_done(&text);
	return found;
}

bool cc_dir_folds(int fd)
{
	long flags = 0;

	return ioctl(fd, GET_FLAGS, &flags) == 0 && flags & FOLDS_CASE;
}
