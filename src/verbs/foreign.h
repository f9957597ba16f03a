/* foreign.h - another tool's call of bubblewrap made a session of ours: its words read, its writable mounts put under
 * the rules, the descriptors that its command inherits found. Private to the room. */
#ifndef CC_VERBS_FOREIGN_H
#define CC_VERBS_FOREIGN_H

#include "plan/foreign.h"
#include "policy/spec.h"

/* argv with what --args names put in its place. */
CC_MUST enum cc_code cc_foreign_words(char *const *argv, struct cc_strv *out, struct cc_err *err);
/* Whether the host has that path (for the -try options). */
bool cc_foreign_exists(const char *path);
/* Its mounts become the session's: binds, private directories, sockets that were lent. */
CC_MUST enum cc_code cc_foreign_apply(const struct cc_foreign *foreign, struct cc_spec *spec, struct cc_err *err);
/* What is open besides the standard streams, and not for bubblewrap itself: called before anything else is opened. */
CC_MUST enum cc_code cc_foreign_inherited(const struct cc_foreign *foreign, struct cc_inherited *out,
					  struct cc_err *err);

#endif
