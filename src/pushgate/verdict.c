#define _GNU_SOURCE
#include "pushgate/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cc_push_lower(struct cc_push *push, enum cc_push_verdict verdict, const char *rule, const char *fmt, ...)
{
	va_list args;

	if (push->rule && verdict >= push->verdict)
		return;
	push->verdict = verdict;
	push->rule = rule;
	va_start(args, fmt);
	vsnprintf(push->sentence, sizeof(push->sentence), fmt, args);
	va_end(args);
}

static void say_why(struct cc_push *push, size_t at, const char *text)
{
	if (!push->why[at])
		push->why[at] = cc_str_copy(text);
}

void cc_push_by_refs(struct cc_push *push, const bool *forced)
{
	for (size_t i = 0; i < push->list.count; i++) {
		const struct cc_push_command *command = &push->list.items[i];
		struct cc_push_decision decision;
		char text[300];

		push->what[i] = cc_push_what_of(command->ref, !command->old[0], !command->new[0], forced && forced[i]);
		decision = cc_push_decide(&push->gate->push, push->repo, command->ref, push->what[i]);
		if (decision.verdict == CC_PUSH_DENY) {
			snprintf(text, sizeof(text), "%s, which is not allowed here (rule %.100s)",
				 cc_push_what_name(push->what[i]), decision.rule);
			say_why(push, i, text);
		}
		cc_push_lower(push, decision.verdict, decision.rule, "%.100s: %s (rule %.100s)", command->ref,
			      cc_push_what_name(push->what[i]), decision.rule);
	}
	/* some forges open or merge requests by them, which is more than a push */
	if (push->list.options.count)
		cc_push_lower(push, CC_PUSH_ASK, "push:options", "push options are asked about (%.100s)",
			      push->list.options.items[0]);
}

void cc_push_unknown(struct cc_push *push, size_t at)
{
	const char *ref = push->list.items[at].ref;
	struct cc_push_decision decision =
		cc_push_decide(&push->gate->push, push->repo, ref, cc_push_what_of(ref, false, false, true));

	if (decision.verdict != CC_PUSH_DENY)
		return;
	say_why(push, at, "fetch first: what stands there now is not in the run's repository");
	cc_push_lower(push, CC_PUSH_DENY, decision.rule,
		      "fetch first: what %.100s stands on now is not in the run's repository (rule %.100s)", ref,
		      decision.rule);
}

void cc_push_by_size(struct cc_push *push)
{
	for (size_t i = 0; i < push->list.count; i++) {
		struct cc_push_decision decision = cc_push_decide_size(
			&push->gate->push, push->repo, push->list.items[i].ref, push->what[i], push->bytes);

		if (decision.verdict == CC_PUSH_DENY)
			cc_push_lower(push, CC_PUSH_DENY, decision.rule, "%lld bytes are more than rule %.100s takes",
				      (long long)push->bytes, decision.rule);
	}
}

void cc_push_by_path(struct cc_push *push, struct cc_view path)
{
	if (!cc_push_minds_paths(&push->gate->push, push->repo))
		return;
	for (size_t i = 0; push->verdict != CC_PUSH_DENY && i < push->list.count; i++) {
		struct cc_push_decision decision = cc_push_decide_path(&push->gate->push, push->repo,
								       push->list.items[i].ref, push->what[i], path);

		if (push->list.items[i].new[0] && decision.verdict == CC_PUSH_DENY)
			cc_push_lower(push, CC_PUSH_DENY, decision.rule,
				      "it changes %.*s, which rule %.100s keeps as it is",
				      (int)(path.len < 150 ? path.len : 150), path.ptr, decision.rule);
	}
}

void cc_push_find(struct cc_push *push, struct cc_view path, const char *rule, const char *why)
{
	size_t shown = push->findings < CC_PUSH_FINDINGS ? push->findings : CC_PUSH_FINDINGS;

	for (size_t i = 0; i < shown; i++)
		if (push->found[i].path && cc_view_is(path, push->found[i].path))
			return;
	if (push->findings++ >= CC_PUSH_FINDINGS)
		return;
	push->found[shown].path = strndup(path.ptr, path.len);
	push->found[shown].rule = cc_str_copy(rule);
	push->found[shown].why = cc_str_copy(why);
}
