/* foreign.h - a call of bubblewrap that another tool made (`ccbox bwrap`), read: which mounts it asks for, which of
 * them can be written, what the command is. The mounts stay that tool's; the namespaces, /dev and the command become
 * ours, so that cc-init stands in front of what is written. What cannot be kept beside the gate is a refusal that names
 * the option. */
#ifndef CC_PLAN_FOREIGN_H
#define CC_PLAN_FOREIGN_H

#include "base/err.h"
#include "base/mem.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>

enum cc_foreign_kind {
	CC_FOREIGN_OTHER = 0, /* not the host's file of that name: nothing is written there */
	CC_FOREIGN_RO,
	CC_FOREIGN_RW,
	CC_FOREIGN_PRIVATE, /* a tmpfs */
};

/* What lies at a path in the end: a later mount hides what was mounted there or below before. */
struct cc_foreign_place {
	char *path;
	enum cc_foreign_kind kind;
};

enum { CC_FOREIGN_FDS = 16 };

struct cc_foreign {
	struct cc_strv mounts; /* bubblewrap's options, in their order; CC_FOREIGN_DEV where /dev goes */
	struct cc_foreign_place *places;
	size_t place_count;
	struct cc_strv named; /* what a bind shows under its own path: where that is a socket, it is lent */
	struct cc_strv env;   /* of the command */
	char *workdir;        /* NULL: where the caller stands */
	bool own_net;         /* --unshare-net: else it is the host's */
	bool die_with_parent;
	int fds[CC_FOREIGN_FDS]; /* descriptors that bubblewrap reads or writes itself */
	size_t fd_count;
	char *const *command; /* within argv */
};

#define CC_FOREIGN_DEV "@dev"

/* What the caller left open for its command, under these numbers; as in the exec message, more are a refusal. */
enum { CC_INHERIT_MAX = 16, CC_INHERIT_HIGHEST = 255 };
struct cc_inherited {
	int fds[CC_INHERIT_MAX];
	size_t count;
};

/* argv: bubblewrap's words without its name, --args already put in place. exists: whether the host has that path. */
CC_MUST enum cc_code cc_foreign_read(char *const *argv, char *const *env, bool (*exists)(const char *path),
				     struct cc_foreign *out, struct cc_err *err);
void cc_foreign_done(struct cc_foreign *foreign);

#endif
