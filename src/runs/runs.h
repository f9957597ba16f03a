/* runs.h - the daemon's side of the runs of agents: a link to each runner (cc-run), the record of each, its readers.
 *
 * Nothing that an agent wrote is understood here: a runner has made bounded objects of it, and all that is done to one
 * is that it is read as JSON, numbered and written behind the last one. The record is a file, one line an event, and
 * who reads a run reads that file, so that a reader who is slow holds nothing. */
#ifndef CC_RUNS_RUNS_H
#define CC_RUNS_RUNS_H

#include "forges/forges.h"
#include "live/live.h"
#include "wire/runrequest.h"

#include <limits.h>

struct cc_runs;
struct cc_run;

enum {
	CC_RUNS_AT_ONCE = 64,
	CC_RUN_QUESTIONS = 32,
	CC_RUN_REPOS = 32,
	CC_RUN_RECORD_MAX = 64 << 20, /* after that events are counted, not kept; the end is */
	CC_RUN_LINE_MAX = 64 << 10,
};

struct cc_runs_config {
	uv_loop_t *loop;
	char *const *env;
	const char *runner_path; /* cc-run */
	unsigned long files;
	const char *socket, *data_dir;
	struct cc_roster *roster;
	/* Tokens for the time of one run (contract 4.4): made when it starts, taken back on every way out. */
	struct cc_forges *forges;
	const char *push_path; /* cc-push, which a runner starts */
	void *context;
	void (*changed)(void *context, const struct cc_run *run);
};

CC_MUST enum cc_code cc_runs_new(const struct cc_runs_config *config, struct cc_runs **out_runs, struct cc_err *err);
struct cc_run *cc_runs_find(struct cc_runs *runs, const char *id);
/* Every run is told to end; done is called when the last one has. */
void cc_runs_end(struct cc_runs *runs, void (*done)(void *context), void *context);
/* Somebody waited for every child there is: this one may have been a runner. */
void cc_runs_reaped(struct cc_runs *runs, pid_t pid);
/* Of a run that a daemon before this one left: its record gets its end, what it held is given back. */
void cc_runs_lost(struct cc_runs *runs, const char *id, int64_t pid, const char *reason);
/* What it recorded is removed. */
void cc_runs_forget(struct cc_runs *runs, const char *id);

/* What it changed, once it is settled; CC_ENOTFOUND: nothing. */
CC_MUST enum cc_code cc_runs_diff(const struct cc_runs *runs, const char *id, struct cc_buf *out, struct cc_err *err);

struct cc_run_ask {
	const char *id;   /* letters, digits, dashes */
	const char *repo; /* the checkout, absolute; NULL: none */
	struct cc_view body;
	const struct cc_run_request *wanted; /* the same, read */
	const struct cc_strv *protect;
};
/* It is there from now on, and starts. */
CC_MUST enum cc_code cc_run_start(struct cc_runs *runs, const struct cc_run_ask *ask, struct cc_run **out_run,
				  struct cc_err *err);
struct cc_run_now {
	const char *id, *state, *backend, *reason, *detail; /* NULL: not yet */
	int64_t code, pid;                                  /* -1: not yet */
};
void cc_run_look(const struct cc_run *run, struct cc_run_now *out);
/* A connection from inside its sandbox to the reserved name: goes to its push gateway. */
void cc_run_connect(struct cc_run *run, int fd);
CC_MUST enum cc_code cc_run_steer(struct cc_run *run, const char *text, struct cc_err *err);
CC_MUST enum cc_code cc_run_stop(struct cc_run *run, struct cc_err *err);
CC_MUST enum cc_code cc_run_answer(struct cc_run *run, int64_t question, bool allow, struct cc_err *err);
/* An array of the numbers of those that wait. */
void cc_run_write_questions(const struct cc_run *run, struct cc_jsonw *w);

/* Reading a record: whole lines, from after `since`. */
struct cc_run_reader {
	void (*wake)(void *context);
	void *context;
	struct cc_run *run; /* NULL: it is over */
	struct cc_run_reader *next;
	int fd;
	uint64_t since;
	struct cc_buf bytes;
	size_t taken;
	bool end; /* of the file, when it was last read */
};
CC_MUST enum cc_code cc_run_reader_open(struct cc_run_reader *reader, struct cc_runs *runs, const char *id,
					uint64_t since, struct cc_err *err);
void cc_run_reader_close(struct cc_run_reader *reader);
/* The next line, its feed included, good until the next call; false: none now. */
bool cc_run_reader_take(struct cc_run_reader *reader, struct cc_view *out_line, uint64_t *out_seq);
bool cc_run_reader_over(const struct cc_run_reader *reader);

#endif
