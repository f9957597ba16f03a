/* inside.h - what the files of this room share. */
#ifndef CC_RUNS_INSIDE_H
#define CC_RUNS_INSIDE_H

#include "os/peer.h"
#include "os/proc.h"
#include "runs/runs.h"

struct cc_run {
	struct cc_runs *runs;
	struct cc_run *next;
	char *id, *backend, *reason, *detail;
	const char *state; /* "starting" "running" "ended" "lost" */
	int64_t code;
	bool ended;                          /* it has said its last word */
	int64_t questions[CC_RUN_QUESTIONS]; /* 0 = free */
	struct cc_strv repos;                /* for which it has tokens; fixed before the agent begins */
	/* the record */
	int file;
	uint64_t seq;
	size_t size;
	uint64_t skipped;
	struct cc_run_reader *readers;
	/* the runner */
	struct cc_child child;
	int link;
	uv_poll_t poll;
	uv_timer_t grace;
	int handles;
	bool polled;
};

struct cc_runs {
	struct cc_runs_config config;
	struct cc_run *first;
	size_t count;
	void (*ended)(void *context);
	void *ended_context;
};

/* The record. object: members that join the line; NULL: none. */
CC_MUST enum cc_code cc_record_make(struct cc_run *run, struct cc_err *err);
void cc_record_line(struct cc_run *run, const char *kind, const struct cc_json *object, bool last);
void cc_record_path(const struct cc_runs *runs, const char *id, char out[PATH_MAX]);

CC_MUST enum cc_code cc_runlink_start(struct cc_run *run, const struct cc_run_ask *ask, struct cc_err *err);
CC_MUST enum cc_code cc_runlink_say(struct cc_run *run, const struct cc_buf *text, struct cc_err *err);
/* The runner is gone. */
void cc_run_over(struct cc_run *run);

#endif
