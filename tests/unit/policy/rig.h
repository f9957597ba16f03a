/* rig.h - a rule set to ask: one writable bind /r, one read-only bind /ro, one state directory, HOME /home/u. */
#ifndef CC_TESTS_POLICY_RIG_H
#define CC_TESTS_POLICY_RIG_H

#include "../t.h"

#include "policy/decide.h"

struct rig {
	struct cc_spec spec;
	struct cc_rule_facts facts;
	struct cc_rules *rules;
	struct cc_err err;
};

static inline void rig_init(struct rig *rig)
{
	*rig = (struct rig){.facts = {.home = "/home/u"}};
	cc_spec_init(&rig->spec);
	rig->spec.session_id = cc_str_copy("agent-x::1::chat");
	T_OK(cc_spec_add_bind(&rig->spec, "/r", false, &rig->err), rig->err);
	T_OK(cc_spec_add_bind(&rig->spec, "/ro", true, &rig->err), rig->err);
	T_OK(cc_strv_push(&rig->spec.runner_state_dirs, "/home/u/.state", &rig->err), rig->err);
}

static inline void rig_compile(struct rig *rig)
{
	T_OK(cc_rules_compile(&rig->spec, &rig->facts, &rig->rules, &rig->err), rig->err);
}

static inline void rig_add(struct rig *rig, struct cc_strv *list, const char *text)
{
	T_OK(cc_strv_push(list, text, &rig->err), rig->err);
}

static inline void rig_done(struct rig *rig)
{
	cc_rules_free(rig->rules);
	cc_spec_done(&rig->spec);
	cc_strv_done(&rig->facts.git_paths);
	cc_strv_done(&rig->facts.tracked);
	cc_strv_done(&rig->facts.agent_names);
	cc_strv_done(&rig->facts.agent_hosts);
}

static inline struct cc_decision rig_ask(const struct rig *rig, enum cc_verb verb, const char *path,
					 enum cc_object object, const char *from)
{
	struct cc_ask ask = {verb, cc_view_of(path), object, cc_view_of(from)};

	return cc_decide(rig->rules, &ask);
}

/* One row: what is asked, and "allow", "flag ID", "judge ID" or "deny ID". */
struct rig_row {
	enum cc_verb verb;
	const char *path;
	const char *want;
	enum cc_object object;
	const char *from;
};
#define ASK(verb, path, want)                                                                                          \
	{                                                                                                              \
		CC_VERB_##verb, path, want, CC_OBJECT_UNKNOWN, NULL                                                    \
	}
#define ASK_OF(verb, path, want, object, from)                                                                         \
	{                                                                                                              \
		CC_VERB_##verb, path, want, object, from                                                               \
	}

static inline void rig_check(const struct rig *rig, const struct rig_row *rows, size_t count)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		struct cc_decision d = rig_ask(rig, rows[i].verb, rows[i].path, rows[i].object, rows[i].from);
		char got[300];

		snprintf(got, sizeof(got), "%s%s%s",
			 d.verdict == CC_DENY    ? "deny"
			 : d.verdict == CC_JUDGE ? "judge"
			 : d.flagged             ? "flag"
						 : "allow",
			 d.verdict == CC_ALLOW && !d.flagged ? "" : " ",
			 d.verdict == CC_ALLOW && !d.flagged ? "" : cc_decision_id(&d));
		if (strcmp(got, rows[i].want) != 0) {
			print_message("# %s %s: want \"%s\", got \"%s\"\n", cc_verb_name(rows[i].verb), rows[i].path,
				      rows[i].want, got);
			wrong++;
		}
	}
	if (wrong)
		fail_msg("%zu rows are wrong", wrong);
}

#endif
