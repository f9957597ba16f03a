#define _GNU_SOURCE
#include "runner/inside.h"

#include "os/fd.h"
#include "os/peer.h"
#include "wire/runmsg.h"

#include <stdlib.h>
#include <string.h>

static enum cc_code take_list(const struct cc_json *list, struct cc_strv *to, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (const struct cc_json *m = list ? list->child : NULL; code == CC_OK && m; m = m->next)
		code = cc_strv_push(to, m->text.ptr ? m->text.ptr : "", err);
	return code;
}

/* The run's own rules are those of its space: the narrowest scope there is. */
static enum cc_code take_rules(struct cc_job *job, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < job->wanted.action_count; i++) {
		struct cc_action_rule *rule = &job->rules[job->rule_count];

		rule->scope = CC_SCOPE_SPACE;
		rule->verdict = cc_guard_parse(job->wanted.actions[i].verdict);
		code = cc_action_parse(job->wanted.actions[i].action, &rule->action, err);
		job->rule_count += code == CC_OK;
	}
	return code;
}

static enum cc_code take_push_rules(struct cc_job *job, const struct cc_json *rules, struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, CC_RUN_START_MAX);
	cc_jsonw_init(&w, &text);
	if (rules)
		cc_jsonw_copy(&w, rules);
	job->push_rules = rules && !text.failed ? cc_str_copy(text.data) : NULL;
	cc_buf_done(&text);
	return job->push_rules ? CC_OK : cc_fail(err, CC_EPROTO, 0, "a start without the rules of pushes");
}

static enum cc_code take_document(struct cc_job *job, const struct cc_json *root, struct cc_err *err)
{
	enum cc_code code;

	job->id = cc_str_copy(cc_json_str(root, "runId", NULL));
	job->socket = cc_str_copy(cc_json_str(root, "socket", NULL));
	job->data_dir = cc_str_copy(cc_json_str(root, "dataDir", NULL));
	job->repo = cc_str_copy(cc_json_str(root, "repo", NULL));
	if (!job->id || !job->socket || !job->data_dir)
		return cc_fail(err, CC_EPROTO, 0, "the start document is not whole");
	job->push_path = cc_str_copy(cc_json_str(root, "pushPath", ""));
	code = take_list(cc_json_get(root, "forges"), &job->hosts, err);
	if (code == CC_OK)
		code = take_push_rules(job, cc_json_get(root, "push"), err);
	if (code == CC_OK)
		code = take_list(cc_json_get(root, "protect"), &job->protect, err);
	if (code == CC_OK)
		code = cc_run_request_read(cc_json_get(root, "ask"), &job->wanted, err);
	if (code == CC_OK)
		code = take_rules(job, err);
	job->row = code == CC_OK ? cc_runner_by_name(job->wanted.agent) : NULL;
	if (code == CC_OK && !job->row)
		code = cc_fail(err, CC_EINVAL, 0, "no agent is called \"%.60s\"", job->wanted.agent);
	return code;
}

enum cc_code cc_job_read(struct cc_job *job, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_buf text;
	enum cc_code code;

	cc_run_request_init(&job->wanted);
	cc_spec_init(&job->turned);
	cc_buf_init(&text, CC_RUN_START_MAX);
	code = cc_peer_recv_file(job->link, &text, err);
	if (code == CC_OK)
		code = cc_json_parse("start", cc_buf_view(&text), 0, &doc, err);
	if (code == CC_OK)
		code = take_document(job, cc_json_root(doc), err);
	cc_buf_done(&text);
	return code;
}

void cc_job_done(struct cc_job *job)
{
	ccbox_stream_close(job->command);
	ccbox_stream_close(job->events);
	ccbox_close(job->box);
	cc_talk_free(job->talk);
	cc_recorder_done(&job->recorder);
	cc_run_request_done(&job->wanted);
	cc_push_end(job);
	for (size_t i = 0; i < job->environment_of.count; i++)
		explicit_bzero(job->environment_of.items[i], strlen(job->environment_of.items[i]));
	for (size_t i = 0; i < job->settings.count; i++)
		explicit_bzero(job->settings.items[i], strlen(job->settings.items[i]));
	cc_strv_done(&job->environment_of);
	cc_strv_done(&job->settings);
	cc_strv_done(&job->hosts);
	free(job->push_rules);
	free(job->push_path);
	cc_strv_done(&job->protect);
	cc_strv_done(&job->reads);
	cc_worktree_outcome_done(&job->outcome);
	cc_worktree_done(&job->tree);
	cc_spec_done(&job->turned);
	free(job->id);
	free(job->socket);
	free(job->data_dir);
	free(job->repo);
	free(job->backend);
	free(job->environment);
}
