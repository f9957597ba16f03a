/* data.h - the daemon's own directory: token, database, lock, and where its Unix socket lies. All of it 0700/0600, made
 * at the first start. */
#ifndef CC_SERVER_DATA_H
#define CC_SERVER_DATA_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>

enum { CC_TOKEN_BYTES = 32 };

struct cc_data {
	char dir[PATH_MAX];
	char run_dir[PATH_MAX];
	char socket[PATH_MAX + 16];
	bool made_socket; /* by us: the service manager keeps its own for the next start */
	char token[2 * CC_TOKEN_BYTES + 1];
	int lock;
};

/* wanted: --data-dir, or NULL. One server a directory: CC_ESTATE when another one has it. */
CC_MUST enum cc_code cc_data_open(const char *wanted, char *const *env, struct cc_data *out_data, struct cc_err *err);
void cc_data_close(struct cc_data *data);

#endif
