/* judge.h - may an agent use a tool so? The command policy and the action rules (src/guard) about a tool's name and
 * input. It stands beside the sandbox and never for it: an agent that does not ask meets the sandbox. Pure. */
#ifndef CC_AGENTS_JUDGE_H
#define CC_AGENTS_JUDGE_H

#include "guard/actions.h"
#include "wire/json.h"

enum cc_tool_kind {
	CC_TOOL_UNKNOWN = 0,
	CC_TOOL_READS,
	CC_TOOL_EDITS,
	CC_TOOL_DELETES,
	CC_TOOL_RUNS,    /* a command */
	CC_TOOL_FETCHES, /* from the network */
	CC_TOOL_PERSON,  /* asks the person something that nobody is there to answer */
};
/* By the names of Claude Code's tools, and by the kinds of the Agent Client Protocol. */
enum cc_tool_kind cc_tool_kind_of_name(const char *name);
enum cc_tool_kind cc_tool_kind_of_acp(const char *kind);

struct cc_tool_ask {
	const char *tool;
	enum cc_tool_kind kind;
	const struct cc_json *input; /* NULL: not known */
};

struct cc_tool_rules {
	const struct cc_action_rule *rules;
	size_t count;
	enum cc_mode mode;
	const char *root; /* of the work tree */
	int64_t now;      /* seconds since 1970 */
};

struct cc_tool_verdict {
	enum cc_guard verdict;
	char rule[200]; /* that decided, for the record and the agent */
};
/* Whatever goes wrong on the way is a no. */
void cc_tool_judge(const struct cc_tool_rules *rules, const struct cc_tool_ask *ask, struct cc_tool_verdict *out);

#endif
