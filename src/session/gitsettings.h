/* gitsettings.h - what the host's own git configuration says, asked of git itself once at launch: settings that are
 * harmless to lend (identity, line endings, colours) and every path it executes or includes (contract 6.6). */
#ifndef CC_SESSION_GITSETTINGS_H
#define CC_SESSION_GITSETTINGS_H

#include "base/err.h"
#include "base/view.h"
#include "os/proc.h"

struct cc_git_settings {
	struct cc_strv lend;  /* lines of a git configuration file */
	struct cc_strv paths; /* absolute */
};

/* Asks git in dir, the work tree (relative paths of the configuration start there), and goes on: git answers while the
 * sandbox starts. Without git on this host nothing is asked. */
CC_MUST enum cc_code cc_git_settings_ask(const char *dir, char *const *env, struct cc_capture *out_asked,
					 struct cc_err *err);
/* Takes the answer; both lists are empty when nothing was asked. A git that fails is an error: a path it executes could
 * be missed. */
CC_MUST enum cc_code cc_git_settings_answer(struct cc_capture *asked, const char *dir, const char *home,
					    struct cc_git_settings *out_settings, struct cc_err *err);
void cc_git_settings_done(struct cc_git_settings *settings);

/* Takes one row of `git config --list --show-scope --show-origin -z`. For tests. */
CC_MUST enum cc_code cc_git_settings_take(struct cc_git_settings *settings, const char *scope, const char *origin,
					  const char *key, const char *value, const char *dir, const char *home,
					  struct cc_err *err);
/* How many names any ref of the repository tracks is the preset's cost, so this runs only when it is asked for. */
CC_MUST enum cc_code cc_git_tracked_names(const char *dir, char *const *env, struct cc_strv *out_names,
					  struct cc_err *err);

#endif
