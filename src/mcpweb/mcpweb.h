/* mcpweb.h - the tools over MCP for callers of the API: one `ccbox mcp` a session, which this end only passes messages
 * to. Of what comes back the daemon looks at the id, and at nothing of the tools. */
#ifndef CC_MCPWEB_MCPWEB_H
#define CC_MCPWEB_MCPWEB_H

#include "base/view.h"
#include "web/web.h"
#include "wire/json.h"

#include <sys/types.h>
#include <uv.h>

struct cc_mcps;
struct cc_mcp_session;

struct cc_mcps_config {
	uv_loop_t *loop;
	char *const *env;
	const char *program; /* ccbox */
	unsigned long files; /* soft limit of descriptors that a child gets */
	uint64_t call_ms;    /* so long it may be silent while a call waits */
};

CC_MUST enum cc_code cc_mcps_new(const struct cc_mcps_config *config, struct cc_mcps **out_mcps, struct cc_err *err);
/* That child has ended. */
void cc_mcps_reaped(struct cc_mcps *mcps, pid_t pid);
/* Ends every session; done when no process of them is left. */
void cc_mcps_end(struct cc_mcps *mcps, void (*done)(void *context), void *context);

struct cc_mcp_ask {
	const char *directory; /* absolute */
	const char *mode;
	const struct cc_strv *protect, *owner_ports, *deny_read; /* as for a session (live.h) */
};
CC_MUST enum cc_code cc_mcp_start(struct cc_mcps *mcps, const struct cc_mcp_ask *ask, struct cc_mcp_session **out,
				  struct cc_err *err);
/* NULL: there is none of that id, or it ends. */
struct cc_mcp_session *cc_mcp_find(struct cc_mcps *mcps, const char *id);
/* Passes a request on, and answers the call when its answer comes, with an error of JSON-RPC when none will; a
 * notification is answered at once. What is not CC_OK has not been answered. */
CC_MUST enum cc_code cc_mcp_say(struct cc_mcp_session *session, struct cc_call *call, const struct cc_json *message,
				struct cc_err *err);
/* Ends it; the call, which may be NULL, is answered when its process has gone. */
void cc_mcp_stop(struct cc_mcp_session *session, struct cc_call *call);

#endif
