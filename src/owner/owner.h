/* owner.h - a session of the daemon, in a process of its own: it launches, as `ccbox run` does and with the same code,
 * and lives as long as the session. So nothing that one session does, or that a launch waits for, holds up another one;
 * when the daemon is killed the owner finds its socket closed and ends everything it has started; and what a killed
 * bubblewrap leaves behind comes to it. It reads the daemon's messages and its helpers', nothing of the network's. */
#ifndef CC_OWNER_OWNER_H
#define CC_OWNER_OWNER_H

#include "cli/options.h"
#include "session/limits.h"
#include "session/prepare.h"
#include "session/session.h"
#include "wire/request.h"

enum { CC_OWNER_RUNS = 128, CC_OWNER_DROPPED = 200 };

struct cc_owner {
	int link;
	char *const *env;
	struct cc_session *session;
	struct cc_prepared prepared;
	struct cc_ask_run ask;
	struct cc_limits limits;
	bool sanitised; /* with backend none: what loads code or redirects trust is taken out */
	struct cc_strv env_base;
	int64_t deadline; /* wall clock limit, 0 = none */
	struct cc_held held;
	enum cc_state told;
	bool over;
	struct { /* the daemon's number of a command and the session's; 0 = free */
		int theirs, ours;
	} runs[CC_OWNER_RUNS];
};

/* Runs until the session is over. link: the socket to the daemon. Returns the exit code. */
int cc_owner_main(int link, char *const *env);

/* What the launch message asks for, as far as cc_prepare. */
CC_MUST enum cc_code cc_owner_prepare(struct cc_owner *owner, struct cc_view text, struct cc_err *err);

/* What every command starts from (contract 2.5: built, inherited or sanitised), and what of it the record may know: how
 * it came about, and the names of what is not passed on. */
CC_MUST enum cc_code cc_owner_environment(struct cc_owner *owner, struct cc_err *err);
void cc_owner_write_environment(const struct cc_owner *owner, struct cc_jsonw *w);

#endif
