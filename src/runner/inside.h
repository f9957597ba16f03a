/* inside.h - one run. Private to the room. */
#ifndef CC_RUNNER_INSIDE_H
#define CC_RUNNER_INSIDE_H

#include <ccbox.h>

#include "agents/record.h"
#include "agents/table.h"
#include "os/proc.h"
#include "work/remotes.h"
#include "work/worktree.h"
#include "wire/runrequest.h"

#include <limits.h>

enum { CC_JOB_QUESTIONS = 32, CC_JOB_STORED = 256, CC_JOB_SECRET = 32 };

/* The push gateway of this run: cc-push, and what its requests at forges wait for. */
struct cc_pushgate {
	struct cc_child child;
	int link; /* -1: there is none */
	char secret[2 * CC_JOB_SECRET + 1];
	char dir[PATH_MAX];
};

/* Why a run is over; wire values. */
#define CC_END_FINISHED "finished"
#define CC_END_FAILED   "failed"
#define CC_END_STOPPED  "stopped"
#define CC_END_SILENCE  "silence"
#define CC_END_POLICY   "policy"
#define CC_END_NOTHING  "not-established"
#define CC_END_SANDBOX  "sandbox-lost"

struct cc_job {
	int link;
	char *const *env;
	/* what is asked for */
	char *id, *socket, *data_dir, *repo;
	struct cc_strv protect;
	struct cc_strv hosts;         /* of the server's forges */
	char *push_rules, *push_path; /* JSON; cc-push */
	struct cc_run_request wanted;
	const struct cc_runner *row;
	struct cc_action_rule rules[CC_RUN_ACTIONS + CC_JOB_STORED];
	size_t rule_count;
	char place[PATH_MAX];    /* where the agent works */
	struct cc_strv reads;    /* what is shown to it besides */
	struct cc_worktree tree; /* with repo */
	struct cc_spec turned;   /* rules that name something of the original, as they are meant in the copy */
	const char *kind;        /* of the copy, which is gone before it is told */
	bool copied;
	struct cc_worktree_outcome outcome;
	bool settled;
	struct cc_remotes remotes; /* its repositories at those forges */
	/* what a forge has granted */
	struct cc_strv environment_of, settings; /* of the agent: NAME=VALUE; of its git: key, value, key, value ... */
	bool granted;                            /* an answer is there, whatever it is */
	struct cc_pushgate push;
	/* what runs */
	struct ccbox *box;
	struct ccbox_stream *command, *events;
	struct cc_talk *talk;
	struct cc_recorder recorder;
	bool launched, gone; /* gone: the daemon, or what it says is no message */
	char *backend, *environment;
	/* how it stands */
	bool exited, input_closed, events_over;
	int exit_code;
	int64_t last_word, over_at, kill_at, retry_at; /* 0 = not yet */
	int kill_step;
	const char *reason; /* NULL: the agent's own end */
	struct {
		int64_t number, deadline; /* 0 = free */
		int talk;                 /* its number in the conversation */
		int64_t push;             /* or the one of cc-push, then not 0 */
	} questions[CC_JOB_QUESTIONS];
	int64_t asked, violations, tokens_in, tokens_out;
};

/* run.c: the next message of the daemon's. */
void cc_job_hear_daemon(struct cc_job *job);

/* start.c: the document, and what follows from it before anything runs. */
CC_MUST enum cc_code cc_job_read(struct cc_job *job, struct cc_err *err);
void cc_job_done(struct cc_job *job);

/* place.c: where the agent works, and what comes of it. */
CC_MUST enum cc_code cc_job_place(struct cc_job *job, struct cc_err *err);
/* After its last process is gone. What cannot be settled stays where it is, and that is said. */
void cc_job_settle(struct cc_job *job);
void cc_job_write_outcome(const struct cc_job *job, struct cc_jsonw *w);

/* say.c: to the daemon. */
void cc_job_event(struct cc_job *job, const struct cc_agent_event *event);
void cc_job_note(struct cc_job *job, enum cc_agent_event_type type, const char *text);
/* question: a number that waits from now on, or (negative) does not any more; 0: none. */
void cc_job_line(struct cc_job *job, struct cc_view object, int64_t question);
void cc_job_up(struct cc_job *job, const struct cc_json *handle);
void cc_job_end(struct cc_job *job, int code, const char *reason);

/* ask.c: what the agent wants to do. */
void cc_job_sink(struct cc_job *job, struct cc_talk_sink *out);
void cc_job_answer(struct cc_job *job, int64_t number, bool allow, const char *by);
/* The push gateway asks: e says what is to be pushed. And does not ask any more. */
void cc_job_ask_push(struct cc_job *job, int64_t number, const struct cc_json *e);
void cc_job_withdraw_push(struct cc_job *job, int64_t number);
void cc_job_answer_late(struct cc_job *job, int64_t now);
bool cc_job_waits_for_person(const struct cc_job *job);
CC_MUST enum cc_code cc_job_preflight(struct cc_job *job, const struct cc_strv *argv, struct cc_err *err);
bool cc_job_may_network(const struct cc_job *job);

/* forge.c: what a forge grants for the time of this run. */
CC_MUST enum cc_code cc_job_grant(struct cc_job *job, struct cc_err *err);
void cc_job_granted(struct cc_job *job, const struct cc_json *m);
/* The variables of the agent that follow from it. */
CC_MUST enum cc_code cc_job_write_environment(const struct cc_job *job, struct cc_strv *env, struct cc_err *err);

/* push.c: the push gateway. It is there, or that it is not stands in the record. */
void cc_push_begin(struct cc_job *job);
void cc_push_hear(struct cc_job *job);
/* A connection from inside; fd is taken. What a forge has answered. What a person has. */
void cc_push_connect(struct cc_job *job, int fd);
void cc_push_forge(struct cc_job *job, const struct cc_json *m);
void cc_push_answer(struct cc_job *job, int64_t number, bool allow, const char *by);
void cc_push_end(struct cc_job *job);

/* box.c: the sandbox and the agent in it. */
CC_MUST enum cc_code cc_job_launch(struct cc_job *job, struct cc_err *err);
CC_MUST enum cc_code cc_job_exec(struct cc_job *job, const struct cc_strv *argv, struct cc_err *err);
void cc_job_hear(struct cc_job *job);
void cc_job_speak(struct cc_job *job, int64_t now);
/* TERM, then KILL; steps on by the clock. */
void cc_job_kill(struct cc_job *job, const char *reason, int64_t now);
void cc_job_kill_step(struct cc_job *job, int64_t now);
/* What became of the agent is what became of its sandbox. */
bool cc_job_lost_sandbox(struct cc_job *job);
/* Nothing of it runs afterwards; what was refused until then is heard. */
void cc_job_destroy(struct cc_job *job);

#endif
