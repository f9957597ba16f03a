/* compile.c - from a spec and what the host knows to the one set of rules. The order of the rules is the order in which
 * a refusal is explained: what nothing opens first, then secrets, then names, then the mandatory table. */
#include "policy/compile.h"

#include "policy/defaults.h"
#include "policy/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V(verb) CC_VERB_BIT(CC_VERB_##verb)

/* Adds a rule; its strings are copied, prefix and detail make the id. */
static void add(struct cc_compiler *c, struct cc_rule rule, const char *detail)
{
	struct cc_rules *r = c->rules;
	size_t size = strlen(rule.id) + (detail ? strlen(detail) : 0) + 1;
	char *id;

	if (c->code != CC_OK)
		return;
	if (r->rule_count == c->rule_cap) {
		size_t cap = c->rule_cap ? c->rule_cap * 2 : 256;
		struct cc_rule *grown = realloc(r->rules, cap * sizeof(*grown));

		if (!grown) {
			cc_compile_no_memory(c);
			return;
		}
		r->rules = grown;
		c->rule_cap = cap;
	}
	id = malloc(size);
	if (id)
		snprintf(id, size, "%s%s", rule.id, detail ? detail : "");
	else
		cc_compile_no_memory(c);
	rule.id = id;
	rule.pattern = cc_compile_copy(c, rule.pattern);
	rule.reason = cc_compile_copy(c, rule.reason);
	rule.grant = cc_compile_copy(c, rule.grant);
	r->rules[r->rule_count++] = rule;
}

/* The resolved spelling of a path; where its end does not exist yet, that of the part that does, and the rest as
 * written: a denied file may be created later, through a link that is there now. */
static bool resolve_spelling(const struct cc_compiler *c, const char *path, char *out, size_t cap)
{
	char head[CC_PATH_MAX];
	size_t len = strlen(path);

	memcpy(head, path, len + 1);
	for (;;) {
		if (cc_compile_resolve(c, head, out, cap)) {
			size_t used = strlen(out);

			if (used + strlen(path + len) >= cap)
				return false;
			memcpy(out + used, path + len, strlen(path + len) + 1);
			return true;
		}
		while (len > 0 && path[len - 1] != '/')
			len--;
		if (len <= 1)
			return false;
		head[--len] = '\0';
	}
}

/* A PATH rule in its literal and, where it differs, its resolved spelling (contract 6.1). */
static void add_path(struct cc_compiler *c, struct cc_rule rule, const char *path, const char *detail)
{
	char resolved[CC_PATH_MAX];

	if (c->code == CC_OK)
		c->code = cc_path_check("a path of the policy", path, c->err);
	if (c->code != CC_OK)
		return;
	rule.kind = CC_RULE_PATH;
	rule.pattern = (char *)(uintptr_t)path;
	add(c, rule, detail);
	if (resolve_spelling(c, path, resolved, sizeof(resolved)) && strcmp(resolved, path) != 0) {
		rule.pattern = resolved;
		add(c, rule, detail);
	}
}

static void add_home_at(struct cc_compiler *c, struct cc_rule rule, const char *home, const char *const *names)
{
	char path[CC_PATH_MAX];

	for (size_t i = 0; c->code == CC_OK && names[i]; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, names[i]) >= sizeof(path))
			c->code = cc_fail(c->err, CC_EINVAL, 0, "the home directory's path is too long");
		else
			add_path(c, rule, path, names[i]);
	}
}

static void add_home(struct cc_compiler *c, struct cc_rule rule, const char *const *names)
{
	char home[CC_PATH_MAX];

	if (!c->facts->home || c->facts->home[0] != '/' || c->facts->home[1] == '\0')
		return;
	add_home_at(c, rule, c->facts->home, names);
	if (cc_compile_resolve(c, c->facts->home, home, sizeof(home)) && strcmp(home, c->facts->home) != 0)
		add_home_at(c, rule, home, names);
}

/* The policy's own denies: literal paths, or globs that are left as written. Nothing opens them. */
static void add_denies(struct cc_compiler *c, struct cc_rule rule, const struct cc_strv *list)
{
	char buf[CC_PATH_MAX];

	for (size_t i = 0; i < list->count; i++) {
		const char *entry = cc_compile_at_home(c, list->items[i], buf, sizeof(buf));

		if (entry[0] == '/' && !cc_path_is_glob(entry)) {
			add_path(c, rule, entry, list->items[i]);
			continue;
		}
		rule.kind = CC_RULE_NAME;
		rule.pattern = (char *)(uintptr_t)entry;
		add(c, rule, list->items[i]);
	}
}

static void add_opens(struct cc_compiler *c)
{
	const struct cc_policy *policy = &c->spec->policy;
	struct cc_rule name = {.kind = CC_RULE_NAME, .effect = CC_EFFECT_ALLOW, .verbs = CC_VERBS_ALL};
	struct cc_rule path = {.effect = CC_EFFECT_ALLOW, .verbs = CC_VERBS_ALL, .id = "allow-path:"};
	char buf[CC_PATH_MAX];

	name.id = "allow-name:";
	name.reason = "opened by the operator";
	path.reason = name.reason;
	for (size_t i = 0; i < policy->allow_names.count; i++) {
		name.pattern = policy->allow_names.items[i];
		add(c, name, name.pattern);
	}
	for (size_t i = 0; i < policy->allow_paths.count; i++)
		add_path(c, path, cc_compile_at_home(c, policy->allow_paths.items[i], buf, sizeof(buf)),
			 policy->allow_paths.items[i]);
	name.reason = "a well-known dependency tree";
	for (size_t i = 0; (c->presets & CC_PRESET_PACKAGES) && cc_default_packages[i]; i++) {
		name.pattern = (char *)(uintptr_t)cc_default_packages[i];
		add(c, name, name.pattern);
	}
}

/* A tracked name needs a rule only where a name rule would refuse it: at the file itself, or at a directory above. */
static void open_tracked(struct cc_compiler *c, const struct cc_pattern *denied, size_t count, const char *name)
{
	struct cc_rule rule = {
		.kind = CC_RULE_NAME, .effect = CC_EFFECT_ALLOW, .verbs = CC_VERBS_ALL, .id = "tracked:"};
	struct cc_view path = cc_view_of(name);
	char pattern[CC_PATH_MAX];

	rule.reason = "the checkout tracked this name at launch";
	rule.pattern = pattern;
	for (size_t at = 0; at <= path.len; at += cc_path_part(path, at).len + 1) {
		struct cc_view part = cc_path_part(path, at);

		for (size_t i = 0; i < count; i++) {
			if (!cc_part_match(&denied[i].parts[0], part))
				continue;
			snprintf(pattern, sizeof(pattern), "./%.*s", (int)(at + part.len), name);
			add(c, rule, pattern + 2);
			break;
		}
	}
}

static void add_tracked(struct cc_compiler *c)
{
	struct cc_pattern denied[16];
	size_t count = 0;

	if (!(c->presets & CC_PRESET_TRACKED))
		return;
	while (c->code == CC_OK && cc_default_deny_names[count] && count < CC_COUNT(denied)) {
		c->code = cc_pattern_parse(cc_default_deny_names[count], false, &denied[count], c->err);
		count += c->code == CC_OK;
	}
	for (size_t i = 0; c->code == CC_OK && i < c->facts->tracked.count; i++) {
		const char *name = c->facts->tracked.items[i];

		/* A name with a wildcard in it would open more than itself: it stays denied. */
		if (!cc_path_is_glob(name) && strlen(name) + 3 < CC_PATH_MAX && name[0] != '/')
			open_tracked(c, denied, count, name);
	}
	while (count > 0)
		cc_pattern_done(&denied[--count]);
}

static void add_agent_names(struct cc_compiler *c)
{
	struct cc_rule rule = {.kind = CC_RULE_NAME, .effect = CC_EFFECT_ALLOW, .verbs = CC_VERBS_ALL};
	char pattern[CC_PATH_MAX];

	rule.id = "agent-name:";
	rule.reason = "the agent uses this name in its own state";
	rule.pattern = pattern;
	for (size_t m = 0; m < c->rules->mount_count; m++) {
		if (c->rules->mounts[m].mode != CC_MOUNT_STATE)
			continue;
		for (size_t i = 0; i < c->facts->agent_names.count; i++) {
			const char *name = c->facts->agent_names.items[i];

			if ((size_t)snprintf(pattern, sizeof(pattern), "%s/%s%s", c->rules->mounts[m].path,
					     strncmp(name, "**/", 3) == 0 ? "" : "**/", name) < sizeof(pattern))
				add(c, rule, name);
		}
	}
}

static void add_names(struct cc_compiler *c)
{
	struct cc_rule rule = {.kind = CC_RULE_NAME, .effect = CC_EFFECT_DENY};

	rule.verbs = CC_VERBS_WRITE | V(CONNECT);
	rule.id = "name:";
	rule.reason = "names of this shape hold secrets";
	rule.grant = "--allow-name";
	for (size_t i = 0; cc_default_deny_names[i]; i++) {
		rule.pattern = (char *)(uintptr_t)cc_default_deny_names[i];
		add(c, rule, rule.pattern);
	}
}

static void add_mandatory(struct cc_compiler *c)
{
	for (size_t i = 0; i < cc_default_rule_count; i++) {
		const struct cc_default_rule *row = &cc_default_rules[i];
		struct cc_rule rule = {
			.kind = CC_RULE_TREE,
			.effect = row->effect,
			.judge = row->judge,
			.verbs = row->verbs,
			.whole_path = row->whole_path,
			.leaf = row->leaf,
			.fixed = row->fixed,
			.pattern = (char *)(uintptr_t)row->pattern,
			.id = (char *)(uintptr_t)row->id,
			.reason = (char *)(uintptr_t)row->reason,
			.grant = row->opener == CC_OPENS_NOTHING ? NULL : "--allow-path",
		};

		if (row->opener == CC_OPENS_TOOLING && (c->presets & CC_PRESET_TOOLING))
			rule.effect = CC_EFFECT_FLAG;
		add(c, rule, NULL);
	}
}

static void add_rules(struct cc_compiler *c)
{
	struct cc_rule denied = {.effect = CC_EFFECT_DENY, .verbs = CC_VERBS_WRITE, .id = "protected:"};
	struct cc_rule secret = {.effect = CC_EFFECT_DENY, .verbs = CC_VERBS_ALL, .id = "deny-read:"};
	struct cc_rule git = denied;

	add_opens(c);
	add_tracked(c);
	add_agent_names(c);
	secret.reason = "the policy denies reading it";
	add_denies(c, secret, &c->spec->policy.deny_read);
	secret.id = "secret:";
	secret.reason = "it holds credentials";
	add_home(c, secret, cc_default_home_secrets);
	denied.reason = "a protected checkout is never written";
	for (size_t i = 0; i < c->spec->protected_paths.count; i++)
		add_path(c, denied, c->spec->protected_paths.items[i], c->spec->protected_paths.items[i]);
	denied.id = "deny-write:";
	denied.reason = "the policy denies writing it";
	add_denies(c, denied, &c->spec->policy.deny_write);
	denied.id = "home:";
	denied.reason = "the person's own shell, tools or agents run it";
	denied.grant = "--allow-path";
	add_home(c, denied, cc_default_home_deny);
	git.id = "git:host-config";
	git.reason = "git on the host runs or includes it";
	git.grant = "--allow-path";
	for (size_t i = 0; i < c->facts->git_paths.count; i++)
		add_path(c, git, c->facts->git_paths.items[i], NULL);
	add_names(c);
	add_mandatory(c);
}

static void add_presets(struct cc_compiler *c)
{
	for (size_t i = 0; c->code == CC_OK && i < c->spec->policy.presets.count; i++) {
		enum cc_preset preset = 0;

		c->code = cc_preset_parse(c->spec->policy.presets.items[i], &preset, c->err);
		c->presets |= preset;
	}
}

enum cc_code cc_rules_compile(const struct cc_spec *spec, const struct cc_rule_facts *facts,
			      struct cc_rules **out_rules, struct cc_err *err)
{
	CC_AUTO(cc_rules) rules = calloc(1, sizeof(*rules));
	const struct cc_rule_facts nothing = {0};
	struct cc_compiler c = {.spec = spec, .facts = facts ? facts : &nothing, .rules = rules, .err = err};

	if (!rules)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	c.code = cc_spec_check(spec, err);
	if (c.code != CC_OK)
		return c.code;
	rules->session_id = cc_compile_copy(&c, spec->session_id);
	rules->network_open = spec->foreign;
	add_presets(&c);
	cc_compile_mounts(&c);
	if (c.code == CC_OK)
		add_rules(&c);
	cc_compile_push(&c, &rules->sockets, &spec->policy.allow_sockets);
	cc_compile_net(&c);
	if (c.code == CC_OK)
		rules->reads_judged = cc_compile_reads_matter(&c);
	if (c.code == CC_OK)
		c.code = cc_rules_seal(rules, err);
	if (c.code == CC_OK)
		*out_rules = cc_rules_take(&rules);
	return c.code;
}

/* A secret that got another name could be read by it, so what is not read is not moved or linked either. */
enum { READ_VERBS = CC_VERB_BIT(CC_VERB_READ) | CC_VERB_BIT(CC_VERB_LINK_FROM) | CC_VERB_BIT(CC_VERB_RENAME_FROM) };

static void add_terminal_rules(struct cc_compiler *c, const struct cc_strv *daemon_paths)
{
	struct cc_rule secret = {.effect = CC_EFFECT_DENY, .verbs = READ_VERBS, .id = "secret:"};

	secret.reason = "it holds credentials";
	add_home(c, secret, cc_default_terminal_secrets);
	/* A token that the terminal put there itself is one that it has read: the next server would take it. */
	secret.verbs = CC_VERBS_ALL;
	secret.id = "daemon:";
	secret.reason = "it belongs to the server";
	for (size_t i = 0; daemon_paths && i < daemon_paths->count; i++)
		add_path(c, secret, daemon_paths->items[i], NULL);
}

enum cc_code cc_rules_terminal(const char *session_id, const char *workdir, const struct cc_strv *daemon_paths,
			       const struct cc_rule_facts *facts, struct cc_rules **out_rules, struct cc_err *err)
{
	CC_AUTO(cc_rules) rules = calloc(1, sizeof(*rules));
	struct cc_spec spec;
	struct cc_compiler c = {.spec = &spec, .facts = facts, .rules = rules, .err = err};

	if (!rules)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	cc_spec_init(&spec);
	spec.session_id = cc_str_copy(session_id);
	c.code = cc_spec_add_bind(&spec, facts->home, false, err);
	if (c.code == CC_OK && strcmp(workdir, facts->home) != 0)
		c.code = cc_spec_add_bind(&spec, workdir, false, err);
	if (c.code == CC_OK)
		c.code = cc_spec_check(&spec, err);
	rules->network_open = true;
	if (c.code == CC_OK) {
		rules->session_id = cc_compile_copy(&c, session_id);
		cc_compile_mounts(&c);
		add_terminal_rules(&c, daemon_paths);
		cc_compile_net(&c);
	}
	rules->reads_judged = true;
	if (c.code == CC_OK)
		c.code = cc_rules_seal(rules, err);
	cc_spec_done(&spec);
	if (c.code == CC_OK)
		*out_rules = cc_rules_take(&rules);
	return c.code;
}
