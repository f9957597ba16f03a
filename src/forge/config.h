/* config.h - which forges there are, and what they are asked with. Files of secrets are read once, before the process
 * gives up what it does not need. */
#ifndef CC_FORGE_CONFIG_H
#define CC_FORGE_CONFIG_H

#include "base/mem.h"
#include "forge/kind.h"

enum { CC_FORGES_MAX = 32, CC_FORGE_CALL_MS = 15000 };

struct cc_forge_config {
	char *data_dir;
	int call_ms; /* a call of an API takes at most that long */
	struct cc_forge forges[CC_FORGES_MAX];
	size_t count;
};

/* The document of start (wire/forgemsg.h). */
CC_MUST enum cc_code cc_forge_config_read(struct cc_view text, struct cc_forge_config **out_config, struct cc_err *err);
void cc_forge_config_free(struct cc_forge_config *config);
CC_OWNED(cc_forge_config)

struct cc_forge *cc_forge_of(struct cc_forge_config *config, struct cc_view host);

#endif
