/* limits.c - what a session may use. A limit that was asked for is held by the kernel, or the session does not start.
 */
#define _GNU_SOURCE
#include "owner/owner.h"

#include "wire/ownermsg.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* This process is in the group while it launches, so that bubblewrap, cc-init and the proxy are born there, and leaves
 * it again: it must live to tell what the kernel has killed. */
enum cc_code cc_owner_limit(struct cc_owner *owner, struct cc_err *err)
{
	const struct cc_group_limits limits = {.value = {[CC_GROUP_MEMORY] = owner->limits.memory,
							 [CC_GROUP_PIDS] = owner->limits.pids,
							 [CC_GROUP_CPU] = owner->limits.cpu}};
	char name[64];
	enum cc_code code;

	if (!limits.value[CC_GROUP_MEMORY] && !limits.value[CC_GROUP_PIDS] && !limits.value[CC_GROUP_CPU])
		return CC_OK;
	snprintf(name, sizeof(name), CC_OWNER_GROUP "%d-%d", (int)getppid(), (int)getpid());
	code = cc_group_make(name, &limits, &owner->group, err);
	owner->grouped = code == CC_OK;
	return code == CC_OK ? cc_group_enter(&owner->group, err) : code;
}

enum cc_code cc_owner_leave_group(struct cc_owner *owner, struct cc_err *err)
{
	return owner->grouped ? cc_group_leave(&owner->group, err) : CC_OK;
}

bool cc_owner_out_of_memory(struct cc_owner *owner)
{
	int64_t now = owner->grouped ? cc_group_oom_kills(&owner->group) : 0;
	bool more = now > owner->oom_kills;

	owner->oom_kills = now;
	return more;
}

void cc_owner_write_limits(const struct cc_owner *owner, struct cc_jsonw *w)
{
	const char *group = owner->group.version == 2 ? "cgroup2" : "cgroup1";
	const struct {
		const char *key, *held_by;
		int64_t value;
	} rows[] = {{"memoryBytes", group, owner->limits.memory},
		    {"pids", group, owner->limits.pids},
		    {"cpuPercent", group, owner->limits.cpu},
		    {"wallSeconds", "timer", owner->limits.wall}};

	cc_jsonw_key(w, "limits");
	cc_jsonw_object(w);
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		if (!rows[i].value)
			continue;
		cc_jsonw_key(w, rows[i].key);
		cc_jsonw_object(w);
		cc_jsonw_kint(w, "value", rows[i].value);
		cc_jsonw_kstr(w, "heldBy", rows[i].held_by);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
}
