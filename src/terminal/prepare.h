/* prepare.h - from what a client asked to what will be applied: the shell, the directory, the fixed profile as rules,
 * the backend that has to hold them, the plan. Nothing is started. */
#ifndef CC_TERMINAL_PREPARE_H
#define CC_TERMINAL_PREPARE_H

#include "backend/backend.h"
#include "terminal/terminal.h"

struct cc_term_plan {
	struct cc_facts facts;
	const struct cc_backend *backend;
	struct cc_rules *rules; /* native */
	struct cc_linux_plan plan;
	struct cc_strv env, argv;
	char *cwd, *shell;
	char *bwrap;
	const char *off; /* tests only, the asker's */
};

CC_MUST enum cc_code cc_term_prepare(const struct cc_terminal_ask *ask, struct cc_term_plan *out_plan,
				     struct cc_err *err);
/* What starts it; points at plan, which must outlive the session. */
void cc_term_launch(const struct cc_term_plan *plan, struct cc_launch *out);
void cc_term_plan_done(struct cc_term_plan *plan);

#endif
