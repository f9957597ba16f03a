/* compile.h - what the two halves of the compiler share: compile.c makes the rules, scope.c says where they hold and
 * fills the network half. Nobody else includes it. */
#ifndef CC_POLICY_COMPILE_H
#define CC_POLICY_COMPILE_H

#include "policy/rules.h"

struct cc_compiler {
	const struct cc_spec *spec;
	const struct cc_rule_facts *facts;
	struct cc_rules *rules;
	size_t rule_cap;
	unsigned presets;
	enum cc_code code; /* the first failure: every step looks here, so that the steps read as a list */
	struct cc_err *err;
};

void cc_compile_no_memory(struct cc_compiler *c);
char *cc_compile_copy(struct cc_compiler *c, const char *text);
bool cc_compile_resolve(const struct cc_compiler *c, const char *path, char *out, size_t cap);
/* "~/x" is written out; the result lives in buf. */
const char *cc_compile_at_home(struct cc_compiler *c, const char *path, char *buf, size_t cap);
void cc_compile_push(struct cc_compiler *c, struct cc_strv *to, const struct cc_strv *from);

void cc_compile_mounts(struct cc_compiler *c);
/* Reading opens are trapped only where a path that must not be read is visible at all. */
bool cc_compile_reads_matter(const struct cc_compiler *c);
void cc_compile_net(struct cc_compiler *c);

#endif
