/* need.h - what a rule set asks of a backend, as bits. backend/pick compares them with what the backend enforces, in
 * one place: a rule nobody can hold is a refusal that names it. */
#ifndef CC_PLAN_NEED_H
#define CC_PLAN_NEED_H

#include "policy/rules.h"

/* bit, stable name, what a person reads when it cannot be held */
#define CC_NEEDS(X)                                                                                                    \
	X(CC_NEED_NAMES, "names", "file names that may not come into being")                                           \
	X(CC_NEED_TREES, "trees", "paths inside a writable bind that may not be written")                              \
	X(CC_NEED_READS, "reads", "files inside a bind that may not be read")                                          \
	X(CC_NEED_READONLY, "read-only", "read-only binds")                                                            \
	X(CC_NEED_GIT, "git", "git configuration judged by its content")                                               \
	X(CC_NEED_EGRESS, "egress", "network only to allowed hosts")                                                   \
	X(CC_NEED_SOCKETS, "sockets", "host sockets out of reach")                                                     \
	X(CC_NEED_HIDDEN, "hidden", "everything but the binds out of sight")

enum cc_need_index {
#define CC_NEED_ENUM(bit, name, text) bit##_INDEX,
	CC_NEEDS(CC_NEED_ENUM)
#undef CC_NEED_ENUM
		CC_NEED_COUNT
};
enum cc_need {
#define CC_NEED_BITS(bit, name, text) bit = 1 << bit##_INDEX,
	CC_NEEDS(CC_NEED_BITS)
#undef CC_NEED_BITS
};

unsigned cc_needs_of(const struct cc_rules *rules);
const char *cc_need_name(enum cc_need_index index);
const char *cc_need_text(enum cc_need_index index);

#endif
