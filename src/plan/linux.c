/* Order matters: bubblewrap mounts in the order of its arguments, so a parent always comes before what lies in it and
 * the root is made read-only last. Nothing here depends on how many files the tree has. */
#include "plan/linux.h"

#include "plan/env.h"
#include "plan/termenv.h"
#include "plan/visible.h"
#include "policy/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fixed beginnings: namespaces and the capabilities that cc-init gives up before the first exec. own_net: only where
 * the session has a network of its own. */
static const struct {
	const char *text;
	bool own_net;
} namespaces[] = {
	{"--unshare-user", false}, {"--unshare-pid", false},       {"--unshare-net", true},
	{"--unshare-ipc", false},  {"--unshare-uts", false},       {"--unshare-cgroup-try", false},
	{"--as-pid-1", false},     {"--cap-drop", false},          {"ALL", false},
	{"--cap-add", false},      {"CAP_SYS_ADMIN", false}, /* devpts, /proc read-only */
	{"--cap-add", true},       {"CAP_NET_ADMIN", true},  /* the transparent redirect of the session's own network */
	{"--cap-add", true},       {"CAP_NET_BIND_SERVICE", true}, /* port 53 of the session's own loopback */
	{"--cap-add", false},      {"CAP_SETPCAP", false},         /* empty the bounding set */
	{"--cap-add", false},      {"CAP_SYS_RESOURCE", false},    /* lower the user limits of its own namespace */
	{"--cap-add", false},      {"CAP_SYS_PTRACE", false}, /* read non-dumpable targets: the only one that stays, in
								 init alone */
};

static const char *const links[][2] = {
	{"pts/ptmx", "/dev/ptmx"},          {"/proc/self/fd", "/dev/fd"},       {"/proc/self/fd/0", "/dev/stdin"},
	{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
};

/* Where cc-init lies among another tool's mounts. */
#define FOREIGN_INIT "/dev/ccbox-init"

struct maker {
	struct cc_linux_plan *plan;
	struct cc_err *err;
	enum cc_code code; /* the first failure; later pushes do nothing */
};

static void push(struct maker *m, const char *text)
{
	if (m->code == CC_OK)
		m->code = cc_strv_push(&m->plan->bwrap, text, m->err);
}

static void push2(struct maker *m, const char *option, const char *value)
{
	push(m, option);
	push(m, value);
}

static void push3(struct maker *m, const char *option, const char *source, const char *dest)
{
	push(m, option);
	push(m, source);
	push(m, dest);
}

static void push_tmpfs(struct maker *m, uint64_t size, const char *mode, const char *path)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
	push2(m, "--perms", mode);
	push2(m, "--size", text);
	push2(m, "--tmpfs", path);
}

static void plan_paths(struct maker *m, const struct cc_fact_path *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (paths[i].kind == CC_PATH_LINK)
			push3(m, "--symlink", paths[i].target, paths[i].path);
		else if (paths[i].kind != CC_PATH_ABSENT)
			push3(m, "--ro-bind", paths[i].path, paths[i].path);
	}
}

static void plan_dev(struct maker *m)
{
	push_tmpfs(m, 1 << 20, "0755", "/dev");
	for (size_t i = 0; cc_visible_devices[i]; i++)
		push3(m, "--dev-bind", cc_visible_devices[i], cc_visible_devices[i]);
	for (size_t i = 0; i < CC_COUNT(links); i++)
		push3(m, "--symlink", links[i][0], links[i][1]);
	push2(m, "--dir", "/dev/pts");
}

static bool has_bind_over(const struct cc_rules *rules, const char *path)
{
	for (size_t i = 0; i < rules->mount_count; i++)
		if (rules->mounts[i].mode != CC_MOUNT_PRIVATE &&
		    cc_path_within(cc_view_of(path), cc_view_of(rules->mounts[i].path)))
			return true;
	return false;
}

/* Parents first: shorter paths first is enough, since a parent is always shorter than what lies in it. */
static int by_length(const void *left, const void *right)
{
	const struct cc_mount *a = *(const struct cc_mount *const *)left;
	const struct cc_mount *b = *(const struct cc_mount *const *)right;
	size_t la = strlen(a->path);
	size_t lb = strlen(b->path);

	return la != lb ? (la < lb ? -1 : 1) : strcmp(a->path, b->path);
}

static void plan_mount(struct maker *m, const struct cc_mount *mount, const struct cc_facts *facts)
{
	/* Sized, so that a session cannot take the machine's memory by filling its temporary files. */
	uint64_t share = facts->memory / 4;

	switch (mount->mode) {
	case CC_MOUNT_PRIVATE:
		push_tmpfs(m, strcmp(mount->path, "/dev/shm") == 0 ? share / 2 : share,
			   strcmp(mount->path, "/dev/shm") == 0 ? "1777" : "0700", mount->path);
		break;
	case CC_MOUNT_RO:
		push3(m, "--ro-bind", mount->path, mount->path);
		break;
	case CC_MOUNT_RW:
	case CC_MOUNT_STATE:
		push3(m, "--bind", mount->path, mount->path);
		break;
	}
}

static void plan_mounts(struct maker *m, const struct cc_rules *rules, const struct cc_facts *facts)
{
	const struct cc_mount **sorted = calloc(rules->mount_count + 1, sizeof(*sorted));

	if (!sorted) {
		m->code = cc_fail(m->err, CC_ELIMIT, 0, "out of memory");
		return;
	}
	for (size_t i = 0; i < rules->mount_count; i++)
		sorted[i] = &rules->mounts[i];
	qsort(sorted, rules->mount_count, sizeof(*sorted), by_length);
	for (size_t i = 0; i < rules->mount_count; i++) {
		plan_mount(m, sorted[i], facts);
		/* Toolchains lie below the private HOME and below nothing longer. */
		if (sorted[i]->mode == CC_MOUNT_PRIVATE && strcmp(sorted[i]->path, facts->home) == 0) {
			for (size_t k = 0; k < facts->home_count; k++)
				if (!has_bind_over(rules, facts->home_dirs[k].path))
					plan_paths(m, &facts->home_dirs[k], 1);
		}
	}
	free(sorted);
}

/* The same place as /tmp, unless a mount lies there: bubblewrap would follow the link and lay it elsewhere. */
static void plan_var_tmp(struct maker *m, const struct cc_rules *rules)
{
	for (size_t i = 0; i < rules->mount_count; i++)
		if (cc_path_within(cc_view_of(rules->mounts[i].path), cc_view_of("/var/tmp")))
			return;
	push3(m, "--symlink", "../tmp", "/var/tmp");
}

static void plan_files(struct maker *m, const struct cc_rules *rules)
{
	char text[64];

	for (size_t i = 0; i < m->plan->file_count; i++) {
		const struct cc_plan_file *file = &m->plan->files[i];

		if (has_bind_over(rules, file->dest))
			continue; /* HOME itself is a bind: nothing is ever laid into the person's own files */
		snprintf(text, sizeof(text), "%04o", file->mode);
		push2(m, "--perms", text);
		snprintf(text, sizeof(text), "@file:%zu", i);
		push3(m, "--file", text, file->dest);
	}
}

static enum cc_code add_file(struct cc_linux_plan *plan, const struct cc_plan_file *file, struct cc_err *err)
{
	struct cc_plan_file *files = realloc(plan->files, (plan->file_count + 1) * sizeof(*files));
	struct cc_plan_file copy = {.mode = file->mode, .late = file->late};

	if (!files)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	plan->files = files;
	copy.dest = cc_str_copy(file->dest);
	copy.source = cc_str_copy(file->source);
	copy.content = cc_str_copy(file->content);
	plan->files[plan->file_count++] = copy;
	if (!copy.dest || (file->source && !copy.source) || (file->content && !copy.content))
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	return CC_OK;
}

/* The person's git identity without their ~/.gitconfig. What it says is asked of git while bubblewrap starts. */
static enum cc_code plan_git(struct cc_linux_plan *plan, const struct cc_facts *facts, struct cc_err *err)
{
	char dest[4096];
	struct cc_plan_file file = {.dest = dest, .mode = 0644, .late = true};

	if ((size_t)snprintf(dest, sizeof(dest), "%s/.gitconfig", facts->home) >= sizeof(dest))
		return cc_fail(err, CC_ELIMIT, 0, "HOME is too long");
	return add_file(plan, &file, err);
}

/* Names are asked of the session's own resolver; no search list, which would ask for names nobody meant. */
static enum cc_code plan_resolver(struct cc_linux_plan *plan, const struct cc_rules *rules, struct cc_err *err)
{
	static const char content[] = "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n";
	static const char dest[] = "/etc/resolv.conf";
	const struct cc_plan_file file = {
		.dest = (char *)(size_t)dest, .mode = 0644, .content = (char *)(size_t)content};

	return rules->net->transparent == CC_TRANSPARENT_OFF ? CC_OK : add_file(plan, &file, err);
}

static void plan_bridge(struct maker *m, const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/http.sock", dir);
	push3(m, "--ro-bind", path, CC_BRIDGE_HTTP);
	snprintf(path, sizeof(path), "%s/socks.sock", dir);
	push3(m, "--ro-bind", path, CC_BRIDGE_SOCKS);
}

static void plan_init(struct maker *m, const struct cc_rules *rules, const struct cc_facts *facts,
		      const struct cc_linux_ask *ask)
{
	push3(m, "--ro-bind", facts->init_path, "/run/ccbox/cc-init");
	if (facts->connect_path && !rules->network_open)
		push3(m, "--ro-bind", facts->connect_path, "/run/ccbox/cc-connect");
	if (ask->ssh_socket)
		push3(m, "--ro-bind", ask->ssh_socket, CC_SSH_SOCKET);
	if (ask->bridge_dir)
		plan_bridge(m, ask->bridge_dir);
	push2(m, "--remount-ro", "/");
	push2(m, "--chdir", "/");
}

/* The other tool's mounts in its order, with our /dev and our PID 1 in it: the rest of the view may be the host's own,
 * where no directory of ours can be made. */
static void plan_foreign(struct maker *m, const struct cc_facts *facts, const char *session,
			 const struct cc_foreign *foreign)
{
	m->plan->fd_count = foreign->fd_count;
	memcpy(m->plan->fds, foreign->fds, sizeof(foreign->fds));
	for (size_t i = 0; i < foreign->mounts.count; i++) {
		if (strcmp(foreign->mounts.items[i], CC_FOREIGN_DEV) != 0) {
			push(m, foreign->mounts.items[i]);
			continue;
		}
		plan_dev(m);
		push_tmpfs(m, facts->memory / 8, "1777", "/dev/shm");
		push3(m, "--ro-bind", facts->init_path, FOREIGN_INIT);
	}
	push2(m, "--chdir", "/");
	if (m->code == CC_OK)
		m->code = cc_strv_push(&m->plan->command, FOREIGN_INIT, m->err);
	if (m->code == CC_OK)
		m->code = cc_strv_copy(&m->plan->env, &foreign->env, m->err);
	if (m->code == CC_OK)
		m->code = cc_strv_pushf(&m->plan->env, m->err, "CCBOX_SESSION=%s", session);
}

static void plan_namespaces(struct maker *m, bool own_net)
{
	for (size_t i = 0; i < CC_COUNT(namespaces); i++)
		if (own_net || !namespaces[i].own_net)
			push(m, namespaces[i].text);
}

static bool system_has(const struct cc_facts *facts, const char *path)
{
	for (size_t i = 0; i < facts->system_count; i++)
		if (strcmp(facts->system[i].path, path) == 0)
			return facts->system[i].kind != CC_PATH_ABSENT;
	return false;
}

static enum cc_code take(struct maker *m, struct cc_linux_plan *out_plan)
{
	if (m->code == CC_OK)
		*out_plan = *m->plan;
	else
		cc_linux_plan_done(m->plan);
	return m->code;
}

enum cc_code cc_linux_plan_make(const struct cc_rules *rules, const struct cc_facts *facts,
				const struct cc_linux_ask *ask, struct cc_linux_plan *out_plan, struct cc_err *err)
{
	struct cc_linux_plan plan = {0};
	struct maker m = {.plan = &plan, .err = err, .code = CC_OK};

	if (!system_has(facts, "/usr"))
		return cc_fail(err, CC_EUNSUPPORTED, 0, "this host has no /usr");
	if (!facts->init_path)
		return cc_fail(err, CC_ENOTFOUND, 0,
			       "the helper cc-init is not installed beside ccbox; run `make build`, or reinstall");
	if (ask->foreign) {
		plan_namespaces(&m, ask->foreign->own_net);
		plan_foreign(&m, facts, rules->session_id, ask->foreign);
		return take(&m, out_plan);
	}
	plan_namespaces(&m, !rules->network_open);
	plan_paths(&m, facts->system, facts->system_count);
	if (rules->network_open) /* often a link to what is not shown: its content is bound */
		push3(&m, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
	push2(&m, "--proc", "/proc");
	plan_dev(&m);
	plan_var_tmp(&m, rules);
	plan_mounts(&m, rules, facts);
	/* A terminal has the person's own HOME, with git's settings in it, and the host's resolver. */
	if (m.code == CC_OK && !rules->network_open)
		m.code = plan_git(&plan, facts, err);
	if (m.code == CC_OK && !rules->network_open)
		m.code = plan_resolver(&plan, rules, err);
	for (size_t i = 0; m.code == CC_OK && i < ask->file_count; i++)
		m.code = add_file(&plan, &ask->files[i], err);
	plan_files(&m, rules);
	plan_init(&m, rules, facts, ask);
	if (m.code == CC_OK)
		m.code = cc_strv_push(&plan.command, "/run/ccbox/cc-init", err);
	if (m.code == CC_OK)
		m.code = rules->network_open ? cc_plan_terminal_env(facts, ask->shell, &plan.env, err)
					     : cc_plan_env(rules, facts, ask, &plan, err);
	return take(&m, out_plan);
}

void cc_linux_plan_done(struct cc_linux_plan *plan)
{
	cc_strv_done(&plan->bwrap);
	cc_strv_done(&plan->command);
	cc_strv_done(&plan->env);
	cc_strv_done(&plan->dropped);
	cc_strv_done(&plan->notes);
	for (size_t i = 0; i < plan->file_count; i++) {
		free(plan->files[i].dest);
		free(plan->files[i].source);
		free(plan->files[i].content);
	}
	free(plan->files);
	*plan = (struct cc_linux_plan){0};
}

/* Secrets may stand in variables that the person passes on: print names of those, values only of our own. */
static void print_env(const struct cc_linux_plan *plan, struct cc_buf *out)
{
	for (size_t i = 0; i < plan->env.count; i++) {
		const char *item = plan->env.items[i];
		const char *equals = strchr(item, '=');
		int name = (int)(equals ? (size_t)(equals - item) : strlen(item));

		if (equals && cc_plan_env_is_secret(item, (size_t)name))
			cc_buf_addf(out, "  %.*s=(value not shown)\n", name, item);
		else
			cc_buf_addf(out, "  %s\n", item);
	}
}

void cc_linux_plan_print(const struct cc_linux_plan *plan, struct cc_buf *out)
{
	cc_buf_adds(out, "bwrap\n");
	for (size_t i = 0; i < plan->bwrap.count; i++) {
		const char *item = plan->bwrap.items[i];

		/* one option a line, its values beside it */
		cc_buf_addf(out, "%s%s", strncmp(item, "--", 2) == 0 ? (i ? "\n  " : "  ") : " ", item);
	}
	cc_buf_adds(out, "\n  --");
	for (size_t i = 0; i < plan->command.count; i++)
		cc_buf_addf(out, " %s", plan->command.items[i]);
	cc_buf_adds(out, " CONTROL\nfiles (that only the session has)\n");
	for (size_t i = 0; i < plan->file_count; i++)
		cc_buf_addf(out, "  %04o %s%s%s\n", plan->files[i].mode, plan->files[i].dest,
			    plan->files[i].source ? " from " : "", plan->files[i].source ? plan->files[i].source : "");
	cc_buf_adds(out, "environment\n");
	print_env(plan, out);
	cc_buf_adds(out, "not passed on\n ");
	for (size_t i = 0; i < plan->dropped.count; i++)
		cc_buf_addf(out, " %s", plan->dropped.items[i]);
	cc_buf_adds(out, "\nnotes\n");
	for (size_t i = 0; i < plan->notes.count; i++)
		cc_buf_addf(out, "  %s\n", plan->notes.items[i]);
}
