/* proc.h - children: started without a shell, with exactly the descriptors named, reported by pidfd, ended for sure. */
#ifndef CC_OS_PROC_H
#define CC_OS_PROC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <sys/types.h>

enum { CC_SPAWN_FDS = 80 };

struct cc_spawn {
	char *const *argv; /* argv[0] is a path; no PATH search */
	char *const *envp; /* NULL: empty environment */
	const char *cwd;   /* NULL: unchanged */
	int stdio[3];      /* descriptors for 0, 1, 2; -1 = /dev/null */
	/* descriptors the child keeps, under the same numbers (each must be above 2) */
	int keep[CC_SPAWN_FDS];
	size_t keep_count;
	bool new_session; /* setsid: no controlling terminal, no signals from the person's keyboard */
	bool controlling; /* with new_session: stdio[0] becomes the controlling terminal */
	bool die_with_parent;
};

struct cc_child {
	pid_t pid;
	int pidfd;
};

/* Starts the program; an exec failure is reported here (CC_ENOTFOUND or CC_ESYS with its errno). */
CC_MUST enum cc_code cc_proc_spawn(const struct cc_spawn *how, struct cc_child *out_child, struct cc_err *err);
/* Reaps; returns false when timeout_ms passed first (negative: no limit). *out_status is a wait status. */
bool cc_proc_wait(struct cc_child *child, int timeout_ms, int *out_status);
/* SIGKILL, reap, close. Safe on a child that is already gone or was never started (pid <= 0). */
void cc_proc_end(struct cc_child *child);
/* The same for the leader of a group and what it leaves in it, after grace_ms to end by itself. */
void cc_proc_end_group(struct cc_child *child, int grace_ms);
/* What our children leave behind becomes our child, so that it can be ended. Process-wide: for a command that owns
 * everything it starts. */
void cc_proc_adopt(void);
/* Starting touches much that serving does not: code and tables of the libraries are unmapped (they are read again from
 * the page cache when they are wanted), free memory goes back to the system. */
void cc_proc_settle(void);
/* How many files may be open, where the limit allows it: text is a number. */
void cc_proc_limit_files(const char *text);
/* SIGKILL and reap of every child there is. */
void cc_proc_end_all(void);
/* A program that runs beside us while its output is not needed yet. Zeroed memory is none. */
struct cc_capture {
	struct cc_child child;
	int fd;
	bool running;
};
CC_MUST enum cc_code cc_capture_start(char *const *argv, char *const *envp, const char *cwd,
				      struct cc_capture *out_capture, struct cc_err *err);
/* The same; it and what it starts keep one descriptor of ours (above 2), or none (-1). */
CC_MUST enum cc_code cc_capture_start_keeping(char *const *argv, char *const *envp, const char *cwd, int keep,
					      struct cc_capture *out_capture, struct cc_err *err);
/* Takes its standard output to the end and reaps it. CC_ETIMEOUT kills it. */
CC_MUST enum cc_code cc_capture_finish(struct cc_capture *capture, int timeout_ms, struct cc_buf *out, int *out_status,
				       struct cc_err *err);
/* Ends it unread. */
void cc_capture_drop(struct cc_capture *capture);
/* Runs a program to its end, standard output into out. CC_ETIMEOUT kills it. */
CC_MUST enum cc_code cc_proc_capture(char *const *argv, char *const *envp, const char *cwd, int timeout_ms,
				     struct cc_buf *out, int *out_status, struct cc_err *err);
/* Where a program of the system is looked for, whatever PATH says. */
#define CC_PATH_SYSTEM "/usr/bin:/usr/local/bin:/bin"
/* The absolute path of name in the PATH-like list dirs (colon separated), executable by us. */
CC_MUST enum cc_code cc_proc_which(const char *name, const char *dirs, char *out, size_t cap, struct cc_err *err);
/* The process runs the program of that name, and is ours. */
bool cc_proc_is(pid_t pid, const char *name);
/* Where this executable lies (directory). */
CC_MUST enum cc_code cc_proc_self_dir(char *out, size_t cap, struct cc_err *err);

#endif
