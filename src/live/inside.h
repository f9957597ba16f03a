/* inside.h - what the files of this room share. */
#ifndef CC_LIVE_INSIDE_H
#define CC_LIVE_INSIDE_H

#include "live/live.h"
#include "os/peer.h"
#include "os/proc.h"

struct cc_ring {
	struct cc_ring_entry {
		char *line;
		size_t len;
	} * entries; /* cap of them, a circle */
	size_t cap, first, count, bytes;
	uint64_t first_seq;
};
void cc_ring_add(struct cc_ring *ring, uint64_t seq, const char *line, size_t len);
/* The entry of seq, or the oldest one after it; NULL: none. */
const struct cc_ring_entry *cc_ring_get(const struct cc_ring *ring, uint64_t seq, uint64_t *out_seq);
void cc_ring_done(struct cc_ring *ring);

struct cc_live {
	struct cc_roster *roster;
	struct cc_live *next; /* in the roster */
	int refs;
	char *id, *workspace, *agent, *workdir, *limits, *environment, *dropped, *end_reason;
	enum cc_backend_kind backend;
	enum cc_state state;
	struct cc_err error;
	int64_t created_ms, record;
	uint64_t seq;
	struct cc_ring ring;
	struct cc_reader *readers;
	struct cc_watcher *watchers;
	struct cc_command *commands;
	int command_count, next_command;
	/* the owner */
	char *launch; /* its document, until it is started */
	size_t launch_len;
	struct cc_child owner;
	int link;
	uv_poll_t poll;
	uint64_t woken_ms;
	bool polled, listed, launched, ending, wake_waits;
};

struct cc_roster {
	struct cc_roster_config config;
	struct cc_live *first;
	size_t count, starting;
	uv_signal_t children;
	uv_timer_t waker;
	void (*ended)(void *context);
	void *ended_context;
};

/* Moves and tells everybody; a forbidden move is left out. */
void cc_live_move(struct cc_live *live, enum cc_state to);
/* Something waits for its turn to be started. */
void cc_roster_start_next(struct cc_roster *roster);
/* The owner is gone, or has never been: what is left of the session is closed. */
void cc_live_lost(struct cc_live *live, const char *why);
void cc_roster_drop(struct cc_live *live);
/* The memory of one that nobody holds. */
void cc_roster_forget(struct cc_live *live);
void cc_live_wake(struct cc_live *live);
CC_MUST enum cc_code cc_link_start(struct cc_live *live, struct cc_err *err);
CC_MUST enum cc_code cc_link_say(struct cc_live *live, const char *text, const int *fds, size_t count,
				 struct cc_err *err);
void cc_link_close(struct cc_live *live);

/* What the owner says of a command. */
void cc_command_on_started(struct cc_command *command, int *master);
void cc_command_on_exit(struct cc_command *command, int code);
void cc_command_on_refused(struct cc_command *command, int sys, const char *text);
/* The session is over: so is it. */
void cc_command_cut(struct cc_command *command);

#endif
