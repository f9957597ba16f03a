/* tree.c - what an epoch starts from and what it left: names, types, modes, owners, links, sizes, contents, attributes.
 */
#define _GNU_SOURCE
#include "ops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void empty(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir;

	if (fd < 0 && errno == EACCES) {
		fchmodat(parent, name, 0700, 0);
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return;
	fchmod(fd, 0700);
	dir = fdopendir(fd);
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (entry->d_type == DT_DIR) {
			empty(fd, entry->d_name);
			unlinkat(fd, entry->d_name, AT_REMOVEDIR);
		} else {
			unlinkat(fd, entry->d_name, 0);
		}
	}
	if (dir)
		closedir(dir);
}

static void fill(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("=cannot fill %s\n", path);
	close(fd);
}

void tree_reset(void)
{
	static const struct {
		int fd;
		const char *path;
		int flags;
	} fixed[] = {{ROOT_PATH_FD, ".", O_PATH}, {ROOT_FD, ".", O_RDONLY}, {SUB_FD, "d0", O_PATH}};

	for (int i = 0; i < SLOTS; i++) {
		if (run.slots[i] >= 0)
			close(run.slots[i]);
		run.slots[i] = -1;
	}
	if (chdir("/") < 0)
		return;
	empty(AT_FDCWD, run.base);
	empty(AT_FDCWD, run.other);
	rmdir(run.base);
	rmdir(run.other);
	if (mkdir(run.base, 0755) < 0 || mkdir(run.root, 0755) < 0 || mkdir(run.other, 0755) < 0 ||
	    chdir(run.root) < 0) {
		printf("=cannot make %s: %s\n", run.root, strerror(errno));
		return;
	}
	mkdir("d0", 0755);
	mkdir("d0/d1", 0755);
	fill("a", "alpha");
	fill("d0/a", "beta");
	if (symlink(".", "L") < 0 || symlink("d0", "LD") < 0 || symlink("a", "l0") < 0 ||
	    symlink("/proc/self/fd/40", "LP") < 0)
		printf("=cannot link\n");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		int fd = open(fixed[i].path, fixed[i].flags | O_DIRECTORY);

		if (fd != fixed[i].fd) {
			dup2(fd, fixed[i].fd);
			close(fd);
		}
	}
}

static void hex(const unsigned char *bytes, ssize_t len)
{
	for (ssize_t i = 0; i < len; i++)
		printf("%02x", bytes[i]);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void attributes(const char *path)
{
	char names[1024], *each[32];
	unsigned char value[512];
	ssize_t len = llistxattr(path, names, sizeof(names));
	size_t count = 0;

	for (char *at = names; len > 0 && at < names + len && count < 32; at += strlen(at) + 1)
		each[count++] = at;
	qsort(each, count, sizeof(each[0]), by_name);
	for (size_t i = 0; i < count; i++) {
		printf(" %s=", each[i]);
		hex(value, lgetxattr(path, each[i], value, sizeof(value)));
	}
}

static void contents(const char *path, const struct stat *st)
{
	unsigned char bytes[256];
	ssize_t len;
	int fd;

	if (S_ISLNK(st->st_mode)) {
		len = readlink(path, (char *)bytes, sizeof(bytes));
	} else if (S_ISREG(st->st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno == EACCES) {
			chmod(path, 0600);
			fd = open(path, O_RDONLY | O_CLOEXEC);
		}
		len = read(fd, bytes, sizeof(bytes));
		close(fd);
		printf(" size %lld", (long long)st->st_size);
	} else {
		return;
	}
	if (S_ISLNK(st->st_mode) && len > 0 && bytes[0] == '/')
		return; /* the root's own name */
	printf(" ");
	hex(bytes, len);
}

static void look(const char *path, const char *shown)
{
	struct dirent **entries = NULL;
	struct stat st;
	int count;

	if (lstat(path, &st) < 0) {
		printf("=tree %s %s\n", shown, strerror(errno));
		return;
	}
	printf("=tree %s %o %u %u links %lu", shown, st.st_mode, st.st_uid, st.st_gid, (unsigned long)st.st_nlink);
	attributes(path);
	contents(path, &st);
	putchar('\n');
	if (!S_ISDIR(st.st_mode))
		return;
	chmod(path, 0700);
	count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char *below = NULL, *name = entries[i]->d_name, *below_shown = NULL;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && asprintf(&below, "%s/%s", path, name) > 0 &&
		    asprintf(&below_shown, "%s/%02x%02x%.20s", shown, (unsigned char)name[0],
			     (unsigned char)name[strlen(name) - 1], (unsigned char)name[0] < 0x80 ? name : "") > 0) {
			for (char *at = below_shown; *at; at++)
				*at = *at == '\n' ? '?' : *at;
			look(below, below_shown);
		}
		free(below);
		free(below_shown);
		free(entries[i]);
	}
	free(entries);
}

void tree_dump(void)
{
	if (chdir("/") < 0)
		return;
	look(run.base, "w");
	look(run.other, "o");
}
