/* place.h - where the daemon keeps its things, so that a client finds its socket without being told. */
#ifndef CC_CLIENT_PLACE_H
#define CC_CLIENT_PLACE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>

/* wanted, or CC_SERVER_DATA_DIR, or ccbox-server below XDG_DATA_HOME or ~/.local/share. */
CC_MUST enum cc_code cc_place_data(const char *wanted, char *const *env, char out[PATH_MAX], struct cc_err *err);
/* ccbox in XDG_RUNTIME_DIR, which is the person's alone; run/ below the data directory without one, or when that
 * directory was chosen: two servers then have two sockets. */
CC_MUST enum cc_code cc_place_run(const char *data_dir, bool chosen, char *const *env, char out[PATH_MAX],
				  struct cc_err *err);
/* The socket that a client of this environment calls: that of the server with this data directory where one is named,
 * CC_SERVER_SOCKET if it is set. */
CC_MUST enum cc_code cc_place_socket(const char *data_dir, char *const *env, char out[PATH_MAX], struct cc_err *err);

#endif
