/* decide.c - one walk along the path. At each part the table of spelled paths and the patterns that can start there are
 * asked; most paths meet none. What was met is weighed at the end: a full match that denies, then content to be
 * judged, then a path that leads to a denied one, then a flag. */
#include "policy/decide.h"

#include "policy/index.h"

#include <string.h>

/* What may be done to a path that only leads to a denied one: it may be made as a directory, removed when empty, read
 * and given a mode; it may not be moved, replaced, aliased or become anything but a directory. */
#define PASSES_ABOVE                                                                                                   \
	(CC_VERB_BIT(CC_VERB_READ) | CC_VERB_BIT(CC_VERB_MKDIR) | CC_VERB_BIT(CC_VERB_RMDIR) |                         \
	 CC_VERB_BIT(CC_VERB_MODE) | CC_VERB_BIT(CC_VERB_CONNECT))
/* What is done to something that is no directory: nothing lies below it. */
#define FILE_ONLY                                                                                                      \
	(CC_VERB_BIT(CC_VERB_CREATE) | CC_VERB_BIT(CC_VERB_WRITE) | CC_VERB_BIT(CC_VERB_UNLINK) |                      \
	 CC_VERB_BIT(CC_VERB_MODE))
#define MAKES_FILE (CC_VERB_BIT(CC_VERB_CREATE) | CC_VERB_BIT(CC_VERB_WRITE))

/* Three rules that no pattern can say. */
static const struct cc_rule no_fifo = {
	.kind = CC_RULE_TREE,
	.effect = CC_EFFECT_DENY,
	.id = "bind:no-fifo",
	.reason = "a FIFO in the tree hangs the host program that reads it",
};
static const struct cc_rule git_border = {
	.kind = CC_RULE_TREE,
	.effect = CC_EFFECT_DENY,
	.id = "git:moved-directory",
	.reason = "a directory moved over the border of a git directory carries parts that nobody judged",
};
static const struct cc_rule above_mount = {
	.kind = CC_RULE_TREE,
	.effect = CC_EFFECT_DENY,
	.id = "mount:above",
	.reason = "another bind lies below it, and would be moved away and replaced",
};

struct walk {
	const struct cc_rules *rules;
	const struct cc_ask *ask;
	const struct cc_mount *mount;
	uint32_t mask;   /* the verbs that are asked: a symlink that is renamed is judged as made, too */
	size_t below;    /* offset of the first part below the mount's root */
	size_t git;      /* offset of the first part named .git; 0: none */
	uint32_t denied; /* the rule that wins in each class: the first in order */
	uint32_t judged;
	uint32_t above;
	uint32_t flagged;
};

static uint32_t asked_verbs(const struct cc_ask *ask)
{
	uint32_t mask = CC_VERB_BIT(ask->verb);

	if (ask->verb != CC_VERB_RENAME_TO && ask->verb != CC_VERB_LINK_TO)
		return mask;
	if (ask->object == CC_OBJECT_SYMLINK)
		mask |= CC_VERB_BIT(CC_VERB_SYMLINK);
	else if (ask->object == CC_OBJECT_SOCKET)
		mask |= CC_VERB_BIT(CC_VERB_BIND);
	else if (ask->object == CC_OBJECT_FIFO || ask->object == CC_OBJECT_OTHER)
		mask |= CC_VERB_BIT(CC_VERB_MKNOD);
	return mask;
}

static const struct cc_mount *mount_of(const struct cc_rules *rules, struct cc_view path)
{
	for (size_t i = 0; i < rules->mount_count; i++)
		if (cc_path_within(path, cc_view_of(rules->mounts[i].path)))
			return &rules->mounts[i];
	return NULL;
}

/* The names opened by the operator are asked before a name rule, at the part that the rule matched. */
static bool name_opened(const struct walk *w, size_t end)
{
	const struct cc_rules_index *index = w->rules->index;
	struct cc_view head = {w->ask->path.ptr, end};

	for (size_t i = 0; i < index->name_opens.count; i++) {
		const struct cc_matcher *m = &index->matchers[index->name_opens.items[i]];
		size_t start = m->pattern.anchor == CC_ANCHOR_ROOT ? 1 : w->below;

		if (cc_pattern_names(&m->pattern, head, start))
			return true;
	}
	return false;
}

/* Is a rule whose own part of the path ends at offset end opened by something at least as specific? */
static bool opened(const struct walk *w, const struct cc_rule *rule, size_t end)
{
	const struct cc_rules_index *index = w->rules->index;

	if (!rule->grant)
		return false;
	for (size_t i = 0; i < index->path_opens.count; i++) {
		struct cc_view path = cc_view_of(w->rules->rules[index->path_opens.items[i]].pattern);

		if (path.len >= end && cc_path_within(w->ask->path, path))
			return true;
	}
	for (size_t i = 0; i < index->tree_opens.count; i++) {
		const struct cc_matcher *m = &index->matchers[index->tree_opens.items[i]];

		if ((w->mask & ~w->rules->rules[m->rule].verbs) != 0)
			continue;
		for (size_t at = 1; at <= w->ask->path.len; at += cc_path_part(w->ask->path, at).len + 1) {
			struct cc_hit hit = cc_pattern_from(&m->pattern, w->ask->path, at);

			if (hit.match == CC_MATCH_EXACT && hit.end == w->ask->path.len && hit.end > end)
				return true;
		}
	}
	return false;
}

/* Did the operator open this very path as a file? (a work tree's or a submodule's .git) */
static bool opened_as_file(const struct walk *w)
{
	const struct cc_rules_index *index = w->rules->index;

	if (w->mask & ~FILE_ONLY)
		return false;
	for (size_t i = 0; i < index->path_opens.count; i++)
		if (cc_view_is(w->ask->path, w->rules->rules[index->path_opens.items[i]].pattern))
			return true;
	return false;
}

static void keep_first(uint32_t *kept, uint32_t rule)
{
	if (rule < *kept)
		*kept = rule;
}

static bool pins(const struct cc_rule *rule, uint32_t mask)
{
	if (rule->effect == CC_EFFECT_JUDGE)
		return rule->judge != CC_JUDGE_BARE && rule->judge != CC_JUDGE_HISTORY;
	if (rule->effect != CC_EFFECT_DENY)
		return false;
	/* what may not be moved is not moved with what holds it either */
	return (rule->verbs & MAKES_FILE) == MAKES_FILE || (rule->verbs & mask & CC_VERB_BIT(CC_VERB_RENAME_FROM));
}

/* A rule met the path: end is where its own part of the path ends, open_end what an allow must cover. */
static void meet(struct walk *w, uint32_t number, struct cc_hit hit, size_t open_end)
{
	const struct cc_rule *rule = &w->rules->rules[number];

	if (hit.match == CC_MATCH_ANCESTOR) {
		if ((w->mask & ~PASSES_ABOVE) && pins(rule, w->mask) && !(rule->grant && opened_as_file(w)))
			keep_first(&w->above, number);
		return;
	}
	if (!(rule->verbs & w->mask) || (rule->leaf && hit.end != w->ask->path.len))
		return;
	if (rule->kind == CC_RULE_NAME ? rule->grant && name_opened(w, hit.end) : opened(w, rule, open_end))
		return;
	if (rule->effect == CC_EFFECT_DENY)
		keep_first(&w->denied, number);
	else if (rule->effect == CC_EFFECT_JUDGE)
		keep_first(&w->judged, number);
	else if (rule->effect == CC_EFFECT_FLAG)
		keep_first(&w->flagged, number);
}

static void try_matcher(struct walk *w, const struct cc_matcher *m, size_t at)
{
	const struct cc_rule *rule = &w->rules->rules[m->rule];
	struct cc_hit hit;

	/* What tools read out of a project is not read out of a .git directory or an agent's own state. */
	if (!rule->whole_path && m->pattern.anchor != CC_ANCHOR_ROOT &&
	    (at < w->below || (rule->kind == CC_RULE_TREE && rule->grant && (w->git || w->mount->mode != CC_MOUNT_RW))))
		return;
	hit = cc_pattern_from(&m->pattern, w->ask->path, at);
	if (hit.match != CC_MATCH_NONE)
		meet(w, m->rule, hit, rule->fixed ? cc_path_parts_end(w->ask->path, at, rule->fixed) : hit.end);
}

static void meet_paths(struct walk *w, uint64_t hash, size_t end)
{
	const struct cc_rules_index *index = w->rules->index;
	struct cc_view head = {w->ask->path.ptr, end};
	const struct cc_path_entry *entry;
	uint64_t slot = hash;

	while ((entry = cc_path_table_next(&index->exact, hash, head, &slot)))
		meet(w, entry->rule, (struct cc_hit){CC_MATCH_EXACT, end}, end);
	slot = hash;
	if (end == w->ask->path.len && (entry = cc_path_table_next(&index->above, hash, head, &slot)))
		meet(w, entry->rule, (struct cc_hit){CC_MATCH_ANCESTOR, end}, end);
}

static void walk_parts(struct walk *w)
{
	const struct cc_rules_index *index = w->rules->index;
	struct cc_view path = w->ask->path;
	uint64_t path_hash = CC_HASH_START;
	size_t at;
	size_t end;

	for (at = 1; at <= path.len; at = end + 1) {
		uint64_t part_hash = CC_HASH_START;
		struct cc_view part;

		path_hash = cc_hash_step(path_hash, '/');
		for (end = at; end < path.len && path.ptr[end] != '/'; end++) {
			part_hash = cc_hash_step(part_hash, path.ptr[end]);
			path_hash = cc_hash_step(path_hash, path.ptr[end]);
		}
		part = (struct cc_view){path.ptr + at, end - at};
		meet_paths(w, path_hash, end);
		for (uint32_t i = index->buckets[part_hash & index->bucket_mask]; i != CC_NO_RULE;
		     i = index->matchers[i].next)
			if (cc_part_match(&index->matchers[i].pattern.parts[0], part))
				try_matcher(w, &index->matchers[i], at);
		for (size_t i = 0; i < index->loose.count; i++) {
			const struct cc_matcher *m = &index->matchers[index->loose.items[i]];

			if (m->pattern.count == 0 || m->pattern.parts[0].kind == CC_PART_DEEP ||
			    cc_part_match(&m->pattern.parts[0], part))
				try_matcher(w, m, at);
		}
		if (!w->git && cc_view_eq_nocase(part, cc_view_of(".git")))
			w->git = at;
	}
	for (size_t i = 0; i < index->anchored.count; i++) {
		const struct cc_matcher *m = &index->matchers[index->anchored.items[i]];

		try_matcher(w, m, m->pattern.anchor == CC_ANCHOR_ROOT ? 1 : w->below);
	}
}

/* Is this the rename at which content is judged? git's own way of replacing a file: NAME.lock renamed onto NAME. The
 * list of a rebase is edited by people's tools, too (sed -i). */
static bool is_judged_rename(const struct cc_ask *ask, enum cc_judge judge)
{
	struct cc_view from = ask->from;

	if (ask->verb != CC_VERB_RENAME_TO || (ask->object != CC_OBJECT_FILE && ask->object != CC_OBJECT_UNKNOWN))
		return false;
	if (judge == CC_JUDGE_TODO)
		return from.len != 0;
	return from.len == ask->path.len + 5 && cc_view_ends(from, ".lock") &&
	       memcmp(from.ptr, ask->path.ptr, ask->path.len) == 0;
}

static size_t git_dir_end(struct cc_view path)
{
	for (size_t at = 1; at <= path.len;) {
		size_t end = at + cc_path_part(path, at).len;

		if (end < path.len && cc_view_eq_nocase((struct cc_view){path.ptr + at, end - at}, cc_view_of(".git")))
			return end;
		at = end + 1;
	}
	return 0;
}

static bool crosses_git_border(const struct cc_ask *ask)
{
	size_t to;
	size_t from;

	if (ask->verb != CC_VERB_RENAME_TO || ask->object != CC_OBJECT_DIR || ask->from.len == 0)
		return false;
	to = git_dir_end(ask->path);
	from = git_dir_end(ask->from);
	return to != from || !cc_view_eq((struct cc_view){ask->path.ptr, to}, (struct cc_view){ask->from.ptr, from});
}

/* A repository below .git/modules or .git/worktrees is known to git by its place: another directory put there, or its
 * own moved away to make room, brings a configuration and hooks that were written where nobody judges them. git itself
 * moves no directory there. */
static bool moves_inner_repository(const struct cc_ask *ask)
{
	struct cc_view part;
	size_t end;

	if ((ask->verb != CC_VERB_RENAME_TO && ask->verb != CC_VERB_RENAME_FROM) || ask->object != CC_OBJECT_DIR)
		return false;
	end = git_dir_end(ask->path);
	if (!end)
		return false;
	part = cc_path_part(ask->path, end + 1);
	return cc_view_eq_nocase(part, cc_view_of("modules")) || cc_view_eq_nocase(part, cc_view_of("worktrees"));
}

/* Does a part of a bare repository belong to an ordinary one: X/.git/HEAD, or a name below X/.git/refs and the like? A
 * directory of its own below .git is a place to assemble one as good as any. */
static bool is_repository_part(const struct walk *w)
{
	static const char *const own[] = {"refs", "logs", "objects", "modules", "worktrees", "lfs", "info", "hooks"};
	struct cc_view path = w->ask->path;
	struct cc_view next;

	if (!w->git || w->git + 5 > path.len)
		return false;
	next = cc_path_part(path, w->git + 5);
	if (w->git + 5 + next.len == path.len)
		return true;
	for (size_t i = 0; i < CC_COUNT(own); i++)
		if (cc_view_is(next, own[i]))
			return true;
	return false;
}

static struct cc_decision deny_by(const struct walk *w, uint32_t number, enum cc_match match)
{
	return (struct cc_decision){
		.verdict = CC_DENY, .match = match, .rule = &w->rules->rules[number], .mount = w->mount};
}

static struct cc_decision weigh(const struct walk *w)
{
	struct cc_decision out = {.verdict = CC_ALLOW, .mount = w->mount};
	const struct cc_rule *judge = w->judged == CC_NO_RULE ? NULL : &w->rules->rules[w->judged];

	if (judge && judge->judge == CC_JUDGE_BARE && is_repository_part(w))
		judge = NULL;
	if (w->denied != CC_NO_RULE)
		return deny_by(w, w->denied, CC_MATCH_EXACT);
	if (judge && judge->judge != CC_JUDGE_BARE && judge->judge != CC_JUDGE_HISTORY) {
		if (!is_judged_rename(w->ask, judge->judge))
			return deny_by(w, w->judged, CC_MATCH_EXACT);
	} else if (w->above != CC_NO_RULE) {
		return deny_by(w, w->above, CC_MATCH_ANCESTOR);
	}
	if (judge) {
		out = (struct cc_decision){.verdict = CC_JUDGE,
					   .judge = judge->judge,
					   .match = CC_MATCH_EXACT,
					   .rule = judge,
					   .mount = w->mount};
	} else if (w->flagged != CC_NO_RULE) {
		out.flagged = true;
		out.match = CC_MATCH_EXACT;
		out.rule = &w->rules->rules[w->flagged];
	}
	return out;
}

static bool is_above_mount(const struct cc_rules *rules, struct cc_view path)
{
	for (size_t i = 0; i < rules->mount_count; i++) {
		struct cc_view mount = cc_view_of(rules->mounts[i].path);

		if (mount.len > path.len && cc_path_within(mount, path))
			return true;
	}
	return false;
}

struct cc_decision cc_decide(const struct cc_rules *rules, const struct cc_ask *ask)
{
	struct walk w = {.rules = rules,
			 .ask = ask,
			 .mask = asked_verbs(ask),
			 .denied = CC_NO_RULE,
			 .judged = CC_NO_RULE,
			 .above = CC_NO_RULE,
			 .flagged = CC_NO_RULE};
	struct cc_decision out = {.verdict = CC_DENY};
	bool writes = (w.mask & CC_VERBS_WRITE) != 0;

	if (!rules || !rules->index || ask->path.len == 0 || ask->path.ptr[0] != '/')
		return out;
	w.mount = out.mount = mount_of(rules, ask->path);
	if (!w.mount || w.mount->mode == CC_MOUNT_RO) {
		out.verdict = writes ? CC_DENY : CC_ALLOW;
		if (writes || !w.mount)
			return out;
	}
	if ((w.mask & ~PASSES_ABOVE) && is_above_mount(rules, ask->path))
		return (struct cc_decision){.match = CC_MATCH_ANCESTOR, .rule = &above_mount, .mount = w.mount};
	if ((ask->verb == CC_VERB_READ && !rules->reads_judged) || w.mount->mode == CC_MOUNT_PRIVATE) {
		out.verdict = CC_ALLOW;
		return out;
	}
	w.below = strlen(w.mount->path) + (w.mount->path[1] != '\0');
	walk_parts(&w);
	out = weigh(&w);
	if (out.verdict == CC_DENY)
		return out;
	if (w.mask & CC_VERB_BIT(CC_VERB_MKNOD))
		return (struct cc_decision){.match = CC_MATCH_EXACT, .rule = &no_fifo, .mount = w.mount};
	if (crosses_git_border(ask) || moves_inner_repository(ask))
		return (struct cc_decision){.match = CC_MATCH_EXACT, .rule = &git_border, .mount = w.mount};
	return out;
}

const char *cc_decision_id(const struct cc_decision *decision)
{
	if (decision->rule)
		return decision->rule->id;
	return decision->mount ? decision->verdict == CC_DENY ? "mount:read-only" : "mount:allowed" : "mount:outside";
}

/* In single quotes for a shell. */
/* A name as a glob that matches it and can be shown and typed: what is no plain byte is any byte. */
static void add_name(struct cc_buf *out, struct cc_view name)
{
	char glob[3 + 256] = "**/";
	char *plain = glob + strlen(glob);

	if (name.len > 256)
		return;
	for (size_t i = 0; i < name.len; i++)
		/* a name that is a pattern itself must not open what it would match */
		plain[i] = name.ptr[i] >= 0x20 && name.ptr[i] < 0x7f && !strchr("*?[]{}\\", name.ptr[i]) ? name.ptr[i]
													 : '?';
	cc_buf_add_quoted(out, (struct cc_view){glob, strlen("**/") + name.len});
}

static void add_name_grant(const struct cc_pattern *pattern, const struct cc_decision *decision, struct cc_view path,
			   struct cc_buf *out)
{
	size_t below = decision->mount ? strlen(decision->mount->path) + 1 : 1;

	for (size_t at = below; at <= path.len; at += cc_path_part(path, at).len + 1) {
		struct cc_hit hit = cc_pattern_from(pattern, path, at);

		if (hit.match == CC_MATCH_EXACT) {
			size_t last = hit.end;

			while (last > at && path.ptr[last - 1] != '/')
				last--;
			cc_buf_adds(out, "--allow-name ");
			add_name(out, (struct cc_view){path.ptr + last, hit.end - last});
			return;
		}
	}
}

static void add_path_grant(const struct cc_pattern *pattern, const struct cc_rule *rule, struct cc_view path,
			   struct cc_buf *out)
{
	for (size_t at = 1; rule->fixed && at <= path.len; at += cc_path_part(path, at).len + 1) {
		if (cc_pattern_from(pattern, path, at).match == CC_MATCH_EXACT) {
			path.len = cc_path_parts_end(path, at, rule->fixed);
			break;
		}
	}
	cc_buf_adds(out, "--allow-path ");
	cc_buf_add_quoted(out, path);
}

void cc_socket_grant(struct cc_view path, struct cc_buf *out)
{
	cc_buf_adds(out, "--allow-socket ");
	cc_buf_add_quoted(out, path);
}

void cc_decision_grant(const struct cc_decision *decision, const struct cc_ask *ask, struct cc_buf *out)
{
	const struct cc_rule *rule = decision->rule;
	struct cc_pattern pattern = {0};

	/* Nothing opens the way to a denied path, because moving it would open what lies there. */
	if (!rule || !rule->grant || decision->match != CC_MATCH_EXACT || decision->verdict != CC_DENY)
		return;
	if (rule->kind != CC_RULE_PATH &&
	    cc_pattern_parse(rule->pattern, rule->kind == CC_RULE_TREE, &pattern, NULL) != CC_OK)
		return;
	if (strcmp(rule->grant, "--allow-name") == 0)
		add_name_grant(&pattern, decision, ask->path, out);
	else if (strcmp(rule->grant, "--allow-path") == 0)
		add_path_grant(&pattern, rule, ask->path, out);
	cc_pattern_done(&pattern);
}
