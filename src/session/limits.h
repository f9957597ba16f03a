/* limits.h - what a session may use of memory, processes and CPU. A limit that was asked for is held by the kernel, or
 * the session does not start; what holds each is said, never guessed (docs/decisions/limits.md). */
#ifndef CC_SESSION_LIMITS_H
#define CC_SESSION_LIMITS_H

#include "backend/backend.h"
#include "group/group.h"
#include "wire/event.h"
#include "wire/request.h"

struct cc_held {
	struct cc_limits limits;
	struct cc_group group;
	bool grouped;
	bool pids_by_rlimit; /* by RLIMIT_NPROC of the sandbox's own user namespace, which cc-init sets and tries */
	int64_t oom_kills;   /* told so far */
};

struct cc_held_ask {
	const char *name; /* of the group */
	struct cc_limits limits;
	enum cc_backend_kind backend;
	const char *remedy; /* a clause: why there is no control group, and how one is had */
};
/* Before the launch: this process goes into the group, so that what it starts is born there. */
CC_MUST enum cc_code cc_held_begin(struct cc_held *held, const struct cc_held_ask *ask, struct cc_err *err);
/* What the launch is to hold by itself, 0: nothing. */
int64_t cc_held_launch_pids(const struct cc_held *held);
/* After it: this process leaves, it must live to tell what the kernel has killed. */
CC_MUST enum cc_code cc_held_started(struct cc_held *held, struct cc_err *err);
/* Whether the kernel has killed something for want of memory since this was asked last: the event that says so. */
bool cc_held_out_of_memory(struct cc_held *held, int exec, struct cc_event *out_event);
/* "limits": what is held, and by what. */
void cc_held_write(const struct cc_held *held, struct cc_jsonw *w);
/* When nothing of the session runs any more. */
void cc_held_end(struct cc_held *held);

#endif
