/* rules.h - the one compiled, immutable set of rules. Gate, proxy, file tools, explain, bwrap argv and Seatbelt text
 * all answer from it; nothing else decides.
 *
 * Pure: what the host knows (resolved spellings, git's own configuration, tracked names) comes in as facts. */
#ifndef CC_POLICY_RULES_H
#define CC_POLICY_RULES_H

#include "base/err.h"
#include "base/mem.h"
#include "policy/net.h"
#include "policy/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is being done to a path. The order is the bit order of cc_rule.verbs. */
enum cc_verb {
	CC_VERB_READ = 0, /* open for reading */
	CC_VERB_CREATE,   /* a regular file comes into being */
	CC_VERB_WRITE,    /* open for writing, truncate */
	CC_VERB_MKDIR,
	CC_VERB_MKNOD,     /* FIFO or other special file */
	CC_VERB_BIND,      /* AF_UNIX socket file */
	CC_VERB_SYMLINK,   /* the link's own name */
	CC_VERB_LINK_FROM, /* the inode that gets another name */
	CC_VERB_LINK_TO,   /* the new name */
	CC_VERB_RENAME_FROM,
	CC_VERB_RENAME_TO,
	CC_VERB_UNLINK,
	CC_VERB_RMDIR,
	CC_VERB_MODE,    /* mode, owner, times, attributes */
	CC_VERB_CONNECT, /* connect to an AF_UNIX socket file */
	CC_VERB_COUNT,
};
#define CC_VERB_BIT(verb) (1u << (unsigned)(verb))
#define CC_VERBS_ALL      ((1u << CC_VERB_COUNT) - 1u)
#define CC_VERBS_WRITE    (CC_VERBS_ALL & ~(CC_VERB_BIT(CC_VERB_READ) | CC_VERB_BIT(CC_VERB_CONNECT)))
const char *cc_verb_name(enum cc_verb verb);   /* "create", "rename-to", ... as explain takes and prints them */
const char *cc_verb_action(enum cc_verb verb); /* the contract's vocabulary (3.5): "file-write-create", ... */

enum cc_effect { CC_EFFECT_DENY = 0, CC_EFFECT_ALLOW, CC_EFFECT_FLAG, CC_EFFECT_JUDGE };

/* How content or surroundings are to be judged before an operation may go on (CC_EFFECT_JUDGE). */
enum cc_judge {
	CC_JUDGE_NONE = 0,
	CC_JUDGE_CONFIG,  /* git configuration: rename of NAME.lock onto it, content read once, safe keys only */
	CC_JUDGE_POINTER, /* .git file, commondir, gitdir: must point inside the same bind */
	CC_JUDGE_BARE,    /* a part of a bare repository outside .git: refused when it would complete one */
	CC_JUDGE_HISTORY, /* objects and references: taken away by git itself, or with what this session made */
	CC_JUDGE_TODO,    /* the list of a rebase: renamed into place by anybody, content read once, no command */
};

enum cc_rule_kind {
	CC_RULE_NAME = 0, /* glob over every component below the mount's root (6.2) */
	CC_RULE_TREE,     /* component globs in sequence, at any depth (6.6): ".git/hooks", ".yarn/releases/ **" */
	CC_RULE_PATH,     /* an absolute path: itself, everything below it, its ancestors pinned */
};

struct cc_rule {
	enum cc_rule_kind kind;
	enum cc_effect effect;
	enum cc_judge judge;
	uint32_t verbs;  /* CC_VERB_BIT set it applies to */
	bool whole_path; /* TREE: match over the whole path, not only below the mount's root (git's own rules) */
	bool leaf;       /* TREE: the path itself only, not what lies below it */
	uint32_t fixed;  /* TREE: how many leading parts of the pattern an --allow-path must cover; 0 = all of them */
	char *pattern;   /* as matched; ASCII letters fold */
	char *id;        /* stable, shown to people: "name:**" "/.env", "git:hooks", "protected:/home/x/repo" */
	char *reason;    /* one clause for a person */
	char *grant;     /* the kind of flag that opens it: "--allow-name", "--allow-path", NULL = nothing opens it */
};

enum cc_mount_mode {
	CC_MOUNT_RO = 0,
	CC_MOUNT_RW,      /* a bind of the host: every rule applies */
	CC_MOUNT_STATE,   /* runner state: writable in every mode; names as the agent's row allows */
	CC_MOUNT_PRIVATE, /* session tmpfs (/tmp, HOME, /dev/shm): never reaches the host, names are free */
};

struct cc_mount {
	char *path; /* absolute, resolved; guest spelling */
	enum cc_mount_mode mode;
};

struct cc_rules_index; /* the compiled matchers */

struct cc_rules {
	char *session_id;
	struct cc_mount *mounts; /* longest path first */
	size_t mount_count;
	struct cc_rule *rules; /* evaluation order: the first that decides wins inside its class */
	size_t rule_count;
	struct cc_strv sockets; /* host sockets granted (6.9) */
	bool network_open;      /* the terminal profile: no proxy, the host's network */
	bool reads_judged;      /* a deny-read lies inside a visible mount: read-opens are trapped too */
	struct cc_net_rules *net;
	struct cc_rules_index *index;
};

/* What the host knows, handed to the pure compiler. */
struct cc_rule_facts {
	const char *home;
	/* Resolves symlinks of path; false when it does not resolve. May be NULL (nothing resolves). */
	bool (*resolve)(void *context, const char *path, char *out, size_t cap);
	void *context;
	/* Absolute paths the host's git configuration executes or includes (6.6), from `git config` at launch. */
	struct cc_strv git_paths;
	/* Repository-relative names tracked in any ref at launch; used only with the preset `tracked`. */
	struct cc_strv tracked;
	/* Extra names allowed in state mounts by the known agent's row. */
	struct cc_strv agent_names;
	/* Hosts of the known agent (`ccbox run` only). */
	struct cc_strv agent_hosts;
};

CC_MUST enum cc_code cc_rules_compile(const struct cc_spec *spec, const struct cc_rule_facts *facts,
				      struct cc_rules **out_rules, struct cc_err *err);
/* The fixed profile of a server-hosted terminal (contract 5): HOME and workdir writable, network open, reads of the
 * listed secrets and of the daemon's own paths denied; no deny-write, no name rule, no proxy. */
CC_MUST enum cc_code cc_rules_terminal(const char *session_id, const char *workdir, const struct cc_strv *daemon_paths,
				       const struct cc_rule_facts *facts, struct cc_rules **out_rules,
				       struct cc_err *err);
/* Builds the index of a rule set whose plain fields are filled (after decoding). Called by compile and by
 * wire/ruleset; nothing may be changed afterwards. */
CC_MUST enum cc_code cc_rules_seal(struct cc_rules *rules, struct cc_err *err);
void cc_rules_free(struct cc_rules *rules);
CC_OWNED(cc_rules)

#endif
