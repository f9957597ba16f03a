/* probe.h - what this host can hold (contract 1): first the seed's table (platform and tools), then a proof by starting
 * the real sandbox once and trying what must not be possible. */
#ifndef CC_SESSION_PROBE_H
#define CC_SESSION_PROBE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

enum { CC_PROBE_ITEMS = 16, CC_PROBE_TEXT = 512 };

/* One capability: looked at on its own. */
struct cc_probe_item {
	const char *name;
	bool good;
	bool needed; /* the native backend cannot do without it */
	char found[CC_PROBE_TEXT];
	char remedy[CC_PROBE_TEXT];
};

struct cc_probe {
	bool available; /* the seed's table: platform and tools */
	bool requires_install;
	bool enforceable; /* the proof held */
	bool late;        /* it did not, because it did not come to its end in time: it may the next time */
	char note[CC_PROBE_TEXT];
	char install_hint[CC_PROBE_TEXT];
	struct { /* why not enforceable */
		char step[64];
		int sys;
		char what[CC_PROBE_TEXT];
		char remedy[CC_PROBE_TEXT];
	} failing;
	struct cc_probe_item items[CC_PROBE_ITEMS];
	size_t item_count;
};

/* prove: start the sandbox (bounded). Never fails: what goes wrong is the result. */
void cc_probe_run(char *const *env, bool prove, struct cc_probe *out_probe);
/* {"v":1, backend, available, requiresInstall, enforceable, note, installHint, failing, capabilities} */
void cc_probe_json(const struct cc_probe *probe, struct cc_buf *out);

/* The kernel is not too old for any of it: said before anything else is tried. */
CC_MUST enum cc_code cc_probe_kernel(struct cc_err *err);

/* Finds the remedy for a failed launch: what bubblewrap or cc-init said -> the smallest thing that would change it. */
const char *cc_probe_remedy(const char *what);

#endif
