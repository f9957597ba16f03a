/* serve.c - the messages, and the threads that do what they ask for. A call to a forge takes as long as the forge
 * likes, and a token is written to disk before it is used: both hold a thread, none holds another run. Threads that
 * stream are fewer than there are threads, so that a token can always be made or taken back. */
#define _GNU_SOURCE
#include "forge/inside.h"

#include "os/clock.h"
#include "os/fd.h"
#include "os/peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	THREADS_MAX = 24,
	STREAMS_MAX = 16,
	QUEUE_MAX = 256,
	STACK = 512 << 10,
	START_MS = 20000,   /* tokens of an earlier time are waited for that long */
	CLOSING_MS = 20000, /* and so are those that there are at the end */
	AGAIN_MS = 300000,  /* what could not be taken back is tried again */
	LEFT_THREADS = 8,
	WORD_MAX = 64,
};

void cc_reply(struct cc_broker *broker, struct cc_buf *text)
{
	/* A daemon that is gone hears nothing: the main thread learns of it in its own time. */
	if (!text->failed)
		(void)!cc_peer_send(broker->link, text->data, text->len, NULL, 0, NULL);
	cc_forge_wipe_buf(text);
}

void cc_reply_failed(struct cc_broker *broker, int64_t id, const struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, 8192, "failed");
	if (id >= 0)
		cc_jsonw_kint(&w, "id", id);
	cc_jsonw_kint(&w, "code", err->code);
	cc_jsonw_kstr(&w, "text", err->what);
	cc_jsonw_end(&w);
	cc_reply(broker, &text);
}

bool cc_run_over(struct cc_broker *broker, const struct cc_forge_run *run)
{
	bool over;

	pthread_mutex_lock(&broker->lock);
	over = run->over;
	pthread_mutex_unlock(&broker->lock);
	return over;
}

/* Under the lock. */
static void let_go(struct cc_forge_run *run)
{
	if (--run->holds == 0)
		free(run);
}

static void job_free(struct cc_job *job)
{
	cc_strv_done(&job->repos);
	free(job->encoding);
	free(job->protocol);
	for (size_t i = 0; i < CC_FORGE_FDS; i++)
		cc_fd_close(&job->fds[i]);
	free(job);
}

/* Under the lock: the oldest that may be done now. */
static struct cc_job *next_job(struct cc_broker *broker)
{
	for (struct cc_job **at = &broker->jobs; *at; at = &(*at)->next) {
		struct cc_job *job = *at;

		if (job->stream && broker->streaming >= STREAMS_MAX)
			continue;
		*at = job->next;
		job->next = NULL;
		broker->queued--;
		return job;
	}
	return NULL;
}

static void do_job(struct cc_broker *broker, struct cc_job *job)
{
	struct cc_err err = {0};

	if (job->handle != cc_job_revoke && job->run && cc_run_over(broker, job->run)) {
		cc_fail(&err, CC_ESTATE, 0, "the run is over");
		cc_reply_failed(broker, job->id, &err);
		return;
	}
	job->handle(broker, job);
}

static void *work(void *context)
{
	struct cc_broker *broker = context;

	pthread_mutex_lock(&broker->lock);
	for (;;) {
		struct cc_job *job = next_job(broker);

		if (!job) {
			broker->idle++;
			pthread_cond_wait(&broker->changed, &broker->lock);
			broker->idle--;
			continue;
		}
		broker->working++;
		broker->streaming += job->stream;
		if (job->run)
			job->run->working++;
		pthread_mutex_unlock(&broker->lock);
		do_job(broker, job);
		pthread_mutex_lock(&broker->lock);
		broker->working--;
		broker->streaming -= job->stream;
		if (job->run) {
			job->run->working--;
			let_go(job->run);
		}
		pthread_cond_broadcast(&broker->changed);
		job_free(job);
	}
	return NULL;
}

/* Under the lock. */
static void start_thread(struct cc_broker *broker)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (broker->threads >= THREADS_MAX || pthread_attr_init(&attributes) != 0)
		return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK);
	if (pthread_create(&thread, &attributes, work, broker) == 0)
		broker->threads++;
	pthread_attr_destroy(&attributes);
}

static enum cc_code add_job(struct cc_broker *broker, struct cc_job *job, struct cc_err *err)
{
	struct cc_job **at = &broker->jobs;
	enum cc_code code = CC_OK;

	pthread_mutex_lock(&broker->lock);
	if (broker->queued >= broker->idle)
		start_thread(broker);
	/* What takes something back is always taken on. */
	if (broker->threads == 0 || (broker->queued >= QUEUE_MAX && job->handle != cc_job_revoke))
		code = cc_fail(err, CC_ELIMIT, 0, "too many requests wait for their turn");
	if (code == CC_OK) {
		while (*at)
			at = &(*at)->next;
		*at = job;
		broker->queued++;
		if (job->run)
			job->run->holds++;
		pthread_cond_broadcast(&broker->changed);
	}
	pthread_mutex_unlock(&broker->lock);
	return code;
}

static struct cc_forge_run *find_run(struct cc_broker *broker, const char *id, bool make)
{
	struct cc_forge_run *run;

	pthread_mutex_lock(&broker->lock);
	for (run = broker->runs; run && strcmp(run->id, id) != 0;)
		run = run->next;
	if (!run && make && (run = calloc(1, sizeof(*run)))) {
		snprintf(run->id, sizeof(run->id), "%s", id);
		run->holds = 1; /* the list's */
		run->next = broker->runs;
		broker->runs = run;
	}
	pthread_mutex_unlock(&broker->lock);
	return run;
}

/* From here on it is no run any more: what it does is broken off, and a new one may have its name. job takes back what
 * it has; where that cannot be, the journal still knows it. */
static enum cc_code end_run(struct cc_broker *broker, struct cc_forge_run *run, struct cc_job *job, struct cc_err *err)
{
	enum cc_code code;

	pthread_mutex_lock(&broker->lock);
	run->over = true;
	for (struct cc_forge_run **at = &broker->runs; *at; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	pthread_mutex_unlock(&broker->lock);
	job->run = run;
	code = add_job(broker, job, err);
	pthread_mutex_lock(&broker->lock);
	let_go(run); /* the list's */
	pthread_mutex_unlock(&broker->lock);
	return code;
}

static const struct {
	const char *name;
	cc_job_handle *handle;
	size_t fds;
} requests[] = {
	{"mint", cc_job_mint, 0},
	{"advertise", cc_job_advertise, 1},
	{"receive", cc_job_receive, 2},
	{"revoke", cc_job_revoke, 0},
};

static enum cc_code take_repos(const struct cc_json *m, struct cc_job *job, struct cc_err *err)
{
	const struct cc_json *list = cc_json_get(m, "repos");
	const char *repo = cc_json_str(m, "repo", NULL);
	enum cc_code code = repo ? cc_strv_push(&job->repos, repo, err) : CC_OK;

	for (const struct cc_json *item = list ? list->child : NULL; code == CC_OK && item; item = item->next)
		code = cc_strv_push(&job->repos, item->text.ptr ? item->text.ptr : "", err);
	return code;
}

/* git's own words: version=2, and colons between several. */
static bool protocol_good(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len <= WORD_MAX && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789=:-.") == len;
}

static enum cc_code take_words(const struct cc_json *m, struct cc_job *job, struct cc_err *err)
{
	const char *encoding = cc_json_str(m, "encoding", NULL), *protocol = cc_json_str(m, "protocol", NULL);

	if (encoding && strcmp(encoding, "gzip") != 0 && strcmp(encoding, "x-gzip") != 0)
		return cc_fail(err, CC_EINVAL, 0, "an encoding that git does not use");
	if (protocol && !protocol_good(protocol))
		return cc_fail(err, CC_EINVAL, 0, "a protocol that git does not speak");
	job->encoding = cc_str_copy(encoding);
	job->protocol = cc_str_copy(protocol);
	return take_repos(m, job, err);
}

static enum cc_code take_request(struct cc_broker *broker, const struct cc_json *m, struct cc_peer_msg *msg,
				 struct cc_job *job, struct cc_err *err)
{
	const char *name = cc_json_str(m, "m", ""), *run = cc_json_str(m, "run", NULL);
	size_t i = 0;
	enum cc_code code;

	while (i < CC_COUNT(requests) && strcmp(requests[i].name, name) != 0)
		i++;
	if (i == CC_COUNT(requests) || msg->fd_count != requests[i].fds || job->id < 0)
		return cc_fail(err, CC_EPROTO, 0, "a message that is none");
	if (!cc_word_good(run, CC_FORGE_RUN_ID))
		return cc_fail(err, CC_EINVAL, 0, "no run has such a name");
	job->handle = requests[i].handle;
	job->stream = requests[i].fds > 0;
	for (size_t n = 0; n < msg->fd_count; n++)
		job->fds[n] = cc_fd_take(&msg->fds[n]);
	code = take_words(m, job, err);
	if (code != CC_OK)
		return code;
	job->run = find_run(broker, run, job->handle != cc_job_revoke);
	if (!job->run && job->handle != cc_job_revoke)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	return CC_OK;
}

static struct cc_job *job_new(cc_job_handle *handle)
{
	struct cc_job *job = calloc(1, sizeof(*job));

	if (job)
		*job = (struct cc_job){.handle = handle, .id = -1, .fds = {-1, -1}};
	return job;
}

static void on_request(struct cc_broker *broker, struct cc_peer_msg *msg)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_job *job = job_new(NULL);
	struct cc_err err = {0};
	enum cc_code code = job ? cc_json_parse("request", (struct cc_view){msg->text, msg->len}, 0, &doc, &err)
				: cc_fail(&err, CC_ELIMIT, 0, "out of memory");
	int64_t id = -1;

	if (code == CC_OK) {
		id = job->id = cc_json_int(cc_json_root(doc), "id", -1);
		code = take_request(broker, cc_json_root(doc), msg, job, &err);
	}
	if (code == CC_OK)
		code = job->handle == cc_job_revoke && job->run ? end_run(broker, job->run, job, &err)
								: add_job(broker, job, &err);
	if (code != CC_OK) {
		if (job)
			job_free(job);
		cc_reply_failed(broker, id, &err);
	}
	cc_peer_msg_close(msg);
}

/* Threads for what is left; failed ones are tried as well. */
static void retry_left(struct cc_broker *broker)
{
	size_t count = 0;

	pthread_mutex_lock(&broker->lock);
	while (broker->failed) {
		struct cc_grant *grant = broker->failed;

		broker->failed = grant->next;
		grant->next = broker->left;
		broker->left = grant;
	}
	for (struct cc_grant *grant = broker->left; grant && count < LEFT_THREADS; grant = grant->next)
		count++;
	pthread_mutex_unlock(&broker->lock);
	while (count--) {
		struct cc_job *job = job_new(cc_job_left);

		if (job && add_job(broker, job, NULL) != CC_OK)
			job_free(job);
	}
}

/* Until nothing is under way, or it is that late. */
static void wait_idle(struct cc_broker *broker, int64_t until)
{
	pthread_mutex_lock(&broker->lock);
	while ((broker->queued || broker->working) && cc_clock_ms() < until) {
		const struct timespec late = {until / 1000, until % 1000 * 1000000L};

		if (pthread_cond_timedwait(&broker->changed, &broker->lock, &late) == ETIMEDOUT)
			break;
	}
	pthread_mutex_unlock(&broker->lock);
}

static void say_ready(struct cc_broker *broker)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, 32 << 10, "ready");
	cc_jsonw_key(&w, "hosts");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < broker->config->count; i++)
		cc_jsonw_str(&w, broker->config->forges[i].host);
	cc_jsonw_end(&w);
	pthread_mutex_lock(&broker->lock);
	cc_jsonw_kint(&w, "left", (int64_t)broker->left_count);
	pthread_mutex_unlock(&broker->lock);
	cc_jsonw_end(&w);
	cc_reply(broker, &text);
}

static void end_all(struct cc_broker *broker)
{
	pthread_mutex_lock(&broker->lock);
	broker->closing = true;
	broker->deadline = cc_clock_ms() + CLOSING_MS;
	pthread_mutex_unlock(&broker->lock);
	while (broker->runs) {
		struct cc_job *job = job_new(cc_job_revoke);

		if (!job)
			break;
		if (end_run(broker, broker->runs, job, NULL) != CC_OK)
			job_free(job);
	}
	retry_left(broker);
	wait_idle(broker, broker->deadline);
}

enum cc_code cc_broker_run(struct cc_broker *broker, struct cc_err *err)
{
	static struct cc_peer_msg msg;
	enum cc_code code;

	retry_left(broker);
	wait_idle(broker, cc_clock_ms() + START_MS);
	say_ready(broker);
	for (int64_t again = cc_clock_ms() + AGAIN_MS;;) {
		int64_t left = again - cc_clock_ms();

		code = cc_peer_recv_wait(broker->link, left > 0 ? (int)left : 0, &msg, err);
		if (code == CC_OK && msg.len == 0)
			break;
		if (code == CC_OK)
			on_request(broker, &msg);
		else if (code != CC_ETIMEOUT)
			break;
		if (cc_clock_ms() >= again) {
			retry_left(broker);
			again = cc_clock_ms() + AGAIN_MS;
		}
	}
	end_all(broker);
	return code;
}

static enum cc_code receive_start(struct cc_broker *broker, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, CC_FORGE_START_MAX);
	code = cc_peer_recv_file(broker->link, &text, err);
	if (code == CC_OK)
		code = cc_forge_config_read(cc_buf_view(&text), &broker->config, err);
	cc_buf_done(&text);
	return code;
}

enum cc_code cc_broker_open(int link, struct cc_broker **out_broker, struct cc_err *err)
{
	struct cc_broker *broker = calloc(1, sizeof(*broker));
	pthread_condattr_t clock;
	enum cc_code code;

	if (!broker)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	broker->link = link;
	broker->dir = -1;
	pthread_mutex_init(&broker->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&broker->changed, &clock);
	pthread_condattr_destroy(&clock);
	code = receive_start(broker, err);
	if (code == CC_OK)
		code = cc_journal_open(broker->config->data_dir, broker->path, sizeof(broker->path), &broker->dir, err);
	if (code == CC_OK)
		code = cc_token_read_left(broker, err);
	if (code == CC_OK)
		code = cc_curl_start(err);
	if (code == CC_OK) {
		*out_broker = broker;
		return CC_OK;
	}
	cc_reply_failed(broker, -1, err);
	cc_forge_config_free(broker->config);
	cc_fd_close(&broker->dir);
	free(broker);
	return code;
}

const char *cc_broker_dir(const struct cc_broker *broker)
{
	return broker->path;
}
