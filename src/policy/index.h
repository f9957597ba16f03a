/* index.h - the sealed form of a rule set: what cc_decide walks with. Immutable and free of scratch space, so that many
 * threads may decide at once. */
#ifndef CC_POLICY_INDEX_H
#define CC_POLICY_INDEX_H

#include "policy/names.h"
#include "policy/rules.h"

#define CC_NO_RULE UINT32_MAX

struct cc_matcher {
	struct cc_pattern pattern;
	uint32_t rule;
	uint32_t next; /* in its bucket: another matcher or CC_NO_RULE */
};

/* One spelled path (or an ancestor of one) that a PATH rule speaks of. */
struct cc_path_entry {
	uint64_t hash;
	const char *text; /* the rule's pattern; the first len bytes count */
	uint32_t len;     /* 0: a free slot */
	uint32_t rule;
};

struct cc_path_table {
	struct cc_path_entry *slots;
	size_t mask; /* slots - 1; 0 slots: an empty table */
};

struct cc_list {
	uint32_t *items;
	size_t count;
};

struct cc_rules_index {
	struct cc_matcher *matchers; /* every NAME and TREE rule */
	size_t matcher_count;
	uint32_t *buckets; /* by the hash of a literal first part */
	size_t bucket_mask;
	struct cc_list loose;      /* matchers at any depth whose first part has a wildcard */
	struct cc_list anchored;   /* matchers that start at the mount's root or at "/" */
	struct cc_list name_opens; /* NAME rules that allow */
	struct cc_list tree_opens; /* TREE rules that allow */
	struct cc_list path_opens; /* PATH rules that allow (rule numbers, not matchers) */
	struct cc_path_table exact;
	struct cc_path_table above;
};

/* Hashing goes byte by byte, folded, so that a walk along a path has the hash of every prefix for nothing. */
#define CC_HASH_START 1469598103934665603u
static inline uint64_t cc_hash_step(uint64_t hash, char byte)
{
	return (hash ^ cc_ascii_lower((unsigned char)byte)) * 1099511628211u;
}

/* The next entry for these len bytes of path; *slot starts at the hash and is moved on. NULL: no more. */
const struct cc_path_entry *cc_path_table_next(const struct cc_path_table *table, uint64_t hash, struct cc_view path,
					       uint64_t *slot);

void cc_rules_index_free(struct cc_rules_index *index);
CC_OWNED(cc_rules_index)

#endif
