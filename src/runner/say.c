/* say.c - what a run tells the daemon: bounded objects, redacted (src/agents). */
#define _GNU_SOURCE
#include "runner/inside.h"

#include "os/clock.h"
#include "os/peer.h"

#include <stdlib.h>
#include <string.h>

static void send(struct cc_job *job, struct cc_buf *text)
{
	struct cc_err err;

	/* nobody to tell it to: there is nothing that the run could be for */
	if (text->failed || cc_peer_send(job->link, text->data, text->len, NULL, 0, &err) != CC_OK)
		job->gone = true;
	cc_buf_done(text);
}

void cc_job_line(struct cc_job *job, struct cc_view object, int64_t question)
{
	struct cc_buf text;

	cc_buf_init(&text, CC_PEER_MAX);
	cc_buf_adds(&text, "{\"m\":\"event\",");
	if (question)
		cc_buf_addf(&text, "\"%s\":%lld,", question > 0 ? "ask" : "settled",
			    (long long)(question > 0 ? question : -question));
	cc_buf_adds(&text, "\"e\":");
	cc_buf_add(&text, object.ptr, object.len);
	cc_buf_adds(&text, "}");
	send(job, &text);
}

void cc_job_event(struct cc_job *job, const struct cc_agent_event *event)
{
	job->last_word = cc_clock_ms();
	cc_recorder_add(&job->recorder, event, job->last_word);
}

void cc_job_note(struct cc_job *job, enum cc_agent_event_type type, const char *text)
{
	struct cc_agent_event event = {.type = type, .text = cc_view_of(text)};

	cc_job_event(job, &event);
}

/* What a person has to know of it, wherever it is shown. */
static void write_where(const struct cc_job *job, struct cc_jsonw *w)
{
	bool none = job->backend && strcmp(job->backend, "none") == 0;

	if (job->backend)
		cc_jsonw_kstr(w, "backend", job->backend);
	if (job->backend)
		cc_jsonw_kbool(w, "sandboxed", !none);
	if (job->environment)
		cc_jsonw_kstr(w, "environment", job->environment);
	if (job->place[0])
		cc_jsonw_kstr(w, "directory", job->place);
}

void cc_job_up(struct cc_job *job, const struct cc_json *handle)
{
	const struct cc_json *details = cc_json_get(handle, "details"), *dropped = cc_json_get(details, "dropped");
	struct cc_buf text;
	struct cc_jsonw w;

	job->backend = cc_str_copy(cc_json_str(handle, "backend", "none"));
	job->environment = cc_str_copy(cc_json_str(details, "environment", NULL));
	cc_jsonw_message(&w, &text, CC_PEER_MAX, "up");
	cc_jsonw_kstr(&w, "backend", job->backend);
	cc_jsonw_key(&w, "e");
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "type", "ready");
	write_where(job, &w);
	cc_jsonw_kbool(&w, "network", cc_job_may_network(job));
	if (job->copied)
		cc_jsonw_kstr(&w, "copy", job->kind);
	if (dropped) {
		cc_jsonw_key(&w, "dropped");
		cc_jsonw_copy(&w, dropped);
	}
	if (job->backend && strcmp(job->backend, "none") == 0)
		cc_jsonw_kstr(&w, "content",
			      "NO SANDBOX: the agent runs on this host with your files, your network and your secrets");
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	send(job, &text);
}

void cc_job_end(struct cc_job *job, int code, const char *reason)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_recorder_flush(&job->recorder);
	cc_jsonw_message(&w, &text, CC_PEER_MAX, "end");
	cc_jsonw_kint(&w, "code", code);
	cc_jsonw_kstr(&w, "reason", reason);
	cc_jsonw_key(&w, "e");
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "exitCode", code);
	cc_jsonw_kstr(&w, "reason", reason);
	write_where(job, &w);
	cc_jsonw_kint(&w, "violations", job->violations);
	cc_jsonw_kint(&w, "inputTokens", job->tokens_in);
	cc_jsonw_kint(&w, "outputTokens", job->tokens_out);
	cc_job_write_outcome(job, &w);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	send(job, &text);
}
