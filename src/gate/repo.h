/* repo.h - the git directories that this session made. What is in them came into being under the rules, and before the
 * session there was nothing there, so they may be taken away again; a history that was there before may not. */
#ifndef CC_GATE_REPO_H
#define CC_GATE_REPO_H

#include "gate/resolve.h"
#include "policy/decide.h"

/* A directory was made at loc; remembered when it is a .git. */
void cc_repo_made(struct cc_gate *gate, const struct cc_loc *loc);
/* May what was refused be removed all the same? */
bool cc_repo_may_go(struct cc_gate *gate, enum cc_verb verb, const struct cc_loc *loc,
		    const struct cc_decision *decision);
/* May an object or a reference be unlinked? By git itself, in what this session made, and what is only temporary. */
bool cc_repo_may_prune(const struct cc_call *call, const struct cc_loc *loc);

#endif
