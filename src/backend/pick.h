/* pick.h - the one place where a backend is chosen or refused. */
#ifndef CC_BACKEND_PICK_H
#define CC_BACKEND_PICK_H

#include "backend/backend.h"

/* CC_EUNENFORCED naming the first need that the backend does not enforce. */
CC_MUST enum cc_code cc_backend_check(const struct cc_backend *backend, unsigned needs, struct cc_err *err);

/* asked is what the person or client named; UNSET takes native. A backend that does not exist on this host, or that
 * cannot hold a rule of the set, is a refusal that names it. none is taken only when it is asked for by name:
 * *out_unheld then holds the bits it does not enforce. */
CC_MUST enum cc_code cc_backend_pick(enum cc_backend_kind asked, unsigned needs, const struct cc_backend **out_backend,
				     unsigned *out_unheld, struct cc_err *err);

/* What a server-hosted terminal runs in (contract 5 and 2.3), from names and facts alone. */
struct cc_choice_ask {
	const char *asked;               /* the client's word; NULL: it named none */
	enum cc_backend_kind configured; /* the server's default; UNSET is none */
	bool native, microvm;            /* what this host can hold */
	const char *why_not_native;      /* said in the refusal; NULL: nothing more is known */
};

struct cc_choice {
	enum cc_backend_kind kind;
	bool stepped_down; /* from a default of microvm to native: worth a line in the log */
};

/* A name that is no backend is CC_EINVAL; one that this host cannot hold is CC_EUNSUPPORTED, never another backend. */
CC_MUST enum cc_code cc_backend_choose(const struct cc_choice_ask *ask, struct cc_choice *out_choice,
				       struct cc_err *err);

#endif
