/* agentruns.c - runs of agents over HTTP. A run is answered with at once, and what becomes of it is read from its
 * events; a caller that goes away leaves it as it is. */
#define _GNU_SOURCE
#include "server/server.h"

#include "agents/redact.h"
#include "agents/table.h"
#include "os/clock.h"
#include "server/report.h"
#include "wire/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ONE_MAX = 256 << 10, LIST_MAX = 32 << 20, LISTED_MAX = 200, PROMPT_SHOWN = 300, DIFF_MAX = 5 << 20 };

void cc_agentruns_changed(void *context, const struct cc_run *run)
{
	struct cc_server *server = context;
	struct cc_run_now now;
	struct cc_store_agent_state row;
	struct cc_err err;

	cc_run_look(run, &now);
	row = (struct cc_store_agent_state){.state = now.state,
					    .backend = now.backend,
					    .reason = now.reason,
					    .detail = now.detail,
					    .code = now.code,
					    .pid = now.pid,
					    .now_ms = cc_clock_wall_ms()};
	if (cc_store_agent_run_set(server->store, now.id, &row, &err) != CC_OK)
		cc_log(CC_LOG_ERROR, "%s", err.what);
}

static void on_left(void *context, const char *id, int64_t pid, bool dropped)
{
	struct cc_server *server = context;

	if (dropped) {
		cc_runs_forget(server->runs, id);
		return;
	}
	cc_log(CC_LOG_INFO, "run %s was lost with the server before", id);
	cc_runs_lost(server->runs, id, pid, "the server ended without it");
}

enum cc_code cc_agentruns_sweep(struct cc_server *server, struct cc_err *err)
{
	return cc_store_agent_sweep(server->store, "the server ended without it", cc_clock_wall_ms(), on_left, server,
				    err);
}

static void reply_one(struct cc_call *call, int status, const char *id)
{
	struct cc_server *server = cc_call_context(call);
	const struct cc_run *run = cc_runs_find(server->runs, id);
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;
	enum cc_code code;

	cc_buf_init(&text, ONE_MAX);
	cc_jsonw_init(&w, &text);
	code = cc_store_agent_runs_write(server->store, id, 0, &w, &err);
	if (code == CC_OK && run) {
		cc_jsonw_key(&w, "questions");
		cc_run_write_questions(run, &w);
	}
	cc_jsonw_end(&w);
	cc_reply_written(call, status, code, &text, &err);
}

/* What cc-run would refuse as well, said at once. */
static enum cc_code check(const struct cc_run_request *wanted, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (!cc_runner_by_name(wanted->agent)) {
		struct cc_buf names;

		cc_buf_init(&names, 300);
		for (size_t i = 0; cc_runner_at(i); i++)
			cc_buf_addf(&names, "%s%s", i ? ", " : "", cc_runner_at(i)->name);
		cc_fail(err, CC_EINVAL, 0, "no agent is called \"%.60s\"; there are %s", wanted->agent,
			names.data ? names.data : "none");
		cc_buf_done(&names);
		return CC_EINVAL;
	}
	for (size_t i = 0; code == CC_OK && i < wanted->action_count; i++) {
		const char *verdict = wanted->actions[i].verdict;
		enum cc_action action;

		code = cc_action_parse(wanted->actions[i].action, &action, err);
		if (code == CC_OK && strcmp(cc_guard_name(cc_guard_parse(verdict)), verdict) != 0)
			code = cc_fail(err, CC_EINVAL, 0, "an action is allow, prompt or deny, not \"%.60s\"", verdict);
	}
	return code;
}

static enum cc_code find_repo(struct cc_server *server, const struct cc_run_request *wanted, char **out_path,
			      struct cc_err *err)
{
	if (!wanted->repo)
		return CC_OK;
	if (wanted->repo[0] != '/')
		return cc_store_repo_path(server->store, strtoll(wanted->repo, NULL, 10), out_path, err);
	*out_path = cc_str_copy(wanted->repo);
	return *out_path ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

/* Recorded before it begins, as a session is. */
static enum cc_code record(struct cc_server *server, const struct cc_run_request *wanted, const char *id,
			   const char *place, struct cc_err *err)
{
	static const char *const modes[] = {"", "chat", "review", "plan", "orchestrate"};
	struct cc_view prompt = cc_view_of(wanted->prompt);
	struct cc_store_agent_run row = {.id = id,
					 .workspace = wanted->workspace ? wanted->workspace : "default",
					 .agent = wanted->agent,
					 .mode = modes[wanted->mode],
					 .place = place,
					 .created_ms = cc_clock_wall_ms()};
	struct cc_buf shown;
	enum cc_code code;

	while (prompt.len > PROMPT_SHOWN || (prompt.len && prompt.len < strlen(wanted->prompt) &&
					     ((unsigned char)prompt.ptr[prompt.len] & 0xc0) == 0x80))
		prompt.len--;
	cc_buf_init(&shown, 8192);
	cc_redact(prompt, &shown);
	row.prompt = shown.data ? shown.data : "";
	code = cc_store_agent_run_add(server->store, &row, err);
	cc_buf_done(&shown);
	return code;
}

static enum cc_code start(struct cc_server *server, struct cc_view body, const struct cc_run_request *wanted,
			  const char *id, struct cc_err *err)
{
	CC_AUTO_FREE char *repo = NULL;
	struct cc_strv protect = {0};
	struct cc_run_ask ask = {.id = id, .body = body, .wanted = wanted, .protect = &protect};
	struct cc_run *run = NULL;
	enum cc_code code = check(wanted, err);

	if (code == CC_OK)
		code = find_repo(server, wanted, &repo, err);
	if (code == CC_OK)
		code = cc_store_repo_paths(server->store, wanted->workspace ? wanted->workspace : "default", &protect,
					   err);
	if (code == CC_OK)
		code = record(server, wanted, id, repo ? repo : wanted->directory, err);
	ask.repo = repo;
	if (code == CC_OK) {
		code = cc_run_start(server->runs, &ask, &run, err);
		if (code == CC_OK) {
			cc_agentruns_changed(server, run);
		} else {
			struct cc_store_agent_state lost = {
				.state = "lost", .reason = "not started", .code = 125, .now_ms = cc_clock_wall_ms()};
			struct cc_err why;

			(void)!cc_store_agent_run_set(server->store, id, &lost, &why);
		}
	}
	cc_strv_done(&protect);
	return code;
}

static void post_run(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_run_request wanted;
	unsigned char random[8];
	char id[32] = "r-";
	struct cc_err err = {0};
	enum cc_code code;

	cc_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(id + 2 + 2 * i, 3, "%02x", random[i]);
	cc_run_request_init(&wanted);
	code = server->stopping ? cc_fail(&err, CC_ESTATE, 0, "the server is going down")
				: cc_json_parse("body", cc_call_body(call), 0, &doc, &err);
	if (code == CC_OK)
		code = cc_run_request_read(cc_json_root(doc), &wanted, &err);
	if (code == CC_OK)
		code = start(server, cc_call_body(call), &wanted, id, &err);
	cc_run_request_done(&wanted);
	if (code != CC_OK)
		cc_reply_fail(call, &err);
	else
		reply_one(call, 201, id);
}

static void get_runs(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;
	enum cc_code code;

	cc_buf_init(&text, LIST_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "runs");
	code = cc_store_agent_runs_write(server->store, NULL, LISTED_MAX, &w, &err);
	cc_jsonw_end(&w);
	cc_reply_written(call, 200, code, &text, &err);
}

static void get_run(struct cc_call *call)
{
	reply_one(call, 200, cc_call_param(call, 0));
}

/* Events: the record as it grows. */

struct feed {
	struct cc_feed to;
	struct cc_run_reader reader;
};

static enum cc_fill fill(void *context, struct cc_buf *out)
{
	struct feed *feed = context;
	struct cc_view line;
	uint64_t seq;

	while (!cc_feed_full(out) && cc_run_reader_take(&feed->reader, &line, &seq))
		cc_feed_line(&feed->to, seq, line, out);
	return cc_feed_turn(&feed->to, cc_run_reader_over(&feed->reader), out);
}

static void on_closed(void *context)
{
	struct feed *feed = context;

	cc_run_reader_close(&feed->reader);
	free(feed);
}

static void get_events(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct feed *feed = calloc(1, sizeof(*feed));
	struct cc_err err;

	if (!feed) {
		cc_reply_failf(call, CC_ELIMIT, "out of memory");
		return;
	}
	cc_feed_init(&feed->to, call);
	feed->reader.wake = cc_feed_wake;
	feed->reader.context = &feed->to;
	if (cc_run_reader_open(&feed->reader, server->runs, cc_call_param(call, 0), feed->to.since, &err) != CC_OK) {
		free(feed);
		cc_reply_fail(call, &err);
		return;
	}
	cc_call_on_closed(call, on_closed, feed);
	cc_stream_begin(call, cc_feed_type(&feed->to), fill, feed);
}

/* What the run changed, as it was settled. It may hold what the agent wrote, so it is one string. */
static void get_diff(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_buf bytes, text;
	struct cc_jsonw w;
	struct cc_err err;
	enum cc_code code;

	cc_buf_init(&bytes, DIFF_MAX);
	cc_buf_init(&text, 6 * (size_t)DIFF_MAX + 100);
	code = cc_runs_diff(server->runs, cc_call_param(call, 0), &bytes, &err);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "diff");
	cc_jsonw_view(&w, cc_buf_view(&bytes));
	cc_jsonw_end(&w);
	cc_reply_written(call, 200, code, &text, &err);
	cc_buf_done(&bytes);
}

/* Words to a run that goes on. */

static struct cc_run *find_run(struct cc_call *call)
{
	struct cc_server *server = cc_call_context(call);
	struct cc_run *run = cc_runs_find(server->runs, cc_call_param(call, 0));

	if (!run)
		cc_reply_failf(call, CC_ENOTFOUND, "no run of that name goes on");
	return run;
}

static void reply_done(struct cc_call *call, enum cc_code code, const struct cc_err *err)
{
	if (code == CC_OK)
		cc_reply(call, 200, "application/json", "{}\n", 3);
	else
		cc_reply_fail(call, err);
}

/* The one member of a body that has no other. */
static enum cc_code read_only_member(struct cc_call *call, const char *key, struct cc_json_doc **doc,
				     const char **out_text, struct cc_err *err)
{
	const struct cc_json *root, *member;
	enum cc_code code = cc_json_parse("body", cc_call_body(call), 0, doc, err);

	if (code != CC_OK)
		return code;
	root = cc_json_root(*doc);
	member = cc_json_get(root, key);
	if (!member || root->count != 1 || member->kind != CC_JSON_STRING || member->text.len == 0)
		return cc_fail(err, CC_EINVAL, 0, "body: an object with %s, a string, and nothing else is expected",
			       key);
	*out_text = member->text.ptr;
	return CC_OK;
}

static void post_steer(struct cc_call *call)
{
	struct cc_run *run = find_run(call);
	CC_AUTO(cc_json_doc) doc = NULL;
	const char *text = "";
	struct cc_err err;
	enum cc_code code;

	if (!run)
		return;
	code = read_only_member(call, "text", &doc, &text, &err);
	if (code == CC_OK && strlen(text) > CC_RUN_SAY_MAX)
		code = cc_fail(&err, CC_EINVAL, 0, "at most %d bytes at once", CC_RUN_SAY_MAX);
	if (code == CC_OK)
		code = cc_run_steer(run, text, &err);
	reply_done(call, code, &err);
}

static void post_stop(struct cc_call *call)
{
	struct cc_run *run = find_run(call);
	struct cc_err err;

	if (run)
		reply_done(call, cc_run_stop(run, &err), &err);
}

static void post_approval(struct cc_call *call)
{
	struct cc_run *run = find_run(call);
	const char *number = cc_call_param(call, 1), *decision = "";
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	enum cc_code code;

	if (!run)
		return;
	code = read_only_member(call, "decision", &doc, &decision, &err);
	if (code == CC_OK && strcmp(decision, "allow") != 0 && strcmp(decision, "deny") != 0)
		code = cc_fail(&err, CC_EINVAL, 0, "the decision is allow or deny");
	if (code == CC_OK && (strspn(number, "0123456789") != strlen(number) || strlen(number) > 9))
		code = cc_fail(&err, CC_ENOTFOUND, 0, "no such question waits in that run");
	if (code == CC_OK)
		code = cc_run_answer(run, strtoll(number, NULL, 10), strcmp(decision, "allow") == 0, &err);
	reply_done(call, code, &err);
}

const struct cc_route cc_routes_runs[] = {
	{"GET", "/v1/runs", 0, 0, get_runs},
	{"POST", "/v1/runs", 0, CC_RUN_REQUEST_MAX, post_run},
	{"GET", "/v1/runs/{id}", 0, 0, get_run},
	{"GET", "/v1/runs/{id}/events", 0, 0, get_events},
	{"GET", "/v1/runs/{id}/diff", 0, 0, get_diff},
	{"POST", "/v1/runs/{id}/steer", 0, 64 << 10, post_steer},
	{"POST", "/v1/runs/{id}/stop", 0, 1024, post_stop},
	{"POST", "/v1/runs/{id}/approvals/{number}", 0, 1024, post_approval},
	{0},
};
