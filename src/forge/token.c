/* token.c - one token's life: asked for, journalled, handed out, taken back. */
#define _GNU_SOURCE
#include "forge/inside.h"

#include "os/clock.h"

#include <stdio.h>
#include <string.h>

enum {
	SKEW_MIN = 30,        /* seconds that do not matter */
	LATE = 3600,          /* after its end, by whatever clock, a token is dead */
	CLOSING_MS_MIN = 100, /* even when time is up something may answer at once */
};

int64_t cc_forge_now(struct cc_broker *broker, const struct cc_forge *forge)
{
	int64_t now = cc_clock_wall_ms() / 1000;

	pthread_mutex_lock(&broker->lock);
	now += forge->skew;
	pthread_mutex_unlock(&broker->lock);
	return now;
}

bool cc_stop_now(void *context)
{
	struct cc_stop *stop = context;
	bool now;

	pthread_mutex_lock(&stop->broker->lock);
	now = (stop->run && stop->run->over) || (stop->broker->closing && cc_clock_ms() > stop->broker->deadline);
	pthread_mutex_unlock(&stop->broker->lock);
	return now;
}

int cc_call_ms(struct cc_broker *broker)
{
	int64_t left = broker->config->call_ms;

	pthread_mutex_lock(&broker->lock);
	if (broker->closing && broker->deadline - cc_clock_ms() < left)
		left = broker->deadline - cc_clock_ms();
	pthread_mutex_unlock(&broker->lock);
	return left < CLOSING_MS_MIN && left < broker->config->call_ms ? CLOSING_MS_MIN : (int)left;
}

void cc_token_free(struct cc_grant *grant)
{
	if (!grant)
		return;
	cc_forge_token_done(&grant->token);
	free(grant->from);
	free(grant);
}

static enum cc_code authority_of(struct cc_broker *broker, const struct cc_forge *forge, struct cc_buf *out,
				 struct cc_err *err)
{
	struct cc_buf word;
	enum cc_code code = CC_OK;

	if (!forge->kind->signs) {
		cc_forge_authority(forge, out);
		return cc_buf_check(out, "the authorization", err);
	}
	cc_buf_init(&word, CC_FORGE_SECRET_MAX);
	code = cc_jwt_make(forge->key, forge->app, cc_forge_now(broker, forge), &word, err);
	if (code == CC_OK)
		cc_buf_addf(out, "Authorization: Bearer %s", word.data);
	cc_forge_wipe_buf(&word);
	return code == CC_OK ? cc_buf_check(out, "the authorization", err) : code;
}

/* A signed word that was made by a clock that is wrong is refused; the forge says what time it is. */
static bool clock_corrected(struct cc_broker *broker, struct cc_forge *forge, const struct cc_answer *answer)
{
	int64_t ahead = answer->date - cc_forge_now(broker, forge);

	if (!forge->kind->signs || answer->status != 401 || answer->date < 0 || (ahead < SKEW_MIN && ahead > -SKEW_MIN))
		return false;
	pthread_mutex_lock(&broker->lock);
	forge->skew += ahead;
	pthread_mutex_unlock(&broker->lock);
	return true;
}

struct asked {
	struct cc_broker *broker;
	const struct cc_forge_run *run;
	struct cc_forge *forge;
	struct cc_forge_want *want;
	bool sent; /* what was asked for last may have been done */
};

static enum cc_code ask_once(struct asked *asked, cc_forge_step *step, int64_t found, struct cc_answer *answer,
			     struct cc_err *err)
{
	struct cc_stop stop = {asked->broker, asked->run};
	struct cc_forge_call call;
	struct cc_buf authority;
	enum cc_code code;

	cc_forge_call_init(&call);
	cc_buf_init(&authority, 4 * CC_FORGE_SECRET_MAX);
	asked->sent = false;
	asked->want->now = cc_forge_now(asked->broker, asked->forge);
	code = authority_of(asked->broker, asked->forge, &authority, err);
	if (code == CC_OK) {
		const struct cc_curl_ask ask = {.forge = asked->forge,
						.call = &call,
						.call_ms = cc_call_ms(asked->broker),
						.body_fd = -1,
						.answer_fd = -1,
						.sent = &asked->sent,
						.stopped = cc_stop_now,
						.context = &stop};

		step(asked->forge, asked->want, found, authority.data, &call);
		code = cc_curl_call(&ask, answer, err);
	}
	cc_forge_wipe_buf(&authority);
	cc_forge_call_done(&call);
	return code;
}

/* An answer that is a success, or an error that says whose. */
static enum cc_code ask_for(struct asked *asked, cc_forge_step *step, int64_t found, struct cc_answer *answer,
			    struct cc_err *err)
{
	const struct cc_repo *repo = &asked->want->repos[0];
	size_t len = repo->owner.len + 1 + repo->name.len;
	enum cc_code code = ask_once(asked, step, found, answer, err);
	char what[160];

	if (code == CC_OK && clock_corrected(asked->broker, asked->forge, answer)) {
		cc_answer_done(answer);
		code = ask_once(asked, step, found, answer, err);
	}
	if (code != CC_OK || (answer->status >= 200 && answer->status < 300))
		return code;
	snprintf(what, sizeof(what), "%s %.*s", asked->want->write ? "a token to push to" : "a token to read",
		 (int)(len > 100 ? 100 : len), repo->owner.ptr);
	code = cc_forge_refusal(asked->forge->host, what, answer->status, (struct cc_view){answer->body, answer->len},
				err);
	asked->sent = asked->sent && answer->status >= 500;
	cc_answer_done(answer);
	return code;
}

static struct cc_grant *grant_new(struct cc_forge *forge, const struct cc_forge_want *want)
{
	struct cc_grant *grant = calloc(1, sizeof(*grant));
	const struct cc_repo *repo = &want->repos[0];

	if (!grant)
		return NULL;
	grant->forge = forge;
	grant->write = want->write;
	grant->from = strndup(repo->owner.ptr, repo->owner.len + 1 + repo->name.len);
	grant->token.number = forge->kind->by_name ? cc_str_copy(want->name) : NULL;
	if (grant->from && (grant->token.number || !forge->kind->by_name))
		return grant;
	cc_token_free(grant);
	return NULL;
}

static enum cc_code write_down(struct cc_broker *broker, const char *run, struct cc_grant *grant, struct cc_err *err)
{
	const struct cc_entry entry = {.host = grant->forge->host,
				       .run = run,
				       .from = grant->from,
				       .secret = grant->forge->kind->by_itself ? grant->token.secret : NULL,
				       .number = grant->token.number,
				       .expires = grant->token.expires > 0 ? grant->token.expires : 0};

	return cc_journal_add(broker->dir, &entry, grant->entry, err);
}

static enum cc_code read_answer(const struct asked *asked, const struct cc_answer *answer, struct cc_json_doc **out_doc,
				struct cc_grant *grant, struct cc_err *err)
{
	const struct cc_view body = {answer->body, answer->len};
	struct cc_forge_token token = {0};
	enum cc_code code;

	/* Where it is malformed is not told: that could be in the middle of a token. */
	if (cc_json_parse("answer", body, 0, out_doc, NULL) != CC_OK)
		return cc_fail(err, CC_EPROTO, 0, "the answer of %.100s is not JSON", asked->forge->host);
	code = cc_forge_read_token(asked->forge, cc_json_root(*out_doc), &token, err);
	if (code != CC_OK)
		return code;
	grant->token.secret = token.secret;
	grant->token.expires = token.expires;
	if (token.number)
		grant->token.number = token.number;
	return CC_OK;
}

/* The token is in the journal before it is looked at more closely: whatever is wrong with it, it is taken back. */
static enum cc_code keep_token(struct cc_broker *broker, struct asked *asked, const struct cc_answer *answer,
			       struct cc_grant *grant, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	enum cc_code code = read_answer(asked, answer, &doc, grant, err);

	if (code == CC_OK && !grant->entry[0])
		code = write_down(broker, asked->run->id, grant, err);
	return code == CC_OK ? cc_forge_check_token(asked->forge, cc_json_root(doc), asked->want, &grant->token, err)
			     : code;
}

static enum cc_code find_and_ask(struct cc_broker *broker, struct asked *asked, struct cc_grant *grant,
				 struct cc_err *err)
{
	const struct cc_forge_kind *kind = asked->forge->kind;
	struct cc_answer answer = {0};
	enum cc_code code = CC_OK;
	int64_t found = 0;

	if (kind->find) {
		code = ask_for(asked, kind->find, 0, &answer, err);
		if (code == CC_OK)
			code = cc_forge_read_found((struct cc_view){answer.body, answer.len}, &found, err);
		cc_answer_done(&answer);
		asked->sent = false;
	}
	if (code == CC_OK && kind->by_name)
		code = write_down(broker, asked->run->id, grant, err);
	if (code == CC_OK)
		code = ask_for(asked, kind->ask, found, &answer, err);
	if (code == CC_OK)
		code = keep_token(broker, asked, &answer, grant, err);
	cc_answer_done(&answer);
	return code;
}

enum cc_code cc_token_make(struct cc_broker *broker, struct cc_job *job, struct cc_forge *forge,
			   struct cc_forge_want *want, struct cc_grant **out_grant, struct cc_err *err)
{
	struct asked asked = {broker, job->run, forge, want, false};
	char name[CC_FORGE_RUN_ID + 32];
	struct cc_grant *grant;
	uint64_t serial;
	enum cc_code code;

	cc_random(&serial, sizeof(serial));
	snprintf(name, sizeof(name), "ccbox-%s-%016llx", job->run->id, (unsigned long long)serial);
	want->name = name;
	grant = grant_new(forge, want);
	code = grant ? find_and_ask(broker, &asked, grant, err) : cc_fail(err, CC_ELIMIT, 0, "out of memory");
	want->name = NULL;
	if (code == CC_OK) {
		*out_grant = grant;
		return CC_OK;
	}
	/* There is a token, or there could be one that can be named. */
	if (grant && (grant->token.secret || (forge->kind->by_name && asked.sent))) {
		cc_token_take_back(broker, grant);
	} else if (grant) {
		cc_journal_remove(broker->dir, grant->entry);
		cc_token_free(grant);
	}
	return code;
}

/* The forge was asked, and it has no such token any more. */
static bool gone(struct cc_broker *broker, struct cc_grant *grant)
{
	struct cc_forge *forge = grant->forge;
	struct cc_stop stop = {broker, NULL};
	struct cc_answer answer = {0};
	struct cc_forge_call call;
	struct cc_buf authority;
	bool good = false;

	cc_forge_call_init(&call);
	cc_buf_init(&authority, 4 * CC_FORGE_SECRET_MAX);
	if (authority_of(broker, forge, &authority, NULL) == CC_OK) {
		const struct cc_curl_ask ask = {.forge = forge,
						.call = &call,
						.call_ms = cc_call_ms(broker),
						.body_fd = -1,
						.answer_fd = -1,
						.stopped = cc_stop_now,
						.context = &stop};

		forge->kind->take_back(forge, &grant->token, grant->from, authority.data, &call);
		if (cc_curl_call(&ask, &answer, NULL) == CC_OK)
			good = (answer.status >= 200 && answer.status < 300) || answer.status == forge->kind->gone;
		cc_answer_done(&answer);
	}
	cc_forge_wipe_buf(&authority);
	cc_forge_call_done(&call);
	return good;
}

bool cc_token_take_back(struct cc_broker *broker, struct cc_grant *grant)
{
	bool dead = grant->token.expires > 0 && cc_clock_wall_ms() / 1000 > grant->token.expires + LATE;

	/* Our clock may be wrong: the forge is asked first. */
	if ((grant->forge && gone(broker, grant)) || dead) {
		cc_journal_remove(broker->dir, grant->entry);
		cc_token_free(grant);
		return true;
	}
	pthread_mutex_lock(&broker->lock);
	grant->next = broker->failed;
	broker->failed = grant;
	broker->left_count++;
	pthread_mutex_unlock(&broker->lock);
	return false;
}

enum cc_code cc_job_repos(struct cc_broker *broker, const struct cc_job *job, struct cc_repo repos[CC_FORGE_REPOS_MAX],
			  struct cc_forge **out_forge, struct cc_err *err)
{
	struct cc_forge *forge = NULL;
	enum cc_code code;

	if (job->repos.count == 0 || job->repos.count > CC_FORGE_REPOS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "from 1 to %d repositories", CC_FORGE_REPOS_MAX);
	for (size_t i = 0; i < job->repos.count; i++) {
		code = cc_repo_read(job->repos.items[i], &repos[i], err);
		if (code != CC_OK)
			return code;
		if (!cc_view_eq_nocase(repos[i].host, repos[0].host))
			return cc_fail(err, CC_EINVAL, 0, "repositories of more than one host");
		if (i == 0)
			forge = cc_forge_of(broker->config, repos[0].host);
		if (!forge)
			return cc_fail(err, CC_ENOTFOUND, 0, "no forge is configured for %.*s",
				       (int)(repos[0].host.len > 100 ? 100 : repos[0].host.len), repos[0].host.ptr);
		if (!forge->kind->nested && memchr(repos[i].owner.ptr, '/', repos[i].owner.len))
			return cc_fail(err, CC_EINVAL, 0, "%.100s has no groups in groups", forge->host);
	}
	*out_forge = forge;
	return CC_OK;
}

static bool take_entry(void *context, const char *name, const struct cc_entry *entry)
{
	struct cc_broker *broker = context;
	struct cc_grant *grant = calloc(1, sizeof(*grant));

	if (!grant)
		return false;
	grant->forge = cc_forge_of(broker->config, cc_view_of(entry->host));
	grant->token = (struct cc_forge_token){
		.secret = cc_str_copy(entry->secret), .number = cc_str_copy(entry->number), .expires = entry->expires};
	grant->from = cc_str_copy(entry->from);
	/* What the journal holds has to be what its forge wants, or nothing can be done with it. */
	if (grant->forge && (!grant->forge->kind->ask || !grant->from ||
			     !(grant->forge->kind->by_itself ? grant->token.secret : grant->token.number)))
		grant->forge = NULL;
	snprintf(grant->entry, sizeof(grant->entry), "%s", name);
	grant->next = broker->left;
	broker->left = grant;
	broker->left_count++;
	return true;
}

enum cc_code cc_token_read_left(struct cc_broker *broker, struct cc_err *err)
{
	size_t unread = 0;
	enum cc_code code = cc_journal_read(broker->dir, take_entry, broker, &unread, err);

	broker->left_count += unread;
	return code;
}
