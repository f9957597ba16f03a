/* defaults.h - what holds when nobody says anything: one table per question. Data only. */
#ifndef CC_POLICY_DEFAULTS_H
#define CC_POLICY_DEFAULTS_H

#include "policy/rules.h"

/* What opens a mandatory rule. */
enum cc_opener {
	CC_OPENS_NOTHING = 0,
	CC_OPENS_PATH,    /* an exact --allow-path */
	CC_OPENS_TOOLING, /* that, or the preset `tooling` (then it is allowed with an event) */
};

/* One mandatory rule of contract 6.6. */
struct cc_default_rule {
	const char *pattern;
	enum cc_effect effect;
	enum cc_judge judge;
	uint32_t verbs;
	bool whole_path;
	bool leaf;
	uint32_t fixed;
	enum cc_opener opener;
	const char *id, *reason;
};
extern const struct cc_default_rule cc_default_rules[];
extern const size_t cc_default_rule_count;

/* NULL-terminated lists. */
extern const char *const cc_default_deny_names[];       /* contract 6.2 */
extern const char *const cc_default_home_secrets[];     /* relative to HOME: never read, never written */
extern const char *const cc_default_terminal_secrets[]; /* relative to HOME: the terminal profile's, no more */
extern const char *const cc_default_home_deny[];        /* relative to HOME: never written */
extern const char *const cc_default_allow_hosts[];
extern const char *const cc_default_deny_hosts[];
extern const char *const cc_default_packages[]; /* the preset `packages` */

enum cc_preset { CC_PRESET_PACKAGES = 1, CC_PRESET_TRACKED = 2, CC_PRESET_TOOLING = 4 };
CC_MUST enum cc_code cc_preset_parse(const char *name, enum cc_preset *out_preset, struct cc_err *err);

#endif
