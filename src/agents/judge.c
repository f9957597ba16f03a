#include "agents/judge.h"

#include "base/mem.h"
#include "guard/command.h"

#include <stdio.h>
#include <string.h>

struct kind_row {
	const char *name;
	enum cc_tool_kind kind;
};

static const struct kind_row names[] = {
	{"Bash", CC_TOOL_RUNS},
	{"Monitor", CC_TOOL_RUNS},
	{"BashOutput", CC_TOOL_READS},
	{"KillBash", CC_TOOL_READS},
	{"KillShell", CC_TOOL_READS},
	{"TaskStop", CC_TOOL_READS},
	{"TaskOutput", CC_TOOL_READS},
	{"Read", CC_TOOL_READS},
	{"Glob", CC_TOOL_READS},
	{"Grep", CC_TOOL_READS},
	{"LS", CC_TOOL_READS},
	{"NotebookRead", CC_TOOL_READS},
	{"TodoWrite", CC_TOOL_READS},
	{"TodoRead", CC_TOOL_READS},
	{"Task", CC_TOOL_READS},  /* an agent of its own, whose tools come here one by one */
	{"Agent", CC_TOOL_READS}, /* the same */
	{"Skill", CC_TOOL_READS},
	{"ToolSearch", CC_TOOL_READS},
	{"ReportFindings", CC_TOOL_READS},
	{"Write", CC_TOOL_EDITS},
	{"Edit", CC_TOOL_EDITS},
	{"MultiEdit", CC_TOOL_EDITS},
	{"NotebookEdit", CC_TOOL_EDITS},
	{"WebFetch", CC_TOOL_FETCHES},
	{"WebSearch", CC_TOOL_FETCHES},
	{"AskUserQuestion", CC_TOOL_PERSON},
	{"ExitPlanMode", CC_TOOL_PERSON},
	{"EnterPlanMode", CC_TOOL_PERSON},
};

static const struct kind_row acp_kinds[] = {
	{"read", CC_TOOL_READS},   {"search", CC_TOOL_READS},  {"think", CC_TOOL_READS},
	{"edit", CC_TOOL_EDITS},   {"move", CC_TOOL_EDITS},    {"delete", CC_TOOL_DELETES},
	{"execute", CC_TOOL_RUNS}, {"fetch", CC_TOOL_FETCHES}, {"switch_mode", CC_TOOL_PERSON},
};

static enum cc_tool_kind find(const struct kind_row *rows, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].kind;
	return CC_TOOL_UNKNOWN;
}

enum cc_tool_kind cc_tool_kind_of_name(const char *name)
{
	return find(names, CC_COUNT(names), name);
}

enum cc_tool_kind cc_tool_kind_of_acp(const char *kind)
{
	return find(acp_kinds, CC_COUNT(acp_kinds), kind);
}

/* Takes the answer when it is the stricter one. */
static void tighten(struct cc_tool_verdict *out, enum cc_guard verdict, const char *kind, const char *rule,
		    const char *why)
{
	if (verdict >= out->verdict)
		return;
	out->verdict = verdict;
	snprintf(out->rule, sizeof(out->rule), "%s: %.80s%s%.80s", kind, rule, why && *why ? " " : "", why ? why : "");
}

static void by_actions(const struct cc_tool_rules *rules, uint32_t bits, const char *object,
		       struct cc_tool_verdict *out)
{
	struct cc_action_ask ask = {.actions = bits, .object = object, .mode = rules->mode, .now = rules->now};
	struct cc_action_answer answer;

	if (!bits)
		return;
	answer = cc_actions_decide(rules->rules, rules->count, &ask);
	tighten(out, answer.verdict, "action",
		answer.action < CC_ACTION_COUNT ? cc_action_name(answer.action) : "unknown",
		cc_action_source(&answer, rules->mode));
}

static void by_command(const struct cc_tool_rules *rules, const char *line, struct cc_tool_verdict *out)
{
	struct cc_command_verdict verdict = {.verdict = CC_GUARD_DENY, .rule = "unclear", .why = ""};
	uint32_t bits;
	struct cc_err err;

	/* some agents ask without saying what; a person can still look at the question's title */
	if (!line) {
		tighten(out, cc_mode_writes(rules->mode) ? CC_GUARD_ASK : CC_GUARD_DENY, "command", "not said", NULL);
		return;
	}
	if (!*line || cc_command_judge(cc_view_of(line), rules->mode, &verdict, &err) != CC_OK) {
		tighten(out, CC_GUARD_DENY, "command", "unclear", "it could not be read");
		return;
	}
	tighten(out, verdict.verdict, "command", verdict.rule ? verdict.rule : "", verdict.why);
	bits = verdict.actions;
	/* a mode that only reads may start a program that only reads: the line's own verdict has said that it does */
	bits |= CC_ACTION_BIT(PROCESS_SPAWN);
	if (!cc_mode_writes(rules->mode))
		bits &= ~CC_ACTION_BIT(PROCESS_SPAWN);
	by_actions(rules, bits, line, out);
}

static const char *path_of(const struct cc_json *input)
{
	static const char *const keys[] = {"file_path", "path", "notebook_path", "abs_path"};
	const char *path = NULL;

	for (size_t i = 0; !path && i < CC_COUNT(keys); i++)
		path = cc_json_str(input, keys[i], NULL);
	return path;
}

/* By its text: what really lies there is the sandbox's business. */
static bool is_outside(const char *path, const char *root)
{
	size_t len = root ? strlen(root) : 0;

	if (!path)
		return false;
	if (strncmp(path, "../", 3) == 0 || strstr(path, "/../"))
		return true;
	return path[0] == '/' && (strncmp(path, root ? root : "", len) != 0 || (path[len] && path[len] != '/'));
}

static void by_edit(const struct cc_tool_rules *rules, const struct cc_tool_ask *ask, struct cc_tool_verdict *out)
{
	const char *path = path_of(ask->input);
	uint32_t bits = CC_ACTION_BIT(WORKSPACE_MUTATION);

	if (!cc_mode_writes(rules->mode)) {
		tighten(out, CC_GUARD_DENY, "mode", "only reads", NULL);
		return;
	}
	if (ask->kind == CC_TOOL_DELETES)
		bits |= CC_ACTION_BIT(FILE_DELETE);
	if (is_outside(path, rules->root))
		bits |= CC_ACTION_BIT(FILE_WRITE_OUTSIDE);
	by_actions(rules, bits, path, out);
}

void cc_tool_judge(const struct cc_tool_rules *rules, const struct cc_tool_ask *ask, struct cc_tool_verdict *out)
{
	const char *command = cc_json_str(ask->input, "command", NULL);
	const char *url = cc_json_str(ask->input, "url", NULL);

	*out = (struct cc_tool_verdict){.verdict = CC_GUARD_ALLOW};
	/* what has a command runs one, whatever its name says */
	if (ask->kind == CC_TOOL_RUNS || command)
		by_command(rules, command, out);
	if (ask->kind == CC_TOOL_EDITS || ask->kind == CC_TOOL_DELETES)
		by_edit(rules, ask, out);
	if (ask->kind == CC_TOOL_FETCHES)
		by_actions(rules, CC_ACTION_BIT(NETWORK_EGRESS), url, out);
	if (ask->kind == CC_TOOL_PERSON)
		tighten(out, CC_GUARD_DENY, "tool", "nobody is there to answer", NULL);
	if (ask->kind == CC_TOOL_UNKNOWN)
		tighten(out, cc_mode_writes(rules->mode) ? CC_GUARD_ASK : CC_GUARD_DENY, "tool", "not known", NULL);
	if (out->verdict == CC_GUARD_ALLOW)
		snprintf(out->rule, sizeof(out->rule), "allowed");
}
