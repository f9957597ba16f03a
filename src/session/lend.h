/* lend.h - a known agent works logged in: its state is copied into the session's private HOME by allow-list, and after
 * the command only what the table marks as coming back is written to the person's own files: credential files whose
 * shape is right, and transcripts that are new. Files that name commands of the host never come back (attacks 11). */
#ifndef CC_SESSION_LEND_H
#define CC_SESSION_LEND_H

#include "plan/linux.h"
#include "policy/agents.h"

enum { CC_LEND_FILES = 64, CC_LEND_FILE_MAX = 8 << 20, CC_LEND_CREDENTIAL_MAX = 64 << 10, CC_LEND_NEW_FILES = 100 };

/* One file or directory that may come back. */
struct cc_lend_back {
	char *inside; /* absolute, in the private HOME */
	char *host;   /* absolute */
	char *before; /* what the host's file held at launch; NULL: it was absent */
	bool directory;
};

struct cc_lend {
	const struct cc_agent *agent; /* NULL: nothing is lent */
	struct cc_plan_file *files;
	size_t file_count;
	struct cc_strv env_pass; /* names */
	struct cc_strv env_set;  /* NAME=VALUE */
	struct cc_lend_back *back;
	size_t back_count;
	struct cc_strv said; /* for the person: what was lent and why */
};

/* agent: by name, "none", or NULL for the one whose program is run. An unknown name is CC_EINVAL. */
CC_MUST enum cc_code cc_lend_collect(const char *agent, const char *program, const struct cc_facts *facts,
				     struct cc_lend *out_lend, struct cc_err *err);
void cc_lend_done(struct cc_lend *lend);
/* argv with the row's arguments put behind the program's name (its own sandbox cannot start inside ours). */
CC_MUST enum cc_code cc_lend_argv(const struct cc_lend *lend, const struct cc_strv *argv, struct cc_strv *out_argv,
				  struct cc_err *err);
/* fd: a credential file as it is inside. Written to the host when it changed, has the right shape, and the host's own
 * did not change meanwhile. */
CC_MUST enum cc_code cc_lend_return(const struct cc_lend_back *back, int fd, struct cc_err *err);
/* fd: a file `name` below a directory that takes new files; one that the host already has is left alone. */
CC_MUST enum cc_code cc_lend_return_new(const struct cc_lend_back *back, const char *name, int fd, struct cc_err *err);
/* The shape of a credential file: one JSON object, at most 4 levels, plain keys, no nested surprises. Pure; for tests.
 */
CC_MUST enum cc_code cc_lend_check_credential(const char *name, struct cc_view text, struct cc_err *err);

#endif
