/* table.h - the agents that can be run, one row each: the program, how it is told what to do, what it speaks. Pure. */
#ifndef CC_AGENTS_TABLE_H
#define CC_AGENTS_TABLE_H

#include "agents/talk.h"

struct cc_runner_ask {
	const char *prompt;
	const char *model; /* NULL: its own default */
	enum cc_mode mode;
};

struct cc_runner {
	const char *name; /* in the API */
	const char *lend; /* whose login it works with (policy/agents.h) */
	enum cc_talk_kind talks;
	bool sanitised; /* without a sandbox: not the host's whole environment (contract 2.5) */
	enum cc_code (*argv)(const struct cc_runner_ask *ask, struct cc_strv *out, struct cc_err *err);
};

const struct cc_runner *cc_runner_by_name(const char *name);
const struct cc_runner *cc_runner_at(size_t index); /* NULL behind the last */

#endif
