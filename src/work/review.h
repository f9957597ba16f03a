/* review.h - what came into a repository between two commits, looked at before anybody checks it out (attacks 9, 10).
 *
 * The commits are fetched into an empty repository of our own, object by object and each hashed anew, so that nothing
 * the other repository says about itself (replacements, alternates, its configuration, swapped objects) can hide
 * anything. */
#ifndef CC_WORK_REVIEW_H
#define CC_WORK_REVIEW_H

#include "base/buf.h"
#include "review/objects.h"

#include <stdbool.h>

struct cc_review_ask {
	const char *dir;  /* of the repository */
	const char *base; /* NULL: everything that head has */
	const char *head;
	const char *root; /* where its tree lies, or would: a bind of rules */
	const struct cc_rules *rules;
	char *const *env;
	bool ours; /* dir is a repository of ours, bare, whose objects were hashed on their way in: nothing is fetched
		    */
};

struct cc_review_finding {
	enum cc_review_kind kind;
	char *rule, *why; /* why may be NULL */
	char *path;
	char commit[16];
};

struct cc_review {
	size_t commits, entries;
	struct cc_review_finding *items; /* each path and rule once */
	size_t count;
	char *stat; /* git's own summary of the change */
};

CC_MUST enum cc_code cc_review_run(const struct cc_review_ask *ask, struct cc_review *out, struct cc_err *err);
void cc_review_done(struct cc_review *review);

#endif
