/* run.c - the life of a run, from its start document to its end. */
#define _GNU_SOURCE
#include "runner/runner.h"

#include "os/clock.h"
#include "os/peer.h"
#include "os/proc.h"
#include "runner/inside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_NOTHING = 125, EXIT_POLICY = 126, EXIT_ABSENT = 127 };
/* How long an agent may take to go after its last word, and without one (contract 4; by the mode). */
enum { LINGER_MS = 10000, SILENCE_CHAT_S = 900, SILENCE_READ_S = 600 };

static void on_steer(struct cc_job *job, const struct cc_json *m, struct cc_peer_msg *msg)
{
	const char *text = cc_json_str(m, "text", "");
	struct cc_err err = {0};

	(void)msg;
	if (job->talk && cc_talk_say(job->talk, text, &err) == CC_OK)
		cc_job_note(job, CC_AGENT_STEER, text);
	else
		cc_job_note(job, CC_AGENT_ERROR, job->talk ? err.what : "the agent has not started");
}

static void on_stop(struct cc_job *job, const struct cc_json *m, struct cc_peer_msg *msg)
{
	(void)m, (void)msg;
	job->reason = job->reason ? job->reason : CC_END_STOPPED;
	cc_job_kill(job, CC_END_STOPPED, cc_clock_ms());
}

static void on_answer(struct cc_job *job, const struct cc_json *m, struct cc_peer_msg *msg)
{
	(void)msg;
	cc_job_answer(job, cc_json_int(m, "id", 0), cc_json_bool(m, "allow", false), "person");
}

static void on_forge(struct cc_job *job, const struct cc_json *m, struct cc_peer_msg *msg)
{
	(void)msg;
	if (job->granted)
		cc_push_forge(job, m);
	else
		cc_job_granted(job, m);
}

static void on_conn(struct cc_job *job, const struct cc_json *m, struct cc_peer_msg *msg)
{
	(void)m;
	if (msg->fd_count) {
		cc_push_connect(job, msg->fds[0]);
		msg->fds[0] = -1;
	}
}

static const struct {
	const char *name;
	void (*handle)(struct cc_job *job, const struct cc_json *m, struct cc_peer_msg *msg);
} messages[] = {
	{"steer", on_steer}, {"stop", on_stop}, {"answer", on_answer}, {"forge", on_forge}, {"conn", on_conn},
};

void cc_job_hear_daemon(struct cc_job *job)
{
	static struct cc_peer_msg msg;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;

	if (cc_peer_recv(job->link, &msg, &err) != CC_OK || msg.len == 0 ||
	    cc_json_parse("daemon", (struct cc_view){msg.text, msg.len}, 0, &doc, &err) != CC_OK) {
		job->gone = true;
		cc_peer_msg_close(&msg);
		return;
	}
	for (size_t i = 0; i < CC_COUNT(messages); i++)
		if (strcmp(messages[i].name, cc_json_str(cc_json_root(doc), "m", "")) == 0)
			messages[i].handle(job, cc_json_root(doc), &msg);
	cc_peer_msg_close(&msg);
}

static int64_t silence_of(const struct cc_job *job)
{
	bool short_one = job->wanted.mode == CC_MODE_REVIEW || job->wanted.mode == CC_MODE_PLAN;

	return 1000 * (job->wanted.silence ? job->wanted.silence : short_one ? SILENCE_READ_S : SILENCE_CHAT_S);
}

/* What time alone brings about. */
static void on_time(struct cc_job *job, int64_t now)
{
	cc_recorder_tick(&job->recorder, now);
	cc_job_answer_late(job, now);
	/* one that waits for a person is not silent */
	if (cc_job_waits_for_person(job))
		job->last_word = now;
	if (job->command && now - job->last_word > silence_of(job)) {
		cc_job_note(job, CC_AGENT_ERROR, "the agent has said nothing for too long");
		cc_job_kill(job, CC_END_SILENCE, now);
	}
	if (job->over_at && now - job->over_at > LINGER_MS)
		cc_job_kill(job, CC_END_FINISHED, now);
	cc_job_kill_step(job, now);
}

/* Milliseconds until time brings something about; what is rare is looked at once a second. */
static int next_moment(const struct cc_job *job)
{
	if (job->retry_at)
		return 50;
	if (job->recorder.pending.len || job->kill_step)
		return 250;
	return 1000;
}

static void serve(struct cc_job *job)
{
	while (!job->exited && !job->gone) {
		struct pollfd set[] = {
			{.fd = job->link, .events = POLLIN},
			{.fd = job->command ? ccbox_stream_fd(job->command) : -1, .events = POLLIN},
			{.fd = job->events && !job->events_over ? ccbox_stream_fd(job->events) : -1, .events = POLLIN},
			{.fd = job->push.link, .events = POLLIN},
		};

		if (poll(set, CC_COUNT(set), next_moment(job)) < 0 && errno != EINTR)
			return;
		if (set[0].revents)
			cc_job_hear_daemon(job);
		if (set[3].revents)
			cc_push_hear(job);
		cc_job_hear(job);
		cc_job_speak(job, cc_clock_ms());
		on_time(job, cc_clock_ms());
	}
}

static void on_line(void *context, struct cc_view object)
{
	cc_job_line(context, object, 0);
}

/* As far as the agent's first moment. */
static enum cc_code begin(struct cc_job *job, int *out_code, struct cc_err *err)
{
	struct cc_runner_ask words = {
		.prompt = job->wanted.prompt, .model = job->wanted.model, .mode = job->wanted.mode};
	struct cc_talk_config config = {
		.kind = job->row->talks, .prompt = job->wanted.prompt, .cwd = job->place, .mode = job->wanted.mode};
	struct cc_strv argv = {0};
	enum cc_code code = job->row->argv(&words, &argv, err);

	*out_code = EXIT_POLICY;
	if (code == CC_OK)
		code = cc_job_preflight(job, &argv, err);
	if (code == CC_OK) {
		*out_code = EXIT_NOTHING;
		code = cc_job_place(job, err);
	}
	if (code == CC_OK)
		code = cc_job_grant(job, err);
	if (code == CC_OK)
		code = cc_job_launch(job, err);
	if (code == CC_OK)
		cc_push_begin(job);
	cc_job_sink(job, &config.sink);
	if (code == CC_OK)
		code = cc_talk_new(&config, &job->talk, err);
	if (code == CC_OK)
		code = cc_job_exec(job, &argv, err);
	if (code == CC_OK)
		cc_job_speak(job, cc_clock_ms());
	cc_strv_done(&argv);
	return code;
}

static void finish(struct cc_job *job)
{
	int code = job->exit_code;
	const char *reason = job->reason;

	/* told to go after its turn was over and it had not failed: its turn is what counts */
	if (job->over_at && !cc_talk_failed(job->talk) && reason && strcmp(reason, CC_END_FINISHED) == 0)
		code = 0;
	if (code == 0 && cc_talk_failed(job->talk))
		code = 1;
	if (!reason && code > 128 && cc_job_lost_sandbox(job))
		reason = CC_END_SANDBOX;
	if (!reason)
		reason = code == 0 ? CC_END_FINISHED : CC_END_FAILED;
	cc_job_destroy(job);
	cc_push_end(job);
	cc_job_settle(job);
	cc_job_end(job, code, reason);
}

int cc_runner_main(int link, char *const *env)
{
	static struct cc_job job;
	struct cc_err err = {0};
	int exit_code = EXIT_NOTHING;
	enum cc_code code;

	signal(SIGPIPE, SIG_IGN);
	/* as for the owner of a session: it goes when the daemon says so, or is gone */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	job.link = link;
	job.env = env;
	job.push.link = -1;
	cc_recorder_init(&job.recorder, on_line, &job);
	code = cc_job_read(&job, &err);
	if (code == CC_OK)
		code = begin(&job, &exit_code, &err);
	if (code == CC_OK) {
		serve(&job);
		if (!job.gone)
			finish(&job);
	} else {
		cc_job_note(&job, CC_AGENT_ERROR, err.what);
		cc_job_destroy(&job);
		cc_job_settle(&job);
		cc_job_end(&job, exit_code, exit_code == EXIT_POLICY ? CC_END_POLICY : CC_END_NOTHING);
	}
	cc_job_done(&job);
	return 0;
}
