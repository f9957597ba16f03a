/* tools.h - the tools that an agent is given beside its own: read, write, edit, apply_patch, search, find, search_files
 * and bash (contract 4.2).
 *
 * The file tools run here, outside the sandbox, and hold what the sandbox holds by the same compiled rules: each path
 * is pinned by the kernel below a bind (openat2, no link out of it), the rules decide about the canonical path of what
 * was pinned, and then exactly that is read or replaced. bash runs in the session. */
#ifndef CC_TOOLS_TOOLS_H
#define CC_TOOLS_TOOLS_H

#include "base/buf.h"
#include "base/err.h"
#include "policy/rules.h"
#include "policy/spec.h"
#include "wire/json.h"

#include <limits.h>
#include <stdbool.h>

enum { CC_TOOL_ROOTS = 64, CC_TOOL_FILE_MAX = 8 << 20, CC_TOOL_TEXT_MAX = 1 << 20 };

enum cc_tier { CC_TIER_READ = 0, CC_TIER_WRITE, CC_TIER_EXEC };

/* What bash needs of its owner. */
struct cc_tool_shell {
	void *context;
	/* Puts the question to a person; false is no, also where nobody is there. */
	bool (*ask)(void *context, const char *question);
	/* Runs line in the session, its output into out. */
	enum cc_code (*run)(void *context, const char *line, const char *cwd, long timeout, struct cc_buf *out,
			    int *out_code, struct cc_err *err);
};

struct cc_tools {
	const struct cc_rules *rules;
	enum cc_mode mode;
	char workdir[PATH_MAX]; /* where relative paths start */
	size_t root_count;
	struct cc_tool_root {
		char path[PATH_MAX];
		int fd;
	} roots[CC_TOOL_ROOTS];
	struct cc_tool_shell shell;
};

/* Opens the binds of rules. rules is borrowed. */
CC_MUST enum cc_code cc_tools_init(struct cc_tools *tools, const struct cc_rules *rules, enum cc_mode mode,
				   const char *workdir, struct cc_err *err);
/* One more place to read from; the rules decide about it as about everything outside the binds. */
CC_MUST enum cc_code cc_tools_add_root(struct cc_tools *tools, const char *path, struct cc_err *err);
void cc_tools_done(struct cc_tools *tools);

/* args: the call's arguments, an object. out: the answer for the model. A failure's text is for the model too. */
typedef enum cc_code cc_tool_run(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out,
				 struct cc_err *err);
struct cc_tool {
	const char *name, *help;
	const char *schema; /* of its arguments: JSON */
	enum cc_tier tier;
	cc_tool_run *run;
	bool walks; /* over a tree: it may take long, and only reads */
};
extern const struct cc_tool cc_tools_table[];
extern const size_t cc_tools_count;

/* Is it offered in that mode? What changes files is not, where the mode only reads, nor is bash. */
bool cc_tool_offered(const struct cc_tool *tool, enum cc_mode mode);
bool cc_tool_walks(const char *name);
/* The named tool, if it is offered. CC_ENOTFOUND names those that are. */
CC_MUST enum cc_code cc_tool_call(struct cc_tools *tools, const char *name, const struct cc_json *args,
				  struct cc_buf *out, struct cc_err *err);

cc_tool_run cc_tool_read, cc_tool_write, cc_tool_edit, cc_tool_apply_patch, cc_tool_search, cc_tool_find,
	cc_tool_search_files, cc_tool_bash;

#endif
