#define _GNU_SOURCE
#include "owner/owner.h"

#include "os/clock.h"
#include "os/fd.h"
#include "os/peer.h"
#include "os/proc.h"
#include "wire/msg.h"
#include "wire/ownermsg.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A daemon that is gone is found at the next poll. */
static void tell(struct cc_owner *owner, struct cc_buf *text, const int *fds, size_t count)
{
	struct cc_err err;

	if (!text->failed && text->data && cc_peer_send(owner->link, text->data, text->len, fds, count, &err) != CC_OK)
		owner->over = true;
	cc_buf_done(text);
}

static void tell_state(struct cc_owner *owner)
{
	enum cc_state now = cc_session_state(owner->session);
	struct cc_buf text;
	struct cc_jsonw w;

	if (now == owner->told)
		return;
	owner->told = now;
	cc_jsonw_message(&w, &text, CC_PEER_MAX, "state");
	cc_jsonw_kstr(&w, "state", cc_state_name(now));
	if (now == CC_STATE_ERROR)
		cc_jsonw_kstr(&w, "text", cc_session_error(owner->session));
	cc_jsonw_end(&w);
	tell(owner, &text, NULL, 0);
}

static void tell_failure(struct cc_owner *owner, const char *name, const char *what, const struct cc_err *why)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, name);
	if (what)
		cc_jsonw_kstr(&w, "what", what);
	cc_jsonw_kint(&w, "code", why->code);
	cc_jsonw_kstr(&w, "text", why->what);
	cc_jsonw_end(&w);
	tell(owner, &text, NULL, 0);
}

static void on_event(void *context, const struct cc_event *event)
{
	struct cc_owner *owner = context;
	struct cc_buf line, text;

	cc_buf_init(&line, CC_PEER_MAX - 64);
	cc_buf_init(&text, CC_PEER_MAX);
	cc_event_write(event, &line);
	/* a message has a bound and an event's strings have larger ones: that it happened is told in any case */
	if (line.failed) {
		struct cc_event shorter = {
			.type = event->type, .exec = event->exec, .content = cc_view_of("too long to tell")};

		cc_buf_reset(&line);
		line.failed = false;
		cc_event_write(&shorter, &line);
	}
	cc_buf_addf(&text, "{\"m\":\"event\",\"e\":%.*s}", (int)(line.len ? line.len - 1 : 0), line.data);
	cc_buf_done(&line);
	tell(owner, &text, NULL, 0);
}

static int theirs(const struct cc_owner *owner, int ours)
{
	for (size_t i = 0; i < CC_OWNER_RUNS; i++)
		if (owner->runs[i].theirs && owner->runs[i].ours == ours)
			return owner->runs[i].theirs;
	return 0;
}

static int ours(const struct cc_owner *owner, int their_id)
{
	for (size_t i = 0; i < CC_OWNER_RUNS; i++)
		if (their_id && owner->runs[i].theirs == their_id)
			return owner->runs[i].ours;
	return 0;
}

static void forget(struct cc_owner *owner, int our_id)
{
	for (size_t i = 0; i < CC_OWNER_RUNS; i++)
		if (owner->runs[i].ours == our_id)
			owner->runs[i].theirs = owner->runs[i].ours = 0;
}

/* The kernel has killed something for the session's limit: told once, with the command that it was, where one ended. */
static void tell_out_of_memory(struct cc_owner *owner, const struct cc_note *note)
{
	struct cc_event event;

	if (cc_held_out_of_memory(&owner->held, theirs(owner, note->id), &event))
		cc_session_emit(owner->session, &event);
}

static void tell_gateway(struct cc_owner *owner, const struct cc_note *note)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, "gateway");
	cc_jsonw_end(&w);
	if (note->fd >= 0)
		tell(owner, &text, &note->fd, 1);
	else
		cc_buf_done(&text);
}

static const struct {
	enum cc_note_kind kind;
	const char *name;
	bool last;
} run_notes[] = {
	{CC_NOTE_STARTED, "started", false},
	{CC_NOTE_REFUSED, "refused", true},
	{CC_NOTE_EXIT, "exit", true},
};

static void on_note(void *context, struct cc_note *note)
{
	struct cc_owner *owner = context;
	enum cc_state now = owner->session ? cc_session_state(owner->session) : owner->told;
	struct cc_buf text;
	struct cc_jsonw w;

	if (note->kind == CC_NOTE_EXIT || note->kind == CC_NOTE_LOST)
		tell_out_of_memory(owner, note);
	for (size_t i = 0; i < CC_COUNT(run_notes); i++) {
		if (run_notes[i].kind != note->kind)
			continue;
		cc_jsonw_message(&w, &text, CC_PEER_MAX, run_notes[i].name);
		/* in one: who hears of the end of a command may ask for the state */
		if (now != owner->told && now != CC_STATE_ERROR) {
			owner->told = now;
			cc_jsonw_kstr(&w, "state", cc_state_name(now));
		}
		cc_jsonw_kint(&w, "id", theirs(owner, note->id));
		cc_jsonw_kint(&w, "code", note->code);
		cc_jsonw_kint(&w, "signal", note->signal);
		cc_jsonw_kint(&w, "errno", note->sys);
		cc_jsonw_kstr(&w, "text", note->text ? note->text : "");
		cc_jsonw_end(&w);
		tell(owner, &text, &note->fd, note->fd >= 0);
		if (run_notes[i].last)
			forget(owner, note->id);
	}
	if (note->kind == CC_NOTE_GATEWAY)
		tell_gateway(owner, note);
	if (note->kind == CC_NOTE_LOST)
		owner->over = true;
}

static enum cc_code hold(struct cc_owner *owner, struct cc_err *err)
{
	char name[64];
	struct cc_held_ask ask = {.name = name,
				  .limits = owner->limits,
				  .backend = owner->prepared.backend->kind,
				  .remedy = "no control group was delegated to this server (its systemd unit has "
					    "Delegate=yes)"};

	snprintf(name, sizeof(name), CC_OWNER_GROUP "%d-%d", (int)getppid(), (int)getpid());
	return cc_held_begin(&owner->held, &ask, err);
}

static enum cc_code launch(struct cc_owner *owner, const struct cc_peer_msg *msg, struct cc_err *err)
{
	struct cc_session_config config = {.sink = {owner, on_event, on_note}};
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, CC_OWNER_LAUNCH_MAX);
	code = msg->fd_count == 1 ? cc_fd_read_all(msg->fds[0], &text, err)
				  : cc_fail(err, CC_EPROTO, 0, "a launch without its document");
	if (code == CC_OK)
		code = cc_owner_prepare(owner, cc_buf_view(&text), err);
	cc_buf_done(&text);
	if (code == CC_OK)
		code = hold(owner, err);
	if (code == CC_OK)
		code = cc_prepare_launch(&owner->prepared, &config.launch, err);
	if (code != CC_OK)
		return code;
#ifdef CC_TWIN
	/* one daemon for all steps: the session's name says which one is to fail */
	if (strncmp(owner->ask.spec.session_id, "fail-", 5) == 0)
		config.launch.fail_at = owner->ask.spec.session_id + 5;
	config.launch.off = cc_env_get(owner->env, "CCBOX_TWIN_OFF");
#endif
	config.launch.pids = cc_held_launch_pids(&owner->held);
	config.session_id = owner->ask.spec.session_id;
	config.backend = owner->prepared.backend;
	code = cc_session_launch(&config, &owner->session, err);
	if (code == CC_OK) /* whole only now: what git has said is in the plan */
		code = cc_owner_environment(owner, err);
	if (code == CC_OK)
		code = cc_held_started(&owner->held, err);
	if (code == CC_OK && owner->limits.wall)
		owner->deadline = cc_clock_ms() + owner->limits.wall * 1000;
	return code;
}

static void tell_up(struct cc_owner *owner)
{
	struct cc_buf text;
	struct cc_jsonw w;

	owner->told = cc_session_state(owner->session);
	cc_jsonw_message(&w, &text, CC_PEER_MAX, "up");
	cc_jsonw_kstr(&w, "backend", cc_backend_name(owner->prepared.backend->kind));
	cc_jsonw_kstr(&w, "workdir", owner->prepared.workdir);
	cc_held_write(&owner->held, &w);
	cc_owner_write_environment(owner, &w);
	cc_jsonw_end(&w);
	tell(owner, &text, NULL, 0);
}

static enum cc_code start_command(struct cc_owner *owner, const struct cc_json *m, struct cc_peer_msg *msg,
				  const struct cc_exec_request_doc *wanted, struct cc_err *err)
{
	struct cc_strv argv = {0}, env = {0};
	struct cc_box_exec exec = {
		.argv = &argv,
		.env = &env,
		.cwd = wanted->workdir ? wanted->workdir : owner->prepared.workdir,
		.pty = cc_json_bool(m, "pty", false),
		.size = {(unsigned short)cc_json_int(m, "rows", 24), (unsigned short)cc_json_int(m, "cols", 80)}};
	size_t slot = 0;
	enum cc_code code = cc_lend_argv(&owner->prepared.lend, &wanted->argv, &argv, err);

	while (slot < CC_OWNER_RUNS && owner->runs[slot].theirs)
		slot++;
	if (code == CC_OK && slot == CC_OWNER_RUNS)
		code = cc_fail(err, CC_ELIMIT, 0, "at most %d commands at once", CC_OWNER_RUNS);
	if (code == CC_OK)
		code = cc_strv_copy(&env, &owner->env_base, err);
	for (size_t i = 0; code == CC_OK && i < wanted->env.count; i++)
		code = cc_strv_set_env(&env, wanted->env.items[i], err);
	for (int i = 0; i < 3; i++)
		exec.stdio[i] = exec.pty ? -1 : msg->fds[msg->fd_count - 3 + (size_t)i];
	if (code == CC_OK)
		code = cc_session_exec(owner->session, &exec, &owner->runs[slot].ours, err);
	if (code == CC_OK)
		owner->runs[slot].theirs = (int)cc_json_int(m, "id", 0);
	cc_strv_done(&argv);
	cc_strv_done(&env);
	return code;
}

/* The body is in the message, or, a long one, in a file beside it. */
static enum cc_code read_exec(const struct cc_json *m, struct cc_peer_msg *msg, struct cc_exec_request_doc *out,
			      struct cc_err *err)
{
	const struct cc_json *body = cc_json_get(m, "body");
	size_t pipes = cc_json_bool(m, "pty", false) ? 0 : 3;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_buf text;
	enum cc_code code;

	if (msg->fd_count != pipes + !body)
		return cc_fail(err, CC_EPROTO, 0, "a command with the wrong descriptors");
	if (body)
		return cc_exec_request_read(body, out, err);
	cc_buf_init(&text, CC_REQUEST_MAX);
	code = cc_fd_read_all(msg->fds[0], &text, err);
	if (code == CC_OK)
		code = cc_json_parse("body", cc_buf_view(&text), 0, &doc, err);
	if (code == CC_OK)
		code = cc_exec_request_read(cc_json_root(doc), out, err);
	cc_buf_done(&text);
	return code;
}

static void on_exec(struct cc_owner *owner, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_exec_request_doc wanted;
	struct cc_err err = {0};
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_exec_request_init(&wanted);
	code = read_exec(m, msg, &wanted, &err);
	if (code == CC_OK)
		code = start_command(owner, m, msg, &wanted, &err);
	cc_exec_request_done(&wanted);
	if (code == CC_OK)
		return; /* that it runs, and the state, is told with "started" */
	tell_state(owner);
	cc_jsonw_message(&w, &text, CC_PEER_MAX, "refused");
	cc_jsonw_kint(&w, "id", cc_json_int(m, "id", 0));
	cc_jsonw_kint(&w, "errno", err.sys ? err.sys : EIO);
	cc_jsonw_kstr(&w, "text", err.what);
	cc_jsonw_end(&w);
	tell(owner, &text, NULL, 0);
}

static void on_signal(struct cc_owner *owner, const struct cc_json *m, struct cc_peer_msg *msg)
{
	int id = ours(owner, (int)cc_json_int(m, "id", 0));
	struct cc_err err;

	(void)msg;
	if (id && cc_session_signal(owner->session, id, (int)cc_json_int(m, "signal", 0), &err) != CC_OK)
		tell_failure(owner, "denied", "signal", &err);
}

static void on_suspend(struct cc_owner *owner, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_err err;

	(void)m, (void)msg;
	if (cc_session_suspend(owner->session, &err) != CC_OK)
		tell_failure(owner, "denied", "suspend", &err);
}

static void on_resume(struct cc_owner *owner, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_err err;

	(void)m, (void)msg;
	if (cc_session_resume(owner->session, &err) != CC_OK)
		tell_failure(owner, "denied", "resume", &err);
}

static void on_end(struct cc_owner *owner, const struct cc_json *m, struct cc_peer_msg *msg)
{
	(void)m, (void)msg;
	owner->over = true;
}

static const struct {
	const char *name;
	void (*handle)(struct cc_owner *owner, const struct cc_json *m, struct cc_peer_msg *msg);
} messages[] = {
	{"exec", on_exec}, {"signal", on_signal}, {"suspend", on_suspend}, {"resume", on_resume}, {"end", on_end},
};

static void on_link(struct cc_owner *owner)
{
	static struct cc_peer_msg msg;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;

	if (cc_peer_recv(owner->link, &msg, &err) != CC_OK || msg.len == 0 ||
	    cc_json_parse("daemon", (struct cc_view){msg.text, msg.len}, 0, &doc, &err) != CC_OK) {
		owner->over = true; /* the daemon is gone: so is the session */
		cc_peer_msg_close(&msg);
		return;
	}
	for (size_t i = 0; i < CC_COUNT(messages); i++)
		if (strcmp(messages[i].name, cc_json_str(cc_json_root(doc), "m", "")) == 0)
			messages[i].handle(owner, cc_json_root(doc), &msg);
	cc_peer_msg_close(&msg);
}

/* It ends by itself, for a reason that an event has told: the daemon is not to take it for lost. */
static void tell_end(struct cc_owner *owner)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, "state");
	cc_jsonw_kstr(&w, "state", cc_state_name(CC_STATE_DESTROYED));
	cc_jsonw_end(&w);
	tell(owner, &text, NULL, 0);
	owner->over = true;
}

static void check_deadline(struct cc_owner *owner)
{
	struct cc_event event = {.type = CC_EVENT_KILLED, .content = cc_view_of("time limit of the session")};

	if (!owner->deadline || cc_clock_ms() < owner->deadline || owner->over)
		return;
	cc_session_emit(owner->session, &event);
	tell_end(owner);
}

static void serve(struct cc_owner *owner)
{
	while (!owner->over) {
		struct pollfd set[1 + CC_BOX_WATCH] = {{.fd = owner->link, .events = POLLIN}};
		int fds[CC_BOX_WATCH];
		size_t count = cc_session_watch(owner->session, fds);
		int64_t left = owner->deadline ? owner->deadline - cc_clock_ms() : -1;
		struct cc_err err;

		for (size_t i = 0; i < count; i++)
			set[1 + i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		if (poll(set, 1 + count,
			 owner->deadline && left < 0 ? 0
			 : left > INT32_MAX          ? INT32_MAX
						     : (int)left) < 0 &&
		    errno != EINTR)
			return;
		for (size_t i = 0; i < count; i++)
			if (set[1 + i].revents && cc_session_step(owner->session, fds[i], &err) != CC_OK)
				owner->over = true;
		tell_state(owner);
		if (set[0].revents)
			on_link(owner);
		check_deadline(owner);
	}
}

int cc_owner_main(int link, char *const *env)
{
	static struct cc_owner owner;
	static struct cc_peer_msg msg;
	struct cc_err err = {0};
	enum cc_code code;

	signal(SIGPIPE, SIG_IGN);
	/* A service manager tells every process of the service to go; the session goes when the daemon says so, or is
	 * gone. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	cc_proc_adopt();
	owner.link = link;
	owner.env = env;
	cc_ask_run_init(&owner.ask);
	if (cc_peer_recv(link, &msg, &err) != CC_OK || msg.len == 0)
		return CC_EXIT_NOT_ESTABLISHED;
	code = launch(&owner, &msg, &err);
	cc_peer_msg_close(&msg);
	if (code == CC_OK) {
		tell_up(&owner);
		serve(&owner);
	} else {
		tell_failure(&owner, "failed", NULL, &err);
	}
	cc_session_free(owner.session);
	cc_proc_end_all();
	cc_held_end(&owner.held);
	cc_strv_done(&owner.env_base);
	cc_prepared_done(&owner.prepared);
	cc_ask_run_done(&owner.ask);
	return code == CC_OK ? 0 : CC_EXIT_NOT_ESTABLISHED;
}
