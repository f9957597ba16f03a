/* inside.h - what the sources of this room share: the broker, its runs, the tokens it holds. Everything that more than
 * one thread sees is under the broker's lock. */
#ifndef CC_FORGE_INSIDE_H
#define CC_FORGE_INSIDE_H

#include "forge/config.h"
#include "forge/curl.h"
#include "forge/forge.h"
#include "forge/journal.h"
#include "wire/forgemsg.h"

#include <pthread.h>
#include <stdbool.h>

enum { CC_FORGE_RUN_ID = 64, CC_FORGE_FDS = 2 };

/* A token that was made, and is in the journal. */
struct cc_grant {
	struct cc_grant *next;
	struct cc_forge *forge; /* NULL: it is not configured any more */
	struct cc_forge_token token;
	char *from; /* OWNER/NAME that it was made for */
	bool write, spent;
	char entry[CC_ENTRY_NAME];
};

struct cc_forge_run {
	struct cc_forge_run *next;
	char id[CC_FORGE_RUN_ID + 1];
	bool over;
	size_t working; /* jobs that a thread does */
	size_t holds;   /* jobs that there are, and the list */
	struct cc_grant *grants;
};

struct cc_job;
typedef void cc_job_handle(struct cc_broker *broker, struct cc_job *job);

struct cc_job {
	struct cc_job *next;
	cc_job_handle *handle;
	bool stream;
	int64_t id; /* -1: nobody waits for an answer */
	struct cc_forge_run *run;
	struct cc_strv repos;
	char *encoding, *protocol;
	int fds[CC_FORGE_FDS];
};

struct cc_broker {
	struct cc_forge_config *config;
	char path[4096];
	int dir, link;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct cc_job *jobs; /* oldest first */
	size_t queued, threads, idle, working, streaming;
	bool closing;
	int64_t deadline; /* when closing */
	struct cc_forge_run *runs;
	struct cc_grant *left, *failed; /* to be taken back; those that were tried in vain */
	size_t left_count;              /* of both, those in hand and those that cannot be read */
};

/* token.c */
/* Makes one token, which is in the journal when it is returned. */
CC_MUST enum cc_code cc_token_make(struct cc_broker *broker, struct cc_job *job, struct cc_forge *forge,
				   struct cc_forge_want *want, struct cc_grant **out_grant, struct cc_err *err);
/* Freed. false: it is kept, to be tried again. */
bool cc_token_take_back(struct cc_broker *broker, struct cc_grant *grant);
void cc_token_free(struct cc_grant *grant);
/* What the journal knows of an earlier time. Before any thread is started. */
CC_MUST enum cc_code cc_token_read_left(struct cc_broker *broker, struct cc_err *err);
int64_t cc_forge_now(struct cc_broker *broker, const struct cc_forge *forge);
cc_job_handle cc_job_mint, cc_job_revoke, cc_job_left;
/* How long a call may take, and what ends it before. */
struct cc_stop {
	struct cc_broker *broker;
	const struct cc_forge_run *run; /* NULL: it goes on */
};
bool cc_stop_now(void *stop);
int cc_call_ms(struct cc_broker *broker);
/* The repositories of a job, and the forge of all of them. */
CC_MUST enum cc_code cc_job_repos(struct cc_broker *broker, const struct cc_job *job,
				  struct cc_repo repos[CC_FORGE_REPOS_MAX], struct cc_forge **out_forge,
				  struct cc_err *err);

/* push.c */
cc_job_handle cc_job_advertise, cc_job_receive;

/* serve.c */
/* Wiped when it was sent. */
void cc_reply(struct cc_broker *broker, struct cc_buf *text);
void cc_reply_failed(struct cc_broker *broker, int64_t id, const struct cc_err *err);
bool cc_run_over(struct cc_broker *broker, const struct cc_forge_run *run);

#endif
