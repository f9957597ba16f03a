#define _GNU_SOURCE
#include "session/limits.h"

enum cc_code cc_held_begin(struct cc_held *held, const struct cc_held_ask *ask, struct cc_err *err)
{
	struct cc_group_limits wanted = {.value = {[CC_GROUP_MEMORY] = ask->limits.memory,
						   [CC_GROUP_PIDS] = ask->limits.pids,
						   [CC_GROUP_CPU] = ask->limits.cpu}};
	enum cc_code code;

	*held = (struct cc_held){.limits = ask->limits};
	if (!wanted.value[CC_GROUP_MEMORY] && !wanted.value[CC_GROUP_PIDS] && !wanted.value[CC_GROUP_CPU])
		return CC_OK;
	code = cc_group_make(ask->name, &wanted, ask->remedy, &held->group, err);
	if (code == CC_EUNENFORCED && ask->limits.pids && ask->backend == CC_BACKEND_NATIVE) {
		/* The only one of the three that a resource limit can hold for a whole session. */
		held->pids_by_rlimit = true;
		wanted.value[CC_GROUP_PIDS] = 0;
		code = cc_group_make(ask->name, &wanted, ask->remedy, &held->group, err);
	}
	held->grouped = code == CC_OK &&
			(wanted.value[CC_GROUP_MEMORY] || wanted.value[CC_GROUP_PIDS] || wanted.value[CC_GROUP_CPU]);
	return held->grouped ? cc_group_enter(&held->group, err) : code;
}

int64_t cc_held_launch_pids(const struct cc_held *held)
{
	return held->pids_by_rlimit ? held->limits.pids : 0;
}

enum cc_code cc_held_started(struct cc_held *held, struct cc_err *err)
{
	return held->grouped ? cc_group_leave(&held->group, err) : CC_OK;
}

bool cc_held_out_of_memory(struct cc_held *held, int exec, struct cc_event *out_event)
{
	int64_t now = held->grouped ? cc_group_oom_kills(&held->group) : 0;
	bool more = now > held->oom_kills;

	held->oom_kills = now;
	if (more)
		*out_event = (struct cc_event){.type = CC_EVENT_KILLED,
					       .exec = exec,
					       .content = cc_view_of("out of memory: the session's limit was reached")};
	return more;
}

void cc_held_write(const struct cc_held *held, struct cc_jsonw *w)
{
	const char *group = held->group.version == 2 ? "cgroup2" : "cgroup1";
	const struct {
		const char *key, *held_by;
		int64_t value;
	} rows[] = {{"memoryBytes", group, held->limits.memory},
		    {"pids", held->pids_by_rlimit ? "rlimit" : group, held->limits.pids},
		    {"cpuPercent", group, held->limits.cpu},
		    {"wallSeconds", "timer", held->limits.wall}};

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

void cc_held_end(struct cc_held *held)
{
	if (!held->grouped)
		return;
	/* From inside it could not be removed. */
	(void)!cc_group_leave(&held->group, NULL);
	cc_group_remove(&held->group);
	held->grouped = false;
}
