/* live.h - the daemon's side of its sessions: a link to each owner, the commands that run, the events for whoever
 * reads.
 *
 * A session belongs to the roster until it is destroyed and to everybody who holds a reference; what happens in it is
 * one numbered sequence in a ring that is bounded in entries and bytes. A reader has a place in that ring and nothing
 * else: one that is too slow loses what has been overwritten and is told how much, and holds up nobody. */
#ifndef CC_LIVE_LIVE_H
#define CC_LIVE_LIVE_H

#include "base/buf.h"
#include "os/proc.h"
#include "policy/spec.h"
#include "session/state.h"
#include "wire/event.h"
#include "wire/request.h"

#include <uv.h>

struct cc_roster;
struct cc_live;
struct cc_command;

enum {
	CC_LIVE_COMMANDS = 64, /* at once, in one session */
	CC_LIVE_RING_ENTRIES = 8192,
	CC_LIVE_RING_BYTES = 8 << 20,
	CC_LIVE_STDIN_MAX = 1 << 20, /* not yet taken by the command */
};

struct cc_roster_config {
	uv_loop_t *loop;
	char *const *env;
	const char *owner_path; /* cc-session */
	unsigned long files;    /* limit of open files for what is started */
	size_t sessions_max;
	void *context;
	/* Everything but output, in order. */
	void (*event)(void *context, const struct cc_live *live, const struct cc_event *event);
	/* A new state, the first and the last included. */
	void (*changed)(void *context, const struct cc_live *live, enum cc_state from);
	/* Started, and again when it is over. */
	void (*command)(void *context, const struct cc_command *command, bool over);
	/* A connection from inside to the reserved name: *fd is taken (set to -1), or closed. */
	void (*gateway)(void *context, const struct cc_live *live, int *fd);
	/* A child of the daemon's that is no session's was reaped. NULL: nobody wants to know. */
	void (*reaped)(void *context, pid_t pid);
};

CC_MUST enum cc_code cc_roster_new(const struct cc_roster_config *config, struct cc_roster **out_roster,
				   struct cc_err *err);
void cc_roster_free(struct cc_roster *roster);
/* The environment of whatever the daemon starts: its own, without what the service manager said to it alone. */
CC_MUST enum cc_code cc_roster_env(char *const *env, struct cc_strv *out, struct cc_err *err);
/* Starts a helper of the daemon's: `path FD FILES`, FD its socket to us, FILES the limit of open files that the daemon
 * was started with. Its environment is what cc_roster_env makes of env. */
CC_MUST enum cc_code cc_roster_spawn(const char *path, char *const *env, unsigned long files, int their_end,
				     struct cc_child *out_child, struct cc_err *err);
struct cc_live *cc_roster_find(struct cc_roster *roster, const char *id);
struct cc_live *cc_roster_next(struct cc_roster *roster, const struct cc_live *after); /* NULL: the first */
/* Every session is told to end; done is called when the last one has. */
void cc_roster_end(struct cc_roster *roster, void (*done)(void *context), void *context);

/* A session */
struct cc_live_ask {
	const char *id;
	const char *workspace;
	const char *agent; /* NULL */
	int64_t record;    /* the caller's own number for it */
	enum cc_backend_kind backend;
	struct cc_view body;               /* the client's, checked */
	const struct cc_strv *protect;     /* checkouts of the workspace */
	const struct cc_strv *owner_ports; /* where the daemon listens */
	const struct cc_strv *deny_read;   /* what is the daemon's own */
	bool gateway;                      /* connections to the reserved name are taken */
};
/* The session exists from now on, in state created; watch it for what becomes of it. */
CC_MUST enum cc_code cc_live_launch(struct cc_roster *roster, const struct cc_live_ask *ask, struct cc_live **out_live,
				    struct cc_err *err);
const char *cc_live_id(const struct cc_live *live);
void cc_live_hold(struct cc_live *live);
void cc_live_release(struct cc_live *live);
enum cc_state cc_live_state(const struct cc_live *live);
const struct cc_err *cc_live_error(const struct cc_live *live); /* code 0: none */
enum cc_backend_kind cc_live_backend(const struct cc_live *live);
int64_t cc_live_record(const struct cc_live *live);
int64_t cc_live_pid(const struct cc_live *live);            /* of its owner, 0 = none */
const char *cc_live_end_reason(const struct cc_live *live); /* NULL: nobody has ended it */
/* The SandboxHandle of the contract (3.3), as JSON. */
void cc_live_write(const struct cc_live *live, struct cc_jsonw *w);
CC_MUST enum cc_code cc_live_suspend(struct cc_live *live, struct cc_err *err);
CC_MUST enum cc_code cc_live_resume(struct cc_live *live, struct cc_err *err);
/* It will be destroyed; reason goes into its last event. Again: no harm. */
void cc_live_end(struct cc_live *live, const char *reason);
/* Numbers the event and gives it to the readers. */
void cc_live_emit(struct cc_live *live, struct cc_event *event);

/* Called on every change of state until it is dropped (also from inside the call). */
struct cc_watcher {
	void (*changed)(void *context, struct cc_live *live);
	void *context;
	struct cc_live *live;
	struct cc_watcher *next;
};
void cc_live_watch(struct cc_live *live, struct cc_watcher *watcher);
/* Tells the watchers what it is now: for one that came after the change. */
void cc_live_check(struct cc_live *live);
void cc_live_unwatch(struct cc_watcher *watcher);

/* Reading events: lines of JSON, newline included. */
struct cc_reader {
	void (*wake)(void *context); /* there is more, or the session is over */
	void *context;
	struct cc_live *live;
	uint64_t next_seq;
	struct cc_reader *next;
};
/* From after `since` (0: all that is there). Holds the session. */
void cc_reader_open(struct cc_reader *reader, struct cc_live *live, uint64_t since);
void cc_reader_close(struct cc_reader *reader);
/* The next line, good until the next event; false: none now. *out_lost: so many before it are gone. */
bool cc_reader_take(struct cc_reader *reader, struct cc_view *out_line, uint64_t *out_seq, uint64_t *out_lost);
bool cc_reader_over(const struct cc_reader *reader); /* destroyed, and everything was taken */

/* A command */
struct cc_command_ops {
	/* master: of its terminal, to be taken (set to -1), or -1. */
	void (*started)(void *context, int *master);
	/* Its stdout, stderr, killed and exit events as lines. false: no more for now (cc_command_go_on). */
	bool (*line)(void *context, struct cc_view line);
	void (*over)(void *context, int exit_code);
};
struct cc_command_ask {
	struct cc_view body;                      /* the client's, checked */
	const struct cc_exec_request_doc *wanted; /* the same, read */
	bool pty;
	unsigned short rows, cols;
	const struct cc_command_ops *ops; /* NULL: nobody waits */
	void *context;
};
CC_MUST enum cc_code cc_command_start(struct cc_live *live, const struct cc_command_ask *ask,
				      struct cc_command **out_command, struct cc_err *err);
struct cc_command *cc_command_find(struct cc_live *live, int id);
int cc_command_id(const struct cc_command *command);
const struct cc_live *cc_command_live(const struct cc_command *command);
int cc_command_exit_code(const struct cc_command *command);
/* The words of the command, as JSON. */
const char *cc_command_words(const struct cc_command *command);
CC_MUST enum cc_code cc_command_stdin(struct cc_command *command, struct cc_view bytes, bool last, struct cc_err *err);
CC_MUST enum cc_code cc_command_signal(struct cc_command *command, int number, struct cc_err *err);
void cc_command_go_on(struct cc_command *command);
/* Nobody waits any more: no op is called from now on. */
void cc_command_leave(struct cc_command *command);
/* TERM, two seconds, KILL. */
void cc_command_kill(struct cc_command *command, const char *reason);

#endif
