/* scope.c - where the rules hold: the mounts of the view, and the names that the network may reach. */
#include "policy/compile.h"

#include "policy/defaults.h"
#include "policy/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cc_compile_no_memory(struct cc_compiler *c)
{
	if (c->code == CC_OK)
		c->code = cc_fail(c->err, CC_ELIMIT, 0, "out of memory");
}

char *cc_compile_copy(struct cc_compiler *c, const char *text)
{
	char *made = text ? cc_str_copy(text) : NULL;

	if (text && !made)
		cc_compile_no_memory(c);
	return made;
}

bool cc_compile_resolve(const struct cc_compiler *c, const char *path, char *out, size_t cap)
{
	return c->facts->resolve && c->facts->resolve(c->facts->context, path, out, cap) && out[0] == '/' &&
	       out[1] != '\0';
}

/* "~/x" is written out; the result lives in buf. */
const char *cc_compile_at_home(struct cc_compiler *c, const char *path, char *buf, size_t cap)
{
	if (path[0] != '~' || (path[1] != '/' && path[1] != '\0') || !c->facts->home)
		return path;
	if ((size_t)snprintf(buf, cap, "%s%s", c->facts->home, path + 1) >= cap && c->code == CC_OK)
		c->code = cc_fail(c->err, CC_EINVAL, 0, "\"%.100s\" is too long", path);
	return buf;
}

static struct cc_mount *find_mount(struct cc_compiler *c, const char *path)
{
	for (size_t i = 0; i < c->rules->mount_count; i++)
		if (strcmp(c->rules->mounts[i].path, path) == 0)
			return &c->rules->mounts[i];
	return NULL;
}

/* Twice the same path: read-only wins over read-write, and what was said first over what comes by itself. */
static void add_mount(struct cc_compiler *c, const char *path, enum cc_mount_mode mode)
{
	char resolved[CC_PATH_MAX];
	struct cc_mount *grown;
	struct cc_mount *known;

	if (c->code != CC_OK)
		return;
	if (cc_compile_resolve(c, path, resolved, sizeof(resolved)))
		path = resolved;
	known = find_mount(c, path);
	if (known) {
		if (mode == CC_MOUNT_STATE || (mode == CC_MOUNT_RO && known->mode == CC_MOUNT_RW))
			known->mode = mode;
		return;
	}
	grown = realloc(c->rules->mounts, (c->rules->mount_count + 1) * sizeof(*grown));
	if (!grown) {
		cc_compile_no_memory(c);
		return;
	}
	c->rules->mounts = grown;
	grown[c->rules->mount_count++] = (struct cc_mount){cc_compile_copy(c, path), mode};
}

/* The session's own directories, unless a bind lies over them: then the person wants the real one. */
static void add_private(struct cc_compiler *c, const char *path)
{
	for (size_t i = 0; i < c->rules->mount_count; i++)
		if (c->rules->mounts[i].path && cc_path_within(cc_view_of(path), cc_view_of(c->rules->mounts[i].path)))
			return;
	add_mount(c, path, CC_MOUNT_PRIVATE);
}

static bool mounts_below(const struct cc_compiler *c, const char *path)
{
	for (size_t i = 0; i < c->rules->mount_count; i++)
		if (c->rules->mounts[i].path && cc_path_within(cc_view_of(c->rules->mounts[i].path), cc_view_of(path)))
			return true;
	return c->facts->home && cc_path_within(cc_view_of(c->facts->home), cc_view_of(path));
}

void cc_compile_mounts(struct cc_compiler *c)
{
	const struct cc_spec *spec = c->spec;
	enum cc_mount_mode writable = cc_mode_writes(spec->mode) ? CC_MOUNT_RW : CC_MOUNT_RO;
	char buf[CC_PATH_MAX];

	for (size_t i = 0; i < spec->bind_count; i++)
		add_mount(c, spec->binds[i].guest_path, spec->binds[i].read_only ? CC_MOUNT_RO : writable);
	for (size_t i = 0; i < spec->private_dirs.count; i++)
		add_mount(c, spec->private_dirs.items[i], CC_MOUNT_PRIVATE);
	if (spec->foreign) /* it says itself what is mounted */
		return;
	for (size_t i = 0; i < spec->policy.allow_write.count; i++)
		add_mount(c, cc_compile_at_home(c, spec->policy.allow_write.items[i], buf, sizeof(buf)), writable);
	for (size_t i = 0; i < spec->policy.allow_read.count; i++)
		add_mount(c, cc_compile_at_home(c, spec->policy.allow_read.items[i], buf, sizeof(buf)), CC_MOUNT_RO);
	for (size_t i = 0; i < spec->runner_state_dirs.count; i++)
		add_mount(c, spec->runner_state_dirs.items[i], CC_MOUNT_STATE);
	add_private(c, "/tmp");
	if (mounts_below(c, "/var/tmp")) /* else a link to /tmp, which cannot carry a mount */
		add_private(c, "/var/tmp");
	add_private(c, "/dev/shm");
	if (c->facts->home && c->facts->home[0] == '/' && c->facts->home[1] != '\0')
		add_private(c, c->facts->home);
}

static const struct cc_mount *mount_at(const struct cc_compiler *c, struct cc_view path)
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
bool cc_compile_reads_matter(const struct cc_compiler *c)
{
	for (size_t i = 0; i < c->rules->rule_count; i++) {
		const struct cc_rule *rule = &c->rules->rules[i];
		const struct cc_mount *over;

		if (rule->effect != CC_EFFECT_DENY || !(rule->verbs & CC_VERB_BIT(CC_VERB_READ)))
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

static void push_all(struct cc_compiler *c, struct cc_strv *to, const char *const *from)
{
	for (size_t i = 0; c->code == CC_OK && from[i]; i++)
		c->code = cc_strv_add(to, from[i], c->err);
}

void cc_compile_push(struct cc_compiler *c, struct cc_strv *to, const struct cc_strv *from)
{
	if (from->count)
		push_all(c, to, (const char *const *)from->items);
}

void cc_compile_net(struct cc_compiler *c)
{
	const struct cc_spec *spec = c->spec;
	struct cc_net_rules *net = c->code == CC_OK ? calloc(1, sizeof(*net)) : NULL;

	if (!net) {
		cc_compile_no_memory(c);
		return;
	}
	c->rules->net = net;
	net->enabled = spec->network_enabled && spec->policy.network != 0;
	if (net->enabled) { /* off means an empty list, and an empty list means no (contract 7.5) */
		push_all(c, &net->allow, cc_default_allow_hosts);
		cc_compile_push(c, &net->allow, &spec->egress_allowlist);
		cc_compile_push(c, &net->allow, &spec->policy.allowed_domains);
		cc_compile_push(c, &net->allow, &c->facts->agent_hosts);
	}
	push_all(c, &net->deny, cc_default_deny_hosts);
	cc_compile_push(c, &net->deny, &spec->policy.denied_domains);
	cc_compile_push(c, &net->private_names, &spec->policy.private_names);
	cc_compile_push(c, &net->private_cidrs, &spec->policy.private_cidrs);
	cc_compile_push(c, &net->publish, &spec->publish);
	cc_compile_push(c, &net->host_ports, &spec->host_ports);
	cc_compile_push(c, &net->owner_ports, &spec->owner_ports);
	net->conns_max = (unsigned)spec->policy.max_connections;
	net->transparent = (enum cc_transparent)spec->transparent;
	net->gateway = spec->gateway;
	net->ech = spec->policy.ech != 0;
	if (spec->policy.parent_proxy)
		net->parent = cc_compile_copy(c, spec->policy.parent_proxy);
	if (c->code == CC_OK && spec->policy.host_count) {
		net->hosts = calloc(spec->policy.host_count, sizeof(*net->hosts));
		if (!net->hosts)
			cc_compile_no_memory(c);
	}
	for (size_t i = 0; c->code == CC_OK && i < spec->policy.host_count; i++) {
		struct cc_static_host *host = &net->hosts[net->host_count++];

		host->name = cc_compile_copy(c, spec->policy.hosts[i].name);
		cc_compile_push(c, &host->addresses, &spec->policy.hosts[i].addresses);
	}
}
