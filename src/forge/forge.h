/* forge.h - the broker of tokens, in a process of its own (cc-forge): the only one that speaks to forges, and the only
 * one that holds what they are asked with. What a message asks for is done by a thread; a run's tokens are held for it
 * until it is revoked. */
#ifndef CC_FORGE_FORGE_H
#define CC_FORGE_FORGE_H

#include "base/err.h"
#include "base/mem.h"

struct cc_broker;

/* Receives start, reads the files that it names, takes the journal. Failing is told to the daemon, too. */
CC_MUST enum cc_code cc_broker_open(int link, struct cc_broker **out_broker, struct cc_err *err);
/* The journal's directory: the only one it writes to from now on. */
const char *cc_broker_dir(const struct cc_broker *broker);
/* Until the daemon is gone and everything is taken back, or time is up. Threads may still run then: the process ends.
 */
CC_MUST enum cc_code cc_broker_run(struct cc_broker *broker, struct cc_err *err);

#endif
