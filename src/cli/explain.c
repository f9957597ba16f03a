/* explain: the same compiled rules the enforcers use, asked one question. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/start.h"
#include "guard/command.h"
#include "os/fd.h"
#include "os/mount.h"
#include "plan/filesystems.h"
#include "policy/decide.h"
#include "policy/names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

struct answer {
	bool allowed;
	bool asked; /* a person is asked first */
	bool judged;
	bool renamed; /* judged at git's own rename */
	bool private; /* a place that only the session has: the host's file there is absent inside */
	bool outside; /* of every mount of the rules */
	const char *rule;
	const char *reason;
	struct cc_buf grant;
	struct cc_buf object;
	struct { /* what the line does, and what holds for that in a run of an agent */
		const char *name, *verdict, *by;
	} actions[CC_ACTION_COUNT];
	size_t action_count;
};

/* Words a person uses for a verb of the rules, beside those of cc_verb_name. */
static const struct {
	const char *word;
	enum cc_verb verb;
} words[] = {{"delete", CC_VERB_UNLINK},
	     /* On Linux no rule judges an exec: what can be read can be run. */
	     {"exec", CC_VERB_READ}};

static bool find_verb(const char *word, enum cc_verb *out_verb)
{
	for (size_t i = 0; i < CC_COUNT(words); i++)
		if (strcmp(words[i].word, word) == 0) {
			*out_verb = words[i].verb;
			return true;
		}
	for (int i = 0; i < CC_VERB_COUNT; i++)
		if (strcmp(cc_verb_name((enum cc_verb)i), word) == 0) {
			*out_verb = (enum cc_verb)i;
			return true;
		}
	return false;
}

/* As the gate sees it: the parent resolved, the last name as written (it need not exist). */
static enum cc_code canonical(const char *path, const char *cwd, struct cc_buf *out, struct cc_err *err)
{
	char joined[PATH_MAX];
	char parent[PATH_MAX];
	int len =
		snprintf(joined, sizeof(joined), "%s%s%s", path[0] == '/' ? "" : cwd, path[0] == '/' ? "" : "/", path);

	if (len < 2 || (size_t)len >= sizeof(joined))
		return cc_fail(err, CC_EINVAL, 0, "the path \"%s\" cannot be judged", path);
	while (len > 1 && joined[len - 1] == '/')
		joined[--len] = '\0';
	/* the longest part that exists is resolved; the rest is taken as written */
	for (char *cut = joined + len; cut > joined; cut--) {
		char kept = *cut;

		if (kept != '\0' && kept != '/')
			continue;
		*cut = '\0';
		if (realpath(joined, parent)) {
			*cut = kept;
			cc_buf_addf(out, "%s%s", strcmp(parent, "/") == 0 && kept ? "" : parent, cut);
			return CC_OK;
		}
		*cut = kept;
	}
	cc_buf_adds(out, joined);
	return CC_OK;
}

/* What only the place can say: a file system on which names cannot be held, a directory that folds case. */
static bool refused_by_place(const struct cc_mount *mount, const char *path, struct answer *out)
{
	char line[4096];
	struct statfs fs;
	CC_AUTO_FD top = open(mount->path, O_PATH | O_CLOEXEC);

	if (top >= 0 && fstatfs(top, &fs) == 0 && cc_mount_line(top, line, sizeof(line)))
		out->reason = cc_fs_refusal(cc_fs_of((uint64_t)fs.f_type, line));
	if (top >= 0 && out->reason) {
		out->rule = "mount:refused";
		return true;
	}
	for (size_t at = strlen(mount->path) + 1; at < strlen(path);) {
		struct cc_view part = cc_path_part(cc_view_of(path), at);
		char *parent = strndup(path, at);
		CC_AUTO_FD dir = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

		free(parent);
		if (dir >= 0 && cc_name_could_fold(part) && cc_dir_folds(dir)) {
			out->rule = "name:folded";
			out->reason = "the directory takes other letters for these";
			return true;
		}
		at += part.len + 1;
	}
	return false;
}

static enum cc_code ask_path(const struct cc_rules *rules, enum cc_verb verb, const char *path, const char *cwd,
			     struct answer *out, struct cc_err *err)
{
	struct cc_ask ask = {.verb = verb};
	struct cc_decision decision;
	enum cc_code code = canonical(path, cwd, &out->object, err);

	if (code != CC_OK)
		return code;
	ask.path = cc_buf_view(&out->object);
	decision = cc_decide(rules, &ask);
	out->allowed = decision.verdict == CC_ALLOW;
	out->outside = !decision.mount;
	out->private = decision.mount && decision.mount->mode == CC_MOUNT_PRIVATE;
	out->judged = decision.verdict == CC_JUDGE;
	out->renamed = decision.judge != CC_JUDGE_HISTORY && decision.judge != CC_JUDGE_BARE;
	out->rule = cc_decision_id(&decision);
	out->reason = decision.rule ? decision.rule->reason : NULL;
	if (verb != CC_VERB_READ && decision.mount && !out->private &&
	    refused_by_place(decision.mount, out->object.data, out)) {
		out->allowed = out->judged = false;
		return CC_OK;
	}
	cc_decision_grant(&decision, &ask, &out->grant);
	return CC_OK;
}

static bool in_table(const struct cc_fact_path *rows, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(rows[i].path);

		if (strncmp(rows[i].path, path, len) == 0 && (path[len] == '\0' || path[len] == '/'))
			return true;
	}
	return false;
}

/* Outside the binds no rule judges a read: what the sandbox does not show is simply not there. */
static void judge_visible(const struct cc_facts *facts, struct answer *out)
{
	const char *path = out->object.data;

	if (!out->allowed || strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0)
		return;
	if (in_table(facts->system, facts->system_count, path) || in_table(facts->home_dirs, facts->home_count, path)) {
		out->private = false;
		out->rule = "visible:read-only";
		return;
	}
	out->allowed = false;
	out->private = false;
	out->rule = "visible:absent";
	out->reason = "the sandbox does not show it";
}

static enum cc_code ask_host(const struct cc_rules *rules, const char *text, struct answer *out, struct cc_err *err)
{
	const char *colon = strrchr(text, ':');
	bool bracket = text[0] == '[';
	bool has_port = colon && (!bracket || strchr(text, ']') < colon) && (bracket || strchr(text, ':') == colon);
	struct cc_view name = {text, has_port ? (size_t)(colon - text) : strlen(text)};
	long port = has_port ? strtol(colon + 1, NULL, 10) : 443;
	struct cc_net_decision decision;
	struct cc_host host;
	enum cc_code code = cc_host_parse(name, CC_HOST_URI, &host, err);

	if (strstr(text, "://"))
		return cc_fail(err, CC_EINVAL, 0, "%s: a host is expected here, NAME or NAME:PORT, no URL", text);
	if (code != CC_OK)
		return code;
	if (port < 1 || port > 65535)
		return cc_fail(err, CC_EINVAL, 0, "%s: no such port", text);
	decision = cc_net_decide(rules->net, &host, (uint16_t)port);
	out->allowed = decision.allowed;
	out->rule = decision.entry;
	out->reason = cc_net_reason_name(decision.reason);
	cc_buf_addf(&out->object, "%s:%ld", host.text, port);
	if (!decision.allowed && decision.reason == CC_NET_NOT_ALLOWED)
		cc_host_grant(cc_view_of(host.text), (uint16_t)port, &out->grant);
	return CC_OK;
}

/* Each class of action in the line, with what holds for it in a run of an agent, where the person's files have a say.
 */
static enum cc_code list_actions(const struct cc_policy *policy, enum cc_mode mode, uint32_t actions,
				 struct answer *out, struct cc_err *err)
{
	struct cc_action_rule *rules = calloc(policy->actions.count + 1, sizeof(*rules));
	enum cc_code code = rules ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");

	for (size_t i = 0; code == CC_OK && i < policy->actions.count; i++)
		code = cc_action_stored(policy->actions.items[i], &rules[i], err);
	/* starting a program at all is the line's own verdict in the modes that only read */
	if (!cc_mode_writes(mode))
		actions &= ~CC_ACTION_BIT(PROCESS_SPAWN);
	for (unsigned i = 0; code == CC_OK && i < CC_ACTION_COUNT; i++) {
		struct cc_action_ask ask = {
			.actions = actions & UINT32_C(1) << i, .object = out->object.data, .mode = mode};
		struct cc_action_answer one;

		if (!ask.actions)
			continue;
		one = cc_actions_decide(rules, policy->actions.count, &ask);
		out->actions[out->action_count].name = cc_action_name((enum cc_action)i);
		out->actions[out->action_count].verdict = cc_guard_name(one.verdict);
		out->actions[out->action_count++].by = cc_action_source(&one, mode);
	}
	free(rules);
	return code;
}

/* What the tools that a person gives an agent (mcp, acp, hook) make of a shell's line; the sandbox holds whatever they
 * say. */
static enum cc_code ask_command(const struct cc_spec *spec, const char *line, struct answer *out, struct cc_err *err)
{
	struct cc_command_verdict verdict;
	enum cc_code code = cc_command_judge(cc_view_of(line), spec->mode, &verdict, err);

	if (code != CC_OK)
		return code;
	out->allowed = verdict.verdict == CC_GUARD_ALLOW;
	out->asked = verdict.verdict == CC_GUARD_ASK;
	out->rule = verdict.rule;
	out->reason = *verdict.why ? verdict.why : NULL;
	cc_buf_adds(&out->object, line);
	return list_actions(&spec->policy, spec->mode, verdict.actions, out, err);
}

static const char *verdict_word(const struct answer *answer)
{
	return answer->judged ? "judged" : answer->asked ? "ask" : answer->allowed ? "allow" : "deny";
}

static void print_json(const char *verb, const struct answer *answer)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, 1 << 16);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", 1);
	cc_jsonw_kstr(&w, "verb", verb);
	cc_jsonw_kstr(&w, "object", answer->object.data);
	cc_jsonw_kstr(&w, "verdict", verdict_word(answer));
	cc_jsonw_kstr(&w, "rule", answer->rule);
	cc_jsonw_kstr(&w, "reason", answer->reason);
	cc_jsonw_kstr(&w, "grant", answer->grant.len ? answer->grant.data : NULL);
	if (answer->action_count) {
		cc_jsonw_key(&w, "actions");
		cc_jsonw_array(&w);
		for (size_t i = 0; i < answer->action_count; i++) {
			cc_jsonw_object(&w);
			cc_jsonw_kstr(&w, "action", answer->actions[i].name);
			cc_jsonw_kstr(&w, "verdict", answer->actions[i].verdict);
			cc_jsonw_kstr(&w, "by", answer->actions[i].by);
			cc_jsonw_end(&w);
		}
		cc_jsonw_end(&w);
	}
	cc_jsonw_end(&w);
	printf("%s\n", text.data);
	cc_buf_done(&text);
}

static void print_text(const char *verb, const struct answer *answer)
{
	printf("%s  %s %s\n",
	       answer->judged    ? "judged "
	       : answer->asked   ? "asked  "
	       : answer->allowed ? "allowed"
				 : "refused",
	       verb, answer->object.data);
	if (answer->rule)
		printf("  rule   %s%s%s%s\n", answer->rule, answer->reason ? " (" : "",
		       answer->reason ? answer->reason : "", answer->reason ? ")" : "");
	else if (answer->reason)
		printf("  why    %s\n", answer->reason);
	if (answer->private)
		printf("  private to the session: what the host has there is absent inside, and nothing reaches the host\n");
	if (answer->judged && answer->renamed)
		printf("  only by git's own rename of its .lock file, after the content was judged\n");
	if (answer->grant.len)
		printf("  allow  %s\n", answer->grant.data);
	for (size_t i = 0; i < answer->action_count; i++)
		printf("%s%s: %s (%s)", i ? ", " : "  in runs of agents: ", answer->actions[i].name,
		       answer->actions[i].verdict, answer->actions[i].by);
	if (answer->action_count)
		printf("\n");
}

static enum cc_code explain(char *const *argv, char *const *env, int *out_code, struct cc_err *err)
{
	struct cc_start start;
	struct answer answer = {0};
	enum cc_verb verb = CC_VERB_READ;
	bool looks = false;
	bool host = argv[0] && strcmp(argv[0], "host") == 0, line = argv[0] && strcmp(argv[0], "command") == 0;
	enum cc_code code;

	if (!argv[0] || !argv[1])
		return cc_fail(
			err, CC_EINVAL, 0,
			"ccbox explain write|read|create|delete|exec|...|host|command OBJECT [OPTIONS] [--json]");
	if (!host && !line && !find_verb(argv[0], &verb))
		return cc_fail(err, CC_EINVAL, 0,
			       "\"%s\" is no verb: write, read, create, delete, exec, rename-to, mkdir, "
			       "symlink, ..., host or command",
			       argv[0]);
	cc_buf_init(&answer.object, 1 << 16);
	cc_buf_init(&answer.grant, 1 << 16);
	code = cc_start_gather(&start, CC_FOR_EXPLAIN, argv + 2, env, err);
	if (code == CC_OK && argv[2 + start.used])
		code = cc_fail(err, CC_EINVAL, 0, "unexpected word \"%s\"", argv[2 + start.used]);
	start.rules_only = true;
	if (code == CC_OK)
		code = cc_start_prepare(&start, NULL, env, err);
	if (code == CC_OK)
		code = host   ? ask_host(start.prepared.rules, argv[1], &answer, err)
		       : line ? ask_command(&start.ask.spec, argv[1], &answer, err)
			      : ask_path(start.prepared.rules, verb, argv[1], start.cwd, &answer, err);
	looks = !host && !line && verb == CC_VERB_READ;
	if (code == CC_OK && looks && (answer.private || answer.outside))
		judge_visible(&start.prepared.facts, &answer);
	if (code == CC_OK) {
		if (start.ask.json)
			print_json(argv[0], &answer);
		else
			print_text(argv[0], &answer);
		*out_code = answer.allowed ? 0 : 1;
	}
	cc_buf_done(&answer.object);
	cc_buf_done(&answer.grant);
	cc_start_done(&start);
	return code;
}

int cc_verb_explain(char *const *argv, char *const *env)
{
	struct cc_err err = {0};
	int exit_code = 0;

	return explain(argv, env, &exit_code, &err) == CC_OK ? exit_code : cc_give_up(&err);
}
