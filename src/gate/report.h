/* report.h - what cc-init tells the session's owner while it runs. Never blocks: a full owner costs events, not the
 * gate. The first event of each rule is never dropped; later ones are limited and counted (attacks 13). */
#ifndef CC_GATE_REPORT_H
#define CC_GATE_REPORT_H

#include "base/err.h"
#include "policy/decide.h"

#include <stdbool.h>
#include <sys/types.h>

struct cc_report;

/* sock is the control socket, non-blocking; it stays the caller's. */
CC_MUST enum cc_code cc_report_new(int sock, struct cc_report **out_report, struct cc_err *err);

/* Until this is called nothing is reported. */
void cc_report_open(struct cc_report *report);

struct cc_violation {
	enum cc_verb verb;
	const char *action;     /* NULL: the verb's */
	struct cc_view target;  /* canonical */
	struct cc_view spelled; /* as the program wrote it */
	const char *rule;
	struct cc_view grant;
	const char *raw; /* the system call's name, or a clause */
	pid_t pid;
};
void cc_report_violation(struct cc_report *report, const struct cc_violation *what);
/* A level-flag rule allowed something: one notice for each rule and target. */
void cc_report_flagged(struct cc_report *report, const struct cc_violation *what);

/* Called by the main loop: sends what waits and the counts of what was held back. */
void cc_report_flush(struct cc_report *report);
/* The end of the session: everything held back leaves, bounded in time. */
void cc_report_last(struct cc_report *report);
bool cc_report_waits(struct cc_report *report);
/* Readable when something began to wait. */
int cc_report_wake_fd(const struct cc_report *report);

#endif
