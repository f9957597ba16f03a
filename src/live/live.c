#define _GNU_SOURCE
#include "live/inside.h"

#include "os/clock.h"
#include "os/fd.h"

#include <stdlib.h>
#include <string.h>

enum { WAKE_MS = 2, LAUNCH_MAX = 4 << 20, EVENT_MAX = 1 << 20 };

const char *cc_live_id(const struct cc_live *live)
{
	return live->id;
}

void cc_live_hold(struct cc_live *live)
{
	live->refs++;
}

void cc_live_release(struct cc_live *live)
{
	if (--live->refs > 0)
		return;
	if (live->link >= 0) { /* its handle holds the session once more, and lets go of it later */
		cc_link_close(live);
		if (live->refs > 0)
			return;
	}
	cc_roster_forget(live);
}

void cc_live_wake(struct cc_live *live)
{
	struct cc_reader *next;

	live->wake_waits = false;
	live->woken_ms = uv_now(live->roster->config.loop);
	for (struct cc_reader *reader = live->readers; reader; reader = next) {
		next = reader->next;
		reader->wake(reader->context);
	}
}

static void on_waker(uv_timer_t *timer)
{
	struct cc_roster *roster = timer->data;

	for (struct cc_live *live = roster->first; live; live = live->next)
		if (live->wake_waits)
			cc_live_wake(live);
}

/* At once after a pause; in a flood every two milliseconds, with all there is by then: a call of the kernel for each
 * event and each reader is what a flood costs otherwise. */
static void wake_soon(struct cc_live *live)
{
	struct cc_roster *roster = live->roster;

	if (!live->readers || live->wake_waits)
		return;
	if (uv_now(roster->config.loop) - live->woken_ms >= WAKE_MS) {
		cc_live_wake(live);
		return;
	}
	live->wake_waits = true;
	if (!uv_is_active((uv_handle_t *)&roster->waker))
		uv_timer_start(&roster->waker, on_waker, WAKE_MS, 0);
}

void cc_live_emit(struct cc_live *live, struct cc_event *event)
{
	struct cc_buf line;
	bool output = event->type == CC_EVENT_STDOUT || event->type == CC_EVENT_STDERR;

	event->seq = ++live->seq;
	event->time_ms = cc_clock_wall_ms();
	event->session = live->id;
	cc_buf_init(&line, EVENT_MAX);
	cc_event_write(event, &line);
	if (!line.failed)
		cc_ring_add(&live->ring, event->seq, line.data, line.len);
	cc_buf_done(&line);
	if (!output && live->roster->config.event)
		live->roster->config.event(live->roster->config.context, live, event);
	wake_soon(live);
}

void cc_live_watch(struct cc_live *live, struct cc_watcher *watcher)
{
	cc_live_hold(live);
	watcher->live = live;
	watcher->next = live->watchers;
	live->watchers = watcher;
}

void cc_live_unwatch(struct cc_watcher *watcher)
{
	struct cc_live *live = watcher->live;

	if (!live)
		return;
	for (struct cc_watcher **at = &live->watchers; *at; at = &(*at)->next)
		if (*at == watcher) {
			*at = watcher->next;
			break;
		}
	watcher->live = NULL;
	cc_live_release(live);
}

void cc_live_check(struct cc_live *live)
{
	struct cc_watcher *next;

	for (struct cc_watcher *watcher = live->watchers; watcher; watcher = next) {
		next = watcher->next;
		watcher->changed(watcher->context, live);
	}
}

void cc_live_move(struct cc_live *live, enum cc_state to)
{
	enum cc_state from = live->state;

	if (live->state == to || !cc_state_may(live->state, to))
		return;
	cc_live_hold(live);
	live->state = to;
	if (live->roster->config.changed)
		live->roster->config.changed(live->roster->config.context, live, from);
	cc_live_check(live);
	if (to == CC_STATE_DESTROYED)
		cc_live_wake(live);
	cc_live_release(live);
}

static void write_list(struct cc_jsonw *w, const char *key, const struct cc_strv *list)
{
	static const struct cc_strv none;

	cc_jsonw_kstrv(w, key, list ? list : &none);
}

/* The client's body goes along as it is: it is JSON, and the owner reads it with the code that has checked it. */
static enum cc_code write_launch(struct cc_live *live, const struct cc_live_ask *ask, struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_buf_init(&text, LAUNCH_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "sessionId", ask->id);
	cc_jsonw_kstr(&w, "backend", cc_backend_name(ask->backend));
	write_list(&w, "protect", ask->protect);
	write_list(&w, "ownerPorts", ask->owner_ports);
	write_list(&w, "denyRead", ask->deny_read);
	cc_jsonw_kbool(&w, "gateway", ask->gateway);
	cc_buf_adds(&text, ",\"ask\":");
	cc_buf_add(&text, ask->body.ptr, ask->body.len);
	cc_buf_adds(&text, "}");
	code = cc_buf_check(&text, "the launch document", err);
	if (code == CC_OK) {
		live->launch = text.data;
		live->launch_len = text.len;
		text.data = NULL;
	}
	cc_buf_done(&text);
	return code;
}

enum cc_code cc_live_launch(struct cc_roster *roster, const struct cc_live_ask *ask, struct cc_live **out_live,
			    struct cc_err *err)
{
	struct cc_live *live;
	enum cc_code code;

	if (cc_roster_find(roster, ask->id))
		return cc_fail(err, CC_ESTATE, 0, "a session %s is there already", ask->id);
	if (roster->count >= roster->config.sessions_max)
		return cc_fail(err, CC_ELIMIT, 0, "at most %zu sessions at once", roster->config.sessions_max);
	live = calloc(1, sizeof(*live));
	if (!live)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	*live = (struct cc_live){.roster = roster,
				 .refs = 1,
				 .id = cc_str_copy(ask->id),
				 .workspace = cc_str_copy(ask->workspace),
				 .agent = cc_str_copy(ask->agent),
				 .backend = ask->backend,
				 .record = ask->record,
				 .created_ms = cc_clock_wall_ms(),
				 .owner = {-1, -1},
				 .link = -1,
				 .listed = true};
	code = live->id && live->workspace ? write_launch(live, ask, err) : cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (code != CC_OK) {
		cc_live_release(live);
		return code;
	}
	live->next = roster->first;
	roster->first = live;
	roster->count++;
	if (roster->config.changed)
		roster->config.changed(roster->config.context, live, CC_STATE_CREATED);
	cc_live_hold(live); /* it may be over before this returns */
	cc_roster_start_next(roster);
	*out_live = live;
	live->refs--;
	return CC_OK;
}

enum cc_state cc_live_state(const struct cc_live *live)
{
	return live->state;
}

const struct cc_err *cc_live_error(const struct cc_live *live)
{
	return &live->error;
}

enum cc_backend_kind cc_live_backend(const struct cc_live *live)
{
	return live->backend;
}

int64_t cc_live_record(const struct cc_live *live)
{
	return live->record;
}

int64_t cc_live_pid(const struct cc_live *live)
{
	return live->owner.pid > 0 ? live->owner.pid : 0;
}

const char *cc_live_end_reason(const struct cc_live *live)
{
	return live->end_reason;
}

void cc_live_write(const struct cc_live *live, struct cc_jsonw *w)
{
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "sessionId", live->id);
	cc_jsonw_kstr(w, "workspaceId", live->workspace);
	if (live->agent)
		cc_jsonw_kstr(w, "agentId", live->agent);
	cc_jsonw_kstr(w, "backend", cc_backend_name(live->backend));
	cc_jsonw_kstr(w, "state", cc_state_name(live->state));
	if (live->error.code)
		cc_jsonw_kstr(w, "error", live->error.what);
	cc_jsonw_kint(w, "createdAt", live->created_ms);
	cc_jsonw_kint(w, "lastSeq", (int64_t)live->seq);
	cc_jsonw_kint(w, "commands", live->command_count);
	if (live->limits) {
		cc_jsonw_key(w, "limits");
		cc_jsonw_raw(w, live->limits);
	}
	cc_jsonw_key(w, "details");
	cc_jsonw_object(w);
	if (live->workdir)
		cc_jsonw_kstr(w, "workingDirectory", live->workdir);
	if (live->owner.pid > 0)
		cc_jsonw_kint(w, "pid", live->owner.pid);
	if (live->environment)
		cc_jsonw_kstr(w, "environment", live->environment);
	if (live->dropped) {
		cc_jsonw_key(w, "dropped");
		cc_jsonw_raw(w, live->dropped);
	}
	cc_jsonw_end(w);
	cc_jsonw_end(w);
}

static enum cc_code tell(struct cc_live *live, const char *what, enum cc_state to, struct cc_err *err)
{
	char text[32] = "{\"m\":\"";

	if (live->ending || !cc_state_may(live->state, to) ||
	    (to == CC_STATE_WARM && live->state != CC_STATE_SUSPENDED))
		return cc_fail(err, CC_ESTATE, 0, "a session that is %s cannot %s", cc_state_name(live->state), what);
	strncat(text, what, 10);
	strncat(text, "\"}", 3);
	return cc_link_say(live, text, NULL, 0, err);
}

enum cc_code cc_live_suspend(struct cc_live *live, struct cc_err *err)
{
	return tell(live, "suspend", CC_STATE_SUSPENDED, err);
}

enum cc_code cc_live_resume(struct cc_live *live, struct cc_err *err)
{
	return tell(live, "resume", CC_STATE_WARM, err);
}

/* The last of a session: its commands first, so that their ends come before its own. */
static void finish(struct cc_live *live, const char *why)
{
	struct cc_event event = {.type = CC_EVENT_KILLED, .content = cc_view_of(why)};

	while (live->commands)
		cc_command_cut(live->commands);
	if (why)
		cc_live_emit(live, &event);
	cc_live_move(live, CC_STATE_DESTROYED);
	if (live->listed)
		cc_roster_drop(live);
}

void cc_live_lost(struct cc_live *live, const char *why)
{
	struct cc_event event = {.type = CC_EVENT_KILLED, .content = cc_view_of(why)};
	bool starting = !live->launched && live->link >= 0;

	cc_live_hold(live);
	cc_link_close(live);
	live->roster->starting -= starting;
	free(live->launch);
	live->launch = NULL;
	if (live->ending) {
		finish(live, live->end_reason);
	} else if (live->state ==
		   CC_STATE_ERROR) { /* it has said so, and stays to be asked about until it is destroyed */
		while (live->commands)
			cc_command_cut(live->commands);
	} else {
		bool told = live->error.code != CC_OK; /* by the owner, with an event of its own */

		if (!told)
			cc_fail(&live->error, CC_EPROTO, 0, "%s", why);
		while (live->commands)
			cc_command_cut(live->commands);
		if (!told)
			cc_live_emit(live, &event);
		cc_live_move(live, CC_STATE_ERROR);
		if (!live->launched)
			finish(live, NULL);
	}
	cc_roster_start_next(live->roster);
	cc_live_release(live);
}

void cc_live_end(struct cc_live *live, const char *reason)
{
	struct cc_err err;

	if (live->ending)
		return;
	cc_live_hold(live);
	live->ending = true;
	live->end_reason = cc_str_copy(reason);
	if (live->link < 0)
		cc_live_lost(live, reason);
	else if (cc_link_say(live, "{\"m\":\"end\"}", NULL, 0, &err) != CC_OK)
		cc_live_lost(live, reason);
	cc_live_release(live);
}
