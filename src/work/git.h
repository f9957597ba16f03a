/* git.h - how this program runs git: nobody's configuration, no hook, filter, helper, pager, monitor, replacement or
 * transport, so that nothing a repository says of itself is executed. One place for all of it. */
#ifndef CC_WORK_GIT_H
#define CC_WORK_GIT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/view.h"
#include "os/proc.h"

#include <limits.h>
#include <stdbool.h>

struct cc_git {
	char path[PATH_MAX];
	struct cc_strv env;
	/* Kept by every git and by what it starts: a lock that is held until the last of them is gone. -1: none. */
	int keep;
};

/* env: PATH is taken from it. */
CC_MUST enum cc_code cc_git_init(struct cc_git *git, char *const *env, struct cc_err *err);
void cc_git_done(struct cc_git *git);
/* NAME=VALUE for every later call. */
CC_MUST enum cc_code cc_git_set(struct cc_git *git, struct cc_err *err, const char *fmt, ...) CC_PRINTF(3, 4);
/* For a question about what the person set: their global configuration is read as well, from the HOME of env. Only for
 * `git config`, which executes nothing. */
CC_MUST enum cc_code cc_git_persons(struct cc_git *git, char *const *env, struct cc_err *err);
/* Runs it in dir with these words (NULL at their end). out is initialised with max; the caller frees it whatever comes.
 * CC_EPOLICY: git says no. No transport is allowed, not even files, unless the words begin with CC_GIT_FILES: what is
 * not in a repository is fetched by nobody. */
#define CC_GIT_FILES "-c", "protocol.file.allow=always"
/* Objects out of another repository, whatever it says of itself; then its directory and what is wanted. The one end
 * reads nothing of the person's either, and offers every object that is asked for by its id. */
#define CC_GIT_UPLOAD                                                                                                  \
	"--upload-pack=git -c uploadpack.allowAnySHA1InWant=true -c safe.directory=* -c protocol.allow=never "         \
	"-c core.commitGraph=false -c core.multiPackIndex=false upload-pack"
#define CC_GIT_FETCH                                                                                                   \
	CC_GIT_FILES, "fetch", "-q", "--no-tags", "--update-shallow", "--no-write-fetch-head",                         \
		"--no-recurse-submodules", CC_GIT_UPLOAD
/* Every entry of every commit, to each of its parents, as git's objects have it (review/objects.h reads it): nothing
 * that a repository says of itself takes one away or shows it otherwise. The range, the format and its order follow. */
#define CC_GIT_ENTRIES                                                                                                 \
	"log", "-z", "--raw", "-r", "-m", "--root", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv",   \
		"--no-mailmap"
CC_MUST enum cc_code cc_git_run(const struct cc_git *git, const char *dir, size_t max, struct cc_buf *out,
				const char *const *words, struct cc_err *err);
/* Begins it with these three descriptors (-1: none), for who feeds it or reads it while it works. It ends with the
 * thread that began it, at the latest. */
CC_MUST enum cc_code cc_git_begin(const struct cc_git *git, const char *dir, const int stdio[3],
				  const char *const *words, struct cc_child *out_child, struct cc_err *err);
/* The same for those whose answer is one line, without its end. */
CC_MUST enum cc_code cc_git_line(const struct cc_git *git, const char *dir, char *out, size_t cap,
				 const char *const *words, struct cc_err *err);
/* The same, for those that answer nothing. */
CC_MUST enum cc_code cc_git_do(const struct cc_git *git, const char *dir, const char *const *words, struct cc_err *err);

enum { CC_GIT_OID = 64 };

/* What name is, as the id of a commit. CC_ENOTFOUND: none. */
CC_MUST enum cc_code cc_git_commit(const struct cc_git *git, const char *dir, const char *name,
				   char out[CC_GIT_OID + 1], struct cc_err *err);
/* Hexadecimal, and as long as one of git's two hashes. */
bool cc_git_is_oid(const char *text);
/* An empty bare repository in dir, which is there. like: an id, whose hash it takes. */
CC_MUST enum cc_code cc_git_start(const struct cc_git *git, const char *dir, const char *like, struct cc_err *err);
/* git's own name for a tree of nothing, in the hash of that id. */
const char *cc_git_empty_tree(const char *like);

#endif
