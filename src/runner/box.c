/* box.c - the sandbox of a run and the agent in it, over the daemon's socket. */
#define _GNU_SOURCE
#include "runner/inside.h"

#include "os/clock.h"
#include "wire/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_CHUNK = 256 << 10, RETRY_MS = 50, TERM_MS = 3000, TURN_EVENTS = 64 };

static enum cc_code fail(struct cc_err *err, const struct ccbox_error *error)
{
	enum cc_code code = strcmp(error->code, "not-found") == 0 ? CC_ENOTFOUND
			    : strcmp(error->code, "refused") == 0 ? CC_EPOLICY
								  : CC_ESYS;

	return cc_fail(err, code, 0, "%s", error->message);
}

static enum cc_code write_spec(const struct cc_job *job, struct cc_buf *body, struct cc_err *err)
{
	struct cc_launch_request request;
	struct cc_spec *spec = &request.spec;
	enum cc_code code = CC_OK;

	cc_launch_request_init(&request);
	spec->session_id = cc_str_copy(job->id);
	spec->workspace_id = cc_str_copy(job->wanted.workspace ? job->wanted.workspace : "default");
	spec->agent_id = cc_str_copy(job->wanted.agent);
	spec->mode = job->wanted.mode;
	spec->network_enabled = cc_job_may_network(job);
	request.backend = job->wanted.backend;
	request.agent = cc_str_copy(job->row->lend);
	request.sanitised = job->row->sanitised;
	if (!spec->session_id || !spec->workspace_id || !spec->agent_id || !request.agent)
		code = cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (code == CC_OK)
		code = cc_spec_add_bind(spec, job->place, !cc_mode_writes(spec->mode), err);
	for (size_t i = 0; code == CC_OK && i < job->reads.count; i++)
		code = cc_spec_add_bind(spec, job->reads.items[i], true, err);
	if (code == CC_OK)
		code = cc_strv_copy(&spec->protected_paths, &job->protect, err);
	if (code == CC_OK)
		code = cc_strv_copy(&spec->protected_paths, &job->turned.protected_paths, err);
	if (code == CC_OK)
		code = cc_policy_merge(&spec->policy, &job->turned.policy, err);
	if (code == CC_OK)
		code = cc_strv_copy(&spec->policy.env, &job->wanted.env, err);
	if (code == CC_OK) {
		cc_launch_request_write(&request, body);
		code = cc_buf_check(body, "the launch", err);
	}
	cc_launch_request_done(&request);
	return code;
}

enum cc_code cc_job_launch(struct cc_job *job, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	CC_AUTO_FREE char *handle = NULL;
	struct ccbox_error error = {0};
	struct cc_buf body;
	enum cc_code code;

	cc_buf_init(&body, CC_REQUEST_MAX);
	code = write_spec(job, &body, err);
	if (code == CC_OK && (ccbox_open(job->socket, &job->box, &error) != 0 ||
			      ccbox_launch(job->box, body.data, &handle, &error) != 0))
		code = fail(err, &error);
	cc_buf_done(&body);
	if (code != CC_OK)
		return code;
	job->launched = true;
	code = cc_json_parse("handle", cc_view_of(handle), 0, &doc, err);
	if (code == CC_OK)
		cc_job_up(job, cc_json_root(doc));
	return code;
}

enum cc_code cc_job_exec(struct cc_job *job, const struct cc_strv *argv, struct cc_err *err)
{
	struct cc_strv env = {0};
	struct ccbox_command command = {
		.size = sizeof(command), .argv = (const char *const *)argv->items, .stdin_open = 1};
	struct ccbox_error error = {0};
	enum cc_code code = cc_job_write_environment(job, &env, err);

	command.env = (const char *const *)env.items;
	/* the events from their first on, which are still there: the agent does not wait for their reader */
	if (code == CC_OK && (ccbox_exec(job->box, job->id, &command, &job->command, &error) != 0 ||
			      ccbox_events(job->box, job->id, 0, 1, &job->events, &error) != 0))
		code = fail(err, &error);
	cc_strv_done(&env);
	if (code != CC_OK)
		return code;
	job->last_word = cc_clock_ms();
	return CC_OK;
}

/* What it writes beside its protocol, in as many events as it takes. */
static void say_error(struct cc_job *job, struct cc_view text)
{
	while (text.len) {
		size_t part = text.len < CC_AGENT_TEXT_MAX ? text.len : CC_AGENT_TEXT_MAX;
		struct cc_agent_event said = {.type = CC_AGENT_ERROR, .text = {text.ptr, part}};

		cc_job_event(job, &said);
		text.ptr += part;
		text.len -= part;
	}
}

static void on_output(struct cc_job *job, const struct ccbox_event *event)
{
	int64_t now = cc_clock_ms();

	job->last_word = now;
	if (strcmp(event->type, "stdout") == 0) {
		if (!cc_talk_take(job->talk, event->content, event->content_len))
			cc_job_kill(job, CC_END_FAILED, now);
	} else if (strcmp(event->type, "exit") == 0) {
		job->exited = true;
		job->exit_code = event->exit_code;
		cc_talk_end(job->talk);
	} else if (strcmp(event->type, "stderr") == 0 || strcmp(event->type, "notice") == 0) {
		say_error(job, (struct cc_view){event->content, event->content_len});
	}
}

/* What the sandbox says, by the enforcer's word alone. */
static void on_sandbox(struct cc_job *job, const struct ccbox_event *event)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_agent_event told = {.type = CC_AGENT_VIOLATION};
	char text[600];
	struct cc_err err;

	if (event->lost)
		cc_job_note(job, CC_AGENT_ERROR, "events of the sandbox were lost: this run was too slow");
	if (event->command == 0 && strcmp(event->type, "killed") == 0 && !job->exited) {
		snprintf(text, sizeof(text), "the sandbox ended: %.*s",
			 (int)(event->content_len < 500 ? event->content_len : 500), event->content);
		cc_job_note(job, CC_AGENT_ERROR, text);
	}
	if (strcmp(event->type, "violation") != 0 ||
	    cc_json_parse("event", cc_view_of(event->json), 0, &doc, &err) != CC_OK)
		return;
	job->violations++;
	told.detail = cc_json_get(cc_json_root(doc), "violation");
	snprintf(text, sizeof(text), "[sandbox] denied %.60s on %.500s", cc_json_str(told.detail, "action", "?"),
		 cc_json_str(told.detail, "target", "?"));
	told.text = cc_view_of(text);
	cc_job_event(job, &told);
}

static void hear_one(struct cc_job *job, struct ccbox_stream *stream,
		     void (*each)(struct cc_job *job, const struct ccbox_event *event), bool *over)
{
	struct ccbox_error error = {0};
	struct ccbox_event event;
	int got = 1;

	for (int i = 0; i < TURN_EVENTS && got > 0; i++) {
		got = ccbox_next(stream, 0, &event, &error);
		if (got > 0)
			each(job, &event);
	}
	*over |= got < 0;
}

void cc_job_hear(struct cc_job *job)
{
	bool over = false;

	if (job->command && !job->exited) {
		hear_one(job, job->command, on_output, &over);
		if (over && !job->exited) { /* the session went, and the agent with it */
			job->exited = true;
			job->exit_code = 137;
			job->reason = job->reason ? job->reason : CC_END_SANDBOX;
		}
	}
	if (job->events && !job->events_over)
		hear_one(job, job->events, on_sandbox, &job->events_over);
}

void cc_job_speak(struct cc_job *job, int64_t now)
{
	struct cc_buf *out = cc_talk_out(job->talk);
	int number = job->command ? ccbox_stream_command(job->command) : 0;
	struct ccbox_error error = {0};
	size_t len;

	if (!job->command || job->exited || job->input_closed || (job->retry_at && now < job->retry_at))
		return;
	job->retry_at = 0;
	while (out->len) {
		len = out->len < INPUT_CHUNK ? out->len : INPUT_CHUNK;
		if (ccbox_stdin(job->box, job->id, number, out->data, len, 0, &error) != 0) {
			job->retry_at = strcmp(error.code, "limit") == 0 ? now + RETRY_MS : 0;
			job->input_closed = !job->retry_at;
			return;
		}
		cc_buf_eat(out, len);
	}
	if (!cc_talk_is_over(job->talk))
		return;
	job->input_closed = true;
	job->over_at = now;
	(void)ccbox_stdin(job->box, job->id, number, NULL, 0, 1, &error);
}

void cc_job_kill(struct cc_job *job, const char *reason, int64_t now)
{
	if (job->kill_step || job->exited)
		return;
	job->reason = job->reason ? job->reason : reason;
	job->kill_step = 1;
	job->kill_at = now;
	cc_job_kill_step(job, now);
}

void cc_job_kill_step(struct cc_job *job, int64_t now)
{
	static const char *const names[] = {"TERM", "KILL"};
	struct ccbox_error error;

	if (!job->kill_step || job->exited || now < job->kill_at)
		return;
	if (job->kill_step <= 2 && job->command) {
		(void)ccbox_signal(job->box, job->id, ccbox_stream_command(job->command), names[job->kill_step - 1],
				   &error);
		job->kill_step++;
		job->kill_at = now + TERM_MS;
		return;
	}
	/* its group is gone and something holds the command open: the session goes whole */
	job->exited = true;
	job->exit_code = 137;
}

bool cc_job_lost_sandbox(struct cc_job *job)
{
	CC_AUTO_FREE char *handle = NULL;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct ccbox_error error = {0};
	struct cc_err err;
	const char *state;

	if (!job->launched || ccbox_get(job->box, job->id, &handle, &error) != 0 ||
	    cc_json_parse("handle", cc_view_of(handle), 0, &doc, &err) != CC_OK)
		return job->launched;
	state = cc_json_str(cc_json_root(doc), "state", "");
	return strcmp(state, "warm") != 0 && strcmp(state, "active") != 0 && strcmp(state, "suspended") != 0;
}

void cc_job_destroy(struct cc_job *job)
{
	struct ccbox_error error = {0};

	if (!job->launched || job->gone)
		return;
	job->launched = false;
	if (ccbox_destroy(job->box, job->id, &error) != 0 && strcmp(error.code, "not-found") != 0)
		cc_job_note(job, CC_AGENT_ERROR, error.message);
	while (job->events && !job->events_over) {
		struct ccbox_event event;
		int got = ccbox_next(job->events, 5000, &event, &error);

		if (got > 0)
			on_sandbox(job, &event);
		else
			job->events_over = true;
	}
}
