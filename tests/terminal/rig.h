/* rig.h - a terminal driven as its owner does: polled, stepped, typed into, looked at by one viewer. */
#ifndef CC_TESTS_TERMINAL_RIG_H
#define CC_TESTS_TERMINAL_RIG_H

#include "base/buf.h"
#include "terminal/terminal.h"

#include <stdbool.h>

extern char **environ;
extern char rig_home[], rig_work[];
/* A number that is this run's own: how its processes are told from those of another run of the same test. */
extern char rig_nap[];

struct rig_term {
	struct cc_terminal *terminal;
	struct cc_viewer viewer;
	struct cc_buf text; /* what the viewer has seen */
	bool stopped;       /* the viewer takes nothing */
	struct cc_buf events;
};

/* Two directories of ours, one of them HOME. */
void rig_setup(void);
void rig_teardown(void);
/* shell NULL: bash without start-up files. False: not opened, err says why. */
bool rig_open(struct rig_term *it, enum cc_backend_kind backend, const char *shell, struct cc_err *err);
bool rig_open_as(struct rig_term *it, struct cc_terminal_ask *ask, struct cc_err *err);
/* NAP in the text stands for rig_nap. */
void rig_type(struct rig_term *it, const char *text);
/* One poll of at most ms, and everything that follows from it. */
void rig_pump(struct rig_term *it, int ms);
/* Until what was seen has the text (true), or nothing new came for long. */
bool rig_see(struct rig_term *it, const char *text);
/* Until it is over. */
bool rig_over(struct rig_term *it);
void rig_close(struct rig_term *it);
/* How many processes of the machine have this word as their last argument. */
int rig_count(const char *word);
bool rig_gone(const char *word);
/* At least so many, now or soon. */
bool rig_there(const char *word, int least);

/* TAP */
void rig_ok(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rig_done(void);

#endif
