/* learn.h - `--learn`: what was refused, turned into the smallest policy file that would have let it happen. Nothing is
 * enforced less meanwhile. What nothing opens is said as such and never proposed. */
#ifndef CC_CLI_LEARN_H
#define CC_CLI_LEARN_H

#include "cli/options.h"
#include "wire/event.h"

struct cc_learn {
	struct cc_ask_run asked; /* as if every flag of a refusal had been given */
	struct cc_strv flags;    /* those flags, each once */
	struct cc_strv closed;   /* sentences about what nothing opens */
	size_t lost;             /* refusals there was no room for */
};

void cc_learn_init(struct cc_learn *learn);
void cc_learn_done(struct cc_learn *learn);
void cc_learn_take(struct cc_learn *learn, const struct cc_event *event);
/* The policy file, comments included. False: nothing was refused. */
bool cc_learn_write(const struct cc_learn *learn, struct cc_buf *out);

#endif
