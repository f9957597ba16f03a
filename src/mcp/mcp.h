/* mcp.h - the tools of tools.h as a server of the Model Context Protocol on two descriptors, one client at a time. */
#ifndef CC_MCP_MCP_H
#define CC_MCP_MCP_H

#include "mcp/shell.h"
#include "tools/tools.h"

/* Serves until the client closes. tools is initialised, its shell is set here; session: NULL where bash is not offered.
 */
void cc_mcp_serve(struct cc_tools *tools, struct cc_shell *session, int in, int out);

#endif
