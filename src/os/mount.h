/* mount.h - what the kernel says of the mount that a descriptor lies on. */
#ifndef CC_OS_MOUNT_H
#define CC_OS_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

/* Its line of mountinfo, with type and options. false: it cannot be found, or the line is longer than cap. */
bool cc_mount_line(int fd, char *out, size_t cap);
/* An open directory takes names that differ only as Unicode folds them for one (casefold of ext4, f2fs, tmpfs). */
bool cc_dir_folds(int fd);

#endif
