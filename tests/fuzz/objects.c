/* git's list of changes, as any bytes: taken apart within its bounds, and a path that is fine is a plain one. */
#include "review/objects.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view text = {(const char *)data, size}, commit = {NULL, 0};
	CC_AUTO(cc_rules) rules = NULL;
	struct cc_review_entry entry;
	struct cc_spec spec;
	struct cc_err err;
	size_t at = 0;
	bool found = true;

	cc_spec_init(&spec);
	spec.session_id = cc_str_copy("f");
	assert(cc_spec_add_bind(&spec, "/p", false, &err) == CC_OK);
	assert(cc_rules_compile(&spec, NULL, &rules, &err) == CC_OK);
	cc_spec_done(&spec);
	while (found && cc_review_next(text, &at, &commit, &entry, &found, &err) == CC_OK && found) {
		struct cc_review_verdict verdict = cc_review_judge(rules, "/p", &entry, entry.path);

		assert(at <= size);
		if (verdict.kind == CC_REVIEW_FINE && entry.new_mode)
			assert(entry.path.len && entry.path.ptr[0] != '/');
	}
	return 0;
}
