/* ops - makes the calls that its standard input names, one "VERB PATH FROM" a line, parts divided by tabs, and says
 * what came of each: "done", or the name of the error. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int closed(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int do_read(const char *path, const char *from)
{
	(void)from;
	return closed(open(path, O_RDONLY | O_CLOEXEC));
}

static int do_create(const char *path, const char *from)
{
	(void)from;
	return closed(open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

static int do_write(const char *path, const char *from)
{
	(void)from;
	return closed(open(path, O_WRONLY | O_CLOEXEC));
}

static int do_mkdir(const char *path, const char *from)
{
	(void)from;
	return mkdir(path, 0755);
}

static int do_fifo(const char *path, const char *from)
{
	(void)from;
	return mkfifo(path, 0644);
}

static int do_bind(const char *path, const char *from)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), result;

	(void)from;
	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(at.sun_path, path);
	result = bind(sock, (struct sockaddr *)&at, sizeof(at));
	close(sock);
	return result;
}

static int do_symlink(const char *path, const char *from)
{
	(void)from;
	return symlink("nowhere", path);
}

static int do_link(const char *path, const char *from)
{
	return link(from, path);
}

static int do_rename(const char *path, const char *from)
{
	return rename(from, path);
}

static int do_unlink(const char *path, const char *from)
{
	(void)from;
	return unlink(path);
}

static int do_rmdir(const char *path, const char *from)
{
	(void)from;
	return rmdir(path);
}

static int do_mode(const char *path, const char *from)
{
	(void)from;
	return chmod(path, 0755);
}

static const struct {
	const char *name;
	int (*call)(const char *path, const char *from);
} calls[] = {{"read", do_read},     {"create", do_create}, {"write", do_write},     {"mkdir", do_mkdir},
	     {"fifo", do_fifo},     {"bind", do_bind},     {"symlink", do_symlink}, {"link", do_link},
	     {"rename", do_rename}, {"unlink", do_unlink}, {"rmdir", do_rmdir},     {"mode", do_mode}};

int main(void)
{
	char line[16384];

	while (fgets(line, sizeof(line), stdin)) {
		char *path = strchr(line, '\t'), *from = path ? strchr(path + 1, '\t') : NULL;
		int result = -1;

		if (!from)
			return 1;
		*path++ = '\0';
		*from++ = '\0';
		from[strcspn(from, "\n")] = '\0';
		errno = ENOSYS;
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			if (strcmp(calls[i].name, line) == 0)
				result = calls[i].call(path, from);
		puts(result == 0 ? "done" : strerrorname_np(errno));
	}
	return 0;
}
