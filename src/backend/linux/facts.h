/* facts.h - the host's facts for a native Linux plan. Bounded: it looks at the entries of two tables, never at a tree.
 */
#ifndef CC_BACKEND_LINUX_FACTS_H
#define CC_BACKEND_LINUX_FACTS_H

#include "plan/facts.h"

/* env is the caller's environment; init the name of the init helper ("cc-init"). HOME is taken from it or from the user
 * database, and resolved.
 */
CC_MUST enum cc_code cc_facts_collect(char *const *env, const char *init, struct cc_facts *out_facts,
				      struct cc_err *err);
/* Finds one of our helper programs: next to this executable, then in its libexec directory. */
/* bubblewrap: the system's before one that is only in PATH. */
CC_MUST enum cc_code cc_facts_bwrap(char *const *env, char *out, size_t cap, struct cc_err *err);
CC_MUST enum cc_code cc_facts_helper(const char *name, char *out, size_t cap, struct cc_err *err);

#endif
