#define _GNU_SOURCE
#include "tools/place.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_it(char out[48], const char *what)
{
	unsigned char bytes[8];

	cc_random(bytes, sizeof(bytes));
	snprintf(out, 48, ".ccbox-%s-%02x%02x%02x%02x%02x%02x%02x%02x", what, bytes[0], bytes[1], bytes[2], bytes[3],
		 bytes[4], bytes[5], bytes[6], bytes[7]);
}

static enum cc_code prepare(struct cc_change *change, struct cc_view text, struct cc_err *err)
{
	unsigned mode = change->place.there ? change->place.mode : 0666;
	enum cc_code code;
	CC_AUTO_FD fd = -1;

	name_it(change->fresh, "new");
	name_it(change->old, "old");
	fd = openat(change->place.parent, change->fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "%.200s", change->place.path);
	change->prepared = true;
	code = cc_fd_write_all(fd, text.ptr, text.len, err);
	if (code == CC_OK && change->place.there && fchmod(fd, mode) < 0)
		code = cc_fail(err, CC_ESYS, errno, "the mode of %.200s", change->place.path);
	return code;
}

enum cc_code cc_changes_add(struct cc_tools *tools, struct cc_changes *changes, struct cc_place *place,
			    struct cc_view text, struct cc_err *err)
{
	struct cc_change *items;
	enum cc_code code = cc_place_permit(tools, place->there ? CC_VERB_WRITE : CC_VERB_CREATE, place->path, err);

	if (code != CC_OK)
		return code;
	for (size_t i = 0; i < changes->count; i++)
		if (cc_view_is(cc_view_of(place->path), changes->items[i].place.path))
			return cc_fail(err, CC_EINVAL, 0, "%.200s is changed twice in one call", place->path);
	if (changes->count == CC_CHANGES_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "more than %d files in one call", CC_CHANGES_MAX);
	items = realloc(changes->items, (changes->count + 1) * sizeof(*items));
	if (!items)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	changes->items = items;
	items[changes->count] = (struct cc_change){.place = *place};
	place->parent = -1;
	return prepare(&items[changes->count++], text, err);
}

static enum cc_code put_in_place(struct cc_change *change, struct cc_err *err)
{
	int dir = change->place.parent;

	if (change->place.there) {
		/* what stood there stays at hand until all are done */
		if (linkat(dir, change->place.name, dir, change->old, 0) < 0)
			return cc_fail(err, CC_ESYS, errno, "%.200s", change->place.path);
		change->kept = true;
	}
	if (renameat(dir, change->fresh, dir, change->place.name) < 0)
		return cc_fail(err, CC_ESYS, errno, "%.200s", change->place.path);
	change->prepared = false;
	change->done = true;
	return CC_OK;
}

static void take_back(struct cc_change *change)
{
	int dir = change->place.parent;

	if (!change->done)
		return;
	if (change->kept)
		change->kept = renameat(dir, change->old, dir, change->place.name) < 0;
	else
		unlinkat(dir, change->place.name, 0);
}

enum cc_code cc_changes_apply(struct cc_changes *changes, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < changes->count; i++)
		code = put_in_place(&changes->items[i], err);
	for (size_t i = 0; code != CC_OK && i < changes->count; i++)
		take_back(&changes->items[i]);
	return code;
}

void cc_changes_done(struct cc_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		struct cc_change *change = &changes->items[i];

		if (change->prepared)
			unlinkat(change->place.parent, change->fresh, 0);
		if (change->kept)
			unlinkat(change->place.parent, change->old, 0);
		cc_place_done(&change->place);
	}
	free(changes->items);
	*changes = (struct cc_changes){0};
}
