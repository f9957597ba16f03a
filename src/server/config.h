/* config.h - what cc_server is told: one row an option, each with its environment variable. Flags win. */
#ifndef CC_SERVER_CONFIG_H
#define CC_SERVER_CONFIG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/view.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum cc_log_level { CC_LOG_ERROR = 0, CC_LOG_WARNING, CC_LOG_INFO, CC_LOG_DEBUG };

struct cc_server_config {
	bool sandbox; /* wrap where the host offers a backend; never "require one" */
	uint16_t port;
	bool bind_any;
	bool insecure;
	char *tls_cert, *tls_key; /* NULL: plain */
	char *data_dir;           /* absolute; NULL until cc_data_open */
	struct cc_strv origins;
	enum cc_log_level log_level;
	uint64_t tools_timeout; /* seconds */
	bool version, help;
};

void cc_server_config_init(struct cc_server_config *config);
void cc_server_config_done(struct cc_server_config *config);
/* Environment, then argv (without the program's name); then what does not go together. */
CC_MUST enum cc_code cc_server_config_read(char *const *argv, char *const *env, struct cc_server_config *config,
					   struct cc_err *err);
void cc_server_config_help(struct cc_buf *out);

#endif
