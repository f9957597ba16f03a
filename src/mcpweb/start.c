#define _GNU_SOURCE
/* start.c - the process behind a session of tools: our own `ccbox mcp`, told what the daemon closes to every session.
 */
#include "mcpweb/inside.h"

#include "base/mem.h"
#include "live/live.h"
#include "os/fd.h"

#include <sys/resource.h>
#include <unistd.h>

/* What no session may read or write, as a policy file that only the child has. */
static enum cc_code write_policy(const struct cc_mcp_ask *ask, int *out_fd, struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_buf_init(&text, 64 << 10);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "filesystem");
	cc_jsonw_object(&w);
	cc_jsonw_kstrv(&w, "denyRead", ask->deny_read);
	cc_jsonw_kstrv(&w, "denyWrite", ask->deny_read);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	code = cc_buf_check(&text, "the policy", err);
	if (code == CC_OK)
		code = cc_fd_memfile("ccbox-policy", text.data, text.len, out_fd, err);
	cc_buf_done(&text);
	return code;
}

static enum cc_code write_argv(const struct cc_mcps *mcps, const struct cc_mcp_ask *ask, int policy,
			       struct cc_strv *argv, struct cc_err *err)
{
	const char *const words[] = {
		mcps->config.program, "mcp", "--quiet", "--backend", "native", "--mode", ask->mode};
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(words); i++)
		code = cc_strv_push(argv, words[i], err);
	if (code == CC_OK)
		code = cc_strv_pushf(argv, err, "--policy=/proc/self/fd/%d", policy);
	for (size_t i = 0; code == CC_OK && i < ask->owner_ports->count; i++)
		code = cc_strv_pushf(argv, err, "--closed-port=%s", ask->owner_ports->items[i]);
	for (size_t i = 0; code == CC_OK && i < ask->protect->count; i++)
		code = cc_strv_pushf(argv, err, "--protect=%s", ask->protect->items[i]);
	return code;
}

enum cc_code cc_mcp_spawn(struct cc_mcp_session *session, const struct cc_mcp_ask *ask, int theirs, struct cc_err *err)
{
	const struct cc_mcps_config *config = &session->mcps->config;
	CC_AUTO_FD policy = -1;
	struct cc_strv argv = {0}, env = {0};
	/* it ends by itself when its socket closes; one that hangs would not, and nobody else would end it */
	struct cc_spawn how = {.stdio = {theirs, theirs, STDERR_FILENO},
			       .cwd = ask->directory,
			       .new_session = true,
			       .die_with_parent = true,
			       .keep_count = 1};
	struct rlimit limit;
	enum cc_code code = write_policy(ask, &policy, err);

	if (code == CC_OK)
		code = write_argv(session->mcps, ask, policy, &argv, err);
	if (code == CC_OK)
		code = cc_roster_env(config->env, &env, err);
	how.argv = argv.items;
	how.envp = env.items;
	how.keep[0] = policy;
	if (code == CC_OK)
		code = cc_proc_spawn(&how, &session->child, err);
	cc_strv_done(&argv);
	cc_strv_done(&env);
	/* the daemon has raised its own; what works for an agent gets the old one */
	if (code == CC_OK && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = config->files;
		prlimit(session->child.pid, RLIMIT_NOFILE, &limit, NULL);
	}
	return code;
}
