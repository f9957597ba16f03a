#define _GNU_SOURCE
#include "server/record.h"

#include "os/clock.h"
#include "group/group.h"
#include "os/proc.h"
#include "server/report.h"
#include "server/server.h"
#include "wire/ownermsg.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLUSH_MS = 50 };

/* Said once until it works again: a full disk would fill the log as well. */
static void note(struct cc_server *server, enum cc_code code, const struct cc_err *err)
{
	if (code == CC_OK)
		return;
	if (!server->store_failing)
		cc_log(CC_LOG_ERROR, "%s", err->what);
	server->store_failing = true;
}

static void on_flush(uv_timer_t *timer)
{
	struct cc_server *server = timer->data;
	struct cc_err err;

	note(server, cc_store_flush(server->store, &err), &err);
}

static void flush_soon(struct cc_server *server)
{
	if (cc_store_waits(server->store) && !uv_is_active((uv_handle_t *)&server->flush))
		uv_timer_start(&server->flush, on_flush, FLUSH_MS, 0);
}

/* An owner that is still there has lost its daemon and will go; one that hangs (a stopped process, a dead file system)
 * would keep its sandbox. The number may be another process's by now: only a cc-session is ended. */
static void end_leftover(void *context, const char *id, int64_t pid)
{
	(void)context;
	cc_log(CC_LOG_INFO, "session %s was lost with the server before", id);
	if (pid > 1 && cc_proc_is((pid_t)pid, "cc-session"))
		kill((pid_t)pid, SIGKILL);
}

/* Another daemon's sessions have groups of the same kind; one whose daemon is gone is nobody's. */
static bool is_orphan(const char *name)
{
	long daemon = strtol(name + sizeof(CC_OWNER_GROUP) - 1, NULL, 10);

	return daemon > 1 && !cc_proc_is((pid_t)daemon, "cc_server");
}

enum cc_code cc_record_open(struct cc_server *server, struct cc_err *err)
{
	char path[PATH_MAX + 16];
	enum cc_code code;

	snprintf(path, sizeof(path), "%s/server.db", server->data.dir);
	code = cc_store_open(path, &server->store, err);
	if (code != CC_OK)
		return code;
	uv_timer_init(&server->loop, &server->flush);
	server->flush.data = server;
	code = cc_store_sweep(server->store, "the server ended without it", cc_clock_wall_ms(), end_leftover, NULL,
			      err);
	cc_group_sweep(CC_OWNER_GROUP, is_orphan);
	return code;
}

void cc_record_close(struct cc_server *server)
{
	cc_store_close(server->store);
	server->store = NULL;
}

void cc_record_event(void *context, const struct cc_live *live, const struct cc_event *event)
{
	struct cc_server *server = context;
	struct cc_buf line;
	struct cc_err err;

	cc_buf_init(&line, 1 << 20);
	cc_event_write(event, &line);
	if (!line.failed)
		note(server,
		     cc_store_event_add(server->store, cc_live_record(live), event->seq,
					cc_event_type_name(event->type), cc_buf_view(&line), &err),
		     &err);
	cc_buf_done(&line);
	flush_soon(server);
}

static bool is_up(enum cc_state state)
{
	return state == CC_STATE_WARM || state == CC_STATE_ACTIVE;
}

void cc_record_changed(void *context, const struct cc_live *live, enum cc_state from)
{
	struct cc_server *server = context;
	enum cc_state state = cc_live_state(live);
	const char *reason = cc_live_error(live)->code ? cc_live_error(live)->what : cc_live_end_reason(live);
	struct cc_err err;

	/* It was recorded before it began; and that a command runs is the runs' table. */
	if (state == CC_STATE_CREATED || (is_up(from) && is_up(state)))
		return;
	note(server,
	     cc_store_session_set(server->store, cc_live_record(live), cc_backend_name(cc_live_backend(live)),
				  cc_state_name(state), reason, cc_live_pid(live), cc_clock_wall_ms(), &err),
	     &err);
}

void cc_record_command(void *context, const struct cc_command *command, bool over)
{
	struct cc_server *server = context;
	int64_t session = cc_live_record(cc_command_live(command));
	struct cc_err err;

	if (over)
		note(server,
		     cc_store_run_end(server->store, session, cc_command_id(command), cc_command_exit_code(command),
				      cc_clock_wall_ms(), &err),
		     &err);
	else
		note(server,
		     cc_store_run_begin(server->store, session, cc_command_id(command), cc_command_words(command),
					cc_clock_wall_ms(), &err),
		     &err);
	flush_soon(server);
}
