/* acp.h - a proxy between an editor and an agent that speak the Agent Client Protocol (version 1, JSON-RPC over lines).
 *
 * The agent runs in a sandbox of its own, started as `ccbox run` would. What passes is not changed but for this: what
 * the agent asks of its client about files and commands (fs/..., terminal/...) is answered here, files by the tools'
 * rules and commands in a sandbox with the same settings, so that no editor does for the agent what the agent may not;
 * and what a sandbox refuses is told to the editor. Everything else, permissions above all, goes to the person. */
#ifndef CC_ACP_ACP_H
#define CC_ACP_ACP_H

#include "os/proc.h"
#include "tools/tools.h"

struct cc_acp_ask {
	/* `ccbox run` with the person's settings, up to where the command follows: what starts the agent, and each of
	 * its commands. */
	const struct cc_strv *run;
	const struct cc_strv *agent; /* its words */
	char *const *env;
	struct cc_tools *tools;
	int in, out; /* the editor's */
};

/* Until the agent or the editor ends; *out_code is the agent's exit code. Nothing of it runs afterwards. */
CC_MUST enum cc_code cc_acp_run(const struct cc_acp_ask *ask, int *out_code, struct cc_err *err);

#endif
