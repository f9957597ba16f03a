#include "guard/actions.h"

#include "base/mem.h"

#include <string.h>

static const struct {
	const char *name;
	enum cc_guard usual;
} actions[CC_ACTION_COUNT] = {
#define CC_ACTION_ROW(name, wire, verdict) {wire, CC_GUARD_##verdict},
	CC_ACTIONS(CC_ACTION_ROW)
#undef CC_ACTION_ROW
};

static const char *const scopes[CC_SCOPE_COUNT] = {"space", "agent", "workspace", "preset", "default"};
static const char *const verdicts[] = {"deny", "prompt", "allow"};

const char *cc_action_name(enum cc_action action)
{
	return (unsigned)action < CC_ACTION_COUNT ? actions[action].name : "?";
}

enum cc_code cc_action_parse(const char *name, enum cc_action *out_action, struct cc_err *err)
{
	for (size_t i = 0; i < CC_ACTION_COUNT; i++)
		if (strcmp(actions[i].name, name) == 0) {
			*out_action = (enum cc_action)i;
			return CC_OK;
		}
	return cc_fail(err, CC_EINVAL, 0, "no action is called \"%.60s\"", name);
}

enum cc_code cc_scope_parse(const char *name, enum cc_scope *out_scope, struct cc_err *err)
{
	for (size_t i = 0; i < CC_SCOPE_COUNT; i++)
		if (strcmp(scopes[i], name) == 0) {
			*out_scope = (enum cc_scope)i;
			return CC_OK;
		}
	return cc_fail(err, CC_EINVAL, 0, "no scope is called \"%.60s\"", name);
}

enum cc_guard cc_guard_parse(const char *name)
{
	for (size_t i = 0; name && i < CC_COUNT(verdicts); i++)
		if (strcmp(verdicts[i], name) == 0)
			return (enum cc_guard)i;
	return CC_GUARD_ASK;
}

const char *cc_guard_name(enum cc_guard verdict)
{
	return verdicts[(unsigned)verdict < CC_COUNT(verdicts) ? verdict : CC_GUARD_DENY];
}

enum cc_code cc_action_stored(const char *text, struct cc_action_rule *out_rule, struct cc_err *err)
{
	struct cc_action_rule rule = {.scope = CC_SCOPE_PRESET};
	size_t len = strcspn(text, "=");
	char name[64];
	enum cc_code code;

	memcpy(name, text, len < sizeof(name) ? len : sizeof(name) - 1);
	name[len < sizeof(name) ? len : sizeof(name) - 1] = '\0';
	code = cc_action_parse(name, &rule.action, err);
	if (code != CC_OK)
		return code;
	rule.verdict = cc_guard_parse(text[len] ? text + len + 1 : NULL);
	if (!text[len] || strcmp(cc_guard_name(rule.verdict), text + len + 1) != 0)
		return cc_fail(err, CC_EINVAL, 0, "%s is deny, prompt or allow, not \"%.60s\"", name,
			       text[len] ? text + len + 1 : "");
	rule.managed = rule.verdict != CC_GUARD_ALLOW;
	*out_rule = rule;
	return CC_OK;
}

/* Does the rule speak of this object? A constraint that nobody here knows counts as one that holds, when the rule is
 * strict, and as one that does not, when it is mild: *out_vague says so. */
static bool applies(const struct cc_action_rule *rule, enum cc_action action, const struct cc_action_ask *ask,
		    bool *out_vague)
{
	static const char *const modes[] = {"", "mode:chat", "mode:review", "mode:plan", "mode:orchestrate"};

	*out_vague = false;
	if (rule->action != action || (rule->until && ask->now >= rule->until))
		return false;
	if (rule->prefix && rule->prefix[0] &&
	    (!ask->object || strncmp(ask->object, rule->prefix, strlen(rule->prefix)) != 0))
		return false;
	if (!rule->constraint || !rule->constraint[0])
		return true;
	for (size_t i = 1; i < CC_COUNT(modes); i++)
		if (strcmp(rule->constraint, modes[i]) == 0)
			return i == (size_t)ask->mode;
	*out_vague = true;
	return rule->verdict != CC_GUARD_ALLOW;
}

static bool is_narrower(const struct cc_action_rule *left, const struct cc_action_rule *right)
{
	size_t mine = left->prefix ? strlen(left->prefix) : 0, theirs = right->prefix ? strlen(right->prefix) : 0;
	bool bound = left->constraint && left->constraint[0], other = right->constraint && right->constraint[0];

	if (mine != theirs)
		return mine > theirs;
	if (bound != other)
		return bound;
	return left->verdict < right->verdict;
}

static struct cc_action_answer decide_one(const struct cc_action_rule *rules, size_t count, enum cc_action action,
					  const struct cc_action_ask *ask)
{
	struct cc_action_answer answer = {.verdict = actions[action].usual, .action = action};
	bool vague, is_vague = false;

	for (size_t i = 0; i < count; i++) {
		const struct cc_action_rule *rule = &rules[i];

		if (rule->managed || !applies(rule, action, ask, &vague))
			continue;
		if (answer.rule && (rule->scope > answer.rule->scope ||
				    (rule->scope == answer.rule->scope && !is_narrower(rule, answer.rule))))
			continue;
		answer.rule = rule;
		is_vague = vague;
	}
	if (answer.rule) /* a constraint that is not known: neither a plain no nor a yes */
		answer.verdict = is_vague ? CC_GUARD_ASK : answer.rule->verdict;
	for (size_t i = 0; i < count; i++)
		if (rules[i].managed && applies(&rules[i], action, ask, &vague) && rules[i].verdict < answer.verdict) {
			answer.verdict = vague && rules[i].verdict == CC_GUARD_DENY ? CC_GUARD_ASK : rules[i].verdict;
			answer.rule = &rules[i];
		}
	return answer;
}

struct cc_action_answer cc_actions_decide(const struct cc_action_rule *rules, size_t count,
					  const struct cc_action_ask *ask)
{
	const uint32_t looking = CC_ACTION_BIT(NETWORK_EGRESS) | CC_ACTION_BIT(SECRET_ACCESS);
	struct cc_action_answer answer = {.verdict = CC_GUARD_ALLOW, .action = CC_ACTION_COUNT};

	for (unsigned i = 0; i < CC_ACTION_COUNT; i++) {
		struct cc_action_answer one;

		if (!(ask->actions & UINT32_C(1) << i))
			continue;
		one = decide_one(rules, count, (enum cc_action)i, ask);
		if (!cc_mode_writes(ask->mode) && !(looking & UINT32_C(1) << i)) {
			one.verdict = CC_GUARD_DENY;
			one.rule = NULL;
		}
		if (answer.action == CC_ACTION_COUNT || one.verdict < answer.verdict)
			answer = one;
	}
	if (ask->actions >> CC_ACTION_COUNT) /* an action that nobody knows */
		answer = (struct cc_action_answer){.verdict = CC_GUARD_DENY, .action = CC_ACTION_COUNT};
	if (answer.verdict == CC_GUARD_ASK && ask->confirmed)
		answer.verdict = CC_GUARD_ALLOW;
	return answer;
}

const char *cc_action_source(const struct cc_action_answer *answer, enum cc_mode mode)
{
	if (!answer->rule)
		return cc_mode_writes(mode) ? "default" : "mode";
	if (answer->rule->managed || answer->rule->scope == CC_SCOPE_PRESET)
		return "policy";
	return (unsigned)answer->rule->scope < CC_SCOPE_COUNT ? scopes[answer->rule->scope] : "default";
}
