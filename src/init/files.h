/* files.h - the owner's small errands inside: a file back, a list of names, freezing. Everything comes from an
 * untrusted tree, so it is bounded and follows no link. */
#ifndef CC_INIT_FILES_H
#define CC_INIT_FILES_H

#include "base/buf.h"
#include "policy/rules.h"

#include <stdint.h>
#include <sys/types.h>

/* A regular file below a private or state mount, opened for reading. 0 or -errno. */
int cc_files_fetch(const struct cc_rules *rules, const char *path, int *out_fd, int64_t *out_size);
/* The regular files below a directory of such a mount: NUL-separated relative names. 0 or -errno. */
int cc_files_list(const struct cc_rules *rules, const char *path, struct cc_buf *out);
/* SIGSTOP or SIGCONT to every process but ours (pids up to last_reserved), until none is missed. */
void cc_files_signal_all(pid_t last_reserved, int signal);

#endif
