#include "session/session.h"

#include "os/clock.h"
#include "policy/rules.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cc_session {
	char *id;
	const struct cc_backend *backend;
	const struct cc_rules *rules; /* the owner's, which outlive the session; NULL without a sandbox */
	struct cc_box *box;
	struct cc_session_sink sink;
	enum cc_state state;
	uint64_t seq;
	int next_exec;
	int running;
	int64_t generation; /* of the network rules */
	struct cc_err error;
	bool ending; /* the owner ends it: a helper that goes is no loss */
};

enum { GOODBYE_MS = 1000 };

void cc_session_emit(struct cc_session *session, struct cc_event *event)
{
	event->seq = ++session->seq;
	event->time_ms = cc_clock_wall_ms();
	event->session = session->id;
	session->sink.event(session->sink.context, event);
}

static void emit_text(struct cc_session *session, enum cc_event_type type, const char *text)
{
	struct cc_event event = {.type = type, .content = cc_view_of(text)};

	cc_session_emit(session, &event);
}

static void emit_remark(struct cc_session *session, const char *before, const char *what, const char *after)
{
	struct cc_buf text;

	cc_buf_init(&text, 1024);
	cc_buf_addf(&text, "%s%s%s", before, what, after);
	if (text.data)
		emit_text(session, CC_EVENT_NOTICE, text.data);
	cc_buf_done(&text);
}

/* What was allowed and is worth a line in the books. */
static void emit_remarks(struct cc_session *session, const struct cc_net_rules *net)
{
	const struct cc_net_parent *parent = cc_net_parent(net);

	for (size_t i = 0; i < net->allow.count; i++)
		if (cc_host_pattern_is_wide(net->allow.items[i]))
			emit_remark(session, "the host pattern ", net->allow.items[i],
				    " covers every name under a public suffix");
	for (size_t i = 0; i < net->publish.count; i++)
		emit_remark(session, "port ", net->publish.items[i], " inside is published on this host's loopback");
	for (size_t i = 0; i < net->host_ports.count; i++)
		emit_remark(session, "port ", net->host_ports.items[i], " of this host's loopback is reachable inside");
	if (parent)
		emit_remark(session, "everything goes through the parent proxy ", parent->host.text,
			    ": names are judged, the addresses behind them cannot be");
}

enum cc_code cc_session_launch(const struct cc_session_config *config, struct cc_session **out_session,
			       struct cc_err *err)
{
	CC_AUTO(cc_session) session = calloc(1, sizeof(*session));
	enum cc_code code;

	if (!session)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	session->id = cc_str_copy(config->session_id);
	session->backend = config->backend;
	session->sink = config->sink;
	if (!session->id)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	emit_text(session, CC_EVENT_STARTING, cc_backend_name(config->backend->kind));
	code = config->backend->launch(&config->launch, &session->box, err);
	if (code != CC_OK) {
		emit_text(session, CC_EVENT_KILLED, err->what);
		return code;
	}
	session->rules = config->launch.rules ? *config->launch.rules : NULL;
	code = cc_state_move(&session->state, CC_STATE_WARM, err);
	if (code != CC_OK)
		return code;
	emit_text(session, CC_EVENT_READY, cc_backend_name(config->backend->kind));
	if (session->rules && session->rules->net)
		emit_remarks(session, session->rules->net);
	*out_session = cc_session_take(&session);
	return CC_OK;
}

enum cc_code cc_session_exec(struct cc_session *session, const struct cc_box_exec *what, int *out_id,
			     struct cc_err *err)
{
	int id = session->next_exec + 1;
	enum cc_code code;

	if (session->state != CC_STATE_WARM && session->state != CC_STATE_ACTIVE)
		return cc_fail(err, CC_ESTATE, 0, "the session is %s", cc_state_name(session->state));
	if (what->argv->count == 0)
		return cc_fail(err, CC_EINVAL, 0, "no command was given");
	code = session->backend->exec(session->box, id, what, err);
	if (code != CC_OK)
		return code;
	session->next_exec = id;
	session->running++;
	if (session->state == CC_STATE_WARM)
		session->state = CC_STATE_ACTIVE;
	*out_id = id;
	return CC_OK;
}

enum cc_code cc_session_signal(struct cc_session *session, int id, int signal, struct cc_err *err)
{
	if (!session->box)
		return cc_fail(err, CC_ESTATE, 0, "the session is %s", cc_state_name(session->state));
	return session->backend->signal(session->box, id, signal, err);
}

enum cc_code cc_session_suspend(struct cc_session *session, struct cc_err *err)
{
	if (!cc_state_may(session->state, CC_STATE_SUSPENDED))
		return cc_fail(err, CC_ESTATE, 0, "a session that is %s cannot be suspended",
			       cc_state_name(session->state));
	return session->backend->tell(session->box, "freeze", err);
}

enum cc_code cc_session_resume(struct cc_session *session, struct cc_err *err)
{
	if (session->state != CC_STATE_SUSPENDED)
		return cc_fail(err, CC_ESTATE, 0, "a session that is %s cannot be resumed",
			       cc_state_name(session->state));
	return session->backend->tell(session->box, "thaw", err);
}

enum cc_code cc_session_fetch(struct cc_session *session, int id, const char *message, const char *path,
			      struct cc_err *err)
{
	if (session->state != CC_STATE_WARM && session->state != CC_STATE_ACTIVE)
		return cc_fail(err, CC_ESTATE, 0, "the session is %s", cc_state_name(session->state));
	return session->backend->fetch(session->box, id, message, path, err);
}

enum cc_code cc_session_update(struct cc_session *session, const struct cc_rules *rules, struct cc_err *err)
{
	enum cc_code code;

	if (!session->box || !session->backend->update)
		return cc_fail(err, CC_EUNSUPPORTED, 0, "this session's network rules cannot be replaced");
	code = session->backend->update(session->box, rules, session->generation + 1, err);
	session->generation += code == CC_OK;
	return code;
}

size_t cc_session_watch(const struct cc_session *session, int fds[CC_BOX_WATCH])
{
	return session->box && session->state != CC_STATE_ERROR ? session->backend->watch(session->box, fds) : 0;
}

/* Why a rule stands there: the enforcer's own words where it has any ("raw" is then a clause, not a call), else the
 * rule's. */
static const char *reason_of(const struct cc_session *session, const struct cc_json *root)
{
	const char *said = cc_json_str(root, "reason", NULL);
	const char *raw = cc_json_str(root, "raw", "");
	const char *id = cc_json_str(root, "rule", NULL);

	if (said)
		return said;
	if (strchr(raw, ' '))
		return raw;
	for (size_t i = 0; id && session->rules && i < session->rules->rule_count; i++)
		if (strcmp(session->rules->rules[i].id, id) == 0)
			return session->rules->rules[i].reason;
	return NULL;
}

/* The gate's and the proxy's messages carry the same field names as the event. */
static void emit_enforcer(struct cc_session *session, enum cc_event_type type, const struct cc_note *note)
{
	const struct cc_json *root = cc_json_root(note->doc);
	struct cc_event event = {.type = type};

	event.violation = (struct cc_violation){
		.action = cc_json_str(root, "action", "file-write-data"),
		.target = cc_json_str(root, "target", NULL),
		.raw = cc_json_str(root, "raw", NULL),
		.spelled = cc_json_str(root, "spelled", NULL),
		.rule = cc_json_str(root, "rule", NULL),
		.grant = cc_json_str(root, "grant", NULL),
		.process = cc_json_str(root, "process", NULL),
		.reason = reason_of(session, root),
		.pid = cc_json_int(root, "pid", 0),
		.count = cc_json_int(root, "count", 1),
	};
	cc_session_emit(session, &event);
}

static void emit_dropped(struct cc_session *session, int64_t count)
{
	struct cc_event event = {.type = CC_EVENT_NOTICE};
	char text[80];

	if (count <= 0)
		return;
	snprintf(text, sizeof(text), "%lld more refusals of the network, not told one by one", (long long)count);
	event.content = cc_view_of(text);
	cc_session_emit(session, &event);
}

/* A question for a name has no port. */
static void add_target(const struct cc_json *root, struct cc_buf *out)
{
	cc_buf_adds(out, cc_json_str(root, "host", "?"));
	if (cc_json_int(root, "port", 0))
		cc_buf_addf(out, ":%lld", (long long)cc_json_int(root, "port", 0));
}

static void emit_net(struct cc_session *session, const struct cc_note *note)
{
	const struct cc_json *root = cc_json_root(note->doc);
	bool denied = strcmp(cc_json_str(root, "verdict", "deny"), "allow") != 0;
	struct cc_buf target;
	struct cc_event event = {.type = denied ? CC_EVENT_VIOLATION : CC_EVENT_NOTICE};

	cc_buf_init(&target, 1024);
	add_target(root, &target);
	event.net.generation = cc_json_int(root, "generation", 0);
	event.violation = (struct cc_violation){
		.action = strcmp(cc_json_str(root, "proto", ""), "publish") ? "network-outbound" : "network-bind",
		.target = target.data,
		.raw = cc_json_str(root, "address", NULL),
		.rule = cc_json_str(root, "entry", NULL),
		.grant = cc_json_str(root, "grant", NULL),
		.process = cc_json_str(root, "proto", NULL),
		.reason = cc_json_str(root, "reason", NULL),
		.count = cc_json_int(root, "count", 1),
	};
	cc_session_emit(session, &event);
	cc_buf_done(&target);
	emit_dropped(session, cc_json_int(root, "dropped", 0));
}

static void emit_closed(struct cc_session *session, const struct cc_note *note)
{
	const struct cc_json *root = cc_json_root(note->doc);
	struct cc_buf text;
	struct cc_buf target;
	struct cc_event event = {.type = CC_EVENT_NOTICE};

	cc_buf_init(&text, 1024);
	cc_buf_init(&target, 512);
	add_target(root, &target);
	event.net = (struct cc_event_net){.closed = target.data,
					  .proto = cc_json_str(root, "proto", NULL),
					  .generation = cc_json_int(root, "generation", 0),
					  .up = cc_json_int(root, "up", 0),
					  .down = cc_json_int(root, "down", 0),
					  .ms = cc_json_int(root, "ms", 0),
					  .ech = cc_json_bool(root, "ech", false)};
	cc_buf_addf(&text, "closed %s up %lld down %lld ms %lld", target.data, (long long)event.net.up,
		    (long long)event.net.down, (long long)event.net.ms);
	event.content = cc_buf_view(&text);
	cc_session_emit(session, &event);
	emit_dropped(session, cc_json_int(root, "dropped", 0));
	cc_buf_done(&text);
	cc_buf_done(&target);
}

/* In force, or not understood and the last ones go on. */
static void emit_policy(struct cc_session *session, const struct cc_note *note)
{
	struct cc_buf text;
	struct cc_event event = {.type = CC_EVENT_NOTICE};

	cc_buf_init(&text, 2048);
	if (note->text)
		cc_buf_addf(&text, "new network rules were not taken, the last ones stay in force: %s", note->text);
	else
		cc_buf_adds(&text, "new network rules are in force");
	event.net.generation = cc_json_int(cc_json_root(note->doc), "generation", 0);
	event.content = cc_buf_view(&text);
	cc_session_emit(session, &event);
	cc_buf_done(&text);
}

static void end_exec(struct cc_session *session)
{
	if (session->running > 0 && --session->running == 0 && session->state == CC_STATE_ACTIVE)
		session->state = CC_STATE_WARM;
}

static void lose(struct cc_session *session, const struct cc_note *note)
{
	cc_fail(&session->error, CC_EPROTO, 0, "%s", note->text ? note->text : "a helper ended");
	session->state = CC_STATE_ERROR;
	if (!session->ending)
		emit_text(session, CC_EVENT_KILLED, session->error.what);
}

static void take_note(struct cc_session *session, struct cc_note *note)
{
	switch (note->kind) {
	case CC_NOTE_VIOLATION:
		emit_enforcer(session, CC_EVENT_VIOLATION, note);
		return;
	case CC_NOTE_NOTICE:
		emit_enforcer(session, CC_EVENT_NOTICE, note);
		return;
	case CC_NOTE_NET:
		emit_net(session, note);
		return;
	case CC_NOTE_CLOSED:
		emit_closed(session, note);
		return;
	case CC_NOTE_POLICY:
		emit_policy(session, note);
		return;
	case CC_NOTE_PASSED:
		emit_dropped(session, cc_json_int(cc_json_root(note->doc), "dropped", 0));
		return;
	case CC_NOTE_FROZEN:
		session->state = CC_STATE_SUSPENDED;
		break;
	case CC_NOTE_THAWED:
		session->state = session->running ? CC_STATE_ACTIVE : CC_STATE_WARM;
		break;
	case CC_NOTE_EXIT:
	case CC_NOTE_REFUSED:
		end_exec(session);
		break;
	case CC_NOTE_LOST:
		lose(session, note);
		if (session->ending)
			return;
		break;
	default:
		break;
	}
	if (session->sink.note)
		session->sink.note(session->sink.context, note);
}

enum cc_code cc_session_step(struct cc_session *session, int fd, struct cc_err *err)
{
	for (;;) {
		struct cc_note note = {.fd = -1};
		enum cc_code code = session->backend->next(session->box, fd, &note, err);
		bool more = code == CC_OK && note.kind != CC_NOTE_NONE && note.kind != CC_NOTE_LOST;

		if (code == CC_OK && note.kind != CC_NOTE_NONE)
			take_note(session, &note);
		cc_note_done(&note);
		if (!more)
			return code;
	}
}

enum cc_state cc_session_state(const struct cc_session *session)
{
	return session->state;
}

enum cc_backend_kind cc_session_backend(const struct cc_session *session)
{
	return session->box ? session->box->backend->kind : CC_BACKEND_UNSET;
}

const char *cc_session_error(const struct cc_session *session)
{
	return session->error.what;
}

/* Counters that the gate still holds come as last violations before it goes. */
static void say_goodbye(struct cc_session *session)
{
	int64_t deadline = cc_clock_ms() + GOODBYE_MS;
	struct cc_err err;

	session->ending = true;
	if (session->backend->tell(session->box, "end", &err) != CC_OK)
		return;
	while (session->state != CC_STATE_ERROR) {
		struct pollfd entries[CC_BOX_WATCH];
		int fds[CC_BOX_WATCH];
		size_t count = cc_session_watch(session, fds);
		int64_t left = deadline - cc_clock_ms();

		for (size_t i = 0; i < count; i++)
			entries[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		if (left <= 0 || poll(entries, count, (int)left) <= 0)
			return;
		for (size_t i = 0; i < count && session->state != CC_STATE_ERROR; i++)
			if (entries[i].revents && cc_session_step(session, fds[i], &err) != CC_OK)
				return;
	}
}

/* What the helper that ends second still has to tell: until it has closed its end. */
static void hear_last(struct cc_session *session)
{
	struct pollfd entry = {.fd = session->backend->last(session->box), .events = POLLIN};
	int64_t deadline = cc_clock_ms() + GOODBYE_MS;
	struct cc_err err;

	session->ending = true;
	while (entry.fd >= 0) {
		int64_t left = deadline - cc_clock_ms();

		if (left <= 0 || poll(&entry, 1, (int)left) <= 0 || cc_session_step(session, entry.fd, &err) != CC_OK ||
		    entry.revents & (POLLHUP | POLLERR))
			return;
	}
}

void cc_session_end(struct cc_session *session)
{
	if (session->box && session->backend->says_goodbye && session->state != CC_STATE_ERROR)
		say_goodbye(session);
	if (session->box && session->backend->last)
		hear_last(session);
	if (session->box)
		session->backend->end(session->box);
	session->box = NULL;
	session->state = CC_STATE_DESTROYED;
}

void cc_session_free(struct cc_session *session)
{
	if (!session)
		return;
	cc_session_end(session);
	free(session->id);
	free(session);
}
