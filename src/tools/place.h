/* place.h - a path of a tool's call as the kernel sees it: pinned below a bind, with its canonical name. Private to the
 * room. */
#ifndef CC_TOOLS_PLACE_H
#define CC_TOOLS_PLACE_H

#include "policy/decide.h"
#include "tools/tools.h"

/* A name in a pinned directory. Zeroed with parent -1, it holds nothing. */
struct cc_place {
	int parent;
	char name[NAME_MAX + 1];
	char path[PATH_MAX]; /* canonical, whether the name is there or not */
	bool there;          /* a regular file; what else stands there is refused */
	unsigned mode;       /* its permissions */
};
void cc_place_done(struct cc_place *place);
#define CC_AUTO_PLACE __attribute__((cleanup(cc_place_done))) struct cc_place

/* The file at text, absolute or below the working directory; a link at its end is followed inside the bind. make: the
 * directories on the way come into being, each by the rules. */
CC_MUST enum cc_code cc_place_find(struct cc_tools *tools, const char *text, bool make, struct cc_place *out,
				   struct cc_err *err);
/* A directory, for walks: its descriptor. */
CC_MUST enum cc_code cc_place_dir(struct cc_tools *tools, const char *text, char out_path[PATH_MAX], int *out_fd,
				  struct cc_err *err);
/* CC_EPOLICY names the rule and the flag that would allow it. */
CC_MUST enum cc_code cc_place_permit(const struct cc_tools *tools, enum cc_verb verb, const char *path,
				     struct cc_err *err);
/* Its bytes, at most CC_TOOL_FILE_MAX. */
CC_MUST enum cc_code cc_place_read(struct cc_tools *tools, const struct cc_place *place, struct cc_buf *out,
				   struct cc_err *err);

/* Files that change together: all of them, or none. Prepared files lie beside the old ones under names of ours. */
struct cc_change {
	struct cc_place place;
	char fresh[48], old[48];
	bool prepared, kept, done;
};
enum { CC_CHANGES_MAX = 256 };
struct cc_changes {
	struct cc_change *items;
	size_t count;
};
/* Takes place. The rules are asked here. */
CC_MUST enum cc_code cc_changes_add(struct cc_tools *tools, struct cc_changes *changes, struct cc_place *place,
				    struct cc_view text, struct cc_err *err);
CC_MUST enum cc_code cc_changes_apply(struct cc_changes *changes, struct cc_err *err);
/* Takes away what was prepared and not applied. */
void cc_changes_done(struct cc_changes *changes);
#define CC_AUTO_CHANGES __attribute__((cleanup(cc_changes_done))) struct cc_changes

#endif
