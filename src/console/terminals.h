/* terminals.h - the server's terminals: who is there, their descriptors on the loop, and who looks at them. */
#ifndef CC_CONSOLE_TERMINALS_H
#define CC_CONSOLE_TERMINALS_H

#include "console/console.h"
#include "terminal/terminal.h"

enum {
	CC_TERMINALS_MAX = 64,
	CC_TERM_ID_LEN = 32,
	CC_TERM_EVENTS = 64,     /* refusals that are kept for those who come later */
	CC_TERM_KEPT_MS = 60000, /* how long the end of one can be asked for */
	CC_TERM_BODY_MAX = 16384,
};

/* One connected viewer (socket.c). */
struct cc_term_conn;

struct cc_term_entry {
	struct cc_terminals *all;
	char id[CC_TERM_ID_LEN + 1];
	struct cc_terminal *terminal; /* NULL while it is opened */
	bool closing;
	int64_t over_at; /* of the loop's clock; 0: it runs */
	struct {
		uv_poll_t *handle;
		int fd, events;
	} polls[CC_TERMINAL_WATCH];
	size_t poll_count;
	uv_timer_t *timer;
	/* What the sandbox refused, as JSON; the last CC_TERM_EVENTS of event_count. */
	char *events[CC_TERM_EVENTS];
	uint64_t event_count;
	struct cc_term_conn *conns; /* list */
	struct cc_term_entry *next;
};

struct cc_terminals {
	struct cc_console *console;
	struct cc_term_entry *first;
	size_t count;
	struct cc_strv daemon_paths;
};

struct cc_term_entry *cc_terminals_find(struct cc_console *console, const char *id);
/* After anything was done to its terminal: descriptors, timer and viewers follow. */
void cc_terminals_after(struct cc_term_entry *entry);
/* Viewers of the entry have something to send, or to hear. */
void cc_term_wake(struct cc_term_entry *entry);
/* The entry is going away: its viewers are told. */
void cc_term_drop_viewers(struct cc_term_entry *entry);
/* {"backend","label","enclosed"}: the words beside a terminal, from what runs. */
void cc_term_write_badge(struct cc_jsonw *w, enum cc_backend_kind backend);

/* A line of the daemon's log. */
void cc_terminals_log(const struct cc_console *console, bool warning, const char *fmt, ...) CC_PRINTF(3, 4);

#endif
