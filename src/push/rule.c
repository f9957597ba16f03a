#include "push/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(char left, char right, bool fold)
{
	return left == right || (fold && cc_ascii_lower((unsigned char)left) == cc_ascii_lower((unsigned char)right));
}

/* Greedy, with the last star of each kind to come back to: no pattern takes longer than its length times the text's. */
bool cc_push_glob(const char *pattern, struct cc_view text, bool fold)
{
	const char *star = NULL, *deep = NULL;
	size_t at = 0, star_at = 0, deep_at = 0;

	for (;;) {
		if (pattern[0] == '*' && pattern[1] == '*') {
			pattern += strspn(pattern, "*");
			/* "**" and the slash behind it stand for no part, too */
			deep = pattern;
			deep_at = at;
			if (*pattern == '/' && at < text.len && (at == 0 || text.ptr[at - 1] == '/'))
				pattern++;
			star = NULL;
		} else if (*pattern == '*') {
			star = ++pattern;
			star_at = at;
		} else if (at == text.len && *pattern == '\0') {
			return true;
		} else if (at < text.len && *pattern &&
			   (*pattern == '?' ? text.ptr[at] != '/' : same(*pattern, text.ptr[at], fold))) {
			pattern++;
			at++;
		} else if (star && star_at < text.len && text.ptr[star_at] != '/') {
			pattern = star;
			at = ++star_at;
		} else if (deep && deep_at < text.len) {
			pattern = deep;
			at = ++deep_at;
			star = NULL;
		} else {
			return false;
		}
	}
}

static const struct {
	const char *name, *says;
	unsigned what;
} whats[] = {
	{"create", "a branch is made", CC_PUSH_CREATE},
	{"update", "a branch goes on", CC_PUSH_UPDATE},
	{"force", "history is replaced", CC_PUSH_FORCE},
	{"delete", "a reference is taken away", CC_PUSH_DELETE},
	{"tag", "a tag is set", CC_PUSH_TAG},
};

static const char *const verdicts[] = {[CC_PUSH_DENY] = "deny", [CC_PUSH_ASK] = "ask", [CC_PUSH_ALLOW] = "allow"};

static enum cc_code bad(struct cc_err *err, const char *why)
{
	return cc_fail(err, CC_EPROTO, 0, "a push rule: %s", why);
}

static enum cc_code take_verdict(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err)
{
	for (size_t i = 0; i < CC_COUNT(verdicts); i++)
		if (m->kind == CC_JSON_STRING && cc_view_is(m->text, verdicts[i])) {
			rule->verdict = (enum cc_push_verdict)i;
			return CC_OK;
		}
	return bad(err, "verdict is allow, ask or deny");
}

static enum cc_code take_text(char **to, const struct cc_json *m, struct cc_err *err)
{
	if (m->kind != CC_JSON_STRING || m->text.len == 0 || m->text.len > CC_PUSH_PATTERN || *to)
		return bad(err, "a text of 1 to 300 bytes is expected");
	*to = cc_str_copy(m->text.ptr);
	return *to ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static enum cc_code take_repository(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err)
{
	return take_text(&rule->repository, m, err);
}

static enum cc_code take_ref(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err)
{
	return take_text(&rule->ref, m, err);
}

static enum cc_code take_name(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err)
{
	return take_text(&rule->name, m, err);
}

static enum cc_code take_what(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err)
{
	if (m->kind != CC_JSON_ARRAY || m->count == 0)
		return bad(err, "what is a list of create, update, force, delete and tag");
	for (const struct cc_json *one = m->child; one; one = one->next) {
		unsigned bit = 0;

		for (size_t i = 0; i < CC_COUNT(whats); i++)
			if (one->kind == CC_JSON_STRING && cc_view_is(one->text, whats[i].name))
				bit = whats[i].what;
		if (!bit)
			return bad(err, "what is a list of create, update, force, delete and tag");
		rule->what |= bit;
	}
	return CC_OK;
}

static enum cc_code take_paths(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (m->kind != CC_JSON_ARRAY || m->count == 0)
		return bad(err, "paths is a list of patterns");
	for (const struct cc_json *one = m->child; code == CC_OK && one; one = one->next) {
		if (one->kind != CC_JSON_STRING || one->text.len == 0 || one->text.len > CC_PUSH_PATTERN)
			return bad(err, "paths is a list of patterns");
		code = cc_strv_push(&rule->paths, one->text.ptr, err);
	}
	return code;
}

static enum cc_code take_bytes(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err)
{
	if (m->kind != CC_JSON_INT || m->integer <= 0)
		return bad(err, "maxBytes is a number above 0");
	rule->max_bytes = m->integer;
	return CC_OK;
}

static const struct {
	const char *key;
	enum cc_code (*take)(struct cc_push_rule *rule, const struct cc_json *m, struct cc_err *err);
} members[] = {
	{"verdict", take_verdict}, {"repository", take_repository}, {"ref", take_ref},   {"what", take_what},
	{"paths", take_paths},     {"maxBytes", take_bytes},        {"name", take_name},
};

static void rule_done(struct cc_push_rule *rule)
{
	free(rule->repository);
	free(rule->ref);
	free(rule->name);
	cc_strv_done(&rule->paths);
}

static enum cc_code read_rule(const struct cc_json *object, struct cc_push_rule *rule, size_t number,
			      struct cc_err *err)
{
	enum cc_code code = object->kind == CC_JSON_OBJECT && cc_json_get(object, "verdict")
				    ? CC_OK
				    : bad(err, "it is an object with a verdict");
	char name[32];

	for (const struct cc_json *m = object->child; code == CC_OK && m; m = m->next) {
		size_t i = 0;

		while (i < CC_COUNT(members) && !cc_view_is(m->key, members[i].key))
			i++;
		code = i < CC_COUNT(members) ? members[i].take(rule, m, err) : bad(err, "a member that is not known");
	}
	if (code == CC_OK && rule->what == 0)
		rule->what = rule->verdict == CC_PUSH_ALLOW ? CC_PUSH_CREATE | CC_PUSH_UPDATE : CC_PUSH_ALL;
	if (code == CC_OK && !rule->name) {
		snprintf(name, sizeof(name), "push:%zu", number);
		rule->name = cc_str_copy(name);
		code = rule->name ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	return code;
}

enum cc_code cc_push_rules_read(const struct cc_json *list, struct cc_push_rules *out_rules, struct cc_err *err)
{
	struct cc_push_rules rules = {0};
	enum cc_code code = CC_OK;

	if (!list || list->kind != CC_JSON_ARRAY || list->count > CC_PUSH_RULES)
		return bad(err, "the rules are a list of at most 200");
	rules.items = calloc(list->count + 1, sizeof(*rules.items));
	if (!rules.items)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	for (const struct cc_json *m = list->child; code == CC_OK && m; m = m->next) {
		rules.count++;
		code = read_rule(m, &rules.items[rules.count - 1], rules.count, err);
	}
	if (code == CC_OK)
		*out_rules = rules;
	else
		cc_push_rules_done(&rules);
	return code;
}

void cc_push_rules_done(struct cc_push_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		rule_done(&rules->items[i]);
	free(rules->items);
	*rules = (struct cc_push_rules){0};
}

static bool is_branch(const char *ref)
{
	return strncmp(ref, "refs/heads/", 11) == 0;
}

static bool is_tag(const char *ref)
{
	return strncmp(ref, "refs/tags/", 10) == 0;
}

unsigned cc_push_what_of(const char *ref, bool creates, bool deletes, bool forces)
{
	if (is_tag(ref))
		return CC_PUSH_TAG | (deletes ? CC_PUSH_DELETE : creates ? 0u : CC_PUSH_FORCE);
	if (deletes)
		return CC_PUSH_DELETE;
	if (creates)
		return CC_PUSH_CREATE;
	/* who forbids that a branch goes on does not want it replaced either */
	return CC_PUSH_UPDATE | (forces ? CC_PUSH_FORCE : 0u);
}

const char *cc_push_what_name(unsigned what)
{
	static const unsigned worst[] = {CC_PUSH_DELETE, CC_PUSH_FORCE, CC_PUSH_TAG, CC_PUSH_CREATE, CC_PUSH_UPDATE};

	for (size_t i = 0; i < CC_COUNT(worst); i++)
		for (size_t j = 0; (what & worst[i]) && j < CC_COUNT(whats); j++)
			if (whats[j].what == worst[i])
				return whats[j].says;
	return "";
}

/* Who allows means these letters; who forbids means the name in any letters, as a forge may take it. */
static bool speaks_of_ref(const struct cc_push_rule *rule, const char *ref)
{
	bool fold = rule->verdict != CC_PUSH_ALLOW;
	const char *name = ref + (is_branch(ref) ? 11 : is_tag(ref) ? 10 : 0);

	if (rule->ref && strncmp(rule->ref, "refs/", 5) == 0)
		return cc_push_glob(rule->ref, cc_view_of(ref), fold);
	/* what is neither branch nor tag is allowed by its whole name only */
	if (name == ref && rule->verdict != CC_PUSH_DENY)
		return false;
	return !rule->ref || cc_push_glob(rule->ref, cc_view_of(name), fold);
}

static bool speaks_of(const struct cc_push_rule *rule, const char *repo, const char *ref)
{
	return (!rule->repository || cc_push_glob(rule->repository, cc_view_of(repo), true)) &&
	       speaks_of_ref(rule, ref);
}

static struct cc_push_decision unspoken(const char *ref, unsigned bit)
{
	bool adds = is_branch(ref) && (bit & (CC_PUSH_CREATE | CC_PUSH_UPDATE));

	return (struct cc_push_decision){adds ? CC_PUSH_ASK : CC_PUSH_DENY, "push:default"};
}

struct cc_push_decision cc_push_decide(const struct cc_push_rules *rules, const char *repo, const char *ref,
				       unsigned what)
{
	struct cc_push_decision worst = {CC_PUSH_ALLOW, NULL};

	for (unsigned bit = 1; bit <= CC_PUSH_TAG; bit <<= 1) {
		struct cc_push_decision here = {CC_PUSH_ALLOW, NULL};

		if (!(what & bit))
			continue;
		for (size_t i = 0; i < rules->count; i++) {
			const struct cc_push_rule *rule = &rules->items[i];
			/* a rule that denies where some path has changed, or something is too large, denies only then
			 */
			bool plain = rule->verdict != CC_PUSH_DENY || (!rule->paths.count && !rule->max_bytes);

			if (plain && (rule->what & bit) && speaks_of(rule, repo, ref) &&
			    (!here.rule || rule->verdict < here.verdict))
				here = (struct cc_push_decision){rule->verdict, rule->name};
		}
		if (!here.rule)
			here = unspoken(ref, bit);
		if (!worst.rule || here.verdict < worst.verdict)
			worst = here;
	}
	return worst.rule ? worst : (struct cc_push_decision){CC_PUSH_DENY, "push:default"};
}

struct cc_push_decision cc_push_decide_size(const struct cc_push_rules *rules, const char *repo, const char *ref,
					    unsigned what, int64_t bytes)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct cc_push_rule *rule = &rules->items[i];

		if (rule->max_bytes && bytes > rule->max_bytes && (rule->what & what) && speaks_of(rule, repo, ref))
			return (struct cc_push_decision){CC_PUSH_DENY, rule->name};
	}
	return (struct cc_push_decision){CC_PUSH_ALLOW, NULL};
}

/* The path, or one that it lies below: a link or a file in the place of ".github" takes away what was there, too. */
static bool names_path(const char *pattern, struct cc_view path)
{
	char above[CC_PUSH_PATTERN + 1];

	if (cc_push_glob(pattern, path, true))
		return true;
	for (size_t len = 1; pattern[len] && len < sizeof(above); len++) {
		if (pattern[len] != '/')
			continue;
		memcpy(above, pattern, len);
		above[len] = '\0';
		if (!cc_view_ends(cc_view_of(above), "**") && cc_push_glob(above, path, true))
			return true;
	}
	return false;
}

struct cc_push_decision cc_push_decide_path(const struct cc_push_rules *rules, const char *repo, const char *ref,
					    unsigned what, struct cc_view path)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct cc_push_rule *rule = &rules->items[i];

		if (!rule->paths.count || !(rule->what & what) || !speaks_of(rule, repo, ref))
			continue;
		for (size_t j = 0; j < rule->paths.count; j++)
			if (names_path(rule->paths.items[j], path))
				return (struct cc_push_decision){CC_PUSH_DENY, rule->name};
	}
	return (struct cc_push_decision){CC_PUSH_ALLOW, NULL};
}

bool cc_push_minds_paths(const struct cc_push_rules *rules, const char *repo)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct cc_push_rule *rule = &rules->items[i];

		if (rule->paths.count && (!rule->repository || cc_push_glob(rule->repository, cc_view_of(repo), true)))
			return true;
	}
	return false;
}

const char *cc_push_flat_deny(const struct cc_push_rules *rules, const char *repo)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct cc_push_rule *rule = &rules->items[i];
		bool all = !rule->ref || strcmp(rule->ref, "**") == 0 || strcmp(rule->ref, "refs/**") == 0;

		if (rule->verdict == CC_PUSH_DENY && all && rule->what == CC_PUSH_ALL && !rule->paths.count &&
		    !rule->max_bytes && (!rule->repository || cc_push_glob(rule->repository, cc_view_of(repo), true)))
			return rule->name;
	}
	return NULL;
}
