/* confine.h - what a helper gives up before it reads a byte that is not its owner's. Each step holds for the process
 * and, where the kernel makes that a matter of threads, for threads started later. */
#ifndef CC_OS_CONFINE_H
#define CC_OS_CONFINE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No core files, not dumpable, no_new_privs, no capability; root becomes the overflow user where one is mapped. */
CC_MUST enum cc_code cc_confine_power(struct cc_err *err);
/* The same, for who goes on with files of its own: the user stays. */
CC_MUST enum cc_code cc_confine_self(struct cc_err *err);
/* The part of it for who keeps its user and its files: no core files, not dumpable, no_new_privs. */
CC_MUST enum cc_code cc_confine_secrets(struct cc_err *err);
/* Landlock: the paths that exist may be read, nothing else; nothing may be written, executed or bound (TCP).
 * Without Landlock it does nothing: cc-init refuses to start on such a kernel. Call before any thread is started. */
CC_MUST enum cc_code cc_confine_files(const char *const *readable, size_t count, struct cc_err *err);
/* The same, but in the directory own files may be made, written, renamed and removed. */
CC_MUST enum cc_code cc_confine_files_and(const char *const *readable, size_t count, const char *own,
					  struct cc_err *err);

/* Landlock: nothing is written, made or taken away but below dir (and into /dev/null); no TCP, no abstract socket of
 * others. It holds for what is started as well. Without Landlock of the second kind it does nothing. */
CC_MUST enum cc_code cc_confine_writes(const char *dir, struct cc_err *err);
/* seccomp: no socket but AF_UNIX is made, by us or by what we start; the others of the address are known by descriptors
 * that were given. */
CC_MUST enum cc_code cc_confine_network(struct cc_err *err);

/* A system call that stays, perhaps only with some values of one argument. */
struct cc_confine_call {
	int nr;
	int arg; /* -1: any arguments */
	uint32_t values[4];
	size_t count;
};
/* seccomp allow-list for every thread; everything else is ENOSYS. */
CC_MUST enum cc_code cc_confine_calls(const struct cc_confine_call *calls, size_t count, struct cc_err *err);
/* The two for who looks names up, through NSS: its configuration and modules may be read; more: besides what that
 * takes. Local sockets stay only where names are looked up by a daemon. */
CC_MUST enum cc_code cc_confine_lookup_files(const char *own, struct cc_err *err);
CC_MUST enum cc_code cc_confine_lookup_calls(const struct cc_confine_call *more, size_t count, struct cc_err *err);
/* Closes every descriptor but 0-2 and keep. */
void cc_confine_fds(int keep);

#endif
