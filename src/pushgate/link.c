/* link.c - the daemon's messages, and whoever waits for one of them. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"
#include "os/fd.h"
#include "os/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACK = 512 * 1024, SLICE_MS = 500 };

struct guest {
	struct cc_pushgate *gate;
	int fd;
};

static void *serve_guest(void *arg)
{
	struct guest guest = *(struct guest *)arg;

	free(arg);
	cc_push_conn_serve(guest.gate, guest.fd);
	pthread_mutex_lock(&guest.gate->lock);
	guest.gate->conns--;
	pthread_mutex_unlock(&guest.gate->lock);
	return NULL;
}

static void on_conn(struct cc_pushgate *gate, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct guest *guest = msg->fd_count == 1 ? malloc(sizeof(*guest)) : NULL;
	pthread_attr_t attr;
	pthread_t thread;
	bool room;

	(void)m;
	pthread_mutex_lock(&gate->lock);
	room = guest && gate->conns < CC_PUSH_CONNS;
	gate->conns += room;
	pthread_mutex_unlock(&gate->lock);
	if (!room) {
		free(guest);
		return; /* and the connection is closed */
	}
	*guest = (struct guest){gate, cc_fd_take(&msg->fds[0])};
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(&thread, &attr, serve_guest, guest) != 0) {
		cc_fd_close(&guest->fd);
		free(guest);
		pthread_mutex_lock(&gate->lock);
		gate->conns--;
		pthread_mutex_unlock(&gate->lock);
	}
	pthread_attr_destroy(&attr);
}

static struct cc_push_wait *find(struct cc_pushgate *gate, const struct cc_json *m)
{
	int64_t id = cc_json_int(m, "id", 0);

	for (struct cc_push_wait *wait = gate->waits; wait; wait = wait->next)
		if (wait->id == id && !wait->over)
			return wait;
	return NULL;
}

static void on_answer(struct cc_pushgate *gate, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_push_wait *wait;

	(void)msg;
	pthread_mutex_lock(&gate->lock);
	wait = find(gate, m);
	if (wait) {
		wait->allow = cc_json_bool(m, "allow", false);
		(void)cc_str_put(wait->text, sizeof(wait->text), cc_json_str(m, "by", ""));
		wait->over = true;
		pthread_cond_broadcast(&gate->news);
	}
	pthread_mutex_unlock(&gate->lock);
}

static void on_done(struct cc_pushgate *gate, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_push_wait *wait;
	int64_t status = cc_json_int(m, "status", 0);

	(void)msg;
	pthread_mutex_lock(&gate->lock);
	wait = find(gate, m);
	if (wait) {
		wait->status = status > 0 && status < 1000 ? (unsigned)status : 0;
		(void)cc_str_put(wait->type, sizeof(wait->type), cc_json_str(m, "contentType", ""));
		wait->over = true;
		pthread_cond_broadcast(&gate->news);
	}
	pthread_mutex_unlock(&gate->lock);
}

static void on_failed(struct cc_pushgate *gate, const struct cc_json *m, struct cc_peer_msg *msg)
{
	struct cc_push_wait *wait;

	(void)msg;
	pthread_mutex_lock(&gate->lock);
	wait = find(gate, m);
	if (wait) {
		snprintf(wait->text, sizeof(wait->text), "%.290s", cc_json_str(m, "text", "there is no answer"));
		wait->failed = true;
		wait->over = true;
		pthread_cond_broadcast(&gate->news);
	}
	pthread_mutex_unlock(&gate->lock);
}

static const struct {
	const char *name;
	void (*handle)(struct cc_pushgate *gate, const struct cc_json *m, struct cc_peer_msg *msg);
} messages[] = {{"conn", on_conn}, {"answer", on_answer}, {"done", on_done}, {"failed", on_failed}};

void cc_push_listen(struct cc_pushgate *gate)
{
	static struct cc_peer_msg msg;
	struct cc_err err;

	while (cc_peer_recv(gate->link, &msg, &err) == CC_OK && msg.len) {
		CC_AUTO(cc_json_doc) doc = NULL;
		const char *name;

		if (cc_json_parse("daemon", (struct cc_view){msg.text, msg.len}, 0, &doc, &err) != CC_OK)
			break;
		name = cc_json_str(cc_json_root(doc), "m", "");
		if (strcmp(name, "stop") == 0)
			break;
		for (size_t i = 0; i < CC_COUNT(messages); i++)
			if (strcmp(messages[i].name, name) == 0)
				messages[i].handle(gate, cc_json_root(doc), &msg);
		cc_peer_msg_close(&msg);
	}
	cc_peer_msg_close(&msg);
}

void cc_push_wait_begin(struct cc_pushgate *gate, struct cc_push_wait *wait)
{
	*wait = (struct cc_push_wait){0};
	pthread_mutex_lock(&gate->lock);
	wait->id = ++gate->next_id;
	wait->next = gate->waits;
	gate->waits = wait;
	pthread_mutex_unlock(&gate->lock);
}

void cc_push_wait_end(struct cc_pushgate *gate, struct cc_push_wait *wait)
{
	pthread_mutex_lock(&gate->lock);
	for (struct cc_push_wait **at = &gate->waits; *at; at = &(*at)->next)
		if (*at == wait) {
			*at = wait->next;
			break;
		}
	pthread_mutex_unlock(&gate->lock);
}

bool cc_push_wait_for(struct cc_pushgate *gate, struct cc_push_wait *wait, int64_t timeout_ms, struct cc_push *push)
{
	int64_t until = cc_clock_ms() + timeout_ms;
	bool over, ending;

	do {
		int64_t now = cc_clock_ms(), slice = until - now < SLICE_MS ? until - now : SLICE_MS;
		struct timespec at;

		clock_gettime(CLOCK_MONOTONIC, &at);
		at.tv_nsec += (slice > 0 ? slice : 0) * 1000000;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		pthread_mutex_lock(&gate->lock);
		if (!wait->over && !gate->ending)
			pthread_cond_timedwait(&gate->news, &gate->lock, &at);
		over = wait->over;
		ending = gate->ending;
		pthread_mutex_unlock(&gate->lock);
		if (!over && (ending || cc_clock_ms() >= until || (push && !cc_push_tick(push))))
			return false;
	} while (!over);
	return true;
}

enum cc_code cc_push_send(struct cc_pushgate *gate, struct cc_buf *text, const int *fds, size_t count,
			  struct cc_err *err)
{
	enum cc_code code = cc_buf_check(text, "a message", err);

	if (code == CC_OK)
		code = cc_peer_send(gate->link, text->data, text->len, fds, count, err);
	cc_buf_done(text);
	return code;
}

enum cc_code cc_push_enter(struct cc_pushgate *gate, struct cc_err *err)
{
	pthread_mutex_lock(&gate->lock);
	if (!gate->ending)
		return CC_OK;
	pthread_mutex_unlock(&gate->lock);
	return cc_fail(err, CC_ESTATE, 0, "the run is over");
}

void cc_push_leave(struct cc_pushgate *gate)
{
	pthread_mutex_unlock(&gate->lock);
}
