/* landlock.h - the floor as plain data: which rights the kernel takes from the agent's domain, and the few places
 * where it gives them back. Pure. Whatever the filter or the gate misses meets this and fails (spec/names 1). */
#ifndef CC_PLAN_LANDLOCK_H
#define CC_PLAN_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { CC_LANDLOCK_MIN_ABI = 1 };

struct cc_landlock_grant {
	const char *path;
	uint64_t access;
};

struct cc_landlock {
	uint64_t handled_fs;
	uint64_t scoped;
	size_t attr_size; /* of the kernel's attribute structure at this ABI */
	size_t grant_count;
	struct cc_landlock_grant grants[16];
};

/* abi is what landlock_create_ruleset(NULL, 0, VERSION) said. */
void cc_landlock_plan(int abi, struct cc_landlock *out);

#endif
