/* state.h - the life of a session as a table (contract 3.4). Pure. */
#ifndef CC_SESSION_STATE_H
#define CC_SESSION_STATE_H

#include "base/err.h"

#include <stdbool.h>

enum cc_state {
	CC_STATE_CREATED = 0,
	CC_STATE_WARM,
	CC_STATE_ACTIVE,
	CC_STATE_SUSPENDED,
	CC_STATE_DESTROYED,
	CC_STATE_ERROR,
	CC_STATE_COUNT,
};

const char *cc_state_name(enum cc_state state);
bool cc_state_may(enum cc_state from, enum cc_state to);
/* Moves *state, or CC_ESTATE naming both. */
CC_MUST enum cc_code cc_state_move(enum cc_state *state, enum cc_state to, struct cc_err *err);

#endif
