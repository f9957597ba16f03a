#define _GNU_SOURCE
#include "server/server.h"

#include "backend/linux/facts.h"
#include "cli/copy.h"
#include "os/clock.h"
#include "os/fd.h"
#include "group/group.h"
#include "os/listen.h"
#include "os/net.h"
#include "server/report.h"
#include "wire/msg.h"

#include <libwebsockets.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef CC_VERSION
#define CC_VERSION "0"
#endif

enum { CONNECTIONS_MAX = 1024, SESSIONS_MAX = 256, PROOF_TRIES = 5, FILES_WANTED = 16384 };

static const struct cc_route *const routes[] = {
	cc_routes_base, cc_routes_sandbox, cc_routes_exec,  cc_routes_events,   cc_routes_repos,
	cc_routes_runs, cc_routes_mcp,     cc_routes_login, cc_routes_terminal, NULL};
static const struct cc_asset *const assets[] = {cc_assets_console, NULL};
static const struct cc_socket_row *const sockets[] = {cc_sockets_terminal, NULL};

static void on_library_log(int level, const char *line)
{
	size_t len = strcspn(line, "\n");

	cc_log(level == LLL_ERR ? CC_LOG_WARNING : CC_LOG_DEBUG, "libwebsockets: %.*s", (int)len, line);
}

static void on_console_log(bool warning, const char *line)
{
	cc_log(warning ? CC_LOG_WARNING : CC_LOG_INFO, "%s", line);
}

static void on_terminals_ended(void *context)
{
	uv_stop(&((struct cc_server *)context)->loop);
}

static void on_all_ended(void *context)
{
	cc_console_end(&((struct cc_server *)context)->console, on_terminals_ended, context);
}

static void on_forges_ended(void *context)
{
	cc_roster_end(((struct cc_server *)context)->roster, on_all_ended, context);
}

static void on_runs_ended(void *context)
{
	cc_forges_end(((struct cc_server *)context)->forges, on_forges_ended, context);
}

static void on_tools_ended(void *context)
{
	cc_runs_end(((struct cc_server *)context)->runs, on_runs_ended, context);
}

/* Tools that serve callers first, then runs, which settle what their agents left, then sessions: when the last one has
 * ended there is nothing left that a person could miss. A second signal does not wait for them: they end all the same
 * when we are gone. */
static void stop(struct cc_server *server)
{
	if (server->stopping) {
		uv_stop(&server->loop);
		return;
	}
	server->stopping = true;
	cc_mcps_end(server->mcps, on_tools_ended, server);
}

static void on_signal(uv_signal_t *handle, int number)
{
	cc_log(CC_LOG_INFO, "signal %d: going down", number);
	stop(handle->data);
}

static enum cc_code watch_signals(struct cc_server *server, struct cc_err *err)
{
	static const int numbers[] = {SIGTERM, SIGINT};

	for (size_t i = 0; i < CC_COUNT(numbers); i++) {
		server->signals[i].data = server;
		if (uv_signal_init(&server->loop, &server->signals[i]) != 0 ||
		    uv_signal_start(&server->signals[i], on_signal, numbers[i]) != 0)
			return cc_fail(err, CC_ESYS, 0, "libuv: signals");
	}
	return CC_OK;
}

static enum cc_code listen_one(struct cc_server *server, bool local, struct cc_err *err)
{
	CC_AUTO_FD fd = -1;
	enum cc_code code = local ? cc_listen_unix(server->data.socket, &fd, err)
				  : cc_listen_tcp(server->config.bind_any, server->config.port, &fd, err);

	server->data.made_socket |= local && code == CC_OK;
	return code == CC_OK ? cc_web_listen(server->web, cc_fd_take(&fd), err) : code;
}

/* What the service manager opened takes the place of what we would open ourselves, kind by kind. */
static enum cc_code listen_all(struct cc_server *server, struct cc_err *err)
{
	int first = -1, count = cc_listen_inherited(server->env, &first);
	bool tcp = false, local = false;
	enum cc_code code = CC_OK;

	for (int i = 0; code == CC_OK && i < count; i++) {
		bool is_local = cc_listen_is_unix(first + i);

		local |= is_local;
		tcp |= !is_local;
		code = cc_web_listen(server->web, first + i, err);
	}
	if (code == CC_OK && !local)
		code = listen_one(server, true, err);
	if (code == CC_OK && !tcp)
		code = listen_one(server, false, err);
	return code;
}

static enum cc_code open_web(struct cc_server *server, struct cc_err *err)
{
	struct cc_web_config config = {.loop = &server->loop,
				       .context = server,
				       .token = server->data.token,
				       .tls_cert = server->config.tls_cert,
				       .tls_key = server->config.tls_key,
				       .origins = &server->config.origins,
				       .routes = routes,
				       .assets = assets,
				       .sockets = sockets,
				       .knows_cookie = cc_console_cookie,
				       .connections_max = CONNECTIONS_MAX};
	enum cc_code code = cc_web_open(&config, &server->web, err);

	if (code != CC_OK)
		return code;
	server->console = (struct cc_console){.loop = &server->loop,
					      .web = server->web,
					      .tls = server->config.tls_cert != NULL,
					      .probe = &server->probe,
					      .env = server->env,
					      .data_dir = server->data.dir,
					      .run_dir = server->data.run_dir,
					      .log = on_console_log};
	return listen_all(server, err);
}

/* Each session costs some descriptors; what is started from here gets the old limit back. */
static unsigned long raise_files(void)
{
	struct rlimit limit;
	rlim_t before;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	before = limit.rlim_cur;
	if (before < FILES_WANTED) {
		limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return (unsigned long)before;
}

static void on_reaped(void *context, pid_t pid)
{
	struct cc_server *server = context;

	if (server->forges)
		cc_forges_reaped(server->forges, pid);
	if (server->runs)
		cc_runs_reaped(server->runs, pid);
	if (server->mcps)
		cc_mcps_reaped(server->mcps, pid);
}

static void on_gateway(void *context, const struct cc_live *live, int *fd)
{
	struct cc_server *server = context;
	struct cc_run *run = server->runs ? cc_runs_find(server->runs, cc_live_id(live)) : NULL;

	if (run)
		cc_run_connect(run, *fd);
}

static void on_forges_log(const char *text)
{
	cc_log(CC_LOG_WARNING, "%s", text);
}

static enum cc_code open_forges(struct cc_server *server, unsigned long files, struct cc_err *err)
{
	static char helper[PATH_MAX];
	struct cc_forges_config config = {.loop = &server->loop,
					  .env = server->env,
					  .files = files,
					  .helper = helper,
					  .data_dir = server->data.dir,
					  .log = on_forges_log};
	enum cc_code code = cc_facts_helper("cc-forge", helper, sizeof(helper), err);

	return code == CC_OK ? cc_forges_open(&config, &server->forges, err) : code;
}

static enum cc_code open_runs(struct cc_server *server, unsigned long files, struct cc_err *err)
{
	static char runner[PATH_MAX], push[PATH_MAX];
	struct cc_runs_config config = {.loop = &server->loop,
					.env = server->env,
					.runner_path = runner,
					.files = files,
					.socket = server->data.socket,
					.data_dir = server->data.dir,
					.roster = server->roster,
					.push_path = push,
					.context = server,
					.changed = cc_agentruns_changed};
	enum cc_code code = cc_facts_helper("cc-run", runner, sizeof(runner), err);

	if (code == CC_OK)
		code = cc_facts_helper("cc-push", push, sizeof(push), err);
	if (code == CC_OK)
		code = open_forges(server, files, err);
	config.forges = server->forges;
	if (code == CC_OK)
		code = cc_runs_new(&config, &server->runs, err);
	return code == CC_OK ? cc_agentruns_sweep(server, err) : code;
}

static enum cc_code open_tools(struct cc_server *server, unsigned long files, struct cc_err *err)
{
	static char program[PATH_MAX];
	struct cc_mcps_config config = {.loop = &server->loop,
					.env = server->env,
					.program = program,
					.files = files,
					.call_ms = server->config.tools_timeout * 1000};
	enum cc_code code = cc_facts_helper("ccbox", program, sizeof(program), err);

	return code == CC_OK ? cc_mcps_new(&config, &server->mcps, err) : code;
}

static enum cc_code open_roster(struct cc_server *server, struct cc_err *err)
{
	static char owner[PATH_MAX];
	unsigned long files = raise_files();
	struct cc_roster_config config = {.loop = &server->loop,
					  .env = server->env,
					  .owner_path = owner,
					  .files = files,
					  .sessions_max = SESSIONS_MAX,
					  .context = server,
					  .event = cc_record_event,
					  .changed = cc_record_changed,
					  .command = cc_record_command,
					  .gateway = on_gateway,
					  .reaped = on_reaped};
	enum cc_code code = cc_facts_helper("cc-session", owner, sizeof(owner), err);

	if (code == CC_OK)
		code = cc_roster_new(&config, &server->roster, err);
	if (code == CC_OK)
		code = open_tools(server, files, err);
	return code == CC_OK ? open_runs(server, files, err) : code;
}

/* No session reaches the daemon: not its port, not its socket, not its files. */
static enum cc_code close_to_sessions(struct cc_server *server, struct cc_err *err)
{
	char copies[PATH_MAX]; /* the work of other runs */
	enum cc_code code = cc_strv_pushf(&server->owner_ports, err, "%u", cc_web_port(server->web));

	if (code == CC_OK)
		code = cc_strv_push(&server->deny_read, server->data.dir, err);
	if (code == CC_OK)
		code = cc_strv_push(&server->deny_read, server->data.run_dir, err);
	if (code == CC_OK)
		code = cc_copy_dir(server->env, copies, err);
	if (code == CC_OK)
		code = cc_strv_push(&server->deny_read, copies, err);
	return code;
}

static void say_where(const struct cc_server *server)
{
	printf("listening on %s://%s:%u\nlistening on %s\n", server->config.tls_cert ? "https" : "http",
	       server->config.bind_any ? "0.0.0.0" : "127.0.0.1", cc_web_port(server->web), server->data.socket);
	fflush(stdout);
}

/* Once, at the start (contract 1.1); a host that is only too busy for the moment is given another one: what it cannot
 * prove now would be refused for as long as this server runs. */
static void probe(struct cc_server *server)
{
	for (int i = 0; i < PROOF_TRIES; i++) {
		cc_probe_run(server->env, true, &server->probe);
		if (!server->probe.late)
			return;
	}
}

static enum cc_code start(struct cc_server *server, struct cc_err *err)
{
	struct cc_buf line;
	enum cc_code code = cc_data_open(server->config.data_dir, server->env, &server->data, err);

	if (code != CC_OK)
		return code;
	probe(server);
	code = cc_group_prepare(err);
	if (code == CC_OK)
		code = watch_signals(server, err);
	if (code == CC_OK)
		code = cc_record_open(server, err);
	if (code == CC_OK)
		code = open_roster(server, err);
	if (code == CC_OK)
		code = open_web(server, err);
	if (code == CC_OK)
		code = close_to_sessions(server, err);
	if (code != CC_OK)
		return code;
	cc_buf_init(&line, 4096);
	cc_report_start(&server->config, &server->probe, &line);
	fprintf(stderr, "%s\n", line.data ? line.data : "");
	cc_buf_done(&line);
	say_where(server);
	return CC_OK;
}

static int print_and_go(const struct cc_server_config *config)
{
	struct cc_buf text;

	cc_buf_init(&text, 1 << 16);
	if (config->version)
		cc_buf_addf(&text, "cc_server %s\n", CC_VERSION);
	else
		cc_server_config_help(&text);
	fputs(text.data ? text.data : "", stdout);
	cc_buf_done(&text);
	return 0;
}

int cc_server_main(int argc, char **argv, char **env)
{
	static struct cc_server server;
	struct cc_err err = {0};
	enum cc_code code;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	server.data.lock = -1;
	server.env = env;
	server.started_ms = cc_clock_ms();
	cc_server_config_init(&server.config);
	code = cc_server_config_read(argc > 0 ? argv + 1 : argv, env, &server.config, &err);
	if (code == CC_OK && (server.config.version || server.config.help))
		return print_and_go(&server.config);
	cc_report_level(server.config.log_level);
	lws_set_log_level(LLL_ERR | LLL_WARN, on_library_log);
	uv_loop_init(&server.loop);
	if (code == CC_OK)
		code = start(&server, &err);
	if (code == CC_OK)
		uv_run(&server.loop, UV_RUN_DEFAULT);
	else
		cc_log(CC_LOG_ERROR, "%s", err.what);
	if (server.web)
		cc_web_close(server.web);
	cc_console_stop(&server.console);
	cc_roster_free(server.roster);
	cc_record_close(&server);
	cc_data_close(&server.data);
	cc_server_config_done(&server.config);
	return code == CC_OK ? 0 : CC_EXIT_NOT_ESTABLISHED;
}
