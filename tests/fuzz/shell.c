/* Any line: it is read within its bounds, a mode that reads is never milder than one that writes. */
#include "guard/command.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view line = {(const char *)data, size};
	struct cc_command_verdict chat, plan;
	struct cc_shell_script script = {0};
	struct cc_err err;

	assert(cc_command_judge(line, CC_MODE_CHAT, &chat, &err) == CC_OK);
	assert(cc_command_judge(line, CC_MODE_PLAN, &plan, &err) == CC_OK);
	assert(plan.verdict <= chat.verdict && plan.verdict != CC_GUARD_ASK);
	assert(chat.verdict == CC_GUARD_ALLOW || chat.rule);
	assert(cc_shell_read(line, 0, &script, &err) == CC_OK);
	assert(script.count <= CC_SHELL_COMMANDS);
	for (size_t i = 0; i < script.count; i++)
		for (size_t k = 0; k < script.items[i].count; k++)
			assert(script.items[i].words[k].text);
	cc_shell_script_done(&script);
	return 0;
}
