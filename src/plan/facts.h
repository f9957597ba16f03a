/* facts.h - what is known of the host when a plan is made: plain data, collected by backend/linux/facts.c (or written
 * by a golden test). Planners read facts and rules and nothing else. */
#ifndef CC_PLAN_FACTS_H
#define CC_PLAN_FACTS_H

#include "base/view.h"

#include <stdbool.h>
#include <stdint.h>

enum cc_path_kind { CC_PATH_ABSENT = 0, CC_PATH_DIR, CC_PATH_FILE, CC_PATH_LINK };

/* One path of a table (system directories, /etc allow-list, toolchains) that exists on this host. */
struct cc_fact_path {
	char *path;
	enum cc_path_kind kind;
	char *target; /* CC_PATH_LINK: what readlink says */
};

struct cc_facts {
	char *home;      /* absolute; the private HOME inside has the same path */
	uint64_t memory; /* bytes of RAM */
	char *init_path; /* our helpers on the host; NULL = not installed */
	char *connect_path;
	struct cc_fact_path *system; /* tables of plan/visible.h, only what exists */
	size_t system_count;
	struct cc_fact_path *home_dirs; /* toolchain directories below home, absolute, only what exists */
	size_t home_count;
	struct cc_strv env; /* the caller's environment, NAME=VALUE */
};

/* The caller's value of a variable, or NULL. */
const char *cc_facts_env(const struct cc_facts *facts, const char *name);
void cc_facts_done(struct cc_facts *facts);

#endif
