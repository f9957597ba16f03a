/* filesystems.h - what a kind of file system means for rules about names, as data. Pure: the gate asks before it lets a
 * mount be writable, the doctor about the directory that a person stands in; both say the same. */
#ifndef CC_PLAN_FILESYSTEMS_H
#define CC_PLAN_FILESYSTEMS_H

#include <stdint.h>

enum cc_fs {
	CC_FS_PLAIN = 0,
	CC_FS_KERNEL,   /* its "files" are the kernel: never writable */
	CC_FS_ALIASING, /* it knows a file by names which nobody wrote: refused as a writable bind */
	CC_FS_DRVFS,    /* a Windows drive under WSL2: the same */
	CC_FS_FOLDING,  /* its directories may fold case: looked at name by name */
};

/* magic: statfs' f_type; line: its mount's line of mountinfo, because a server of 9p answers statfs as it likes. */
enum cc_fs cc_fs_of(uint64_t magic, const char *line);
/* Why it cannot be bound writable, and what to do instead: continues "DIR is on ...". NULL: it can. */
const char *cc_fs_refusal(enum cc_fs fs);

#endif
