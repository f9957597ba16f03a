/* remotes.h - which repositories of forges a checkout calls its remotes. */
#ifndef CC_WORK_REMOTES_H
#define CC_WORK_REMOTES_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>

enum { CC_REMOTES = 32, CC_REMOTE_REPO = 300, CC_REMOTE_NAME = 100 };

struct cc_remotes {
	struct cc_remote {
		char name[CC_REMOTE_NAME]; /* origin */
		char repo[CC_REMOTE_REPO]; /* host/owner/name, without .git */
	} at[CC_REMOTES];
	size_t count;
};

/* The spellings of git: https://[user@]host[:port]/owner/name[.git], ssh://[user@]host/..., [user@]host:owner/name.
 * False: a local path, a port of ssh, another scheme, or nothing of two parts. Pure. */
bool cc_remote_repo(struct cc_view url, char out[CC_REMOTE_REPO]);
/* Those whose host is one of hosts, each once, asked of git as it is run in foreign repositories (git.h). */
CC_MUST enum cc_code cc_remotes_find(const char *dir, char *const *env, const struct cc_strv *hosts,
				     struct cc_remotes *out, struct cc_err *err);

#endif
