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

#endif
