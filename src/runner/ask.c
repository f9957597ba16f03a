/* ask.c - what the agent wants to do: by rule, by a person, and by the clock when no person answers. Every answer is
 * recorded with what decided. */
#define _GNU_SOURCE
#include "runner/inside.h"

#include "guard/command.h"
#include "os/clock.h"
#include "os/peer.h"

#include <stdio.h>
#include <string.h>

enum { APPROVAL_SECONDS = 3600, DESCRIBED_MAX = CC_AGENT_TEXT_MAX - 100 };

static void judge(struct cc_job *job, const struct cc_tool_ask *ask, struct cc_tool_verdict *out)
{
	struct cc_tool_rules rules = {.rules = job->rules,
				      .count = job->rule_count,
				      .mode = job->wanted.mode,
				      .root = job->place,
				      .now = cc_clock_wall_ms() / 1000};

	cc_tool_judge(&rules, ask, out);
}

static void record(struct cc_job *job, const char *tool, enum cc_guard verdict, const char *rule, const char *by,
		   int64_t number)
{
	struct cc_agent_event event = {.type = CC_AGENT_DECISION,
				       .tool = tool,
				       .verdict = verdict,
				       .rule = rule,
				       .by = by,
				       .approval = number};
	struct cc_buf line;

	cc_recorder_flush(&job->recorder);
	cc_buf_init(&line, CC_AGENT_EVENT_MAX);
	cc_agent_event_write(&event, &line);
	cc_job_line(job, cc_buf_view(&line), -number);
	cc_buf_done(&line);
}

/* An agent may say its count as often as it likes: the sum stops where a count would. */
static int64_t sum(int64_t left, int64_t right)
{
	return left + right < CC_AGENT_TOKENS_MAX ? left + right : CC_AGENT_TOKENS_MAX;
}

static void on_event(void *context, const struct cc_agent_event *event)
{
	struct cc_job *job = context;

	if (event->type == CC_AGENT_USAGE) {
		job->tokens_in = sum(job->tokens_in, event->tokens_in);
		job->tokens_out = sum(job->tokens_out, event->tokens_out);
	}
	cc_job_event(job, event);
}

static void on_judge(void *context, const struct cc_tool_ask *ask, struct cc_tool_verdict *out)
{
	struct cc_job *job = context;

	judge(job, ask, out);
	job->last_word = cc_clock_ms();
	if (out->verdict != CC_GUARD_ASK) /* else it is asked about, and decided then */
		record(job, ask->tool, out->verdict, out->rule, "rule", 0);
}

/* A person answers what they see: what does not fit into an event as a whole is not asked about. */
static bool is_shown_whole(const struct cc_json *value)
{
	if (!value)
		return true;
	if (value->kind == CC_JSON_STRING && value->text.len > CC_AGENT_LEAF_MAX)
		return false;
	for (const struct cc_json *m = value->child; m; m = m->next)
		if (m->key.len > CC_AGENT_KEY_MAX || !is_shown_whole(m))
			return false;
	return true;
}

/* Who asks: the agent in its conversation, or the push gateway. */
struct asker {
	int talk;
	int64_t push; /* 0: it is the agent */
};

static void tell(struct cc_job *job, const struct asker *who, bool allow, const char *by, const char *why)
{
	if (who->push)
		cc_push_answer(job, who->push, allow, by);
	else
		cc_talk_answer(job->talk, who->talk, allow, why);
}

static void refuse(struct cc_job *job, const struct asker *who, const struct cc_tool_ask *ask, const char *rule,
		   const char *why)
{
	record(job, ask->tool, CC_GUARD_DENY, rule, "limit", 0);
	tell(job, who, false, "limit", why);
}

static void put_question(struct cc_job *job, const struct asker *who, const struct cc_tool_ask *ask, const char *title,
			 const char *rule)
{
	int64_t wait = job->wanted.approval ? job->wanted.approval : APPROVAL_SECONDS;
	struct cc_agent_event event = {.type = CC_AGENT_APPROVAL,
				       .tool = ask->tool,
				       .detail = ask->input,
				       .text = cc_view_of(title),
				       .rule = rule};
	struct cc_buf line;
	size_t at = 0;

	while (at < CC_JOB_QUESTIONS && job->questions[at].number)
		at++;
	if (at == CC_JOB_QUESTIONS) {
		refuse(job, who, ask, rule, "ccbox: too many questions wait");
		return;
	}
	cc_buf_init(&line, CC_AGENT_EVENT_MAX);
	event.approval = job->asked + 1;
	cc_agent_event_write(&event, &line);
	if (!is_shown_whole(ask->input) || line.failed || strstr(line.data, ",\"cut\":true}")) {
		refuse(job, who, ask, rule, "ccbox: too long to be put to a person; do it in smaller steps");
	} else {
		job->asked = event.approval;
		job->questions[at].number = event.approval;
		job->questions[at].deadline = cc_clock_ms() + wait * 1000;
		job->questions[at].talk = who->talk;
		job->questions[at].push = who->push;
		cc_recorder_flush(&job->recorder);
		cc_job_line(job, cc_buf_view(&line), event.approval);
	}
	cc_buf_done(&line);
}

static void on_ask(void *context, int number, const struct cc_tool_ask *ask, const char *title)
{
	struct cc_job *job = context;
	struct cc_tool_verdict verdict;
	char reason[300];

	judge(job, ask, &verdict);
	job->last_word = cc_clock_ms();
	if (verdict.verdict == CC_GUARD_ASK) {
		put_question(job, &(struct asker){.talk = number}, ask, title, verdict.rule);
		return;
	}
	snprintf(reason, sizeof(reason), "ccbox: %s", verdict.rule);
	record(job, ask->tool, verdict.verdict, verdict.rule, "rule", 0);
	cc_talk_answer(job->talk, number, verdict.verdict == CC_GUARD_ALLOW, reason);
}

void cc_job_sink(struct cc_job *job, struct cc_talk_sink *out)
{
	*out = (struct cc_talk_sink){.context = job, .event = on_event, .judge = on_judge, .ask = on_ask};
}

void cc_job_answer(struct cc_job *job, int64_t number, bool allow, const char *by)
{
	const char *why = strcmp(by, "timeout") == 0 ? "ccbox: nobody answered in time" : "ccbox: the person said no";
	struct asker who;

	for (size_t i = 0; i < CC_JOB_QUESTIONS; i++) {
		if (number < 1 || job->questions[i].number != number)
			continue;
		who = (struct asker){job->questions[i].talk, job->questions[i].push};
		job->questions[i].number = 0;
		job->last_word = cc_clock_ms();
		record(job, NULL, allow ? CC_GUARD_ALLOW : CC_GUARD_DENY, NULL, by, number);
		tell(job, &who, allow, by, why);
	}
}

/* In words, for whoever shows questions as text: all references, then as much of the rest as fits. */
static void describe_push(const struct cc_json *e, struct cc_buf *out)
{
	const struct cc_json *refs = cc_json_get(e, "refs"), *commits = cc_json_get(e, "commits");
	const struct cc_json *findings = cc_json_get(e, "findings"), *options = cc_json_get(e, "options");

	cc_buf_addf(out, "push to %s\n", cc_json_str(e, "repository", "?"));
	for (const struct cc_json *ref = refs ? refs->child : NULL; ref; ref = ref->next)
		cc_buf_addf(out, "%s: %s\n", cc_json_str(ref, "ref", "?"), cc_json_str(ref, "what", "?"));
	for (const struct cc_json *one = options ? options->child : NULL; one; one = one->next)
		cc_buf_addf(out, "push option: %s\n", one->text.ptr ? one->text.ptr : "?");
	for (const struct cc_json *one = findings ? findings->child : NULL; one; one = one->next)
		cc_buf_addf(out, "%s: %s\n", cc_json_str(one, "path", "?"), cc_json_str(one, "reason", "?"));
	cc_buf_addf(out, "%lld commits\n", (long long)cc_json_int(e, "commitCount", 0));
	for (const struct cc_json *one = commits ? commits->child : NULL; one; one = one->next)
		cc_buf_addf(out, "  %.12s %s\n", cc_json_str(one, "id", "?"), cc_json_str(one, "subject", ""));
	cc_buf_adds(out, cc_json_str(e, "stat", ""));
	if (out->failed || out->len <= DESCRIBED_MAX)
		return;
	/* an event that is cut is not put to a person; what is left out here stands beside it */
	out->len = DESCRIBED_MAX;
	while (out->len && ((unsigned char)out->data[out->len] & 0xc0) == 0x80)
		out->len--;
	cc_buf_adds(out, "\n[...]");
}

void cc_job_ask_push(struct cc_job *job, int64_t number, const struct cc_json *e)
{
	struct cc_tool_ask ask = {.tool = "git push", .input = e};
	struct cc_buf text;

	if (number < 1 || !e)
		return;
	cc_buf_init(&text, CC_PEER_MAX);
	describe_push(e, &text);
	put_question(job, &(struct asker){.push = number}, &ask, text.data && !text.failed ? text.data : "git push",
		     cc_json_str(e, "rule", "push rule"));
	cc_buf_done(&text);
}

void cc_job_withdraw_push(struct cc_job *job, int64_t number)
{
	for (size_t i = 0; i < CC_JOB_QUESTIONS; i++)
		if (job->questions[i].number && job->questions[i].push && job->questions[i].push == number)
			cc_job_answer(job, job->questions[i].number, false, "withdrawn");
}

void cc_job_answer_late(struct cc_job *job, int64_t now)
{
	for (size_t i = 0; i < CC_JOB_QUESTIONS; i++)
		if (job->questions[i].number && now >= job->questions[i].deadline)
			cc_job_answer(job, job->questions[i].number, false, "timeout");
}

bool cc_job_waits_for_person(const struct cc_job *job)
{
	for (size_t i = 0; i < CC_JOB_QUESTIONS; i++)
		if (job->questions[i].number)
			return true;
	return false;
}

/* The agent's own command line. Nobody is there yet who could be asked. */
enum cc_code cc_job_preflight(struct cc_job *job, const struct cc_strv *argv, struct cc_err *err)
{
	struct cc_command_verdict verdict;
	enum cc_code code =
		cc_command_judge_argv((const char *const *)argv->items, argv->count, job->wanted.mode, &verdict, err);

	if (code == CC_OK && verdict.verdict != CC_GUARD_ALLOW)
		code = cc_fail(err, CC_EPOLICY, 0, "the command policy refuses the agent's command: %s %s",
			       verdict.rule ? verdict.rule : "", verdict.why);
	return code;
}

bool cc_job_may_network(const struct cc_job *job)
{
	struct cc_action_ask ask = {
		.actions = CC_ACTION_BIT(NETWORK_EGRESS), .mode = job->wanted.mode, .now = cc_clock_wall_ms() / 1000};

	return cc_actions_decide(job->rules, job->rule_count, &ask).verdict != CC_GUARD_DENY;
}
