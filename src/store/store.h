/* store.h - what outlives the daemon: sessions, the commands that ran in them, the audit trail of their events, and the
 * checkouts that were registered. SQLite with a write-ahead log: what was committed survives a kill at any moment.
 *
 * Sessions, repositories and workspaces are committed at once; commands and events with the next flush. A store that
 * cannot be written says so on every call and keeps what it has. */
#ifndef CC_STORE_STORE_H
#define CC_STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/view.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

struct cc_store;

enum { CC_STORE_SESSIONS_KEPT = 2000 };

/* Makes or opens the file, brings its tables up to date, and looks whether it is whole: a file that is not, or that a
 * newer version wrote, is an error that names it, and is not touched. */
CC_MUST enum cc_code cc_store_open(const char *path, struct cc_store **out_store, struct cc_err *err);
void cc_store_close(struct cc_store *store);
CC_MUST enum cc_code cc_store_flush(struct cc_store *store, struct cc_err *err);
bool cc_store_waits(const struct cc_store *store); /* something is not committed yet */

/* Sessions. n is the store's own number: ids may come again. */
struct cc_store_session {
	const char *id, *workspace, *agent, *backend, *request;
	int64_t created_ms;
};
CC_MUST enum cc_code cc_store_session_add(struct cc_store *store, const struct cc_store_session *session,
					  int64_t *out_n, struct cc_err *err);
/* backend, state and the owner's pid as they are now; reason with destroyed and error. */
CC_MUST enum cc_code cc_store_session_set(struct cc_store *store, int64_t n, const char *backend, const char *state,
					  const char *reason, int64_t pid, int64_t now_ms, struct cc_err *err);
/* The ones that a daemon before this one did not end: told one by one, then recorded as destroyed. */
CC_MUST enum cc_code cc_store_sweep(struct cc_store *store, const char *reason, int64_t now_ms,
				    void (*each)(void *context, const char *id, int64_t pid), void *context,
				    struct cc_err *err);
/* An array of the newest sessions, or one object: the newest of that id (CC_ENOTFOUND). */
CC_MUST enum cc_code cc_store_sessions_write(struct cc_store *store, int64_t most, struct cc_jsonw *w,
					     struct cc_err *err);
CC_MUST enum cc_code cc_store_session_write(struct cc_store *store, const char *id, struct cc_jsonw *w,
					    struct cc_err *err);

CC_MUST enum cc_code cc_store_run_begin(struct cc_store *store, int64_t session, int command, const char *argv,
					int64_t now_ms, struct cc_err *err);
CC_MUST enum cc_code cc_store_run_end(struct cc_store *store, int64_t session, int command, int exit_code,
				      int64_t now_ms, struct cc_err *err);
CC_MUST enum cc_code cc_store_event_add(struct cc_store *store, int64_t session, uint64_t seq, const char *type,
					struct cc_view line, struct cc_err *err);
/* Lines of the newest session of that id, as many as out takes. */
CC_MUST enum cc_code cc_store_events_write(struct cc_store *store, const char *id, uint64_t since, struct cc_buf *out,
					   struct cc_err *err);

/* Runs of agents; the record of what happened in one is a file of its own. */
struct cc_store_agent_run {
	const char *id, *workspace, *agent, *mode, *place, *prompt;
	int64_t created_ms;
};
enum { CC_STORE_AGENT_RUNS_KEPT = 1000 };
CC_MUST enum cc_code cc_store_agent_run_add(struct cc_store *store, const struct cc_store_agent_run *run,
					    struct cc_err *err);
/* NULL and negative values leave what is there. detail: a JSON object. */
struct cc_store_agent_state {
	const char *state, *backend, *reason, *detail;
	int64_t code, pid, now_ms;
};
CC_MUST enum cc_code cc_store_agent_run_set(struct cc_store *store, const char *id,
					    const struct cc_store_agent_state *now, struct cc_err *err);
/* Those that a daemon before this one did not see the end of: told, then recorded as lost; and those that are so old
 * that they are forgotten, told with dropped. */
CC_MUST enum cc_code cc_store_agent_sweep(struct cc_store *store, const char *reason, int64_t now_ms,
					  void (*each)(void *context, const char *id, int64_t pid, bool dropped),
					  void *context, struct cc_err *err);
/* id NULL: an array of the newest ones; else one object, left open so that the caller adds to it (CC_ENOTFOUND). */
CC_MUST enum cc_code cc_store_agent_runs_write(struct cc_store *store, const char *id, int64_t most, struct cc_jsonw *w,
					       struct cc_err *err);

/* Checkouts. A workspace is there from its first mention. */
CC_MUST enum cc_code cc_store_workspace_add(struct cc_store *store, const char *id, const char *name, int64_t now_ms,
					    struct cc_err *err);
CC_MUST enum cc_code cc_store_workspace_remove(struct cc_store *store, const char *id, struct cc_err *err);
CC_MUST enum cc_code cc_store_workspaces_write(struct cc_store *store, struct cc_jsonw *w, struct cc_err *err);
CC_MUST enum cc_code cc_store_repo_add(struct cc_store *store, const char *workspace, const char *path, int64_t now_ms,
				       int64_t *out_n, struct cc_err *err);
CC_MUST enum cc_code cc_store_repo_remove(struct cc_store *store, int64_t n, struct cc_err *err);
CC_MUST enum cc_code cc_store_repos_write(struct cc_store *store, const char *workspace, struct cc_jsonw *w,
					  struct cc_err *err);
/* The path of one; CC_ENOTFOUND. The caller releases it. */
CC_MUST enum cc_code cc_store_repo_path(struct cc_store *store, int64_t n, char **out_path, struct cc_err *err);
CC_MUST enum cc_code cc_store_repo_paths(struct cc_store *store, const char *workspace, struct cc_strv *out_paths,
					 struct cc_err *err);

#endif
