/* receive.c - one push, from its first byte to its answer. The list of references is read to its end, and the pack is
 * read to its end and looked at, before anything leaves. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"
#include "os/fd.h"
#include "push/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(struct cc_push *push)
{
	struct cc_buf out;

	cc_buf_init(&out, 16 << 20);
	cc_push_report(&out, &push->list, (const char *const *)push->why, push->sentence,
		       push->unpack[0] ? push->unpack : NULL);
	cc_push_conn_begin(push->conn, CC_PUSH_RESULT);
	if (out.failed) {
		push->conn->broken = true;
	} else {
		cc_push_conn_piece(push->conn, cc_buf_view(&out));
		cc_push_conn_end(push->conn);
	}
	cc_buf_done(&out);
}

bool cc_push_tick(struct cc_push *push)
{
	int64_t now = cc_clock_ms();
	struct cc_buf out;

	if (cc_push_conn_gone(push->conn))
		return false;
	if (!push->list.side_band || !push->body.ended || now - push->ticked < CC_PUSH_TICK_MS)
		return true;
	push->ticked = now;
	cc_buf_init(&out, 64);
	cc_push_keepalive(&out, &push->list);
	cc_push_conn_begin(push->conn, CC_PUSH_RESULT);
	cc_push_conn_piece(push->conn, cc_buf_view(&out));
	cc_buf_done(&out);
	return !push->conn->broken;
}

static void say(struct cc_push *push, const char *sentence)
{
	struct cc_buf out;

	cc_buf_init(&out, 4096);
	cc_push_progress(&out, &push->list, sentence);
	if (out.len) {
		cc_push_conn_begin(push->conn, CC_PUSH_RESULT);
		cc_push_conn_piece(push->conn, cc_buf_view(&out));
	}
	cc_buf_done(&out);
}

/* Everything before the pack. What was read of the pack itself lies behind *out_used in head. */
static enum cc_code read_list(struct cc_push *push, size_t *out_used, struct cc_err *err)
{
	enum cc_push_step step = CC_PUSH_MORE;
	size_t at = 0;

	cc_buf_init(&push->head, CC_PUSH_BYTES + 2 * CC_PUSH_PIECE);
	while (step == CC_PUSH_MORE) {
		char piece[CC_PUSH_PIECE / 4];
		size_t got, used;
		enum cc_code code = cc_push_body_read(&push->body, piece, sizeof(piece), &got, err);

		if (code != CC_OK)
			return code;
		if (got == 0)
			return cc_fail(err, CC_EINVAL, 0, "the body ends inside its list of references");
		cc_buf_add(&push->head, piece, got);
		if (push->head.failed)
			return cc_fail(err, CC_EINVAL, 0, "the list of references is too large");
		step = cc_push_feed(&push->list, (struct cc_view){push->head.data + at, push->head.len - at}, &used,
				    err);
		at += used;
	}
	*out_used = at;
	return step == CC_PUSH_DONE ? CC_OK : CC_EINVAL;
}

/* Nothing may follow. */
static enum cc_code at_end(struct cc_push *push, size_t used, struct cc_err *err)
{
	char byte;
	size_t got = 0;
	enum cc_code code = used == push->head.len ? cc_push_body_read(&push->body, &byte, 1, &got, err) : CC_OK;

	if (code == CC_OK && (used != push->head.len || got))
		code = cc_fail(err, CC_EINVAL, 0, "something follows behind the list of references");
	return code;
}

static enum cc_code spool(struct cc_push *push, struct cc_view bytes, struct cc_err *err)
{
	push->bytes += (int64_t)bytes.len;
	if (push->bytes > push->gate->max_bytes)
		return cc_fail(err, CC_ELIMIT, 0, "a push of more than %lld bytes is not taken",
			       (long long)push->gate->max_bytes);
	return cc_fd_write_all(push->spool, bytes.ptr, bytes.len, err);
}

/* The pack goes to the disk and to git at once, as it comes. */
static enum cc_code take_pack(struct cc_push *push, size_t used, struct cc_err *err)
{
	char *piece = malloc(CC_PUSH_PIECE);
	size_t got = 1;
	enum cc_code code = piece ? cc_push_quarantine_open(push, err) : cc_fail(err, CC_ELIMIT, 0, "out of memory");

	if (code == CC_OK)
		code = cc_push_quarantine_feed(push, (struct cc_view){push->head.data + used, push->head.len - used},
					       err);
	while (code == CC_OK) {
		code = cc_push_body_read(&push->body, piece, CC_PUSH_PIECE, &got, err);
		if (code != CC_OK || got == 0)
			break;
		code = spool(push, (struct cc_view){piece, got}, err);
		if (code == CC_OK)
			code = cc_push_quarantine_feed(push, (struct cc_view){piece, got}, err);
	}
	free(piece);
	if (code == CC_OK)
		return cc_push_quarantine_close(push, err);
	if (code != CC_EPOLICY)
		return code;
	/* git says better why it has had enough; where it is content, it had seen the end before us */
	code = cc_push_quarantine_close(push, err);
	return code == CC_OK ? cc_fail(err, CC_EPOLICY, 0, "something follows behind the pack") : code;
}

static void refuse(struct cc_push *push, const struct cc_err *err)
{
	push->verdict = CC_PUSH_DENY;
	push->rule = "push:form";
	snprintf(push->sentence, sizeof(push->sentence), "%s", err->what);
	snprintf(push->unpack, sizeof(push->unpack), "%.290s", err->what);
}

static bool known(struct cc_push *push)
{
	bool there;

	pthread_mutex_lock(&push->gate->lock);
	there = push->gate->known[push->repo_at].flushes == 2;
	pthread_mutex_unlock(&push->gate->lock);
	return there;
}

/* The pack is there, or none is needed: what does it say? */
static enum cc_code judge(struct cc_push *push, struct cc_err *err)
{
	cc_push_by_size(push);
	return push->verdict == CC_PUSH_DENY || !cc_push_has_pack(&push->list) ? CC_OK : cc_push_judge(push, err);
}

/* True: it may go on. */
static bool decide(struct cc_push *push, size_t used, struct cc_err *err)
{
	enum cc_code code = cc_push_spool_open(push, err);

	/* git has asked before what is there; another client may not have */
	if (code == CC_OK && cc_push_has_pack(&push->list) && !known(push)) {
		code = cc_push_learn(push->gate, push->repo_at, push, err);
		if (code == CC_OK)
			cc_push_gather(push->gate, push->repo_at);
	}
	if (code == CC_OK)
		code = spool(push, cc_buf_view(&push->head), err);
	if (code == CC_OK)
		code = cc_push_has_pack(&push->list) ? take_pack(push, used, err) : at_end(push, used, err);
	if (code == CC_OK)
		code = judge(push, err);
	if (code != CC_OK)
		refuse(push, err);
	if (push->verdict == CC_PUSH_ASK) {
		say(push, "a person is asked whether this may be pushed; no answer is no");
		push->verdict = cc_push_ask(push) ? CC_PUSH_ALLOW : CC_PUSH_DENY;
	}
	return push->verdict == CC_PUSH_ALLOW;
}

static void handle(struct cc_push *push, size_t used)
{
	struct cc_err err = {0};
	bool own = false; /* some reference has a fault of its own */

	push->what = calloc(push->list.count, sizeof(*push->what));
	push->why = calloc(push->list.count, sizeof(*push->why));
	push->tips = calloc(push->list.count, sizeof(*push->tips));
	if (!push->what || !push->why || !push->tips) {
		push->conn->broken = true;
		return;
	}
	cc_push_by_refs(push, NULL);
	if (push->verdict != CC_PUSH_DENY && decide(push, used, &err)) {
		cc_push_event(push, "allowed");
		cc_push_forward(push);
		if (push->verdict == CC_PUSH_ALLOW)
			return;
		cc_push_event(push, "failed");
	} else {
		cc_push_event(push, "denied");
	}
	/* git listens only when it has said everything */
	cc_push_body_drain(&push->body);
	for (size_t i = 0; i < push->list.count; i++)
		own |= push->why[i] != NULL;
	for (size_t i = 0; !own && i < push->list.count; i++)
		push->why[i] = cc_str_copy(push->sentence);
	report(push);
}

static void push_done(struct cc_push *push)
{
	cc_push_quarantine_done(push);
	cc_push_body_done(&push->body);
	for (size_t i = 0; push->why && i < push->list.count; i++)
		free(push->why[i]);
	for (size_t i = 0; i < CC_PUSH_FINDINGS; i++)
		free(push->found[i].path), free(push->found[i].rule), free(push->found[i].why);
	free(push->why);
	free(push->what);
	free(push->tips);
	free(push->stat);
	cc_buf_done(&push->subjects);
	cc_buf_done(&push->head);
	cc_push_list_done(&push->list);
	free(push);
}

/* Each of them takes its place on the disk twice. */
static bool take_turn(struct cc_pushgate *gate)
{
	bool room;

	pthread_mutex_lock(&gate->lock);
	room = gate->pushes < CC_PUSH_AT_ONCE;
	gate->pushes += room;
	pthread_mutex_unlock(&gate->lock);
	return room;
}

static void give_turn(struct cc_pushgate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->pushes--;
	pthread_mutex_unlock(&gate->lock);
}

void cc_push_receive(struct cc_push_conn *conn, size_t repo_at)
{
	struct cc_push *push = calloc(1, sizeof(*push));
	struct cc_err err = {0};
	size_t count, used = 0;
	struct cc_view type = cc_push_field(&conn->head, "content-type", &count);
	enum cc_code code;

	if (!push || !take_turn(conn->gate)) {
		free(push);
		conn->close = true;
		cc_push_conn_say(conn, 503, "text/plain", "this run has too many pushes at once");
		return;
	}
	*push = (struct cc_push){.gate = conn->gate,
				 .conn = conn,
				 .repo = conn->gate->repositories.items[repo_at],
				 .repo_at = repo_at,
				 .protocol = cc_push_protocol(&conn->head),
				 .spool = -1,
				 .feed = -1,
				 .said = -1,
				 .complaint = -1,
				 .ask = -1,
				 .told = -1,
				 .revs = -1,
				 .ticked = cc_clock_ms()};
	push->indexer.pid = push->reader.pid = -1;
	code = count == 1 && cc_view_is(type, "application/x-git-receive-pack-request")
		       ? cc_push_body_begin(&push->body, conn, &err)
		       : cc_fail(&err, CC_EUNSUPPORTED, 0, "this is no push: its content type is another one");
	if (code == CC_OK)
		code = read_list(push, &used, &err);
	/* git asks in this way whether it may push at all */
	if (code == CC_OK && push->list.count == 0)
		code = at_end(push, used, &err);
	if (code != CC_OK) {
		conn->close = true;
		/* what it wanted is not known in whole, so nothing of it is told */
		cc_push_list_done(&push->list);
		refuse(push, &err);
		cc_push_event(push, "denied");
		cc_push_conn_say(conn, code == CC_EUNSUPPORTED ? 415 : 400, "text/plain", err.what);
	} else if (push->list.count == 0) {
		cc_push_conn_say(conn, 200, CC_PUSH_RESULT, "");
	} else {
		handle(push, used);
	}
	push_done(push);
	give_turn(conn->gate);
}
