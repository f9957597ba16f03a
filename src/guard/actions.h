/* actions.h - the classes of what an agent does, and the rules about them: who may, who must ask, who may not. Pure.
 *
 * Scopes from the narrowest to the widest; the first one that has a rule for the class decides, and what the machine's
 * manager says can only make the answer stricter. Nothing that is not understood ever makes it milder. */
#ifndef CC_GUARD_ACTIONS_H
#define CC_GUARD_ACTIONS_H

#include "base/err.h"
#include "base/view.h"
#include "guard/verdict.h"
#include "policy/spec.h"

#include <stdbool.h>
#include <stdint.h>

/* Names are wire values. */
#define CC_ACTIONS(X)                                                                                                  \
	X(FILE_DELETE, "fileDelete", ASK)                                                                              \
	X(FILE_WRITE_OUTSIDE, "fileWriteOutsideWorktree", ALLOW)                                                       \
	X(GIT_COMMIT, "gitCommit", ALLOW)                                                                              \
	X(GIT_PUSH, "gitPush", ASK)                                                                                    \
	X(PR_CREATE, "prCreate", ASK)                                                                                  \
	X(PR_PUBLISH, "prPublish", ASK)                                                                                \
	X(VENDOR_SYNC_WRITE, "vendorSyncWrite", ASK)                                                                   \
	X(NETWORK_EGRESS, "networkEgress", ALLOW)                                                                      \
	X(SECRET_ACCESS, "secretAccess", ALLOW)                                                                        \
	X(PACKAGE_INSTALL, "packageInstall", ALLOW)                                                                    \
	X(PROCESS_SPAWN, "processSpawn", ALLOW)                                                                        \
	X(WORKSPACE_MUTATION, "workspaceMutation", ALLOW)                                                              \
	X(ENCLOSURE_CONTROL, "enclosureControl", ALLOW)

enum cc_action {
#define CC_ACTION_ENUM(name, wire, usual) CC_ACTION_##name,
	CC_ACTIONS(CC_ACTION_ENUM)
#undef CC_ACTION_ENUM
		CC_ACTION_COUNT
};
#define CC_ACTION_BIT(name) (UINT32_C(1) << CC_ACTION_##name)

const char *cc_action_name(enum cc_action action);
CC_MUST enum cc_code cc_action_parse(const char *name, enum cc_action *out_action, struct cc_err *err);

/* Who made a rule; the order is the precedence. */
enum cc_scope {
	CC_SCOPE_SPACE = 0,
	CC_SCOPE_AGENT,
	CC_SCOPE_WORKSPACE,
	CC_SCOPE_PRESET,
	CC_SCOPE_DEFAULT,
	CC_SCOPE_COUNT
};
CC_MUST enum cc_code cc_scope_parse(const char *name, enum cc_scope *out_scope, struct cc_err *err);

struct cc_action_rule {
	enum cc_scope scope;
	enum cc_action action;
	const char *prefix;     /* of the object (a path, a host, a repository); NULL or "": any */
	const char *constraint; /* what must hold besides; NULL: nothing */
	bool managed;           /* by the machine's manager, whatever the scope */
	int64_t until;          /* seconds since 1970; 0: for ever */
	enum cc_guard verdict;
};

/* A decision as it was stored; what is not known reads as ASK. */
enum cc_guard cc_guard_parse(const char *name);
const char *cc_guard_name(enum cc_guard verdict);

/* CLASS=deny|prompt|allow, as a policy file has it. What is strict holds whatever a run says, as a manager's rule; what
 * is mild only takes the place of the default. */
CC_MUST enum cc_code cc_action_stored(const char *text, struct cc_action_rule *out_rule, struct cc_err *err);

struct cc_action_ask {
	uint32_t actions; /* CC_ACTION_BIT */
	const char *object;
	enum cc_mode mode;
	int64_t now;
	bool confirmed; /* a person has said yes to exactly this */
};

struct cc_action_answer {
	enum cc_guard verdict;
	enum cc_action action;             /* that decided */
	const struct cc_action_rule *rule; /* NULL: the default */
};

/* The strictest answer of all the actions. The modes that only read allow none but looking at the network and at
 * secrets, whatever the rules say. An ASK stays one: who has nobody to ask must take it for a DENY. */
struct cc_action_answer cc_actions_decide(const struct cc_action_rule *rules, size_t count,
					  const struct cc_action_ask *ask);
/* Where the answer comes from, for a person: a scope, "policy", "mode" or "default". */
const char *cc_action_source(const struct cc_action_answer *answer, enum cc_mode mode);

#endif
