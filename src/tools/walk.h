/* walk.h - the files below a directory, bounded: no link is followed, what is big and made by machines is passed by,
 * and what may not be read is not there. Private to the room. */
#ifndef CC_TOOLS_WALK_H
#define CC_TOOLS_WALK_H

#include "tools/place.h"

#include <sys/stat.h>

enum { CC_WALK_ENTRIES = 400000, CC_WALK_DEPTH = 48 };

/* dir and name: to open it. rel: below the start; path: canonical. False ends the walk. */
struct cc_walk_file {
	int dir;
	const char *name, *rel, *path;
	const struct stat *st;
};
typedef bool cc_walk_seen(void *context, const struct cc_walk_file *file);

/* *out_cut: a bound was reached, there is more. */
CC_MUST enum cc_code cc_walk(struct cc_tools *tools, const char *start, cc_walk_seen *seen, void *context,
			     bool *out_cut, struct cc_err *err);

/* A file name pattern: without a slash it is about the name, with one about the path; ** is any number of parts. */
struct cc_glob;
CC_MUST enum cc_code cc_glob_parse(const char *text, struct cc_glob **out_glob, struct cc_err *err);
bool cc_glob_is(const struct cc_glob *glob, const char *rel);
void cc_glob_free(struct cc_glob *glob);
CC_OWNED(cc_glob)

#endif
