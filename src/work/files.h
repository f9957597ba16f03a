/* files.h - directories that hold a run's copy: made, written, read and taken away without following a link. */
#ifndef CC_WORK_FILES_H
#define CC_WORK_FILES_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* A directory of ours alone (0700): made, or CC_EPOLICY when what stands there is another's or open to others. */
CC_MUST enum cc_code cc_files_private(const char *path, struct cc_err *err);
/* dir/name gets this content as a whole or not at all. */
CC_MUST enum cc_code cc_files_write(const char *dir, const char *name, struct cc_view text, struct cc_err *err);
/* An open file or directory below dir, reached through directories only; -1 with errno. Never waits for a FIFO. */
int cc_files_open(int dir, const char *path, int flags);
/* The regular file below dir as a whole, into out, which is initialised. CC_ENOTFOUND: absent, or of another kind. */
CC_MUST enum cc_code cc_files_read(int dir, const char *path, size_t max, struct cc_buf *out, struct cc_err *err);
/* Removes dir/name and everything below it, however deep. CC_OK where there is nothing. */
CC_MUST enum cc_code cc_files_remove(const char *dir, const char *name, struct cc_err *err);
/* What such removals leave in dir when they are killed begins with this. */
#define CC_FILES_TRASH ".trash."

#endif
