#define _GNU_SOURCE
#include "init/mounts.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_MAX = 4 << 20, MOUNTS_MAX = 4096 };

struct mount {
	long id;
	char *point; /* as mountinfo writes it */
};

struct cc_mounts {
	int fd;
	struct mount mount[MOUNTS_MAX];
	size_t count;
};

static bool read_table(int fd, struct cc_buf *out)
{
	char chunk[8192];
	ssize_t got;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return false;
	while ((got = read(fd, chunk, sizeof(chunk))) > 0)
		cc_buf_add(out, chunk, (size_t)got);
	return got == 0 && !out->failed && out->data;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT ...": the first and the fifth field of each line. */
static bool next_mount(char **at, long *out_id, char **out_point)
{
	char *line = *at, *end = strchr(line, '\n'), *field, *save = NULL;

	if (!*line || !end)
		return false;
	*end = '\0';
	*at = end + 1;
	field = strtok_r(line, " ", &save);
	*out_id = field ? strtol(field, NULL, 10) : 0;
	for (int i = 0; field && i < 4; i++)
		field = strtok_r(NULL, " ", &save);
	*out_point = field;
	return field != NULL;
}

enum cc_code cc_mounts_watch(struct cc_mounts **out_mounts, struct cc_err *err)
{
	struct cc_mounts *mounts = calloc(1, sizeof(*mounts));
	struct cc_buf text;
	char *at, *point;
	long id;

	if (!mounts)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	cc_buf_init(&text, TABLE_MAX);
	mounts->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (mounts->fd < 0 || !read_table(mounts->fd, &text))
		return cc_fail(err, CC_ESYS, errno, "/proc/self/mountinfo"); /* PID 1 ends: nothing to free */
	at = text.data;
	while (next_mount(&at, &id, &point)) {
		if (mounts->count == MOUNTS_MAX)
			return cc_fail(err, CC_ELIMIT, 0, "more than %d mounts", MOUNTS_MAX);
		mounts->mount[mounts->count] = (struct mount){id, strdup(point)};
		if (!mounts->mount[mounts->count++].point)
			return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	cc_buf_done(&text);
	*out_mounts = mounts;
	return CC_OK;
}

int cc_mounts_fd(const struct cc_mounts *mounts)
{
	return mounts->fd;
}

bool cc_mounts_lost(struct cc_mounts *mounts, char *lost, size_t cap)
{
	static bool there[MOUNTS_MAX];
	struct cc_buf text;
	char *at, *point;
	long id;
	bool gone = false;

	cc_buf_init(&text, TABLE_MAX);
	memset(there, 0, sizeof(there));
	if (!read_table(mounts->fd, &text)) {
		cc_buf_done(&text);
		snprintf(lost, cap, "/proc/self/mountinfo");
		return true; /* what cannot be seen is taken for lost */
	}
	at = text.data;
	while (next_mount(&at, &id, &point))
		for (size_t i = 0; i < mounts->count; i++)
			if (mounts->mount[i].id == id && strcmp(mounts->mount[i].point, point) == 0)
				there[i] = true;
	for (size_t i = 0; i < mounts->count && !gone; i++) {
		gone = !there[i];
		if (gone)
			snprintf(lost, cap, "%s", mounts->mount[i].point);
	}
	cc_buf_done(&text);
	return gone;
}
