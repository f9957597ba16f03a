/* mint.c - what a run gets to read with, and how everything of a run, or of an earlier time, is taken back. */
#define _GNU_SOURCE
#include "forge/inside.h"

#include <string.h>

/* A message's, and a little less. */
enum { ANSWER_MAX = 60 << 10 };

/* Repositories that one token reaches, and that token. */
struct part {
	struct cc_repo repos[CC_FORGE_REPOS_MAX];
	size_t count;
	struct cc_grant *grant;
};

struct minted {
	struct cc_forge *forge;
	struct part parts[CC_FORGE_REPOS_MAX];
	size_t count;
	struct cc_strv env, git;
	int64_t expires; /* of the first that ends; 0: never */
};

static bool named_before(const struct part *part, const struct cc_repo *repo)
{
	for (size_t i = 0; i < part->count; i++)
		if (cc_view_eq_nocase(part->repos[i].owner, repo->owner) &&
		    cc_view_eq_nocase(part->repos[i].name, repo->name))
			return true;
	return false;
}

static void sort_out(struct minted *minted, const struct cc_repo *repos, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct part *part = NULL;

		for (size_t j = 0; j < minted->count && !part; j++)
			if (cc_forge_together(minted->forge, &minted->parts[j].repos[0], &repos[i]))
				part = &minted->parts[j];
		if (!part)
			part = &minted->parts[minted->count++];
		if (!named_before(part, &repos[i]))
			part->repos[part->count++] = repos[i];
	}
}

static enum cc_code become(struct minted *minted, struct part *part, const char *secret, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	/* A variable has room for one. */
	if (part == &minted->parts[0])
		code = cc_forge_env(minted->forge, secret, &minted->env, err);
	if (code == CC_OK)
		code = cc_forge_git(minted->forge, &part->repos[0], minted->count > 1, secret, &minted->git, err);
	return code;
}

static enum cc_code mint_part(struct cc_broker *broker, struct cc_job *job, struct minted *minted, struct part *part,
			      struct cc_err *err)
{
	struct cc_forge_want want = {.repos = part->repos, .count = part->count};
	enum cc_code code;

	if (!minted->forge->kind->ask)
		return become(minted, part, minted->forge->secret, err);
	code = cc_token_make(broker, job, minted->forge, &want, &part->grant, err);
	if (code != CC_OK)
		return code;
	if (part->grant->token.expires > 0 && (!minted->expires || part->grant->token.expires < minted->expires))
		minted->expires = part->grant->token.expires;
	return become(minted, part, part->grant->token.secret, err);
}

static void write_notes(struct cc_jsonw *w, const struct minted *minted)
{
	cc_jsonw_key(w, "notes");
	cc_jsonw_array(w);
	if (minted->forge->kind->note)
		cc_jsonw_str(w, minted->forge->kind->note);
	if (minted->count > 1)
		cc_jsonw_str(w, "one token does not reach all repositories: git has one for each part of them, the "
				"variables have the first one's");
	cc_jsonw_end(w);
}

static void write_answer(const struct cc_job *job, const struct minted *minted, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "m", "minted");
	cc_jsonw_kint(&w, "id", job->id);
	cc_jsonw_kstrv(&w, "env", &minted->env);
	cc_jsonw_key(&w, "git");
	cc_jsonw_array(&w);
	for (size_t i = 0; i + 1 < minted->git.count; i += 2) {
		cc_jsonw_array(&w);
		cc_jsonw_str(&w, minted->git.items[i]);
		cc_jsonw_str(&w, minted->git.items[i + 1]);
		cc_jsonw_end(&w);
	}
	cc_jsonw_end(&w);
	cc_jsonw_kbool(&w, "advisory", minted->forge->kind->ask == NULL);
	write_notes(&w, minted);
	if (minted->expires)
		cc_jsonw_kint(&w, "expiresAt", minted->expires);
	cc_jsonw_end(&w);
}

static void wipe_list(struct cc_strv *list)
{
	for (size_t i = 0; i < list->count; i++)
		explicit_bzero(list->items[i], strlen(list->items[i]));
	cc_strv_done(list);
}

/* All of them, or none: what was made before one failed is taken back. */
static void settle(struct cc_broker *broker, struct cc_job *job, struct minted *minted, bool good)
{
	for (size_t i = 0; i < minted->count; i++) {
		struct cc_grant *grant = minted->parts[i].grant;

		if (!grant)
			continue;
		if (!good) {
			cc_token_take_back(broker, grant);
			continue;
		}
		pthread_mutex_lock(&broker->lock);
		grant->next = job->run->grants;
		job->run->grants = grant;
		pthread_mutex_unlock(&broker->lock);
	}
}

void cc_job_mint(struct cc_broker *broker, struct cc_job *job)
{
	struct minted *minted = calloc(1, sizeof(*minted));
	struct cc_repo repos[CC_FORGE_REPOS_MAX];
	struct cc_err err = {0};
	struct cc_buf text;
	enum cc_code code = minted ? cc_job_repos(broker, job, repos, &minted->forge, &err)
				   : cc_fail(&err, CC_ELIMIT, 0, "out of memory");

	if (code == CC_OK)
		sort_out(minted, repos, job->repos.count);
	for (size_t i = 0; code == CC_OK && i < minted->count; i++)
		code = mint_part(broker, job, minted, &minted->parts[i], &err);
	cc_buf_init(&text, ANSWER_MAX);
	if (code == CC_OK) {
		write_answer(job, minted, &text);
		code = cc_buf_check(&text, "what the run would get", &err);
	}
	if (code == CC_OK && cc_run_over(broker, job->run))
		code = cc_fail(&err, CC_ESTATE, 0, "the run is over");
	if (minted)
		settle(broker, job, minted, code == CC_OK);
	if (code == CC_OK)
		cc_reply(broker, &text);
	else
		cc_reply_failed(broker, job->id, &err);
	cc_forge_wipe_buf(&text);
	if (minted) {
		wipe_list(&minted->env);
		wipe_list(&minted->git);
		free(minted);
	}
}

void cc_job_revoke(struct cc_broker *broker, struct cc_job *job)
{
	struct cc_grant *grants = NULL, *next;
	struct cc_buf text;
	struct cc_jsonw w;
	int64_t failed = 0;

	if (job->run) {
		/* What still works for the run may have just been given a token. This job is one of them. */
		pthread_mutex_lock(&broker->lock);
		while (job->run->working > 1)
			pthread_cond_wait(&broker->changed, &broker->lock);
		grants = job->run->grants;
		job->run->grants = NULL;
		pthread_mutex_unlock(&broker->lock);
	}
	for (struct cc_grant *grant = grants; grant; grant = next) {
		next = grant->next;
		failed += !cc_token_take_back(broker, grant);
	}
	if (job->id < 0)
		return;
	cc_jsonw_message(&w, &text, 4096, "revoked");
	cc_jsonw_kint(&w, "id", job->id);
	cc_jsonw_kint(&w, "failed", failed);
	cc_jsonw_end(&w);
	cc_reply(broker, &text);
}

void cc_job_left(struct cc_broker *broker, struct cc_job *job)
{
	struct cc_grant *grant;

	(void)job;
	for (;;) {
		pthread_mutex_lock(&broker->lock);
		grant = broker->left;
		if (grant)
			broker->left = grant->next;
		pthread_mutex_unlock(&broker->lock);
		if (!grant)
			return;
		/* One that fails again counts itself. */
		cc_token_take_back(broker, grant);
		pthread_mutex_lock(&broker->lock);
		broker->left_count--;
		pthread_mutex_unlock(&broker->lock);
	}
}
