/* push.c - the two calls of a push, with a token that the run never sees: the advertisement of what is there, and the
 * push itself, whose body comes from a file and whose answer goes to a stream. */
#define _GNU_SOURCE
#include "forge/inside.h"

#include "os/fd.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { RENEW_BEFORE = 300 };

struct push {
	struct cc_broker *broker;
	struct cc_job *job;
	struct cc_forge *forge;
	struct cc_repo repo;
	int body, stream;
	int64_t body_len;
	bool told; /* that there is an answer */
};

/* The run's token to push to that repository, if there is one that lasts; renew: none that there is will do. */
static bool held(const struct push *push, bool renew, int64_t now, struct cc_buf *out)
{
	struct cc_view from = {push->repo.owner.ptr, push->repo.owner.len + 1 + push->repo.name.len};
	bool found = false;

	pthread_mutex_lock(&push->broker->lock);
	for (struct cc_grant *grant = push->job->run->grants; grant && !found; grant = grant->next) {
		if (!grant->write || grant->forge != push->forge || !cc_view_eq_nocase(cc_view_of(grant->from), from))
			continue;
		grant->spent |= renew;
		if (grant->spent || (grant->token.expires > 0 && grant->token.expires - now < RENEW_BEFORE))
			continue;
		cc_forge_basic(push->forge, grant->token.secret, out);
		found = true;
	}
	pthread_mutex_unlock(&push->broker->lock);
	return found;
}

/* An older token stays until the run ends: something may still be under way with it. */
static enum cc_code authorize(const struct push *push, bool renew, struct cc_buf *out, struct cc_err *err)
{
	struct cc_forge_want want = {.repos = &push->repo, .count = 1, .write = true};
	struct cc_grant *grant = NULL;
	enum cc_code code;

	if (!push->forge->kind->ask) {
		cc_forge_basic(push->forge, push->forge->secret, out);
		return cc_buf_check(out, "the authorization", err);
	}
	if (held(push, renew, cc_forge_now(push->broker, push->forge), out))
		return cc_buf_check(out, "the authorization", err);
	code = cc_token_make(push->broker, push->job, push->forge, &want, &grant, err);
	if (code != CC_OK)
		return code;
	cc_forge_basic(push->forge, grant->token.secret, out);
	pthread_mutex_lock(&push->broker->lock);
	grant->next = push->job->run->grants;
	push->job->run->grants = grant;
	pthread_mutex_unlock(&push->broker->lock);
	return cc_buf_check(out, "the authorization", err);
}

static void add_line(struct cc_forge_call *call, const char *name, const char *value)
{
	char line[256];

	if ((size_t)snprintf(line, sizeof(line), "%s: %s", name, value) < sizeof(line))
		cc_forge_header(call, line);
	else
		call->url.failed = true;
}

static void build(const struct push *push, const char *authorization, struct cc_forge_call *call)
{
	cc_repo_url(&push->repo, &call->url);
	cc_buf_adds(&call->url, push->body >= 0 ? "/git-receive-pack" : "/info/refs?service=git-receive-pack");
	call->method = push->body >= 0 ? "POST" : "GET";
	cc_forge_header(call, authorization);
	if (push->body >= 0) {
		add_line(call, "Content-Type", "application/x-git-receive-pack-request");
		add_line(call, "Accept", "application/x-git-receive-pack-result");
	}
	if (push->body >= 0 && push->job->encoding)
		add_line(call, "Content-Encoding", push->job->encoding);
	if (push->job->protocol)
		add_line(call, "Git-Protocol", push->job->protocol);
}

/* Before the body: who reads it may want to know what it is, and does not have to hold all of it until then. */
static void answer_done(void *context, const struct cc_answer *answer)
{
	struct push *push = context;
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, 4096, "done");
	cc_jsonw_kint(&w, "id", push->job->id);
	cc_jsonw_kint(&w, "status", answer->status);
	cc_jsonw_kstr(&w, "contentType", answer->type);
	cc_jsonw_end(&w);
	cc_reply(push->broker, &text);
	push->told = true;
}

static enum cc_code call_once(struct push *push, bool renew, struct cc_answer *answer, struct cc_err *err)
{
	struct cc_stop stop = {push->broker, push->job->run};
	struct cc_forge_call call;
	struct cc_buf authorization;
	enum cc_code code;

	cc_forge_call_init(&call);
	cc_buf_init(&authorization, 4 * CC_FORGE_SECRET_MAX);
	code = authorize(push, renew, &authorization, err);
	if (code == CC_OK) {
		const struct cc_curl_ask ask = {.forge = push->forge,
						.call = &call,
						.body_fd = push->body,
						.body_len = push->body_len,
						.answer_fd = push->stream,
						.begun = answer_done,
						.begun_context = push,
						.once = push->body >= 0,
						.stopped = cc_stop_now,
						.context = &stop};

		build(push, authorization.data, &call);
		code = cc_curl_call(&ask, answer, err);
	}
	cc_forge_wipe_buf(&authorization);
	cc_forge_call_done(&call);
	return code;
}

static void go(struct push *push)
{
	struct cc_answer answer = {0};
	struct cc_forge *forge = NULL;
	struct cc_repo repos[CC_FORGE_REPOS_MAX];
	struct cc_err err = {0};
	enum cc_code code = cc_job_repos(push->broker, push->job, repos, &forge, &err);

	push->repo = repos[0];
	push->forge = forge;
	if (code == CC_OK && !cc_fd_set_nonblock(push->stream, true))
		code = cc_fail(&err, CC_EPROTO, 0, "the stream is none");
	if (code == CC_OK)
		code = call_once(push, false, &answer, &err);
	/* It was taken back by somebody else, or ended early: nothing was done with it yet. */
	if (code == CC_OK && answer.status == 401 && forge->kind->ask) {
		cc_answer_done(&answer);
		code = call_once(push, true, &answer, &err);
	}
	cc_fd_close(&push->stream);
	/* an answer that broke off is seen by what it lacks: git counts its packets */
	if (code == CC_OK && !push->told)
		answer_done(push, &answer);
	else if (!push->told)
		cc_reply_failed(push->broker, push->job->id, &err);
	cc_answer_done(&answer);
}

void cc_job_advertise(struct cc_broker *broker, struct cc_job *job)
{
	struct push push = {.broker = broker, .job = job, .body = -1, .stream = cc_fd_take(&job->fds[0])};

	go(&push);
}

void cc_job_receive(struct cc_broker *broker, struct cc_job *job)
{
	struct push push = {.broker = broker, .job = job, .body = job->fds[0], .stream = cc_fd_take(&job->fds[1])};
	struct cc_err err = {0};
	struct stat st;

	if (fstat(push.body, &st) < 0 || !S_ISREG(st.st_mode)) {
		cc_fail(&err, CC_EPROTO, 0, "the body is no file");
		cc_fd_close(&push.stream);
		cc_reply_failed(broker, job->id, &err);
		return;
	}
	push.body_len = st.st_size;
	go(&push);
}
