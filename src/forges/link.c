/* link.c - the socket to cc-forge. */
#define _GNU_SOURCE
#include "forges/inside.h"

#include "live/live.h"
#include "os/fd.h"
#include "os/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_MESSAGES = 16 };

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

void cc_forges_lost(struct cc_forges *forges)
{
	if (forges->poll)
		uv_close((uv_handle_t *)forges->poll, on_closed);
	forges->poll = NULL;
	cc_fd_close(&forges->link);
	/* with its socket closed it takes back what it can and ends by itself: it is not killed for that */
	cc_fd_close(&forges->child.pidfd);
	forges->child.pid = -1;
	for (size_t i = 0; i < CC_FORGES_ASKS; i++) {
		struct cc_forges_wait one = forges->asks[i];

		forges->asks[i] = (struct cc_forges_wait){0};
		forges->waiting -= one.id != 0;
		if (one.id && one.answer)
			one.answer(one.context, one.number, NULL);
	}
}

static void on_answer(struct cc_forges *forges, const struct cc_json *m)
{
	int64_t id = cc_json_int(m, "id", 0);

	for (size_t i = 0; id && i < CC_FORGES_ASKS; i++) {
		struct cc_forges_wait one = forges->asks[i];

		if (one.id != id)
			continue;
		forges->asks[i] = (struct cc_forges_wait){0};
		forges->waiting--;
		if (one.answer)
			one.answer(one.context, one.number, m);
		else if (cc_json_int(m, "failed", 0))
			forges->config.log("a forge did not take back a token; it is tried again at the next start");
	}
	if (!id && strcmp(cc_json_str(m, "m", ""), "failed") == 0)
		forges->config.log(cc_json_str(m, "text", "cc-forge cannot work"));
	cc_forges_check_end(forges);
}

static bool hear(struct cc_forges *forges, bool *out_empty)
{
	static struct cc_peer_msg msg;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	enum cc_code code = cc_peer_recv(forges->link, &msg, &err);

	*out_empty = code == CC_ETIMEOUT;
	if (*out_empty)
		return true;
	if (code != CC_OK || msg.len == 0)
		return false;
	cc_peer_msg_close(&msg);
	code = cc_json_parse("cc-forge", (struct cc_view){msg.text, msg.len}, 0, &doc, &err);
	if (code == CC_OK)
		on_answer(forges, cc_json_root(doc));
	return code == CC_OK;
}

static void on_link(uv_poll_t *poll, int status, int events)
{
	struct cc_forges *forges = poll->data;
	bool there = status == 0, empty = false;

	(void)events;
	for (int i = 0; there && !empty && i < TURN_MESSAGES && forges->link >= 0; i++)
		there = hear(forges, &empty);
	if (there)
		return;
	forges->config.log("cc-forge has ended; it is started again when a run needs it");
	cc_forges_lost(forges);
	cc_forges_check_end(forges);
}

static enum cc_code watch(struct cc_forges *forges, struct cc_err *err)
{
	forges->poll = calloc(1, sizeof(*forges->poll));
	if (!forges->poll)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (!cc_fd_set_nonblock(forges->link, true) ||
	    uv_poll_init(forges->config.loop, forges->poll, forges->link) != 0) {
		free(forges->poll);
		forges->poll = NULL;
		return cc_fail(err, CC_ESYS, errno, "libuv");
	}
	forges->poll->data = forges;
	return uv_poll_start(forges->poll, UV_READABLE, on_link) == 0 ? CC_OK : cc_fail(err, CC_ESYS, errno, "libuv");
}

enum cc_code cc_forges_start(struct cc_forges *forges, struct cc_err *err)
{
	const struct cc_forges_config *config = &forges->config;
	CC_AUTO_FD theirs = -1;
	CC_AUTO_FD document = -1;
	enum cc_code code = cc_fd_memfile("ccbox-forges", forges->document, strlen(forges->document), &document, err);

	if (code == CC_OK)
		code = cc_peer_pair(&forges->link, &theirs, err);
	if (code == CC_OK)
		code = cc_roster_spawn(config->helper, config->env, config->files, theirs, &forges->child, err);
	if (code == CC_OK)
		code = cc_peer_send(forges->link, "{\"m\":\"start\"}", 13, &document, 1, err);
	if (code == CC_OK)
		code = watch(forges, err);
	if (code != CC_OK)
		cc_forges_lost(forges);
	return code;
}

/* What of a question goes on to cc-forge. */
static const char *const members[] = {"repos", "repo", "encoding", "protocol"};

static struct cc_forges_wait *find_free(struct cc_forges *forges)
{
	for (size_t i = 0; i < CC_FORGES_ASKS; i++)
		if (!forges->asks[i].id)
			return &forges->asks[i];
	return NULL;
}

enum cc_code cc_forges_put(struct cc_forges *forges, const struct cc_forges_ask *ask, struct cc_err *err)
{
	struct cc_forges_wait *wait = find_free(forges);
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code = CC_OK;

	if (!forges->document)
		return cc_fail(err, CC_EUNSUPPORTED, 0, "no forge is configured (forges.json of the server)");
	if (!wait)
		return cc_fail(err, CC_ELIMIT, 0, "too many questions to forges at once");
	if (forges->link < 0)
		code = cc_forges_start(forges, err);
	cc_jsonw_message(&w, &text, CC_PEER_MAX, ask->what);
	cc_jsonw_kint(&w, "id", forges->last + 1);
	cc_jsonw_kstr(&w, "run", ask->run);
	for (size_t i = 0; i < CC_COUNT(members); i++) {
		const struct cc_json *member = cc_json_get(ask->from, members[i]);

		if (!member)
			continue;
		cc_jsonw_key(&w, members[i]);
		cc_jsonw_copy(&w, member);
	}
	cc_jsonw_end(&w);
	if (code == CC_OK)
		code = cc_buf_check(&text, "the question to a forge", err);
	if (code == CC_OK)
		code = cc_peer_send(forges->link, text.data, text.len, ask->fds, ask->fd_count, err);
	cc_buf_done(&text);
	if (code != CC_OK)
		return code;
	*wait = (struct cc_forges_wait){++forges->last, ask->number, ask->answer, ask->context};
	forges->waiting++;
	return CC_OK;
}

void cc_forges_revoke(struct cc_forges *forges, const char *run, void *context)
{
	struct cc_forges_ask ask = {.what = "revoke", .run = run};
	struct cc_err err;

	for (size_t i = 0; i < CC_FORGES_ASKS; i++)
		if (context && forges->asks[i].context == context)
			forges->asks[i].answer = NULL;
	if (forges->document && cc_forges_put(forges, &ask, &err) != CC_OK)
		forges->config.log(err.what);
}
