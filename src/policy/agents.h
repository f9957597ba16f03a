/* agents.h - the agents that work logged in without a flag (DESIGN 9): what each needs of the person's state, which
 * variables carry its key, where it talks to, how its own sandbox is switched off. Data and one look-up.
 *
 * State is a private copy per session: files are copied in by this list, and only what is marked BACK or NEW is ever
 * copied out again, because the rest names commands that the agent would run on the host (attacks 11). */
#ifndef CC_POLICY_AGENTS_H
#define CC_POLICY_AGENTS_H

#include "base/view.h"

#include <stdbool.h>

enum cc_agent_file_use {
	CC_AGENT_SEED = 1, /* copied into the private state where it exists */
	CC_AGENT_BACK = 2, /* a credential: written back, O_NOFOLLOW, after a schema check */
	CC_AGENT_NEW = 4,  /* a directory: files that are new in it are written back, older ones never */
	CC_AGENT_TREE = 8, /* SEED applies to the whole directory */
};

struct cc_agent_file {
	const char *home; /* relative to HOME on the host (or to the directory that the person's own variable names) */
	const char *copy; /* relative to HOME inside */
	unsigned use;     /* cc_agent_file_use */
};

/* A state directory and the variable that moves it. */
struct cc_agent_dir {
	const char *home;     /* relative to HOME: the default place */
	const char *variable; /* NULL: it cannot be moved */
	bool parent;          /* the variable names the directory that holds it */
};

enum { CC_AGENT_LIST = 24 };

struct cc_agent {
	const char *name;
	const char *programs[8];                   /* base names of argv[0]; NULL ends every list */
	struct cc_agent_dir dirs[6];               /* home == NULL ends */
	struct cc_agent_file files[CC_AGENT_LIST]; /* home == NULL ends */
	const char *keys[CC_AGENT_LIST];           /* variables passed on from the host */
	const char *hosts[CC_AGENT_LIST];          /* `ccbox run` only */
	const char *set_env[8];                    /* NAME=VALUE set inside; among them the switch of its sandbox */
	const char *args[4];                       /* put behind argv[0] unless the person gave args[0] themselves */
	const char *names[8];                      /* names allowed in its own state, and nowhere else */
};

/* By the agent's name (--agent NAME); NULL if there is none. */
const struct cc_agent *cc_agent_by_name(const char *name);
/* By argv[0], path or not; NULL if it is not a known agent's program. */
const struct cc_agent *cc_agent_by_program(const char *argv0);
/* The index-th agent, NULL behind the last. */
const struct cc_agent *cc_agent_at(size_t index);

#endif
