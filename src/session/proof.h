/* proof.h - the probe's experiment: a real native session over an empty directory of ours, in which a forbidden name is
 * tried and a forbidden host is dialled. */
#ifndef CC_SESSION_PROOF_H
#define CC_SESSION_PROOF_H

#include "base/err.h"

#include <stdbool.h>

struct cc_proof {
	bool started;
	bool names_held;
	bool hosts_held;
	bool late;     /* the time was over before the command was */
	bool captures; /* programs that ignore proxy variables are served */
};

/* Leaves nothing behind. A failure says why the sandbox did not start. */
CC_MUST enum cc_code cc_proof_run(char *const *env, struct cc_proof *out_proof, struct cc_err *err);

#endif
