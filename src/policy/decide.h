/* decide.h - (rules, verb, object) -> verdict and the rule that gave it. Total, pure, fast: the gate calls it for
 * every trapped call. */
#ifndef CC_POLICY_DECIDE_H
#define CC_POLICY_DECIDE_H

#include "base/buf.h"
#include "policy/rules.h"

enum cc_verdict { CC_DENY = 0, CC_ALLOW = 1, CC_JUDGE = 2 }; /* zero is no */

enum cc_match { CC_MATCH_NONE = 0, CC_MATCH_EXACT, CC_MATCH_ANCESTOR };

/* What the object is, where the caller knows (rename, link): a symlink renamed into a git directory is judged as a
 * symlink made there. */
enum cc_object {
	CC_OBJECT_UNKNOWN = 0,
	CC_OBJECT_FILE,
	CC_OBJECT_DIR,
	CC_OBJECT_SYMLINK,
	CC_OBJECT_FIFO,
	CC_OBJECT_SOCKET,
	CC_OBJECT_OTHER
};

struct cc_ask {
	enum cc_verb verb;
	struct cc_view path; /* canonical and absolute, no trailing slash */
	enum cc_object object;
	struct cc_view from; /* RENAME_TO, LINK_TO: the canonical source; else empty */
};

struct cc_decision {
	enum cc_verdict verdict;
	enum cc_judge judge; /* with CC_JUDGE */
	enum cc_match match;
	bool flagged;                 /* allowed, but reported once (level flag) */
	const struct cc_rule *rule;   /* the rule that decided, or NULL (no rule: the mount's mode decided) */
	const struct cc_mount *mount; /* the mount the path lies in, or NULL */
};

/* Reading and connecting outside every mount is allowed here: what is visible there is the view's business. READ is
 * worth asking only when rules->reads_judged; LINK_FROM and RENAME_FROM are asked beside their *_TO. */
struct cc_decision cc_decide(const struct cc_rules *rules, const struct cc_ask *ask);

/* Rule id for events: the rule's id, or "mount:read-only", "mount:outside", "mount:allowed". Beside the compiled rules
 * there are three that no pattern can say: "bind:no-fifo", "git:moved-directory" and "mount:above". */
const char *cc_decision_id(const struct cc_decision *decision);
/* The smallest flag that would have allowed it, e.g. `--allow-name '**'/.env'`; empty when nothing opens it. */
void cc_decision_grant(const struct cc_decision *decision, const struct cc_ask *ask, struct cc_buf *out);
/* The flag for a socket of the host. */
void cc_socket_grant(struct cc_view path, struct cc_buf *out);

#endif
