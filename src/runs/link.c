/* link.c - the socket to one runner: what is said over it and what is heard. */
#define _GNU_SOURCE
#include "runs/inside.h"

#include "os/fd.h"
#include "wire/runmsg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_MESSAGES = 16 };

enum cc_code cc_runlink_say(struct cc_run *run, const struct cc_buf *text, struct cc_err *err)
{
	enum cc_code code = cc_buf_check(text, "the message", err);

	if (code == CC_OK && (run->link < 0 || run->ended))
		code = cc_fail(err, CC_ESTATE, 0, "the run is over");
	return code == CC_OK ? cc_peer_send(run->link, text->data, text->len, NULL, 0, err) : code;
}

static void keep(char **slot, const char *text)
{
	if (!text)
		return;
	free(*slot);
	*slot = cc_str_copy(text);
}

static void keep_detail(struct cc_run *run, const struct cc_json *detail)
{
	struct cc_buf text;
	struct cc_jsonw w;

	if (!detail || detail->kind != CC_JSON_OBJECT)
		return;
	cc_buf_init(&text, CC_RUN_LINE_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_copy(&w, detail);
	if (!text.failed)
		keep(&run->detail, text.data);
	cc_buf_done(&text);
}

static void tell(struct cc_run *run)
{
	if (run->runs->config.changed)
		run->runs->config.changed(run->runs->config.context, run);
}

static void on_up(struct cc_run *run, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	(void)msg;
	run->state = "running";
	keep(&run->backend, cc_backend_name(cc_backend_from_name(cc_json_str(m, "backend", NULL))));
	keep_detail(run, cc_json_get(m, "e"));
	cc_record_line(run, "event", cc_json_get(m, "e"), false);
	tell(run);
}

static void on_event(struct cc_run *run, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	int64_t asked = cc_json_int(m, "ask", 0), settled = cc_json_int(m, "settled", 0);

	(void)msg;
	for (size_t i = 0; i < CC_RUN_QUESTIONS; i++) {
		if (settled && run->questions[i] == settled)
			run->questions[i] = 0;
		if (asked > 0 && !run->questions[i]) {
			run->questions[i] = asked;
			asked = 0;
		}
	}
	cc_record_line(run, "event", cc_json_get(m, "e"), false);
}

static void on_end(struct cc_run *run, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	(void)msg;
	if (run->ended)
		return;
	run->ended = true;
	run->state = "ended";
	run->code = cc_json_int(m, "code", 125);
	keep(&run->reason, cc_json_str(m, "reason", "finished"));
	keep_detail(run, cc_json_get(m, "e"));
	cc_record_line(run, "end", cc_json_get(m, "e"), true);
}

/* What became of a question to a forge, for the runner. m: the answer; NULL: there is none, and text says why. */
static void tell_forge(struct cc_run *run, int64_t number, const struct cc_json *m, const char *text)
{
	static const char *const but[] = {"m", "id", NULL};
	struct cc_buf message;
	struct cc_jsonw w;
	struct cc_err err;

	cc_jsonw_message(&w, &message, CC_PEER_MAX, "forge");
	cc_jsonw_kint(&w, "id", number);
	cc_jsonw_kstr(&w, "what", cc_json_str(m, "m", "failed"));
	if (!m)
		cc_jsonw_kstr(&w, "text", text);
	cc_jsonw_members(&w, m, but);
	cc_jsonw_end(&w);
	(void)!cc_runlink_say(run, &message, &err); /* one that is over does not wait for it */
	cc_buf_done(&message);
}

static void on_forge_answer(void *context, int64_t number, const struct cc_json *m)
{
	tell_forge(context, number, m, "the server's helper for forges has ended");
}

/* A runner reads what agents write: it names its repositories once, before its agent is there, and nothing else later.
 */
static enum cc_code check_forge(struct cc_run *run, const char *what, const struct cc_json *m, struct cc_err *err)
{
	const struct cc_json *repos = cc_json_get(m, "repos");
	enum cc_code code = CC_OK;

	if (strcmp(what, "mint") != 0)
		return cc_strv_has(&run->repos, cc_json_str(m, "repo", "")) &&
				       (strcmp(what, "advertise") == 0 || strcmp(what, "receive") == 0)
			       ? CC_OK
			       : cc_fail(err, CC_EPOLICY, 0, "that is not a repository of this run");
	if (run->repos.count || strcmp(run->state, "starting") != 0 || !repos || repos->count == 0 ||
	    repos->count > CC_RUN_REPOS)
		return cc_fail(err, CC_EPOLICY, 0, "a run names 1 to %d repositories, once", CC_RUN_REPOS);
	for (const struct cc_json *repo = repos->child; code == CC_OK && repo; repo = repo->next)
		code = cc_strv_push(&run->repos, repo->text.ptr ? repo->text.ptr : "", err);
	return code;
}

static void on_forge(struct cc_run *run, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	struct cc_forges_ask ask = {.what = cc_json_str(m, "what", ""),
				    .run = run->id,
				    .from = m,
				    .fds = msg->fds,
				    .fd_count = msg->fd_count,
				    .number = cc_json_int(m, "id", 0),
				    .answer = on_forge_answer,
				    .context = run};
	struct cc_err err = {0};
	enum cc_code code = check_forge(run, ask.what, m, &err);

	if (code == CC_OK)
		code = cc_forges_put(run->runs->config.forges, &ask, &err);
	if (code != CC_OK)
		tell_forge(run, ask.number, NULL, err.what);
}

static const struct {
	const char *name;
	void (*handle)(struct cc_run *run, const struct cc_json *m, const struct cc_peer_msg *msg);
} messages[] = {{"up", on_up}, {"event", on_event}, {"end", on_end}, {"forge", on_forge}};

/* false: the runner is gone, or talks nonsense. */
static bool hear(struct cc_run *run, bool *out_empty)
{
	static struct cc_peer_msg msg;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	enum cc_code code = cc_peer_recv(run->link, &msg, &err);

	*out_empty = code == CC_ETIMEOUT;
	if (*out_empty)
		return true;
	if (code != CC_OK || msg.len == 0)
		return false;
	code = cc_json_parse("runner", (struct cc_view){msg.text, msg.len}, 0, &doc, &err);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(messages); i++)
		if (strcmp(messages[i].name, cc_json_str(cc_json_root(doc), "m", "")) == 0)
			messages[i].handle(run, cc_json_root(doc), &msg);
	cc_peer_msg_close(&msg);
	return code == CC_OK;
}

static void on_link(uv_poll_t *poll, int status, int events)
{
	struct cc_run *run = poll->data;
	bool there = status == 0, empty = false;

	(void)events;
	for (int i = 0; there && !empty && i < TURN_MESSAGES; i++)
		there = hear(run, &empty);
	if (!there)
		cc_run_over(run);
}

static enum cc_code write_start(const struct cc_run *run, const struct cc_run_ask *ask, struct cc_buf *text,
				struct cc_err *err)
{
	const struct cc_runs_config *config = &run->runs->config;
	static const struct cc_strv none;
	struct cc_jsonw w;

	cc_jsonw_init(&w, text);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "runId", run->id);
	cc_jsonw_kstr(&w, "socket", config->socket);
	cc_jsonw_kstr(&w, "dataDir", config->data_dir);
	if (ask->repo)
		cc_jsonw_kstr(&w, "repo", ask->repo);
	cc_jsonw_kstrv(&w, "forges", cc_forges_hosts(config->forges));
	cc_jsonw_key(&w, "push");
	cc_jsonw_raw(&w, cc_forges_rules(config->forges));
	cc_jsonw_kstr(&w, "pushPath", config->push_path);
	cc_jsonw_kstrv(&w, "protect", ask->protect ? ask->protect : &none);
	cc_buf_adds(text, ",\"ask\":");
	cc_buf_add(text, ask->body.ptr, ask->body.len);
	cc_buf_adds(text, "}");
	return cc_buf_check(text, "the start document", err);
}

void cc_run_connect(struct cc_run *run, int fd)
{
	static const char text[] = "{\"m\":\"conn\"}";
	struct cc_err err;

	/* one that cannot be handed on is closed by the caller, and the agent's git says that the peer hung up */
	if (run->link >= 0 && !run->ended)
		(void)!cc_peer_send(run->link, text, sizeof(text) - 1, &fd, 1, &err);
}

enum cc_code cc_runlink_start(struct cc_run *run, const struct cc_run_ask *ask, struct cc_err *err)
{
	const struct cc_runs_config *config = &run->runs->config;
	CC_AUTO_FD theirs = -1;
	CC_AUTO_FD document = -1;
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, CC_RUN_START_MAX);
	code = write_start(run, ask, &text, err);
	if (code == CC_OK)
		code = cc_fd_memfile("ccbox-run", text.data, text.len, &document, err);
	cc_buf_done(&text);
	if (code == CC_OK)
		code = cc_peer_pair(&run->link, &theirs, err);
	if (code == CC_OK)
		code = cc_roster_spawn(config->runner_path, config->env, config->files, theirs, &run->child, err);
	if (code == CC_OK)
		code = cc_peer_send(run->link, "{\"m\":\"start\"}", 13, &document, 1, err);
	run->poll.data = run;
	if (code == CC_OK &&
	    (!cc_fd_set_nonblock(run->link, true) || uv_poll_init(config->loop, &run->poll, run->link) != 0))
		code = cc_fail(err, CC_ESYS, errno, "libuv");
	run->polled = code == CC_OK;
	run->handles += run->polled;
	if (code == CC_OK && uv_poll_start(&run->poll, UV_READABLE, on_link) != 0)
		code = cc_fail(err, CC_ESYS, errno, "libuv");
	return code;
}
