/* objects.h - what lies in git's objects, judged: a tree can hold names that no sandbox would let come into being, and
 * a checkout on the host makes them real (attacks 9, 10). Text in, findings out. Pure. */
#ifndef CC_REVIEW_OBJECTS_H
#define CC_REVIEW_OBJECTS_H

#include "policy/decide.h"

#include <stdbool.h>

enum { CC_REVIEW_OID = 64, CC_REVIEW_ENTRIES = 1 << 20 };

/* One line of `git log --raw -z` or `git diff-tree -r -z`. */
struct cc_review_entry {
	struct cc_view commit;       /* that it belongs to; empty: none was named */
	unsigned old_mode, new_mode; /* octal modes of git; 0 = not there */
	struct cc_view oid;          /* of the new object */
	struct cc_view path;         /* in the tree, as bytes */
};

/* Takes the next entry of text from *at. A commit is a field that begins with \001. False at the end; CC_EINVAL when
 * the text is no such list. */
CC_MUST enum cc_code cc_review_next(struct cc_view text, size_t *at, struct cc_view *commit,
				    struct cc_review_entry *out, bool *out_found, struct cc_err *err);

enum cc_review_kind { CC_REVIEW_FINE = 0, CC_REVIEW_FLAGGED, CC_REVIEW_REFUSED };
struct cc_review_verdict {
	enum cc_review_kind kind;
	const char *rule; /* lives as long as rules */
	const char *why;
};

/* root: where the tree would be checked out, a bind of rules. target: of a symbolic link, else empty. */
struct cc_review_verdict cc_review_judge(const struct cc_rules *rules, const char *root,
					 const struct cc_review_entry *entry, struct cc_view target);
/* Does this link, lying at path, lead out of its tree or into a git directory? */
bool cc_review_link_leaves(struct cc_view path, struct cc_view target);

#endif
