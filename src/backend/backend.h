/* backend.h - one interface for every way of running a command: started, told, listened to, ended. */
#ifndef CC_BACKEND_BACKEND_H
#define CC_BACKEND_BACKEND_H

#include "base/err.h"
#include "os/pty.h"
#include "plan/linux.h"
#include "plan/need.h"
#include "policy/rules.h"
#include "wire/json.h"

#include <stdint.h>

struct cc_backend;

/* A running sandbox (or, with none, the host itself): the first member of each backend's own structure. */
struct cc_box {
	const struct cc_backend *backend;
};

/* What the applier is given. Everything is borrowed for the call. */
struct cc_launch {
	/* Read after finish, which may replace what it points at. */
	struct cc_rules *const *rules;
	/* NULL, or called once the helpers are starting: what the plan still lacks (files marked late, the last rules).
	 */
	enum cc_code (*finish)(void *context, struct cc_err *err);
	void *context;
	const struct cc_linux_plan *plan; /* native Linux */
	const char *bwrap_path;
	const char *proxy_path;
	/* NULL: the proxy listens inside. Else where it accepts on this host, HTTP and SOCKS, for a bridge that the
	 * session brings along. */
	const int *bridge;
	const char *bridge_socat; /* the program, which is to be seen inside under the same path */
	/* Most processes and threads inside, held by a resource limit of its own user namespace; 0: no such limit. That
	 * it holds is tried, and where it does not the launch fails. */
	int64_t pids;
	/* Twin builds only: protections left off and the step that must fail. NULL in the product. */
	const char *off;
	const char *fail_at;
};

struct cc_box_exec {
	const struct cc_strv *argv;
	const struct cc_strv *env;
	const char *cwd;
	bool pty;
	struct cc_pty_size size;
	int stdio[3]; /* pipes of ours, never the host's own descriptors; unused with pty */
	/* NULL, or, where another tool starts its own sandbox through us, what it left open for its command: closed
	 * here once it is there. Native only. */
	const struct cc_inherited *inherited;
};

enum cc_note_kind {
	CC_NOTE_NONE = 0,
	CC_NOTE_STARTED,   /* fd = PTY master, when asked for */
	CC_NOTE_REFUSED,   /* sys = errno: exec did not start */
	CC_NOTE_EXIT,      /* code, or signal > 0 */
	CC_NOTE_STOPPED,   /* it suspended itself and waits for SIGCONT */
	CC_NOTE_VIOLATION, /* doc: the gate's message */
	CC_NOTE_NOTICE,    /* doc */
	CC_NOTE_NET,       /* doc: the proxy's decision */
	CC_NOTE_CLOSED,    /* doc: the proxy's count of a finished connection */
	CC_NOTE_FILE,      /* fd, or sys */
	CC_NOTE_NAMES,     /* fd, or sys */
	CC_NOTE_FROZEN,
	CC_NOTE_THAWED,
	CC_NOTE_POLICY,  /* new network rules are in force, or, with text, could not be read */
	CC_NOTE_GATEWAY, /* fd: a connection from inside to the reserved name */
	CC_NOTE_PASSED,  /* it was for another helper */
	CC_NOTE_LOST,    /* a helper is gone: the session is over; text says which */
};

struct cc_note {
	enum cc_note_kind kind;
	int id;
	int code;
	int signal;
	int sys;
	int fd;
	struct cc_json_doc *doc;
	const char *text;
};

void cc_note_done(struct cc_note *note);

enum { CC_BOX_WATCH = 4 };

struct cc_backend {
	enum cc_backend_kind kind;
	unsigned enforces; /* cc_need bits */
	enum cc_code (*launch)(const struct cc_launch *how, struct cc_box **out_box, struct cc_err *err);
	enum cc_code (*exec)(struct cc_box *box, int id, const struct cc_box_exec *what, struct cc_err *err);
	enum cc_code (*signal)(struct cc_box *box, int id, int signal, struct cc_err *err);
	/* message: "freeze", "thaw"; NULL where the backend has none */
	enum cc_code (*tell)(struct cc_box *box, const char *message, struct cc_err *err);
	enum cc_code (*fetch)(struct cc_box *box, int id, const char *message, const char *path, struct cc_err *err);
	/* replaces the network rules of a running box; NULL where the backend has none */
	enum cc_code (*update)(struct cc_box *box, const struct cc_rules *rules, int64_t generation,
			       struct cc_err *err);
	/* descriptors that become readable when a note may be there */
	size_t (*watch)(const struct cc_box *box, int fds[CC_BOX_WATCH]);
	/* the next note of that descriptor; kind NONE when there is none now */
	enum cc_code (*next)(struct cc_box *box, int fd, struct cc_note *out_note, struct cc_err *err);
	/* "end" may be told and answered by the end of the box (LOST), so that nothing counted is lost */
	bool says_goodbye;
	/* after that: asks the helper that outlives the inside for what it still has to tell; its descriptor ends with
	 * that. -1: there is none. NULL: no such helper */
	int (*last)(struct cc_box *box);
	/* kills and reaps everything; nothing of the session runs afterwards */
	void (*end)(struct cc_box *box);
};

extern const struct cc_backend cc_backend_none;
extern const struct cc_backend cc_backend_native_linux;

#endif
