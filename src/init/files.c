#define _GNU_SOURCE
#include "init/files.h"

#include "kernel/calls.h"
#include "os/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 16, ENTRIES_MAX = 65536, ROUNDS_MAX = 100 };

static bool may_fetch(const struct cc_rules *rules, const char *path)
{
	struct cc_view whole = cc_view_of(path);

	for (size_t i = 0; i < rules->mount_count; i++) {
		const struct cc_mount *mount = &rules->mounts[i];
		size_t len = strlen(mount->path);

		if (!cc_view_starts(whole, mount->path) || (path[len] && path[len] != '/'))
			continue;
		return mount->mode == CC_MOUNT_PRIVATE || mount->mode == CC_MOUNT_STATE; /* longest first */
	}
	return false;
}

static int open_plain(const struct cc_rules *rules, const char *path, uint64_t flags)
{
	if (*path != '/' || strlen(path) >= PATH_MAX || strstr(path, "/../") || !may_fetch(rules, path))
		return -EACCES;
	return cc_k_openat2(AT_FDCWD, path, flags | O_NOCTTY | O_NONBLOCK, 0,
			    CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_MAGICLINKS);
}

int cc_files_fetch(const struct cc_rules *rules, const char *path, int *out_fd, int64_t *out_size)
{
	CC_AUTO_FD fd = open_plain(rules, path, O_RDONLY);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*out_size = st.st_size;
	*out_fd = cc_fd_take(&fd);
	return 0;
}

struct list {
	struct cc_buf *out;
	size_t entries;
	char path[PATH_MAX]; /* relative, of the directory being read */
};

static void list_dir(struct list *list, int dir_fd, size_t len, int depth)
{
	DIR *dir = fdopendir(dir_fd);
	struct dirent *entry;

	if (!dir) {
		close(dir_fd);
		return;
	}
	while ((entry = readdir(dir)) && ++list->entries <= ENTRIES_MAX && !list->out->failed) {
		size_t name_len = strlen(entry->d_name);
		struct cc_statx st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    len + name_len + 2 >= sizeof(list->path) || cc_k_statx(dirfd(dir), entry->d_name, &st) < 0)
			continue;
		memcpy(list->path + len, entry->d_name, name_len + 1);
		if (S_ISREG(st.mode)) {
			cc_buf_add(list->out, list->path, len + name_len + 1);
		} else if (S_ISDIR(st.mode) && depth < DEPTH_MAX) {
			int below = cc_k_openat2(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY, 0,
						 CC_RESOLVE_NO_SYMLINKS | CC_RESOLVE_NO_XDEV);

			list->path[len + name_len] = '/';
			if (below >= 0)
				list_dir(list, below, len + name_len + 1, depth + 1);
		}
	}
	closedir(dir);
}

int cc_files_list(const struct cc_rules *rules, const char *path, struct cc_buf *out)
{
	struct list *list;
	int fd = open_plain(rules, path, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return fd;
	list = calloc(1, sizeof(*list));
	if (!list) {
		close(fd);
		return -ENOMEM;
	}
	list->out = out;
	list_dir(list, fd, 0, 0);
	free(list);
	return out->failed ? -E2BIG : 0;
}

/* Stopped, dying or dead: nothing more to wait for. */
static bool is_at_rest(pid_t pid)
{
	char text[512], *at;

	cc_k_proc_text(text, sizeof(text), "/proc/%d/stat", (int)pid);
	at = strrchr(text, ')');
	return !at || !at[1] || strchr("TtZX", at[2]);
}

void cc_files_signal_all(pid_t last_reserved, int signal)
{
	/* A process may fork between being seen and being stopped, so until a round finds nothing left to stop. */
	for (int round = 0; round < ROUNDS_MAX; round++) {
		DIR *proc = opendir("/proc");
		struct dirent *entry;
		bool left = false;

		while (proc && (entry = readdir(proc))) {
			pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

			if (pid <= last_reserved || (signal == SIGSTOP && is_at_rest(pid)))
				continue;
			left = kill(pid, signal) == 0 || left;
		}
		if (proc)
			closedir(proc);
		if (signal != SIGSTOP || !left)
			return;
	}
}
