/* commands.h - what a push asks for: the list of references before the pack, read to its end before anything is done
 * about it. Pure.
 *
 * It is a boundary: what git could read differently is refused. One list of commands, either plain or in a certificate;
 * no reference twice; ids in one hash; names as git's own check of references wants them. */
#ifndef CC_PUSH_COMMANDS_H
#define CC_PUSH_COMMANDS_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	CC_PUSH_COMMANDS = 5000,   /* references in one push */
	CC_PUSH_BYTES = 4 << 20,   /* of everything before the pack */
	CC_PUSH_REF = 1000,        /* bytes of a name */
	CC_PUSH_SHALLOWS = 100000, /* lines that say where a history ends */
	CC_PUSH_OPTIONS = 100,
	CC_PUSH_OID = 64,
};

struct cc_push_command {
	char *ref;
	char old[CC_PUSH_OID + 1], new[CC_PUSH_OID + 1]; /* empty: none (git's id of zeros) */
};

enum cc_push_place {
	CC_PUSH_AT_SHALLOWS = 0,
	CC_PUSH_AT_COMMANDS,
	CC_PUSH_AT_CERT,      /* its head, up to the empty line */
	CC_PUSH_AT_CERT_LIST, /* its commands */
	CC_PUSH_AT_CERT_SIGN, /* its signature */
	CC_PUSH_AT_CERT_END,
	CC_PUSH_AT_OPTIONS,
	CC_PUSH_AT_END,
};

/* Zeroed memory is an empty list that nothing was fed to. */
struct cc_push_list {
	struct cc_push_command *items;
	size_t count, room;
	size_t oid; /* digits of an id here: 40 or 64; 0: none seen */
	bool report, report_v2, side_band, atomic, push_options, certified;
	enum cc_push_place place;
	size_t bytes, shallows;
	struct cc_strv options; /* as they were sent, without their line end */
};

enum cc_push_step { CC_PUSH_MORE = 0, CC_PUSH_DONE, CC_PUSH_BAD };

/* Takes whole packets from bytes; *out_used says how much. DONE: the list is whole, the pack (or nothing) follows. An
 * empty list is what git sends to ask whether it may push. BAD: err says why. */
enum cc_push_step cc_push_feed(struct cc_push_list *list, struct cc_view bytes, size_t *out_used, struct cc_err *err);
void cc_push_list_done(struct cc_push_list *list);
/* Does a pack follow? Not where everything is taken away. */
bool cc_push_has_pack(const struct cc_push_list *list);

/* A full name ("refs/heads/x") that git would make a reference of. */
bool cc_push_ref_ok(struct cc_view name);
/* Lower-case digits, 40 or 64 of them. */
bool cc_push_oid_ok(struct cc_view text);

#endif
