/* terminal.h - a server-hosted terminal (contract 5): a login shell on a pseudo terminal, in the backend that was
 * applied, watched by any number of viewers that come and go.
 *
 * The owner polls the descriptors of cc_terminal_watch and calls cc_terminal_step for those that are ready; nothing
 * here waits, but for cc_terminal_open. What is said is kept in a ring under running numbers, and each viewer has a
 * place in it. The terminal is read only while the viewer that is furthest ahead wants more, so a flood that nobody
 * takes stops the program by the kernel's own back pressure; with no viewer it goes on, and the ring forgets. */
#ifndef CC_TERMINAL_TERMINAL_H
#define CC_TERMINAL_TERMINAL_H

#include "os/pty.h"
#include "policy/spec.h"
#include "terminal/message.h"
#include "wire/event.h"

#include <stdbool.h>
#include <stdint.h>

struct cc_terminal;

enum {
	CC_TERMINAL_RING = 512 << 10,
	CC_TERMINAL_WINDOW = 128 << 10, /* unread output of the first viewer at which reading stops */
	CC_TERMINAL_INPUT = 64 << 10,
	CC_TERMINAL_VIEWERS = 16,
	CC_TERMINAL_WATCH = 8,
	CC_TERMINAL_GRACE_MS = 500, /* from hanging up to killing */
};

struct cc_terminal_ask {
	const char *id;
	struct cc_pty_size size;
	enum cc_backend_kind backend; /* chosen: NATIVE or NONE */
	const char *cwd;              /* NULL: HOME */
	const char *shell;            /* an absolute path; NULL: the user's login shell */
	char *const *env;             /* the server's own; little of it is passed on */
	/* the server's data directory, token and socket: not read inside native */
	const struct cc_strv *daemon_paths;
	size_t ring;     /* 0: CC_TERMINAL_RING */
	int64_t idle_ms; /* without input; 0: never */
	/* Tests only: the twin of cc-init, and the protections that it leaves off. NULL in the product. */
	const char *init, *off;
	/* NULL, or told of refusals and of the sandbox's life. Nothing is kept after the call. */
	void (*event)(void *context, const struct cc_event *event);
	void *context;
};

/* Starts it. CC_ENOTFOUND or CC_ESYS with its errno when the shell could not be executed; any other code: the backend
 * could not be held. Nothing runs then. */
CC_MUST enum cc_code cc_terminal_open(const struct cc_terminal_ask *ask, struct cc_terminal **out_terminal,
				      struct cc_err *err);
void cc_terminal_free(struct cc_terminal *terminal);
CC_OWNED(cc_terminal)

struct cc_terminal_watch {
	int fd;
	bool write; /* also when it can be written */
	bool read;
};
size_t cc_terminal_watch(const struct cc_terminal *terminal, struct cc_terminal_watch out[CC_TERMINAL_WATCH]);
void cc_terminal_step(struct cc_terminal *terminal, int fd);
/* When cc_terminal_tick is to be called, in the time of cc_clock_ms; -1: never. */
int64_t cc_terminal_deadline(const struct cc_terminal *terminal);
void cc_terminal_tick(struct cc_terminal *terminal, int64_t now_ms);

struct cc_terminal_info {
	const char *id;
	enum cc_backend_kind backend; /* what runs, from the backend itself */
	const char *shell, *cwd, *title;
	struct cc_pty_size size;
	uint64_t oldest, end;      /* the numbers of what is kept */
	unsigned changes;          /* of title or size, counted */
	bool over;                 /* nothing of it runs any more, and all output is in the ring */
	enum cc_term_close reason; /* when over */
	int code, signal;          /* with CC_CLOSE_EXIT */
	const char *why;           /* when over: one clause */
	size_t viewers;
};
void cc_terminal_info(const struct cc_terminal *terminal, struct cc_terminal_info *out);

/* Typed bytes; returns how many were taken. The rest is offered again when cc_terminal_room says so. */
size_t cc_terminal_input(struct cc_terminal *terminal, struct cc_view bytes);
size_t cc_terminal_room(const struct cc_terminal *terminal);
void cc_terminal_resize(struct cc_terminal *terminal, struct cc_pty_size size);
/* Hangs up, then kills. Over when the info says so. */
void cc_terminal_close(struct cc_terminal *terminal, enum cc_term_close reason);

/* Reading waits for the viewers: all of them are behind. */
bool cc_viewers_behind(const struct cc_terminal *terminal);

/* A place in the output. window: at most so many bytes that the viewer has not acknowledged; 0: as many as it takes. */
struct cc_viewer {
	struct cc_terminal *terminal;
	uint64_t at;    /* the next byte to send */
	uint64_t acked; /* everything before it was taken */
	uint64_t window;
};
/* from: the number of the first byte wanted; what is no longer kept, or not yet said, is moved to what is (see at).
 * The viewer is the caller's and stays where it is until cc_viewer_leave. */
CC_MUST enum cc_code cc_viewer_join(struct cc_viewer *viewer, struct cc_terminal *terminal, uint64_t from,
				    uint64_t window, struct cc_err *err);
void cc_viewer_leave(struct cc_viewer *viewer);
/* The next bytes for it, at most max; empty: none now. False: its place is no longer kept (CC_CLOSE_SLOW). */
CC_MUST bool cc_viewer_next(const struct cc_viewer *viewer, size_t max, struct cc_view *out_bytes);
void cc_viewer_sent(struct cc_viewer *viewer, size_t len);
/* CC_EPROTO: more than was sent, or less than before. */
CC_MUST enum cc_code cc_viewer_ack(struct cc_viewer *viewer, uint64_t seq, struct cc_err *err);

#endif
