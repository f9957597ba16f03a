/* group.h - a control group for a session: what it may use of memory, processes and CPU, held by the kernel. Version 2
 * where it was delegated to us, version 1 where we may make groups in it (root). */
#ifndef CC_GROUP_GROUP_H
#define CC_GROUP_GROUP_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cc_group_what { CC_GROUP_MEMORY = 0, CC_GROUP_PIDS, CC_GROUP_CPU, CC_GROUP_KINDS };

/* 0 = no limit. */
struct cc_group_limits {
	int64_t value[CC_GROUP_KINDS]; /* bytes, processes and threads, percent of one processor */
};

struct cc_group {
	char dir[CC_GROUP_KINDS][PATH_MAX];  /* empty: this kind is not limited */
	char home[CC_GROUP_KINDS][PATH_MAX]; /* where we ourselves belong */
	int version;
};

/* Version 2 has no processes beside groups: who was given a group goes into one of its own in it, once, and opens the
 * controllers for the sessions'. In the root group, which alone may have both, it only opens them. Nothing to do, or no
 * group of ours: CC_OK as well, and everything is as it was; a limit then cannot be held. */
CC_MUST enum cc_code cc_group_prepare(struct cc_err *err);
/* Makes the group and writes its limits. A kind that cannot be held here is CC_EUNENFORCED and names it, with remedy (a
 * clause) as the way out; nothing is left. */
CC_MUST enum cc_code cc_group_make(const char *name, const struct cc_group_limits *limits, const char *remedy,
				   struct cc_group *out_group, struct cc_err *err);
/* This process goes into it, so that what it starts is born there, and out again. */
CC_MUST enum cc_code cc_group_enter(const struct cc_group *group, struct cc_err *err);
CC_MUST enum cc_code cc_group_leave(const struct cc_group *group, struct cc_err *err);
/* How many processes of it the kernel has killed for want of memory. */
int64_t cc_group_oom_kills(const struct cc_group *group);
/* Kills what is in it and removes it. */
void cc_group_remove(struct cc_group *group);
/* Groups that were left behind: the name starts with prefix, and gone (NULL: of all of them) says so. What still runs
 * in them is killed. */
void cc_group_sweep(const char *prefix, bool (*gone)(const char *name));
/* The same, but one with a process in it stays: for names whose owner may be one that this process cannot see. */
void cc_group_sweep_empty(const char *prefix);

#endif
