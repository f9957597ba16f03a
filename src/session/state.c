#include "session/state.h"

#define TO(state) (1u << CC_STATE_##state)

static const struct {
	const char *name;
	unsigned next;
} states[CC_STATE_COUNT] = {
	[CC_STATE_CREATED] = {"created", TO(WARM) | TO(DESTROYED) | TO(ERROR)},
	[CC_STATE_WARM] = {"warm", TO(ACTIVE) | TO(SUSPENDED) | TO(DESTROYED) | TO(ERROR)},
	[CC_STATE_ACTIVE] = {"active", TO(WARM) | TO(SUSPENDED) | TO(DESTROYED) | TO(ERROR)},
	/* back to active when a command was running, else to warm */
	[CC_STATE_SUSPENDED] = {"suspended", TO(WARM) | TO(ACTIVE) | TO(DESTROYED) | TO(ERROR)},
	[CC_STATE_DESTROYED] = {"destroyed", 0},
	[CC_STATE_ERROR] = {"error", TO(DESTROYED)},
};

const char *cc_state_name(enum cc_state state)
{
	return (unsigned)state < CC_STATE_COUNT ? states[state].name : "unknown";
}

bool cc_state_may(enum cc_state from, enum cc_state to)
{
	return (unsigned)from < CC_STATE_COUNT && (unsigned)to < CC_STATE_COUNT && (states[from].next >> to & 1u);
}

enum cc_code cc_state_move(enum cc_state *state, enum cc_state to, struct cc_err *err)
{
	if (!cc_state_may(*state, to))
		return cc_fail(err, CC_ESTATE, 0, "a session that is %s cannot become %s", cc_state_name(*state),
			       cc_state_name(to));
	*state = to;
	return CC_OK;
}
