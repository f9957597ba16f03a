/* path.h - paths as text: clean absolute ones and which lies in which. Pure; symbolic links are the caller's business.
 */
#ifndef CC_POLICY_PATH_H
#define CC_POLICY_PATH_H

#include "base/err.h"
#include "base/view.h"

enum { CC_PATH_MAX = 4096, CC_NAME_MAX = 255 };

/* CC_EINVAL unless path is absolute, without empty, "." and ".." parts, without trailing slash (but "/" itself is
 * fine), control bytes or parts that are too long. what names the path in the message. */
CC_MUST enum cc_code cc_path_check(const char *what, const char *path, struct cc_err *err);
/* path is root or lies below it. Byte for byte. */
bool cc_path_within(struct cc_view path, struct cc_view root);
/* Does the text hold a wildcard (contract 6.1: such entries are globs)? */
bool cc_path_is_glob(const char *text);

#endif
