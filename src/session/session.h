/* session.h - one sandbox from launch to end: owns the backend's box, keeps the state table, turns notes into events.
 * The owner polls the descriptors of cc_session_watch and calls cc_session_step for those that are readable. */
#ifndef CC_SESSION_SESSION_H
#define CC_SESSION_SESSION_H

#include "backend/backend.h"
#include "session/state.h"
#include "wire/event.h"

struct cc_session;

/* Called by cc_session_step and cc_session_launch; nothing is kept after the call. */
struct cc_session_sink {
	void *context;
	void (*event)(void *context, const struct cc_event *event);
	/* started, refused, exit, file, names, lost: what the owner acts on. note->fd may be taken (set it to -1). */
	void (*note)(void *context, struct cc_note *note);
};

struct cc_session_config {
	const char *session_id;
	const struct cc_backend *backend;
	struct cc_launch launch;
	struct cc_session_sink sink;
};

/* Emits starting, then ready; or killed with the reason, and fails: nothing was started then. */
CC_MUST enum cc_code cc_session_launch(const struct cc_session_config *config, struct cc_session **out_session,
				       struct cc_err *err);
/* Starts a command; its id comes back. Started, refused and exit arrive as notes. */
CC_MUST enum cc_code cc_session_exec(struct cc_session *session, const struct cc_box_exec *what, int *out_id,
				     struct cc_err *err);
CC_MUST enum cc_code cc_session_signal(struct cc_session *session, int id, int signal, struct cc_err *err);
CC_MUST enum cc_code cc_session_suspend(struct cc_session *session, struct cc_err *err);
CC_MUST enum cc_code cc_session_resume(struct cc_session *session, struct cc_err *err);
/* "fetch" or "list" (msg.h). */
CC_MUST enum cc_code cc_session_fetch(struct cc_session *session, int id, const char *message, const char *path,
				      struct cc_err *err);
/* Replaces the network rules of the running session, as one: every later event carries the new generation, connections
 * that are no longer allowed end, and rules that the proxy cannot read change nothing (a notice says so). */
CC_MUST enum cc_code cc_session_update(struct cc_session *session, const struct cc_rules *rules, struct cc_err *err);
size_t cc_session_watch(const struct cc_session *session, int fds[CC_BOX_WATCH]);
/* Takes every note that is there now. CC_OK also after the session was lost (state error). */
CC_MUST enum cc_code cc_session_step(struct cc_session *session, int fd, struct cc_err *err);
enum cc_state cc_session_state(const struct cc_session *session);
/* What runs it, as the box itself says: never what was asked for. UNSET when nothing runs any more. */
enum cc_backend_kind cc_session_backend(const struct cc_session *session);
/* What went wrong when the state is error. */
const char *cc_session_error(const struct cc_session *session);
/* Owner-side events (stdout, stderr, exit, killed) go through here, so that all share one sequence. */
void cc_session_emit(struct cc_session *session, struct cc_event *event);
/* Ends the sandbox: when it returns nothing of it runs any more. Pipes may still hold output. State: destroyed. */
void cc_session_end(struct cc_session *session);
/* Ends and frees it. */
void cc_session_free(struct cc_session *session);
CC_OWNED(cc_session)

#endif
