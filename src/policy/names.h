/* names.h - paths as text, and patterns over their parts. Pure; symbolic links are the caller's business.
 *
 * A pattern is a sequence of parts; each part is a name with
 * "*" (any bytes) and "?" (one character) in it, and "**" stands for any number of parts. ASCII letters compare equal
 * in both cases, always: on a case-folding file system ".ENV" is ".env". */
#ifndef CC_POLICY_NAMES_H
#define CC_POLICY_NAMES_H

#include "base/err.h"
#include "base/view.h"
#include "policy/decide.h"

enum { CC_PATH_MAX = 4096, CC_NAME_MAX = 255 };

/* CC_EINVAL unless path is absolute, without empty, "." and ".." parts, without trailing slash (but "/" itself is
 * fine), control bytes or parts that are too long. what names the path in the message. */
CC_MUST enum cc_code cc_path_check(const char *what, const char *path, struct cc_err *err);
/* path is root or lies below it. Byte for byte. */
bool cc_path_within(struct cc_view path, struct cc_view root);
/* Does the text hold a wildcard (contract 6.1: such entries are globs)? */
bool cc_path_is_glob(const char *text);

enum cc_part_kind {
	CC_PART_LITERAL = 0,
	CC_PART_AFFIX,   /* one star: a head and a tail */
	CC_PART_GENERAL, /* anything else */
	CC_PART_DEEP,    /* ** inside the pattern: none or more parts */
};

struct cc_part {
	enum cc_part_kind kind;
	const char *text; /* folded */
	size_t len;
	size_t head; /* AFFIX: bytes before the star */
};

/* Where the first part may stand. */
enum cc_anchor {
	CC_ANCHOR_ANY = 0, /* at any depth: "X", "a double star, a slash, X" */
	CC_ANCHOR_MOUNT,   /* directly below the mount's root: "./X", and "X/Y" in a name pattern */
	CC_ANCHOR_ROOT,    /* the whole absolute path: "/X" */
};

struct cc_pattern {
	enum cc_anchor anchor;
	bool below; /* ends in a slash and two stars: what lies below, not the thing itself */
	size_t count;
	struct cc_part *parts;
	char *text;
};

enum { CC_PATTERN_PARTS = 64 };

/* floats: a pattern of several parts stands at any depth (TREE); otherwise below the mount's root (NAME).
 * CC_EINVAL for a pattern that could never match anything. */
CC_MUST enum cc_code cc_pattern_parse(const char *text, bool floats, struct cc_pattern *out_pattern,
				      struct cc_err *err);
void cc_pattern_done(struct cc_pattern *pattern);

bool cc_part_match(const struct cc_part *part, struct cc_view name);

struct cc_hit {
	enum cc_match match;
	size_t end; /* EXACT: offset in the path behind the part that completed the pattern (a last ** not counted) */
};

/* Matches with the first part at the path's part that starts at offset start, whatever the anchor. EXACT: the path is
 * what the pattern names or lies below it. ANCESTOR: the path ends on the way to it. */
struct cc_hit cc_pattern_from(const struct cc_pattern *pattern, struct cc_view path, size_t start);
/* Does the pattern name exactly this path, read from offset start (the place of its anchor)? */
bool cc_pattern_names(const struct cc_pattern *pattern, struct cc_view path, size_t start);
/* Offset behind the count-th part of path counted from offset start. */
size_t cc_path_parts_end(struct cc_view path, size_t start, size_t count);

/* A directory that folds case could take the name for another: it has a byte that is not ASCII, and none that stands
 * nowhere in UTF-8 (with one of those in it, the kernel compares the whole name byte by byte). */
bool cc_name_could_fold(struct cc_view name);

/* Does it lie in a well-known dependency tree, which the preset `packages` opens? */
bool cc_path_in_packages(struct cc_view path);

/* The part of path that starts at offset start. */
static inline struct cc_view cc_path_part(struct cc_view path, size_t start)
{
	size_t end = start;

	while (end < path.len && path.ptr[end] != '/')
		end++;
	return (struct cc_view){path.ptr + start, end - start};
}

#endif
