#define _GNU_SOURCE
#include "acp/acp.h"

#include "cli/start.h"
#include "verbs/self.h"
#include "verbs/verbs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum cc_code proxy(const struct cc_start *start, char *const *argv, char *const *env, int *out_code,
			  struct cc_err *err)
{
	struct cc_tools *tools = calloc(1, sizeof(*tools));
	struct cc_strv run = {0}, agent = {0};
	struct cc_acp_ask ask = {.run = &run, .agent = &agent, .env = env, .tools = tools, .in = 0, .out = 1};
	enum cc_code code = tools ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");

	if (code == CC_OK)
		code = cc_tools_init(tools, start->prepared.rules, start->ask.spec.mode, start->prepared.workdir, err);
	if (code == CC_OK)
		code = cc_self_run_words(argv, start->used, &run, err);
	for (char *const *word = cc_start_command(start, argv); code == CC_OK && *word; word++)
		code = cc_strv_push(&agent, *word, err);
	if (code == CC_OK)
		code = cc_acp_run(&ask, out_code, err);
	if (tools)
		cc_tools_done(tools);
	free(tools);
	cc_strv_done(&run);
	cc_strv_done(&agent);
	return code;
}

int cc_verb_acp(char *const *argv, char *const *env)
{
	struct cc_start start;
	struct cc_err err = {0};
	int exit_code = 0;
	enum cc_code code = cc_start_gather(&start, CC_FOR_RUN, argv, env, &err);

	if (code == CC_OK && !*cc_start_command(&start, argv))
		code = cc_fail(&err, CC_EINVAL, 0, "no agent: ccbox acp [OPTIONS] -- AGENT [ARG...]");
	if (code == CC_OK && start.ask.events)
		code = cc_fail(&err, CC_EINVAL, 0, "ccbox acp reads the events itself; see ccbox events");
	/* the same rules as the agent's own sandbox, for the files that it asks its client for */
	if (code == CC_OK)
		code = cc_start_prepare(&start, *cc_start_command(&start, argv), env, &err);
	if (code == CC_OK)
		code = cc_prepare_finish(&start.prepared, &err);
	if (code == CC_OK)
		code = proxy(&start, argv, env, &exit_code, &err);
	cc_start_done(&start);
	return code == CC_OK ? exit_code : cc_give_up(&err);
}
