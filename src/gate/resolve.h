/* resolve.h - from a target's memory and path spelling to pinned objects, following links as the target would. */
#ifndef CC_GATE_RESOLVE_H
#define CC_GATE_RESOLVE_H

#include "gate/call.h"

enum { CC_LINKS_MAX = 40 }; /* as the kernel has it */

/* Copies len bytes of the target. 0 or -EFAULT. */
int cc_target_read(const struct cc_call *call, void *to, uint64_t from, size_t len);
/* Copies a path, once. 0, -EFAULT, -ENAMETOOLONG. */
int cc_target_path(const struct cc_call *call, uint64_t from, char path[PATH_MAX]);

/* The directory a relative path starts from, as an O_PATH descriptor; -1 in *out_fd when path is absolute. From here on
 * the name space is held, so everything must have been copied. */
int cc_base(struct cc_call *call, int dirfd, const char *path, int *out_fd);

/* The place a name has or would have. */
int cc_locate(struct cc_call *call, int dirfd, const char *path, struct cc_loc *out);
/* The same from an open directory (-1: path is absolute), which is taken when it is itself the parent. resolve:
 * openat2's bits for the way to the parent. */
int cc_locate_from(struct cc_call *call, int *base, const char *path, uint64_t resolve, struct cc_loc *out);

/* Was all found but the name itself? One that is too long, and a directory that was removed, are the last things the
 * kernel sees. */
static inline bool cc_is_late(int result, const struct cc_loc *loc)
{
	return (result == -ENAMETOOLONG || result == -ENOENT) && loc->parent >= 0;
}

/* The object itself. */
enum { CC_FOLLOW = 1, CC_EMPTY_OK = 2, CC_NO_MAGIC = 4 };
int cc_find(struct cc_call *call, int dirfd, const char *path, unsigned flags, struct cc_obj *out);
/* The object at a place found before. */
int cc_find_at(struct cc_call *call, const struct cc_loc *loc, unsigned flags, struct cc_obj *out);
/* The object behind one of the target's descriptors, by the caller's own description where that can be had: it says
 * what the kernel would say (EBADF for one that is O_PATH). */
int cc_find_fd(struct cc_call *call, int fd, struct cc_obj *out);
/* Describes an O_PATH descriptor, taking it. */
int cc_describe(const struct cc_gate *gate, int fd, struct cc_obj *out);

#endif
