/* link.c - the socket to one owner: what is said over it and what is heard. */
#define _GNU_SOURCE
#include "live/inside.h"

#include "os/fd.h"
#include "group/group.h"
#include "wire/json.h"
#include "wire/ownermsg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURN_MESSAGES = 16 };

enum cc_code cc_link_say(struct cc_live *live, const char *text, const int *fds, size_t count, struct cc_err *err)
{
	if (live->link < 0)
		return cc_fail(err, CC_ESTATE, 0, "the session is %s", cc_state_name(live->state));
	return cc_peer_send(live->link, text, strlen(text), fds, count, err);
}

static void on_poll_closed(uv_handle_t *handle)
{
	cc_live_release(handle->data);
}

void cc_link_close(struct cc_live *live)
{
	char group[64];
	pid_t pid;

	if (live->link < 0)
		return;
	/* While the number is still its own: see close_pipe. The session stays until the loop has given the handle
	 * back. */
	if (live->polled) {
		live->polled = false;
		cc_live_hold(live);
		uv_close((uv_handle_t *)&live->poll, on_poll_closed);
	}
	cc_fd_close(&live->link);
	pid = live->owner.pid;
	/* With its socket closed it ends by itself; when the socket was closed from its side it already has. */
	cc_proc_end(&live->owner);
	if (!live->limits || pid <= 0)
		return;
	snprintf(group, sizeof(group), CC_OWNER_GROUP "%d-%d", (int)getpid(), (int)pid);
	cc_group_sweep(group, NULL); /* it is gone already, unless the owner was killed */
}

/* A part of what the owner says, kept as it is; NULL: it says nothing. */
static char *keep(const struct cc_json *part)
{
	struct cc_buf text;
	struct cc_jsonw w;

	if (!part || part->count == 0)
		return NULL;
	cc_buf_init(&text, 32 << 10);
	cc_jsonw_init(&w, &text);
	cc_jsonw_copy(&w, part);
	return text.data;
}

static void on_up(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	(void)msg;
	live->launched = true;
	live->roster->starting--;
	/* What was applied, never what was asked for. */
	live->backend = cc_backend_from_name(cc_json_str(m, "backend", NULL));
	live->workdir = cc_str_copy(cc_json_str(m, "workdir", NULL));
	live->limits = keep(cc_json_get(m, "limits"));
	live->environment = cc_str_copy(cc_json_str(m, "environment", NULL));
	live->dropped = keep(cc_json_get(m, "dropped"));
	cc_live_move(live, CC_STATE_WARM);
	cc_roster_start_next(live->roster);
}

static void on_failed(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	(void)msg;
	live->error.code = (enum cc_code)cc_json_int(m, "code", CC_EPROTO);
	snprintf(live->error.what, sizeof(live->error.what), "%s", cc_json_str(m, "text", "the launch failed"));
}

static void on_state(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	const char *name = cc_json_str(m, "state", "");

	(void)msg;
	if (strcmp(name, cc_state_name(CC_STATE_DESTROYED)) == 0) { /* it ends by itself, and has said why */
		live->ending = true;
		return;
	}
	if (strcmp(name, cc_state_name(CC_STATE_ERROR)) == 0)
		cc_fail(&live->error, CC_EPROTO, 0, "%s", cc_json_str(m, "text", "the session was lost"));
	for (int state = 0; state < CC_STATE_COUNT; state++)
		if (strcmp(cc_state_name((enum cc_state)state), name) == 0)
			cc_live_move(live, (enum cc_state)state);
}

static void on_event(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_event event;

	(void)msg;
	if (cc_event_read(cc_json_get(m, "e"), &event, NULL) == CC_OK)
		cc_live_emit(live, &event);
}

static void on_started(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_command *command = cc_command_find(live, (int)cc_json_int(m, "id", 0));

	if (command)
		cc_command_on_started(command, &msg->fds[0]);
}

static void on_exit_of(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_command *command = cc_command_find(live, (int)cc_json_int(m, "id", 0));
	int signal = (int)cc_json_int(m, "signal", 0);

	(void)msg;
	if (command)
		cc_command_on_exit(command, signal ? 128 + signal : (int)cc_json_int(m, "code", 0));
}

static void on_refused(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_command *command = cc_command_find(live, (int)cc_json_int(m, "id", 0));

	(void)msg;
	if (command)
		cc_command_on_refused(command, (int)cc_json_int(m, "errno", 0), cc_json_str(m, "text", ""));
}

static void on_gateway(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg)
{
	const struct cc_roster_config *config = &live->roster->config;

	(void)m;
	if (config->gateway && msg->fds[0] >= 0)
		config->gateway(config->context, live, &msg->fds[0]);
}

static const struct {
	const char *name;
	void (*handle)(struct cc_live *live, const struct cc_json *m, struct cc_peer_msg *msg);
} messages[] = {
	{"up", on_up},           {"failed", on_failed}, {"state", on_state},     {"event", on_event},
	{"started", on_started}, {"exit", on_exit_of},  {"refused", on_refused}, {"gateway", on_gateway},
};

/* false: the owner is gone, or talks nonsense. */
static bool hear(struct cc_live *live, bool *out_empty)
{
	static struct cc_peer_msg msg;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	enum cc_code code = cc_peer_recv(live->link, &msg, &err);

	*out_empty = code == CC_ETIMEOUT;
	if (*out_empty)
		return true;
	if (code != CC_OK || msg.len == 0)
		return false;
	if (msg.fd_count == 0)
		msg.fds[0] = -1;
	code = cc_json_parse("owner", (struct cc_view){msg.text, msg.len}, 0, &doc, &err);
	if (code == CC_OK && strcmp(cc_json_str(cc_json_root(doc), "m", ""), "state") != 0 &&
	    cc_json_get(cc_json_root(doc), "state"))
		on_state(live, cc_json_root(doc), &msg);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(messages); i++)
		if (strcmp(messages[i].name, cc_json_str(cc_json_root(doc), "m", "")) == 0)
			messages[i].handle(live, cc_json_root(doc), &msg);
	cc_peer_msg_close(&msg);
	return code == CC_OK;
}

static void on_link(uv_poll_t *poll, int status, int events)
{
	struct cc_live *live = poll->data;
	bool there = status == 0, empty = false;

	(void)events;
	cc_live_hold(live);
	/* one message a turn would be slow, all there are would let one session starve the others */
	for (int i = 0; there && !empty && i < TURN_MESSAGES && live->link >= 0; i++)
		there = hear(live, &empty);
	if (!there)
		cc_live_lost(live, "the owner of the session ended");
	cc_live_release(live);
}

enum cc_code cc_roster_env(char *const *env, struct cc_strv *out, struct cc_err *err)
{
	static const char *const private[] = {"LISTEN_", "NOTIFY_SOCKET=", "WATCHDOG_", "CC_SERVER_"};
	enum cc_code code = CC_OK;

	for (char *const *at = env; code == CC_OK && at && *at; at++) {
		bool skip = false;

		for (size_t i = 0; i < CC_COUNT(private); i++)
			skip |= strncmp(*at, private[i], strlen(private[i])) == 0;
		if (!skip)
			code = cc_strv_push(out, *at, err);
	}
	return code;
}

enum cc_code cc_roster_spawn(const char *path, char *const *env, unsigned long files, int their_end,
			     struct cc_child *out_child, struct cc_err *err)
{
	char fd_text[16], files_text[24];
	char *argv[] = {(char *)(size_t)path, fd_text, files_text, NULL};
	struct cc_strv own = {0};
	struct cc_spawn how = {.argv = argv,
			       .stdio = {-1, STDERR_FILENO, STDERR_FILENO},
			       .cwd = "/",
			       .new_session = true,
			       .keep = {their_end},
			       .keep_count = 1};
	enum cc_code code = cc_roster_env(env, &own, err);

	snprintf(fd_text, sizeof(fd_text), "%d", their_end);
	snprintf(files_text, sizeof(files_text), "%lu", files);
	how.envp = own.items;
	if (code == CC_OK)
		code = cc_proc_spawn(&how, out_child, err);
	cc_strv_done(&own);
	return code;
}

enum cc_code cc_link_start(struct cc_live *live, struct cc_err *err)
{
	CC_AUTO_FD theirs = -1;
	CC_AUTO_FD document = -1;
	enum cc_code code = cc_fd_memfile("ccbox-launch", live->launch, live->launch_len, &document, err);

	free(live->launch);
	live->launch = NULL;
	if (code == CC_OK)
		code = cc_peer_pair(&live->link, &theirs, err);
	if (code != CC_OK)
		return code;
	live->roster->starting++;
	code = cc_roster_spawn(live->roster->config.owner_path, live->roster->config.env, live->roster->config.files,
			       theirs, &live->owner, err);
	if (code == CC_OK)
		code = cc_link_say(live, "{\"m\":\"launch\"}", &document, 1, err);
	live->poll.data = live;
	if (code == CC_OK && (!cc_fd_set_nonblock(live->link, true) ||
			      uv_poll_init(live->roster->config.loop, &live->poll, live->link) != 0))
		code = cc_fail(err, CC_ESYS, errno, "libuv");
	live->polled = code == CC_OK;
	if (code == CC_OK && uv_poll_start(&live->poll, UV_READABLE, on_link) != 0)
		code = cc_fail(err, CC_ESYS, errno, "libuv");
	return code;
}
