/* engine.h - what terminal.c and viewer.c share. */
#ifndef CC_TERMINAL_ENGINE_H
#define CC_TERMINAL_ENGINE_H

#include "session/session.h"
#include "terminal/prepare.h"
#include "terminal/scroll.h"
#include "terminal/terminal.h"
#include "terminal/title.h"

struct cc_terminal {
	char *id;
	struct cc_term_plan plan;
	struct cc_session *session;
	enum cc_backend_kind backend;
	int exec;
	int master;
	bool started, exited, closing, over;
	int refused; /* errno: the shell could not be executed */
	struct cc_scroll ring;
	struct cc_title title;
	struct cc_pty_size size;
	struct cc_buf input; /* typed, and not yet taken by the terminal */
	struct cc_viewer *viewers[CC_TERMINAL_VIEWERS];
	size_t viewer_count;
	unsigned changes;
	int64_t kill_at;  /* -1: nobody closes it */
	int64_t again_at; /* -1, or when the master is looked at again: nobody has the other side open */
	int64_t idle_ms, last_input;
	int code, signal;
	enum cc_term_close reason;
	char why[200];
	void (*event)(void *context, const struct cc_event *event);
	void *context;
};

#endif
