/* A policy that is read can be written and read again; what a project may say, an operator may. */
#include "wire/policyfile.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view text = {(const char *)data, size};
	struct cc_policy project;
	struct cc_policy policy;
	struct cc_policy again;
	struct cc_buf one;
	struct cc_buf two;
	struct cc_err err;
	enum cc_code code;

	cc_policy_init(&project);
	cc_policy_init(&policy);
	cc_policy_init(&again);
	cc_buf_init(&one, 1 << 22);
	cc_buf_init(&two, 1 << 22);
	code = cc_policyfile_parse("o", text, CC_POLICY_OPERATOR, &policy, &err);
	if (cc_policyfile_parse("p", text, CC_POLICY_PROJECT, &project, &err) == CC_OK) {
		assert(code == CC_OK);
		assert(project.allow_write.count == 0 && project.allow_names.count == 0 && project.network != 1);
		assert(project.allow_paths.count == 0 && project.allowed_domains.count == 0 && project.env.count == 0);
	}
	if (code == CC_OK) {
		cc_policyfile_write(&policy, &one);
		assert(cc_policyfile_parse("w", cc_buf_view(&one), CC_POLICY_OPERATOR, &again, &err) == CC_OK);
		cc_policyfile_write(&again, &two);
		assert(strcmp(one.data, two.data) == 0);
	}
	cc_buf_done(&one);
	cc_buf_done(&two);
	cc_policy_done(&project);
	cc_policy_done(&policy);
	cc_policy_done(&again);
	return 0;
}
