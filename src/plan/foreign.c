#include "plan/foreign.h"

#include "plan/visible.h"
#include "policy/names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct cc_foreign *out;
	bool (*exists)(const char *path);
	bool proc, dev;
	struct cc_err *err;
	enum cc_code code; /* the first failure; what comes after does nothing */
};

struct option {
	const char *name;
	int values;
	void (*take)(struct reader *r, const struct option *option, char *const *value);
	enum cc_foreign_kind kind; /* of a mount */
	const char *why;           /* of a refusal */
};

static void push(struct reader *r, const char *text)
{
	if (r->code == CC_OK)
		r->code = cc_strv_push(&r->out->mounts, text, r->err);
}

static void pass(struct reader *r, const struct option *option, char *const *value)
{
	push(r, option->name);
	for (int i = 0; i < option->values; i++)
		push(r, value[i]);
}

/* Ours does the same, or more. */
static void drop(struct reader *r, const struct option *option, char *const *value)
{
	(void)r;
	(void)option;
	(void)value;
}

static void refuse(struct reader *r, const struct option *option, char *const *value)
{
	(void)value;
	r->code = cc_fail(r->err, CC_EUNSUPPORTED, 0, "bubblewrap's %s is refused: %s", option->name, option->why);
}

static struct cc_view trimmed(const char *path)
{
	struct cc_view view = cc_view_of(path);

	while (view.len > 1 && view.ptr[view.len - 1] == '/')
		view.len--;
	return view;
}

static void hide(struct cc_foreign *f, struct cc_view path)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->place_count; i++) {
		if (cc_path_within(cc_view_of(f->places[i].path), path))
			free(f->places[i].path);
		else
			f->places[kept++] = f->places[i];
	}
	f->place_count = kept;
}

static void place(struct reader *r, const char *path, enum cc_foreign_kind kind)
{
	struct cc_foreign *f = r->out;
	struct cc_strv one = {0};
	struct cc_foreign_place *grown;

	if (r->code != CC_OK)
		return;
	hide(f, trimmed(path));
	grown = realloc(f->places, (f->place_count + 1) * sizeof(*grown));
	if (grown)
		f->places = grown;
	r->code =
		grown ? cc_strv_push_view(&one, trimmed(path), r->err) : cc_fail(r->err, CC_ELIMIT, 0, "out of memory");
	if (r->code == CC_OK) {
		f->places[f->place_count++] = (struct cc_foreign_place){one.items[0], kind};
		free(one.items);
	}
}

static bool same_path(const char *left, const char *right)
{
	return cc_view_eq(trimmed(left), trimmed(right));
}

static void keep_fd(struct reader *r, const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);

	if (r->code != CC_OK)
		return;
	if (*end || end == text || fd < 3 || fd > INT_MAX)
		r->code = cc_fail(r->err, CC_EINVAL, 0, "bubblewrap's options: \"%.40s\" is no descriptor to pass on",
				  text);
	else if (r->out->fd_count == CC_FOREIGN_FDS)
		r->code = cc_fail(r->err, CC_ELIMIT, 0, "bubblewrap's options name more than %d descriptors",
				  CC_FOREIGN_FDS);
	else
		r->out->fds[r->out->fd_count++] = (int)fd;
}

/* A file or link that bubblewrap itself makes in a directory of the host: nobody would ask about its name. */
static void made(struct reader *r, const struct option *option, char *const *value)
{
	struct cc_foreign_place *over = NULL;

	for (size_t i = 0; i < r->out->place_count; i++)
		if (cc_path_within(cc_view_of(value[1]), cc_view_of(r->out->places[i].path)) &&
		    (!over || strlen(over->path) < strlen(r->out->places[i].path)))
			over = &r->out->places[i];
	if (over && over->kind == CC_FOREIGN_RW) {
		r->code = cc_fail(r->err, CC_EUNSUPPORTED, 0,
				  "bubblewrap's %s %s %s is refused: it would be made in %s on the host", option->name,
				  value[0], value[1], over->path);
		return;
	}
	pass(r, option, value);
	if (strcmp(option->name, "--file") == 0)
		keep_fd(r, value[0]);
}

static void bind(struct reader *r, const struct option *option, char *const *value)
{
	size_t len = strlen(option->name);
	bool same = same_path(value[0], value[1]);

	if (len > 4 && strcmp(option->name + len - 4, "-try") == 0 && !r->exists(value[0]))
		return;
	if (option->kind == CC_FOREIGN_RW && !same) {
		r->code = cc_fail(
			r->err, CC_EUNSUPPORTED, 0,
			"bubblewrap's %s %s %s is refused: a writable directory has to be shown under its own path",
			option->name, value[0], value[1]);
		return;
	}
	if (option->kind == CC_FOREIGN_RW && trimmed(value[1]).len == 1) {
		r->code =
			cc_fail(r->err, CC_EUNSUPPORTED, 0,
				"bubblewrap's %s / / is refused: names are held in the directories that are worked in, "
				"not in the whole file system",
				option->name);
		return;
	}
	pass(r, option, value);
	place(r, value[1], same ? option->kind : CC_FOREIGN_OTHER);
	if (r->code == CC_OK && same)
		r->code = cc_strv_push(&r->out->named, value[1], r->err);
}

/* A device that the gate's own /dev has anyway; others could not be written in any case. */
static void bind_device(struct reader *r, const struct option *option, char *const *value)
{
	for (size_t i = 0; cc_visible_devices[i]; i++)
		if (strcmp(value[0], cc_visible_devices[i]) == 0) {
			pass(r, option, value);
			place(r, value[1], CC_FOREIGN_OTHER);
			return;
		}
	refuse(r, option, value);
}

static void tmpfs(struct reader *r, const struct option *option, char *const *value)
{
	pass(r, option, value);
	place(r, value[0], trimmed(value[0]).len == 1 ? CC_FOREIGN_OTHER : CC_FOREIGN_PRIVATE);
}

static void add_proc(struct reader *r)
{
	push(r, "--proc");
	push(r, "/proc");
	place(r, "/proc", CC_FOREIGN_OTHER);
	r->proc = true;
}

static void proc(struct reader *r, const struct option *option, char *const *value)
{
	if (same_path(value[0], "/proc"))
		add_proc(r);
	else
		refuse(r, option, value);
}

static void add_dev(struct reader *r)
{
	push(r, CC_FOREIGN_DEV);
	place(r, "/dev", CC_FOREIGN_OTHER);
	place(r, "/dev/shm", CC_FOREIGN_PRIVATE);
	r->dev = true;
}

static void dev(struct reader *r, const struct option *option, char *const *value)
{
	if (same_path(value[0], "/dev"))
		add_dev(r);
	else
		refuse(r, option, value);
}

static void descriptor(struct reader *r, const struct option *option, char *const *value)
{
	pass(r, option, value);
	keep_fd(r, value[0]);
	if (option->values == 2)
		place(r, value[1], CC_FOREIGN_OTHER);
}

static void own_net(struct reader *r, const struct option *option, char *const *value)
{
	(void)value;
	r->out->own_net = strcmp(option->name, "--share-net") != 0;
}

static void die_with_parent(struct reader *r, const struct option *option, char *const *value)
{
	(void)option;
	(void)value;
	r->out->die_with_parent = true;
}

static void chdir_to(struct reader *r, const struct option *option, char *const *value)
{
	(void)option;
	free(r->out->workdir);
	r->out->workdir = cc_str_copy(value[0]);
	if (!r->out->workdir)
		r->code = cc_fail(r->err, CC_ELIMIT, 0, "out of memory");
}

static void clear_env(struct reader *r, const struct option *option, char *const *value)
{
	(void)option;
	(void)value;
	cc_strv_done(&r->out->env);
}

static void unset_env(struct reader *r, const struct option *option, char *const *value)
{
	struct cc_strv *env = &r->out->env;
	size_t len = strlen(value[0]), kept = 0;

	(void)option;
	for (size_t i = 0; i < env->count; i++) {
		if (strncmp(env->items[i], value[0], len) == 0 && env->items[i][len] == '=')
			free(env->items[i]);
		else
			env->items[kept++] = env->items[i];
	}
	if (env->items)
		env->items[kept] = NULL;
	env->count = kept;
}

static void set_env(struct reader *r, const struct option *option, char *const *value)
{
	unset_env(r, option, value);
	r->code = cc_strv_pushf(&r->out->env, r->err, "%s=%s", value[0], value[1]);
}

static const char not_joined[] = "the gate makes its own";
static const char no_filter[] = "it would apply to the gate itself; the sandbox has a filter of its own";
static const char no_overlay[] = "the gate cannot tell where the files of an overlay lie";
static const char no_label[] = "labels are not passed on";
static const char no_place[] = "only at its usual place";
static const char no_device[] = "of /dev the sandbox shows the usual devices only";

/* Every option of bubblewrap up to 0.11; one that is not here is a refusal. */
static const struct option options[] = {
	{"--unshare-all", 0, own_net, 0, NULL},
	{"--unshare-net", 0, own_net, 0, NULL},
	{"--share-net", 0, own_net, 0, NULL},
	{"--unshare-user", 0, drop, 0, NULL},
	{"--unshare-user-try", 0, drop, 0, NULL},
	{"--unshare-ipc", 0, drop, 0, NULL},
	{"--unshare-pid", 0, drop, 0, NULL},
	{"--unshare-uts", 0, drop, 0, NULL},
	{"--unshare-cgroup", 0, drop, 0, NULL},
	{"--unshare-cgroup-try", 0, drop, 0, NULL},
	{"--disable-userns", 0, drop, 0, NULL},
	{"--assert-userns-disabled", 0, drop, 0, NULL},
	{"--new-session", 0, drop, 0, NULL},
	{"--as-pid-1", 0, drop, 0, NULL},
	{"--cap-drop", 1, drop, 0, NULL},
	{"--cap-add", 1, drop, 0, NULL}, /* nothing in this sandbox has one: a command that needs it says so */
	{"--level-prefix", 0, drop, 0, NULL},
	{"--die-with-parent", 0, die_with_parent, 0, NULL},
	{"--uid", 1, pass, 0, NULL},
	{"--gid", 1, pass, 0, NULL},
	{"--hostname", 1, pass, 0, NULL},
	{"--chdir", 1, chdir_to, 0, NULL},
	{"--clearenv", 0, clear_env, 0, NULL},
	{"--setenv", 2, set_env, 0, NULL},
	{"--unsetenv", 1, unset_env, 0, NULL},
	{"--bind", 2, bind, CC_FOREIGN_RW, NULL},
	{"--bind-try", 2, bind, CC_FOREIGN_RW, NULL},
	{"--ro-bind", 2, bind, CC_FOREIGN_RO, NULL},
	{"--ro-bind-try", 2, bind, CC_FOREIGN_RO, NULL},
	{"--dev-bind", 2, bind_device, 0, no_device},
	{"--dev-bind-try", 2, bind_device, 0, no_device},
	{"--tmpfs", 1, tmpfs, 0, NULL},
	{"--proc", 1, proc, 0, no_place},
	{"--dev", 1, dev, 0, no_place},
	{"--remount-ro", 1, pass, 0, NULL},
	{"--dir", 1, pass, 0, NULL},
	{"--symlink", 2, made, 0, NULL},
	{"--perms", 1, pass, 0, NULL},
	{"--size", 1, pass, 0, NULL},
	{"--chmod", 2, pass, 0, NULL},
	{"--mqueue", 1, pass, 0, NULL},
	{"--file", 2, made, 0, NULL},
	{"--bind-data", 2, descriptor, 0, NULL},
	{"--ro-bind-data", 2, descriptor, 0, NULL},
	{"--ro-bind-fd", 2, descriptor, 0, NULL},
	{"--sync-fd", 1, descriptor, 0, NULL},
	{"--block-fd", 1, descriptor, 0, NULL},
	{"--info-fd", 1, descriptor, 0, NULL},
	{"--json-status-fd", 1, descriptor, 0, NULL},
	{"--bind-fd", 2, refuse, 0, "a writable directory has to be named by its path"},
	{"--userns", 1, refuse, 0, not_joined},
	{"--userns2", 1, refuse, 0, not_joined},
	{"--userns-block-fd", 1, refuse, 0, not_joined},
	{"--pidns", 1, refuse, 0, not_joined},
	{"--seccomp", 1, refuse, 0, no_filter},
	{"--add-seccomp-fd", 1, refuse, 0, no_filter},
	{"--overlay-src", 1, refuse, 0, no_overlay},
	{"--overlay", 3, refuse, 0, no_overlay},
	{"--tmp-overlay", 1, refuse, 0, no_overlay},
	{"--ro-overlay", 1, refuse, 0, no_overlay},
	{"--exec-label", 1, refuse, 0, no_label},
	{"--file-label", 1, refuse, 0, no_label},
	{"--lock-file", 1, refuse, 0, "nothing inside holds a lock for it"},
	{"--argv0", 1, refuse, 0, "the command is started under its own name"},
};

static const struct option *find(const char *word)
{
	for (size_t i = 0; i < CC_COUNT(options); i++)
		if (strcmp(options[i].name, word) == 0)
			return &options[i];
	return NULL;
}

static void read_options(struct reader *r, char *const *argv)
{
	while (r->code == CC_OK && *argv && argv[0][0] == '-') {
		const struct option *option = find(*argv);
		const char *word = *argv++;

		if (strcmp(word, "--") == 0)
			break;
		if (!option) {
			r->code = cc_fail(r->err, CC_EINVAL, 0,
					  "bubblewrap's option %.100s is not known to ccbox bwrap", word);
			return;
		}
		for (int i = 0; i < option->values; i++)
			if (!argv[i]) {
				r->code = cc_fail(r->err, CC_EINVAL, 0, "%s takes %d values", word, option->values);
				return;
			}
		option->take(r, option, argv);
		argv += option->values;
	}
	r->out->command = argv;
	if (r->code == CC_OK && !*argv)
		r->code = cc_fail(r->err, CC_EINVAL, 0,
				  "no command: ccbox bwrap [BUBBLEWRAP'S OPTIONS] -- COMMAND [ARG...]");
}

enum cc_code cc_foreign_read(char *const *argv, char *const *env, bool (*exists)(const char *path),
			     struct cc_foreign *out, struct cc_err *err)
{
	struct cc_foreign foreign = {0};
	struct reader r = {.out = &foreign, .exists = exists, .err = err};

	for (; r.code == CC_OK && env && *env; env++)
		r.code = cc_strv_push(&foreign.env, *env, err);
	if (r.code == CC_OK)
		read_options(&r, argv);
	/* PID 1 looks its callers up there, and devices are ours in any case. */
	if (!r.proc)
		add_proc(&r);
	if (!r.dev)
		add_dev(&r);
	if (r.code == CC_OK)
		*out = foreign;
	else
		cc_foreign_done(&foreign);
	return r.code;
}

void cc_foreign_done(struct cc_foreign *foreign)
{
	cc_strv_done(&foreign->mounts);
	cc_strv_done(&foreign->named);
	cc_strv_done(&foreign->env);
	for (size_t i = 0; i < foreign->place_count; i++)
		free(foreign->places[i].path);
	free(foreign->places);
	free(foreign->workdir);
	*foreign = (struct cc_foreign){0};
}
