/* report.h - git's answer to a push, as a server of git would write it: what became of each reference. Pure. */
#ifndef CC_PUSH_REPORT_H
#define CC_PUSH_REPORT_H

#include "push/commands.h"

#include "base/buf.h"

/* Says that no reference of the list was changed. why: one for a reference, by its place, NULL where it was not its own
 * fault; NULL altogether: none has one. sentence: a line for the person, by the side-band where there is one. unpack:
 * what was wrong with the pack; NULL: nothing. out is the whole body of the answer, or what follows one that was begun
 * with side-band packets. */
void cc_push_report(struct cc_buf *out, const struct cc_push_list *list, const char *const *why, const char *sentence,
		    const char *unpack);
/* One line of progress, where the client has a band for it. */
void cc_push_progress(struct cc_buf *out, const struct cc_push_list *list, const char *sentence);
/* A packet that says nothing, so that nobody takes the silence for an end. */
void cc_push_keepalive(struct cc_buf *out, const struct cc_push_list *list);

#endif
