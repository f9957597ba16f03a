/* self.h - `ccbox run` as another program would call it. Private to the room. */
#ifndef CC_VERBS_SELF_H
#define CC_VERBS_SELF_H

#include "base/err.h"
#include "base/view.h"

/* This program, `run --quiet --no-pty`, and the person's options as they were given: used words of argv. */
CC_MUST enum cc_code cc_self_run_words(char *const *argv, size_t used, struct cc_strv *out, struct cc_err *err);

#endif
