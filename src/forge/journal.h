/* journal.h - the tokens that there are, on disk before any of them is used: a file each below DATADIR/forge, so that a
 * crash leaves nothing that is not taken back at the next start. It holds a token itself only where that is what takes
 * it back. One process has the journal at a time. */
#ifndef CC_FORGE_JOURNAL_H
#define CC_FORGE_JOURNAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CC_ENTRY_NAME = 40, CC_JOURNAL_MAX = 10000 };

/* Strings of the caller's; NULL: it has none. */
struct cc_entry {
	const char *host, *run, *from, *secret, *number;
	int64_t expires;
};

/* Makes the directory when it is not there, checks whose it is, and waits (bounded) while another process has it. */
CC_MUST enum cc_code cc_journal_open(const char *data_dir, char *out_path, size_t cap, int *out_dir,
				     struct cc_err *err);
CC_MUST enum cc_code cc_journal_add(int dir, const struct cc_entry *entry, char out_name[CC_ENTRY_NAME],
				    struct cc_err *err);
void cc_journal_remove(int dir, const char *name);
/* Calls take for each that is there; it returns false when it cannot use it. *out_unread: how many those were. */
CC_MUST enum cc_code cc_journal_read(int dir,
				     bool (*take)(void *context, const char *name, const struct cc_entry *entry),
				     void *context, size_t *out_unread, struct cc_err *err);

#endif
