/* The first line is a glob, the second a path, the third the other path of a rename. The compiled matcher is held to a
 * slow one that tries everything, and the decision to what must hold for every path. */
#include "policy/decide.h"
#include "policy/names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char lower(char c)
{
	return cc_ascii_lower((unsigned char)c);
}

static bool slow_part(const char *glob, size_t glen, const char *name, size_t nlen)
{
	if (glen == 0)
		return nlen == 0;
	if (*glob == '*')
		return slow_part(glob + 1, glen - 1, name, nlen) ||
		       (nlen > 0 && slow_part(glob, glen, name + 1, nlen - 1));
	if (nlen == 0)
		return false;
	if (*glob == '?') {
		size_t len = 1;

		while (len < nlen && ((unsigned char)name[len] & 0xc0) == 0x80)
			len++;
		return slow_part(glob + 1, glen - 1, name + len, nlen - len);
	}
	return lower(*glob) == lower(*name) && slow_part(glob + 1, glen - 1, name + 1, nlen - 1);
}

static bool slow_names(const char *glob, const char *path)
{
	size_t glen = strcspn(glob, "/");
	size_t plen = strcspn(path, "/");
	bool last = glob[glen] == '\0';

	if (glen == 2 && memcmp(glob, "**", 2) == 0) {
		if (last)
			return *path != '\0';
		if (slow_names(glob + 3, path))
			return true;
		return path[plen] && slow_names(glob, path + plen + 1);
	}
	if (!slow_part(glob, glen, path, plen))
		return false;
	if (last || !path[plen])
		return last && !path[plen];
	return slow_names(glob + glen + 1, path + plen + 1);
}

/* The slow matcher is exponential: only small inputs are given to it. */
static bool is_small(const char *glob)
{
	size_t stars = 0;

	for (const char *c = glob; *c; c++)
		stars += *c == '*';
	return stars <= 6 && strlen(glob) < 100;
}

static void check_matcher(const char *glob, const char *path)
{
	struct cc_pattern pattern;
	const char *rest = glob;
	char deep[200];
	bool want;

	if (cc_pattern_parse(glob, false, &pattern, NULL) != CC_OK)
		return;
	if (is_small(glob) && strlen(path) < 120) {
		if (pattern.anchor == CC_ANCHOR_ROOT)
			rest = glob + 1;
		else if (pattern.anchor == CC_ANCHOR_MOUNT && strncmp(glob, "./", 2) == 0)
			rest = glob + 2;
		want = slow_names(rest, path + 1);
		if (pattern.anchor == CC_ANCHOR_ANY && strncmp(glob, "**/", 3) != 0) {
			snprintf(deep, sizeof(deep), "**/%s", glob);
			want |= slow_names(deep, path + 1);
		}
		assert(cc_pattern_names(&pattern, cc_view_of(path), 1) == want);
	}
	for (size_t at = 1; at <= strlen(path); at += cc_path_part(cc_view_of(path), at).len + 1) {
		struct cc_hit hit = cc_pattern_from(&pattern, cc_view_of(path), at);

		assert(hit.match != CC_MATCH_EXACT || hit.end <= strlen(path));
	}
	cc_pattern_done(&pattern);
}

static struct cc_rules *compile(const char *glob)
{
	struct cc_spec spec;
	struct cc_rule_facts facts = {.home = "/home/u"};
	struct cc_rules *rules = NULL;
	struct cc_err err;

	cc_spec_init(&spec);
	spec.session_id = cc_str_copy("fuzz");
	if (cc_spec_add_bind(&spec, "/r", false, &err) != CC_OK ||
	    cc_spec_add_bind(&spec, "/home/u", false, &err) != CC_OK)
		abort();
	if (glob && cc_strv_push(&spec.policy.deny_write, glob, &err) != CC_OK)
		abort();
	(void)!cc_rules_compile(&spec, &facts, &rules, &err);
	cc_spec_done(&spec);
	return rules;
}

static void check_decisions(const struct cc_rules *rules, const struct cc_rules *more, struct cc_ask ask)
{
	struct cc_decision decision = cc_decide(rules, &ask);
	struct cc_buf grant;

	assert(decision.verdict != CC_DENY || cc_decision_id(&decision));
	assert((decision.verdict == CC_JUDGE) == (decision.judge != CC_JUDGE_NONE));
	if (more && decision.verdict == CC_DENY)
		assert(cc_decide(more, &ask).verdict == CC_DENY);
	cc_buf_init(&grant, 65536);
	cc_decision_grant(&decision, &ask, &grant);
	assert(decision.verdict == CC_DENY || grant.len == 0);
	cc_buf_done(&grant);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cc_rules *rules;
	char *lines[3];
	char *copy = malloc(size + 1);
	char *rest = copy;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (size_t i = 0; i < 3; i++) {
		size_t len = strcspn(rest, "\n");

		lines[i] = rest;
		rest += len + (rest[len] != '\0');
		lines[i][len] = '\0';
	}
	if (!rules)
		rules = compile(NULL);
	assert(rules);
	if (cc_path_check("path", lines[1], NULL) == CC_OK && strlen(lines[1]) > 1) {
		CC_AUTO(cc_rules) more = lines[0][0] ? compile(lines[0]) : NULL;
		bool from = cc_path_check("from", lines[2], NULL) == CC_OK;

		if (lines[0][0])
			check_matcher(lines[0], lines[1]);
		for (int verb = 0; verb < CC_VERB_COUNT; verb++)
			for (int object = CC_OBJECT_UNKNOWN; object <= CC_OBJECT_OTHER; object++)
				check_decisions(rules, more,
						(struct cc_ask){(enum cc_verb)verb, cc_view_of(lines[1]),
								(enum cc_object)object,
								cc_view_of(from ? lines[2] : NULL)});
	}
	free(copy);
	return 0;
}
