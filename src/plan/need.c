#include "plan/need.h"

unsigned cc_needs_of(const struct cc_rules *rules)
{
	/* Every rule set hides the host and shields sockets; the rest depends on what it says. */
	unsigned needs = CC_NEED_HIDDEN | CC_NEED_SOCKETS | (rules->network_open ? 0 : CC_NEED_EGRESS);

	for (size_t i = 0; i < rules->mount_count; i++)
		if (rules->mounts[i].mode == CC_MOUNT_RO)
			needs |= CC_NEED_READONLY;
	for (size_t i = 0; i < rules->rule_count; i++) {
		const struct cc_rule *rule = &rules->rules[i];

		if (rule->kind == CC_RULE_NAME)
			needs |= CC_NEED_NAMES;
		else
			needs |= CC_NEED_TREES;
		if (rule->effect == CC_EFFECT_JUDGE)
			needs |= CC_NEED_GIT;
	}
	if (rules->reads_judged)
		needs |= CC_NEED_READS;
	return needs;
}

const char *cc_need_name(enum cc_need_index index)
{
	static const char *const names[] = {
#define CC_NEED_NAME(bit, name, text) name,
		CC_NEEDS(CC_NEED_NAME)
#undef CC_NEED_NAME
	};

	return names[index];
}

const char *cc_need_text(enum cc_need_index index)
{
	static const char *const texts[] = {
#define CC_NEED_TEXT(bit, name, text) text,
		CC_NEEDS(CC_NEED_TEXT)
#undef CC_NEED_TEXT
	};

	return texts[index];
}
