#define _GNU_SOURCE
#include "live/inside.h"

#include "os/fd.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A launch keeps a processor busy for a moment: more at once would only make each of them later. */
enum { STARTING_MAX = 8 };

/* Owners are reaped by what watches their link; the rest was left behind by an owner that was killed, and came to us.
 */
static void reap(struct cc_roster *roster)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (struct cc_live *live = roster->first; live; live = live->next)
			if (live->owner.pid == pid) {
				live->owner.pid = -1;
				cc_fd_close(&live->owner.pidfd);
			}
		if (roster->config.reaped)
			roster->config.reaped(roster->config.context, pid);
	}
}

static void on_children(uv_signal_t *handle, int number)
{
	(void)number;
	reap(handle->data);
}

enum cc_code cc_roster_new(const struct cc_roster_config *config, struct cc_roster **out_roster, struct cc_err *err)
{
	struct cc_roster *roster = calloc(1, sizeof(*roster));

	if (!roster)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	roster->config = *config;
	roster->children.data = roster;
	uv_timer_init(config->loop, &roster->waker);
	roster->waker.data = roster;
	cc_proc_adopt();
	if (uv_signal_init(config->loop, &roster->children) != 0 ||
	    uv_signal_start(&roster->children, on_children, SIGCHLD) != 0) {
		free(roster);
		return cc_fail(err, CC_ESYS, 0, "libuv: signals");
	}
	*out_roster = roster;
	return CC_OK;
}

void cc_roster_free(struct cc_roster *roster)
{
	/* the process ends here: what handles of the loop still point at stays */
	if (roster)
		uv_signal_stop(&roster->children);
}

struct cc_live *cc_roster_find(struct cc_roster *roster, const char *id)
{
	for (struct cc_live *live = roster->first; live; live = live->next)
		if (strcmp(live->id, id) == 0)
			return live;
	return NULL;
}

struct cc_live *cc_roster_next(struct cc_roster *roster, const struct cc_live *after)
{
	return after ? after->next : roster->first;
}

void cc_roster_start_next(struct cc_roster *roster)
{
	struct cc_live *oldest = NULL;
	struct cc_err err;

	while (roster->starting < STARTING_MAX) {
		oldest = NULL;
		for (struct cc_live *live = roster->first; live; live = live->next)
			if (live->launch && live->state == CC_STATE_CREATED)
				oldest = live; /* the list has the newest first */
		if (!oldest)
			return;
		cc_live_hold(oldest);
		if (cc_link_start(oldest, &err) != CC_OK)
			cc_live_lost(oldest, err.what);
		cc_live_release(oldest);
	}
}

void cc_roster_drop(struct cc_live *live)
{
	struct cc_roster *roster = live->roster;

	for (struct cc_live **at = &roster->first; *at; at = &(*at)->next)
		if (*at == live) {
			*at = live->next;
			live->next = NULL;
			live->listed = false;
			roster->count--;
			cc_live_release(live);
			break;
		}
	if (roster->count == 0 && roster->ended) {
		void (*ended)(void *context) = roster->ended;

		roster->ended = NULL;
		ended(roster->ended_context);
	}
}

void cc_roster_forget(struct cc_live *live)
{
	free(live->id);
	free(live->workspace);
	free(live->agent);
	free(live->workdir);
	free(live->limits);
	free(live->environment);
	free(live->dropped);
	free(live->end_reason);
	free(live->launch);
	cc_ring_done(&live->ring);
	free(live);
}

void cc_roster_end(struct cc_roster *roster, void (*done)(void *context), void *context)
{
	struct cc_live *next;

	roster->ended = done;
	roster->ended_context = context;
	for (struct cc_live *live = roster->first; live; live = next) {
		next = live->next;
		cc_live_end(live, "the server is going down");
	}
	if (roster->count == 0 && roster->ended) {
		roster->ended = NULL;
		done(context);
	}
}
