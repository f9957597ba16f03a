/* judge.h - operations that content or surroundings decide (CC_JUDGE): git's configuration, pointer files, the bare
 * rule (attacks 4); and reads, in sessions that judge them. */
#ifndef CC_GATE_JUDGE_H
#define CC_GATE_JUDGE_H

#include "gate/call.h"
#include "policy/decide.h"

/* A name about to come into being. 0, -errno (reported), or CC_CALL_EXCLUSIVE. */
int cc_judge_name(struct cc_call *call, enum cc_judge judge, enum cc_verb verb, const struct cc_loc *loc);
/* The same for an object that is about to be written. Never CC_CALL_EXCLUSIVE. */
int cc_judge_obj(struct cc_call *call, enum cc_judge judge, enum cc_verb verb, const struct cc_obj *obj);
/* A file about to be renamed onto a judged name: read once, judged, and our own copy put on a fresh inode. The result
 * is that of the rename. */
int cc_judge_install(struct cc_call *call, enum cc_judge judge, const struct cc_loc *from, const struct cc_loc *to);
/* libgit2 makes an empty configuration before it fills it by rename: that much is given, as a descriptor that cannot
 * write, and only where none stands. A negative number: this is no such case. */
int cc_judge_first(struct cc_call *call, const struct cc_loc *loc, uint64_t mode);
/* Whether an object may be opened for reading. */
int cc_judge_read(struct cc_call *call, const struct cc_obj *obj);

/* The git directories that this session made: what is in them came into being under the rules, and before the session
 * there was nothing there, so they may be taken away again; a history that was there before may not. */
/* A directory was made at loc; remembered when it is a .git. */
void cc_repo_made(struct cc_gate *gate, const struct cc_loc *loc);
/* May what was refused be removed all the same? */
bool cc_repo_may_go(struct cc_gate *gate, enum cc_verb verb, const struct cc_loc *loc,
		    const struct cc_decision *decision);
/* May an object or a reference be unlinked? By git itself, in what this session made, and what is only temporary. */
bool cc_repo_may_prune(const struct cc_call *call, const struct cc_loc *loc);

#endif
