#include "policy/rules.h"

#include "policy/index.h"

#include <stdlib.h>
#include <string.h>

/* name as explain takes and prints it; action in the contract's vocabulary (3.5) */
static const struct {
	const char *name, *action;
} verbs[CC_VERB_COUNT] = {
	[CC_VERB_READ] = {"read", "file-read*"},
	[CC_VERB_CREATE] = {"create", "file-write-create"},
	[CC_VERB_WRITE] = {"write", "file-write-data"},
	[CC_VERB_MKDIR] = {"mkdir", "file-write-create"},
	[CC_VERB_MKNOD] = {"mknod", "file-write-create"},
	[CC_VERB_BIND] = {"bind", "file-write-create"},
	[CC_VERB_SYMLINK] = {"symlink", "file-write-create"},
	[CC_VERB_LINK_FROM] = {"link-from", "file-write-create"},
	[CC_VERB_LINK_TO] = {"link-to", "file-write-create"},
	[CC_VERB_RENAME_FROM] = {"rename-from", "file-write-unlink"},
	[CC_VERB_RENAME_TO] = {"rename-to", "file-write-create"},
	[CC_VERB_UNLINK] = {"unlink", "file-write-unlink"},
	[CC_VERB_RMDIR] = {"rmdir", "file-write-unlink"},
	[CC_VERB_MODE] = {"mode", "file-write-mode"},
	[CC_VERB_CONNECT] = {"connect", "network-outbound"},
};

const char *cc_verb_name(enum cc_verb verb)
{
	return (size_t)verb < CC_COUNT(verbs) ? verbs[verb].name : "unknown";
}

const char *cc_verb_action(enum cc_verb verb)
{
	return (size_t)verb < CC_COUNT(verbs) ? verbs[verb].action : "file-write-data";
}

static enum cc_code no_memory(struct cc_err *err)
{
	return cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = CC_HASH_START;

	for (size_t i = 0; i < len; i++)
		hash = cc_hash_step(hash, text[i]);
	return hash;
}

static size_t table_size(size_t entries)
{
	size_t size = 16;

	while (size < entries * 2)
		size *= 2;
	return size;
}

const struct cc_path_entry *cc_path_table_next(const struct cc_path_table *table, uint64_t hash, struct cc_view path,
					       uint64_t *slot)
{
	if (!table->slots)
		return NULL;
	for (;;) {
		const struct cc_path_entry *entry = &table->slots[(*slot)++ & table->mask];

		if (entry->len == 0)
			return NULL;
		if (entry->hash == hash && cc_view_eq_nocase((struct cc_view){entry->text, entry->len}, path))
			return entry;
	}
}

static void table_add(struct cc_path_table *table, const char *text, size_t len, uint32_t rule)
{
	uint64_t hash = hash_of(text, len);
	uint64_t slot = hash;

	while (table->slots[slot & table->mask].len != 0)
		slot++;
	table->slots[slot & table->mask] = (struct cc_path_entry){hash, text, (uint32_t)len, rule};
}

/* One entry per ancestor is enough: any rule below it pins it, and the first in order is reported. */
static void table_add_above(struct cc_path_table *table, const char *text, uint32_t rule)
{
	for (size_t len = strlen(text); len > 1; len--) {
		uint64_t hash;
		uint64_t slot;

		if (text[len - 1] != '/')
			continue;
		hash = slot = hash_of(text, len - 1);
		if (!cc_path_table_next(table, hash, (struct cc_view){text, len - 1}, &slot))
			table_add(table, text, len - 1, rule);
	}
}

static enum cc_code build_paths(const struct cc_rules *rules, struct cc_rules_index *index, struct cc_err *err)
{
	size_t exact = 0;
	size_t above = 0;

	for (size_t i = 0; i < rules->rule_count; i++) {
		if (rules->rules[i].kind != CC_RULE_PATH || rules->rules[i].effect == CC_EFFECT_ALLOW)
			continue;
		exact++;
		for (const char *c = rules->rules[i].pattern; *c; c++)
			above += *c == '/';
	}
	if (exact == 0)
		return CC_OK;
	index->exact.mask = table_size(exact) - 1;
	index->above.mask = table_size(above) - 1;
	index->exact.slots = calloc(index->exact.mask + 1, sizeof(*index->exact.slots));
	index->above.slots = calloc(index->above.mask + 1, sizeof(*index->above.slots));
	if (!index->exact.slots || !index->above.slots)
		return no_memory(err);
	for (size_t i = 0; i < rules->rule_count; i++) {
		const struct cc_rule *rule = &rules->rules[i];

		if (rule->kind != CC_RULE_PATH || rule->effect == CC_EFFECT_ALLOW)
			continue;
		table_add(&index->exact, rule->pattern, strlen(rule->pattern), (uint32_t)i);
		table_add_above(&index->above, rule->pattern, (uint32_t)i);
	}
	return CC_OK;
}

static enum cc_code reserve(struct cc_rules_index *index, size_t count, struct cc_err *err)
{
	struct cc_list *lists[] = {&index->loose, &index->anchored, &index->name_opens, &index->tree_opens,
				   &index->path_opens};

	for (size_t i = 0; i < CC_COUNT(lists); i++) {
		lists[i]->items = calloc(count + 1, sizeof(uint32_t));
		if (!lists[i]->items)
			return no_memory(err);
	}
	index->matchers = calloc(count + 1, sizeof(*index->matchers));
	index->bucket_mask = table_size(count) - 1;
	index->buckets = malloc((index->bucket_mask + 1) * sizeof(*index->buckets));
	if (!index->matchers || !index->buckets)
		return no_memory(err);
	for (size_t i = 0; i <= index->bucket_mask; i++)
		index->buckets[i] = CC_NO_RULE;
	return CC_OK;
}

static void list_add(struct cc_list *list, size_t item)
{
	list->items[list->count++] = (uint32_t)item;
}

/* Files the matcher under the way it will be found. */
static void file_matcher(struct cc_rules_index *index, const struct cc_rule *rule, size_t number)
{
	struct cc_matcher *m = &index->matchers[number];
	const struct cc_part *first = m->pattern.count ? &m->pattern.parts[0] : NULL;

	if (rule->effect == CC_EFFECT_ALLOW) {
		list_add(rule->kind == CC_RULE_NAME ? &index->name_opens : &index->tree_opens, number);
	} else if (m->pattern.anchor != CC_ANCHOR_ANY) {
		list_add(&index->anchored, number);
	} else if (!first || first->kind != CC_PART_LITERAL) {
		list_add(&index->loose, number);
	} else {
		uint32_t *bucket = &index->buckets[hash_of(first->text, first->len) & index->bucket_mask];

		m->next = *bucket;
		*bucket = (uint32_t)number;
	}
}

static enum cc_code build(const struct cc_rules *rules, struct cc_rules_index *index, struct cc_err *err)
{
	enum cc_code code = reserve(index, rules->rule_count, err);

	for (size_t i = 0; code == CC_OK && i < rules->rule_count; i++) {
		const struct cc_rule *rule = &rules->rules[i];
		struct cc_matcher *m = &index->matchers[index->matcher_count];

		if (rule->kind == CC_RULE_PATH) {
			if (rule->pattern[0] != '/' || rule->pattern[1] == '\0')
				return cc_fail(err, CC_EINVAL, 0, "rule %s: \"%.200s\" is not an absolute path",
					       rule->id, rule->pattern);
			if (rule->effect == CC_EFFECT_ALLOW)
				list_add(&index->path_opens, i);
			continue;
		}
		code = cc_pattern_parse(rule->pattern, rule->kind == CC_RULE_TREE, &m->pattern, err);
		if (code != CC_OK)
			return code;
		for (size_t part = 0; rule->leaf && part < m->pattern.count; part++)
			if (m->pattern.parts[part].kind == CC_PART_DEEP)
				code = cc_fail(err, CC_EINVAL, 0, "rule %s: a leaf has no \"**\" in it", rule->id);
		m->rule = (uint32_t)i;
		m->next = CC_NO_RULE;
		file_matcher(index, rule, index->matcher_count++);
	}
	return code == CC_OK ? build_paths(rules, index, err) : code;
}

static enum cc_code build_index(const struct cc_rules *rules, struct cc_rules_index **out_index, struct cc_err *err)
{
	CC_AUTO(cc_rules_index) index = calloc(1, sizeof(*index));
	enum cc_code code;

	if (!index)
		return no_memory(err);
	code = build(rules, index, err);
	if (code == CC_OK)
		*out_index = cc_rules_index_take(&index);
	return code;
}

void cc_rules_index_free(struct cc_rules_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->matcher_count; i++)
		cc_pattern_done(&index->matchers[i].pattern);
	free(index->matchers);
	free(index->buckets);
	free(index->loose.items);
	free(index->anchored.items);
	free(index->name_opens.items);
	free(index->tree_opens.items);
	free(index->path_opens.items);
	free(index->exact.slots);
	free(index->above.slots);
	free(index);
}

static int longest_first(const void *left, const void *right)
{
	const struct cc_mount *a = left;
	const struct cc_mount *b = right;
	size_t one = strlen(a->path);
	size_t two = strlen(b->path);

	return one == two ? strcmp(a->path, b->path) : one < two ? 1 : -1;
}

enum cc_code cc_rules_seal(struct cc_rules *rules, struct cc_err *err)
{
	enum cc_code code;

	if (rules->index)
		return cc_fail(err, CC_ESTATE, 0, "the rules are sealed already");
	if (!rules->net)
		return cc_fail(err, CC_EINVAL, 0, "the rules say nothing about the network");
	for (size_t i = 0; i < rules->mount_count; i++) {
		code = cc_path_check("a mount", rules->mounts[i].path, err);
		if (code != CC_OK)
			return code;
	}
	if (rules->mount_count)
		qsort(rules->mounts, rules->mount_count, sizeof(*rules->mounts), longest_first);
	for (size_t i = 1; i < rules->mount_count; i++)
		if (strcmp(rules->mounts[i - 1].path, rules->mounts[i].path) == 0)
			return cc_fail(err, CC_EINVAL, 0, "\"%.200s\" is mounted twice", rules->mounts[i].path);
	code = cc_net_seal(rules->net, err);
	return code == CC_OK ? build_index(rules, &rules->index, err) : code;
}

void cc_rules_free(struct cc_rules *rules)
{
	if (!rules)
		return;
	free(rules->session_id);
	for (size_t i = 0; i < rules->mount_count; i++)
		free(rules->mounts[i].path);
	free(rules->mounts);
	for (size_t i = 0; i < rules->rule_count; i++) {
		free(rules->rules[i].pattern);
		free(rules->rules[i].id);
		free(rules->rules[i].reason);
		free(rules->rules[i].grant);
	}
	free(rules->rules);
	cc_strv_done(&rules->sockets);
	cc_net_rules_free(rules->net);
	cc_rules_index_free(rules->index);
	free(rules);
}
