/* config.h - git configuration, pointer files and the parts of a repository, judged (contract 6.7; attacks 4). The gate
 * reads a file once and installs its own copy if these say yes. Pure.
 *
 * The parser is stricter than git's: whatever git might read in two ways is refused. */
#ifndef CC_REVIEW_CONFIG_H
#define CC_REVIEW_CONFIG_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>

enum { CC_GITCONFIG_MAX = 256 * 1024, CC_GITPOINTER_MAX = 4096 };

/* path: the configuration file, canonical. before: what stands there now, empty where nothing does. CC_OK when every
 * key is one of the safe ones with a safe value, and the others are those of before, all of them, in their order: what
 * the host has set stays as it is (a submodule, a signing key), nothing joins it. CC_EPOLICY names the first offending
 * key and its line; CC_EINVAL says where a text cannot be understood. */
CC_MUST enum cc_code cc_gitconfig_judge(struct cc_view path, struct cc_view text, struct cc_view before,
					struct cc_err *err);
/* May this configuration name that work tree? Only a submodule's, and one inside the outer work tree, outside .git. */
bool cc_gitworktree_ok(struct cc_view path, const char *value);

/* The list of steps that an interrupted rebase goes on with: git's own commands, and none that names a program. */
CC_MUST enum cc_code cc_gittodo_judge(struct cc_view text, struct cc_err *err);

/* path: the pointer file itself (".git", "commondir" or "gitdir"), canonical; text: its content; root: the bind it lies
 * in. CC_OK when what it names lies inside root and is a git directory whose own configuration is judged: X/.git,
 * X/.git/modules/..., X/.git/worktrees/NAME. */
CC_MUST enum cc_code cc_gitpointer_judge(struct cc_view path, struct cc_view text, struct cc_view root,
					 struct cc_err *err);

/* The parts of a bare repository, as a set. */
enum cc_bare_part {
	CC_BARE_HEAD = 1,
	CC_BARE_OBJECTS = 2,
	CC_BARE_REFS = 4,
	CC_BARE_CONFIG = 8,
	CC_BARE_COMMONDIR = 16,
};
/* The names to look for beside a new one, with their bits; ends with a NULL name. */
extern const struct cc_bare_name {
	const char *name;
	unsigned part;
} cc_bare_names[];
/* 0 when the name is none of them. ASCII letters fold. */
unsigned cc_bare_part_of(struct cc_view name);
/* Would a directory with these parts be taken for a repository? Ask with the parts that are there plus the one that is
 * being made. */
bool cc_bare_completes(unsigned parts);

#endif
