/* rule.h - the push rule: what may be pushed where, by whom being no question: a run's agent. Pure.
 *
 * Every rule that speaks of a reference counts, and the most restrictive of them wins. What no rule speaks of is asked
 * when it adds to a branch, and denied otherwise: history that is rewritten or taken away, tags, other references. */
#ifndef CC_PUSH_RULE_H
#define CC_PUSH_RULE_H

#include "base/err.h"
#include "base/view.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

enum cc_push_what {
	CC_PUSH_CREATE = 1, /* a branch that was not there */
	CC_PUSH_UPDATE = 2, /* a branch goes on */
	CC_PUSH_FORCE = 4,  /* what stood there is not part of what comes */
	CC_PUSH_DELETE = 8,
	CC_PUSH_TAG = 16,
	CC_PUSH_ALL = 31,
};
enum cc_push_verdict { CC_PUSH_DENY = 0, CC_PUSH_ASK, CC_PUSH_ALLOW };

enum { CC_PUSH_RULES = 200, CC_PUSH_PATTERN = 300 };

struct cc_push_rule {
	enum cc_push_verdict verdict;
	char *repository; /* pattern over "host/owner/name", letters fold; NULL: each */
	char *ref;        /* pattern: of a branch or tag by its short name, or of a whole name "refs/..."; NULL: each */
	unsigned what;    /* enum cc_push_what */
	struct cc_strv paths; /* patterns of what may not change; not empty: it denies where one did */
	int64_t max_bytes;    /* of the push as it is sent; 0: no bound of this rule */
	char *name;           /* how it is called to people */
};

struct cc_push_rules {
	struct cc_push_rule *items;
	size_t count;
};

/* list: [{verdict, [repository], [ref], [what:[...]], [paths:[...]], [maxBytes], [name]}]. In patterns "*" is any bytes
 * of one part, "**" of any, "?" one byte. Without `what` a rule that allows speaks of create and update, any other of
 * everything. Anything unknown in a rule is CC_EPROTO: no rule is read in half. */
CC_MUST enum cc_code cc_push_rules_read(const struct cc_json *list, struct cc_push_rules *out_rules,
					struct cc_err *err);
void cc_push_rules_done(struct cc_push_rules *rules);

struct cc_push_decision {
	enum cc_push_verdict verdict;
	const char *rule; /* its name; lives as long as the rules */
};

/* What a command does. known: the commit that stood there is known to be part of the new one. */
unsigned cc_push_what_of(const char *ref, bool creates, bool deletes, bool forces);
const char *cc_push_what_name(unsigned what); /* "a branch is made", ... */
struct cc_push_decision cc_push_decide(const struct cc_push_rules *rules, const char *repo, const char *ref,
				       unsigned what);
/* Allowed still, with a push of that many bytes? */
struct cc_push_decision cc_push_decide_size(const struct cc_push_rules *rules, const char *repo, const char *ref,
					    unsigned what, int64_t bytes);
/* Allowed still, where this path has changed? */
struct cc_push_decision cc_push_decide_path(const struct cc_push_rules *rules, const char *repo, const char *ref,
					    unsigned what, struct cc_view path);
/* Has any rule an opinion about paths there? */
bool cc_push_minds_paths(const struct cc_push_rules *rules, const char *repo);
/* One rule denies everything there: whoever asks for the repository can be told at once. NULL: none. */
const char *cc_push_flat_deny(const struct cc_push_rules *rules, const char *repo);

bool cc_push_glob(const char *pattern, struct cc_view text, bool fold);

#endif
