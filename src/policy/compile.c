/* compile.c - from a spec and what the host knows to the one set of rules. The order of the rules is the order in which
 * a refusal is explained: what nothing opens first, then secrets, then names, then the mandatory table. */
#include "policy/rules.h"

#include "policy/defaults.h"
#include "policy/names.h"
#include "policy/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V(verb)   CC_VERB_BIT(CC_VERB_##verb)
#define ALL_VERBS ((1u << CC_VERB_COUNT) - 1u)

struct compiler {
	const struct cc_spec *spec;
	const struct cc_rule_facts *facts;
	struct cc_rules *rules;
	size_t rule_cap;
	unsigned presets;
	bool state_mounts;
	enum cc_code code; /* the first failure: every step looks here, so that the steps read as a list */
	struct cc_err *err;
};

static void fail_memory(struct compiler *c)
{
	if (c->code == CC_OK)
		c->code = cc_fail(c->err, CC_ELIMIT, 0, "out of memory");
}

static char *copy(struct compiler *c, const char *text)
{
	char *made = text ? cc_str_dup(text) : NULL;

	if (text && !made)
		fail_memory(c);
	return made;
}

/* Adds a rule; its strings are copied, prefix and detail make the id. */
static void add(struct compiler *c, struct cc_rule rule, const char *detail)
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
			fail_memory(c);
			return;
		}
		r->rules = grown;
		c->rule_cap = cap;
	}
	id = malloc(size);
	if (id)
		snprintf(id, size, "%s%s", rule.id, detail ? detail : "");
	else
		fail_memory(c);
	rule.id = id;
	rule.pattern = copy(c, rule.pattern);
	rule.reason = copy(c, rule.reason);
	rule.grant = copy(c, rule.grant);
	r->rules[r->rule_count++] = rule;
}

static bool resolve(const struct compiler *c, const char *path, char *out, size_t cap)
{
	return c->facts->resolve && c->facts->resolve(c->facts->context, path, out, cap) && out[0] == '/' &&
	       out[1] != '\0';
}

/* A PATH rule in its literal and, where it differs, its resolved spelling (contract 6.1). */
static void add_path(struct compiler *c, struct cc_rule rule, const char *path, const char *detail)
{
	char resolved[CC_PATH_MAX];

	if (c->code != CC_OK)
		return;
	c->code = cc_path_check("a path of the policy", path, c->err);
	rule.kind = CC_RULE_PATH;
	rule.pattern = (char *)(uintptr_t)path;
	add(c, rule, detail);
	if (resolve(c, path, resolved, sizeof(resolved)) && strcmp(resolved, path) != 0) {
		rule.pattern = resolved;
		add(c, rule, detail);
	}
}

/* "~/x" is written out; the result lives in buf. */
static const char *at_home(struct compiler *c, const char *path, char *buf, size_t cap)
{
	if (path[0] != '~' || (path[1] != '/' && path[1] != '\0') || !c->facts->home)
		return path;
	if ((size_t)snprintf(buf, cap, "%s%s", c->facts->home, path + 1) >= cap && c->code == CC_OK)
		c->code = cc_fail(c->err, CC_EINVAL, 0, "\"%.100s\" is too long", path);
	return buf;
}

static void add_home_at(struct compiler *c, struct cc_rule rule, const char *home, const char *const *names)
{
	char path[CC_PATH_MAX];

	for (size_t i = 0; c->code == CC_OK && names[i]; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, names[i]) >= sizeof(path))
			c->code = cc_fail(c->err, CC_EINVAL, 0, "the home directory's path is too long");
		else
			add_path(c, rule, path, names[i]);
	}
}

static void add_home(struct compiler *c, struct cc_rule rule, const char *const *names)
{
	char home[CC_PATH_MAX];

	if (!c->facts->home || c->facts->home[0] != '/' || c->facts->home[1] == '\0')
		return;
	add_home_at(c, rule, c->facts->home, names);
	if (resolve(c, c->facts->home, home, sizeof(home)) && strcmp(home, c->facts->home) != 0)
		add_home_at(c, rule, home, names);
}

/* The policy's own denies: literal paths, or globs that are left as written. Nothing opens them. */
static void add_denies(struct compiler *c, struct cc_rule rule, const struct cc_strv *list)
{
	char buf[CC_PATH_MAX];

	for (size_t i = 0; i < list->count; i++) {
		const char *entry = at_home(c, list->items[i], buf, sizeof(buf));

		if (entry[0] == '/' && !cc_path_is_glob(entry)) {
			add_path(c, rule, entry, list->items[i]);
			continue;
		}
		rule.kind = CC_RULE_NAME;
		rule.pattern = (char *)(uintptr_t)entry;
		add(c, rule, list->items[i]);
	}
}

static void add_opens(struct compiler *c)
{
	const struct cc_policy *policy = &c->spec->policy;
	struct cc_rule name = {.kind = CC_RULE_NAME, .effect = CC_EFFECT_ALLOW, .verbs = ALL_VERBS};
	struct cc_rule path = {.effect = CC_EFFECT_ALLOW, .verbs = ALL_VERBS, .id = "allow-path:"};
	char buf[CC_PATH_MAX];

	name.id = "allow-name:";
	name.reason = "opened by the operator";
	path.reason = name.reason;
	for (size_t i = 0; i < policy->allow_names.count; i++) {
		name.pattern = policy->allow_names.items[i];
		add(c, name, name.pattern);
	}
	for (size_t i = 0; i < policy->allow_paths.count; i++)
		add_path(c, path, at_home(c, policy->allow_paths.items[i], buf, sizeof(buf)),
			 policy->allow_paths.items[i]);
	name.reason = "a well-known dependency tree";
	for (size_t i = 0; (c->presets & CC_PRESET_PACKAGES) && cc_default_packages[i]; i++) {
		name.pattern = (char *)(uintptr_t)cc_default_packages[i];
		add(c, name, name.pattern);
	}
}

/* A tracked name needs a rule only where a name rule would refuse it: at the file itself, or at a directory above. */
static void open_tracked(struct compiler *c, const struct cc_pattern *denied, size_t count, const char *name)
{
	struct cc_rule rule = {.kind = CC_RULE_NAME, .effect = CC_EFFECT_ALLOW, .verbs = ALL_VERBS, .id = "tracked:"};
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

static void add_tracked(struct compiler *c)
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

static void add_agent_names(struct compiler *c)
{
	struct cc_rule rule = {.kind = CC_RULE_NAME, .effect = CC_EFFECT_ALLOW, .verbs = ALL_VERBS};
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

static void add_names(struct compiler *c)
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

static void add_mandatory(struct compiler *c)
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

static void add_rules(struct compiler *c)
{
	struct cc_rule denied = {.effect = CC_EFFECT_DENY, .verbs = CC_VERBS_WRITE, .id = "protected:"};
	struct cc_rule secret = {.effect = CC_EFFECT_DENY, .verbs = ALL_VERBS, .id = "deny-read:"};
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

static struct cc_mount *find_mount(struct compiler *c, const char *path)
{
	for (size_t i = 0; i < c->rules->mount_count; i++)
		if (strcmp(c->rules->mounts[i].path, path) == 0)
			return &c->rules->mounts[i];
	return NULL;
}

/* Twice the same path: read-only wins over read-write, and what was said first over what comes by itself. */
static void add_mount(struct compiler *c, const char *path, enum cc_mount_mode mode)
{
	char resolved[CC_PATH_MAX];
	struct cc_mount *grown;
	struct cc_mount *known;

	if (c->code != CC_OK)
		return;
	if (resolve(c, path, resolved, sizeof(resolved)))
		path = resolved;
	known = find_mount(c, path);
	if (known) {
		if (mode == CC_MOUNT_STATE || (mode == CC_MOUNT_RO && known->mode == CC_MOUNT_RW))
			known->mode = mode;
		return;
	}
	grown = realloc(c->rules->mounts, (c->rules->mount_count + 1) * sizeof(*grown));
	if (!grown) {
		fail_memory(c);
		return;
	}
	c->rules->mounts = grown;
	grown[c->rules->mount_count++] = (struct cc_mount){copy(c, path), mode};
}

/* The session's own directories, unless a bind lies over them: then the person wants the real one. */
static void add_private(struct compiler *c, const char *path)
{
	for (size_t i = 0; i < c->rules->mount_count; i++)
		if (c->rules->mounts[i].path && cc_path_within(cc_view_of(path), cc_view_of(c->rules->mounts[i].path)))
			return;
	add_mount(c, path, CC_MOUNT_PRIVATE);
}

static void add_mounts(struct compiler *c)
{
	const struct cc_spec *spec = c->spec;
	enum cc_mount_mode writable = cc_mode_writes(spec->mode) ? CC_MOUNT_RW : CC_MOUNT_RO;
	char buf[CC_PATH_MAX];

	for (size_t i = 0; i < spec->bind_count; i++)
		add_mount(c, spec->binds[i].guest_path, spec->binds[i].read_only ? CC_MOUNT_RO : writable);
	for (size_t i = 0; i < spec->policy.allow_write.count; i++)
		add_mount(c, at_home(c, spec->policy.allow_write.items[i], buf, sizeof(buf)), writable);
	for (size_t i = 0; i < spec->policy.allow_read.count; i++)
		add_mount(c, at_home(c, spec->policy.allow_read.items[i], buf, sizeof(buf)), CC_MOUNT_RO);
	for (size_t i = 0; i < spec->runner_state_dirs.count; i++)
		add_mount(c, spec->runner_state_dirs.items[i], CC_MOUNT_STATE);
	add_private(c, "/tmp");
	add_private(c, "/dev/shm");
	if (c->facts->home && c->facts->home[0] == '/' && c->facts->home[1] != '\0')
		add_private(c, c->facts->home);
}

static const struct cc_mount *mount_at(const struct compiler *c, struct cc_view path)
{
	const struct cc_mount *best = NULL;

	for (size_t i = 0; i < c->rules->mount_count; i++) {
		const struct cc_mount *m = &c->rules->mounts[i];

		if (cc_path_within(path, cc_view_of(m->path)) && (!best || strlen(best->path) < strlen(m->path)))
			best = m;
	}
	return best;
}

/* Reading opens are trapped only where a path that must not be read is visible at all. */
static bool reads_matter(const struct compiler *c)
{
	for (size_t i = 0; i < c->rules->rule_count; i++) {
		const struct cc_rule *rule = &c->rules->rules[i];
		const struct cc_mount *over;

		if (rule->effect != CC_EFFECT_DENY || !(rule->verbs & V(READ)))
			continue;
		over = rule->kind == CC_RULE_PATH ? mount_at(c, cc_view_of(rule->pattern)) : NULL;
		if (over && over->mode != CC_MOUNT_PRIVATE)
			return true;
		for (size_t m = 0; m < c->rules->mount_count; m++)
			if (c->rules->mounts[m].mode != CC_MOUNT_PRIVATE &&
			    (rule->kind != CC_RULE_PATH ||
			     cc_path_within(cc_view_of(c->rules->mounts[m].path), cc_view_of(rule->pattern))))
				return true;
	}
	return false;
}

static void push_all(struct compiler *c, struct cc_strv *to, const char *const *from)
{
	for (size_t i = 0; c->code == CC_OK && from[i]; i++)
		if (!cc_strv_has(to, from[i]))
			c->code = cc_strv_push(to, from[i], c->err);
}

static void push_list(struct compiler *c, struct cc_strv *to, const struct cc_strv *from)
{
	if (from->count)
		push_all(c, to, (const char *const *)from->items);
}

static void add_net(struct compiler *c)
{
	const struct cc_spec *spec = c->spec;
	struct cc_net_rules *net = c->code == CC_OK ? calloc(1, sizeof(*net)) : NULL;

	if (!net) {
		fail_memory(c);
		return;
	}
	c->rules->net = net;
	net->enabled = spec->network_enabled && spec->policy.network != 0;
	if (net->enabled) { /* off means an empty list, and an empty list means no (contract 7.5) */
		push_all(c, &net->allow, cc_default_allow_hosts);
		push_list(c, &net->allow, &spec->egress_allowlist);
		push_list(c, &net->allow, &spec->policy.allowed_domains);
		push_list(c, &net->allow, &c->facts->agent_hosts);
	}
	push_all(c, &net->deny, cc_default_deny_hosts);
	push_list(c, &net->deny, &spec->policy.denied_domains);
	push_list(c, &net->private_names, &spec->policy.private_names);
	push_list(c, &net->private_cidrs, &spec->policy.private_cidrs);
	if (c->code == CC_OK && spec->policy.host_count) {
		net->hosts = calloc(spec->policy.host_count, sizeof(*net->hosts));
		if (!net->hosts)
			fail_memory(c);
	}
	for (size_t i = 0; c->code == CC_OK && i < spec->policy.host_count; i++) {
		struct cc_static_host *host = &net->hosts[net->host_count++];

		host->name = copy(c, spec->policy.hosts[i].name);
		push_list(c, &host->addresses, &spec->policy.hosts[i].addresses);
	}
}

static void add_presets(struct compiler *c)
{
	for (size_t i = 0; c->code == CC_OK && i < c->spec->policy.presets.count; i++) {
		const char *name = c->spec->policy.presets.items[i];
		enum cc_preset preset = cc_preset_of(name);

		if (!preset)
			c->code = cc_fail(c->err, CC_EINVAL, 0,
					  "unknown preset \"%.60s\": packages, tracked or tooling", name);
		c->presets |= preset;
	}
}

enum cc_code cc_rules_compile(const struct cc_spec *spec, const struct cc_rule_facts *facts,
			      struct cc_rules **out_rules, struct cc_err *err)
{
	CC_AUTO(cc_rules) rules = calloc(1, sizeof(*rules));
	const struct cc_rule_facts nothing = {0};
	struct compiler c = {.spec = spec, .facts = facts ? facts : &nothing, .rules = rules, .err = err};

	if (!rules)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	c.code = cc_spec_check(spec, err);
	if (c.code != CC_OK)
		return c.code;
	rules->session_id = copy(&c, spec->session_id);
	rules->mode = spec->mode;
	add_presets(&c);
	add_mounts(&c);
	if (c.code == CC_OK)
		add_rules(&c);
	push_list(&c, &rules->sockets, &spec->policy.allow_sockets);
	add_net(&c);
	if (c.code == CC_OK)
		rules->reads_judged = reads_matter(&c);
	if (c.code == CC_OK)
		c.code = cc_rules_seal(rules, err);
	if (c.code == CC_OK)
		*out_rules = cc_rules_take(&rules);
	return c.code;
}
