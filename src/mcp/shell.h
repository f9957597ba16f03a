/* shell.h - the session that the tool bash runs in: warm from the start, one command at a time. */
#ifndef CC_MCP_SHELL_H
#define CC_MCP_SHELL_H

#include "base/buf.h"
#include "session/eventlog.h"
#include "session/prepare.h"
#include "session/session.h"

#include <limits.h>

/* What else is listened to while a command runs: cancelled is called when fd is readable, and true ends the command; so
 * does the end of whoever reads what goes out. -1: nothing is listened to. */
struct cc_shell_wait {
	int fd, out;
	bool (*cancelled)(void *context);
	void *context;
};

struct cc_shell {
	struct cc_prepared *prepared;
	struct cc_session *session;
	struct cc_eventlog *log;
	struct cc_strv env;
	struct cc_shell_wait wait;
	char spill[PATH_MAX]; /* directory for outputs that are too long to show; empty: none */
	unsigned outputs;
	/* of the command that runs */
	int id, code, sys;
	bool over, started;
	struct cc_buf refused; /* lines: what the session refused meanwhile */
};

/* Launches; prepared's rules are whole afterwards. shell->log, wait and spill are set before. */
CC_MUST enum cc_code cc_shell_open(struct cc_shell *shell, struct cc_prepared *prepared, struct cc_err *err);
/* `bash -c line` (sh where there is no bash), both outputs in the order in which they come. A text that is too long
 * keeps its head and its tail, and all of it lies in a file that the text names. timeout in seconds: code 124. */
CC_MUST enum cc_code cc_shell_run(struct cc_shell *shell, const char *line, const char *cwd, long timeout,
				  struct cc_buf *out, int *out_code, struct cc_err *err);
/* Ends the session and everything in it. */
void cc_shell_close(struct cc_shell *shell);

#endif
