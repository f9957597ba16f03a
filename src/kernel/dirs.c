#define _GNU_SOURCE
#include "kernel/dirs.h"

#include "os/fd.h"

#include <string.h>
#include <time.h>

static uint64_t now_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &at);
	return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
}

static struct cc_dir *slot(struct cc_dirs *dirs, const char *path, size_t len)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619u;
	return &dirs->items[hash % CC_DIRS];
}

const struct cc_dir *cc_dirs_get(struct cc_dirs *dirs, unsigned epoch, uint64_t call, const char *path, size_t len,
				 size_t from)
{
	struct cc_dir *dir = slot(dirs, path, len);

	if (!dir->mount || dir->len != len || dir->from > from || dir->epoch != epoch ||
	    memcmp(dir->path, path, len) != 0 || now_ms() - dir->since_ms > CC_DIRS_MS)
		return NULL;
	dir->used_by = call;
	return dir;
}

bool cc_dirs_put(struct cc_dirs *dirs, uint64_t call, const char *path, size_t len, const struct cc_dir *what)
{
	struct cc_dir *dir = slot(dirs, path, len);

	if (!what->mount || len > sizeof(dir->path))
		return false;
	if (dir->mount) {
		if (dir->used_by == call)
			return false; /* the other end of the same call stands there */
		cc_fd_close(&dir->fd);
	}
	*dir = *what;
	dir->since_ms = now_ms();
	dir->used_by = call;
	dir->len = len;
	memcpy(dir->path, path, len);
	return true;
}
