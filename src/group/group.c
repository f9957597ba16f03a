#define _GNU_SOURCE
#include "group/group.h"

#include "base/buf.h"
#include "base/mem.h"
#include "os/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAF "ccbox-server"

enum { FILE_MAX = 1 << 20, CPU_PERIOD_US = 100000, REMOVE_TRIES = 100, REMOVE_WAIT_US = 10000 };

#define PER_PROCESS "a resource limit binds one process, not a session"
#define PER_USER    "without a sandbox a resource limit counts all of your processes"

/* kind -> controller and the files of both versions; %lld is the value as the kernel wants it */
static const struct {
	const char *controller, *what, *no_rlimit; /* why a resource limit will not do */
	const char *file[2], *format[2];
	int64_t factor;
} kinds[CC_GROUP_KINDS] = {
	[CC_GROUP_MEMORY] =
		{"memory", "memory", PER_PROCESS, {"memory.limit_in_bytes", "memory.max"}, {"%lld", "%lld"}, 1},
	[CC_GROUP_PIDS] = {"pids", "processes", PER_USER, {"pids.max", "pids.max"}, {"%lld", "%lld"}, 1},
	[CC_GROUP_CPU] = {"cpu",
			  "CPU",
			  PER_PROCESS,
			  {"cpu.cfs_quota_us", "cpu.max"},
			  {"%lld", "%lld 100000"},
			  CPU_PERIOD_US / 100},
};

static bool read_text(const char *path, struct cc_buf *out)
{
	struct cc_err err;

	cc_buf_init(out, FILE_MAX);
	return cc_fd_read_file(path, out, &err) == CC_OK && out->data;
}

static bool write_text(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	CC_AUTO_FD fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool has_word(const char *list, const char *word, char separator)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == separator) && (!at[len] || at[len] == separator || at[len] == '\n'))
			return true;
	return false;
}

/* Our path in a hierarchy, by /proc/self/cgroup: "0::PATH" of version 2, "N:CONTROLLERS:PATH" of version 1. */
static bool own_path(const char *controller, char *out, size_t cap)
{
	struct cc_buf text;
	bool found = false;

	if (read_text("/proc/self/cgroup", &text))
		for (char *line = text.data, *end; !found && (end = strchr(line, '\n')); line = end + 1) {
			char *list = memchr(line, ':', (size_t)(end - line));
			char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

			if (!path)
				continue;
			*end = *path = '\0';
			found = controller ? has_word(list + 1, controller, ',') : !list[1];
			if (found)
				found = (size_t)snprintf(out, cap, "%s", path + 1) < cap;
		}
	cc_buf_done(&text);
	return found;
}

/* Where it is mounted. The fifth field of mountinfo is the place, the fourth the part of the hierarchy that is seen
 * there; type and options come behind the dash. */
static bool mount_of(const char *controller, char *out, size_t cap, char *root, size_t root_cap)
{
	struct cc_buf text;
	bool found = false;

	if (read_text("/proc/self/mountinfo", &text))
		for (char *line = text.data, *end; !found && (end = strchr(line, '\n')); line = end + 1) {
			char part[PATH_MAX], place[PATH_MAX], type[32], options[512];
			const char *dash;

			*end = '\0';
			dash = strstr(line, " - ");
			if (!dash || sscanf(line, "%*d %*d %*s %4095s %4095s", part, place) != 2 ||
			    sscanf(dash, " - %31s %*s %511s", type, options) != 2)
				continue;
			found = controller ? strcmp(type, "cgroup") == 0 && has_word(options, controller, ',')
					   : strcmp(type, "cgroup2") == 0;
			if (found)
				found = (size_t)snprintf(out, cap, "%s", place) < cap &&
					(size_t)snprintf(root, root_cap, "%s", part) < root_cap;
		}
	cc_buf_done(&text);
	return found;
}

/* The directory of our own group; controller NULL: version 2. */
static bool own_dir(const char *controller, char out[PATH_MAX])
{
	char place[PATH_MAX], root[PATH_MAX], path[PATH_MAX];
	size_t len;

	if (!own_path(controller, path, sizeof(path)) ||
	    !mount_of(controller, place, sizeof(place), root, sizeof(root)))
		return false;
	len = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(path, root, len) != 0)
		return false;
	return (size_t)snprintf(out, PATH_MAX, "%s%s", place, strcmp(path + len, "/") == 0 ? "" : path + len) <
	       PATH_MAX;
}

/* Whether @dir's cgroup.controllers (offered to it) or cgroup.subtree_control (opened to its children) names it. */
static bool lists(const char *dir, const char *file, const char *controller)
{
	char path[PATH_MAX + 32];
	struct cc_buf text;
	bool has;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	has = read_text(path, &text) && has_word(text.data, controller, ' ');
	cc_buf_done(&text);
	return has;
}

static bool is_leaf(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return slash && strcmp(slash + 1, LEAF) == 0;
}

/* True: at least one is open to the groups in dir. What is missing is said when it is asked for. */
static bool open_controllers(const char *dir)
{
	bool open = false;

	for (size_t i = 0; i < CC_GROUP_KINDS; i++) {
		char text[32];

		snprintf(text, sizeof(text), "+%s", kinds[i].controller);
		(void)write_text(dir, "cgroup.subtree_control", text);
		open |= lists(dir, "cgroup.subtree_control", kinds[i].controller);
	}
	return open;
}

enum cc_code cc_group_prepare(struct cc_err *err)
{
	char dir[PATH_MAX], leaf[PATH_MAX + 32], path[PATH_MAX + 32], pid[32];

	if (!own_dir(NULL, dir) || !lists(dir, "cgroup.controllers", "memory") || access(dir, W_OK) < 0 || is_leaf(dir))
		return CC_OK;
	snprintf(path, sizeof(path), "%s/cgroup.type", dir);
	if (access(path, F_OK) < 0) { /* the root of the hierarchy has no type */
		(void)open_controllers(dir);
		return CC_OK;
	}
	snprintf(leaf, sizeof(leaf), "%s/" LEAF, dir);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
		return CC_OK;
	if (!write_text(leaf, "cgroup.procs", pid))
		return cc_fail(err, CC_ESYS, errno, "cannot enter %s", leaf);
	if (open_controllers(dir))
		return CC_OK;
	/* Only a group that is ours: with other processes in it, it has not been given to us. */
	if (!write_text(dir, "cgroup.procs", pid))
		return cc_fail(err, CC_ESYS, errno, "cannot go back to %s", dir);
	(void)rmdir(leaf);
	return CC_OK;
}

/* Where sessions' groups go: beside the leaf of who owns them. */
static bool parent_dir(const char *controller, char out[PATH_MAX])
{
	if (!own_dir(controller, out))
		return false;
	if (!controller && is_leaf(out))
		*strrchr(out, '/') = '\0';
	return true;
}

static bool make_one(const char *name, size_t kind, int64_t value, int version, struct cc_group *group)
{
	const char *controller = version == 2 ? NULL : kinds[kind].controller;
	char parent[PATH_MAX], text[64];
	const char *format = kinds[kind].format[version - 1];

	if (!parent_dir(controller, parent) || !own_dir(controller, group->home[kind]) ||
	    (version == 2 && !lists(parent, "cgroup.subtree_control", kinds[kind].controller)))
		return false;
	if ((size_t)snprintf(group->dir[kind], PATH_MAX, "%s/%s", parent, name) >= PATH_MAX ||
	    (mkdir(group->dir[kind], 0755) < 0 && errno != EEXIST)) {
		group->dir[kind][0] = '\0';
		return false;
	}
	/* the format is one of the table's two */
	if (strcmp(format, "%lld") == 0)
		snprintf(text, sizeof(text), "%lld", (long long)(value * kinds[kind].factor));
	else
		snprintf(text, sizeof(text), "%lld %d", (long long)(value * kinds[kind].factor), CPU_PERIOD_US);
	if (!write_text(group->dir[kind], kinds[kind].file[version - 1], text))
		return false;
	/* what does not fit would only be put aside */
	if (kind == CC_GROUP_MEMORY &&
	    !write_text(group->dir[kind], version == 2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
			version == 2 ? "0" : text))
		return errno == ENOENT; /* this kernel accounts no swap */
	return true;
}

enum cc_code cc_group_make(const char *name, const struct cc_group_limits *limits, const char *remedy,
			   struct cc_group *out_group, struct cc_err *err)
{
	struct cc_group *group = out_group;
	char dir[PATH_MAX];

	*group = (struct cc_group){.version = own_dir(NULL, dir) && lists(dir, "cgroup.controllers", "memory") ? 2 : 1};
	for (size_t i = 0; i < CC_GROUP_KINDS; i++) {
		if (!limits->value[i] || make_one(name, i, limits->value[i], group->version, group))
			continue;
		cc_group_remove(group);
		return cc_fail(err, CC_EUNENFORCED, 0,
			       "a limit of %s cannot be held here: %s, and %s; nothing was started", kinds[i].what,
			       remedy, kinds[i].no_rlimit);
	}
	return CC_OK;
}

static enum cc_code move(char dirs[CC_GROUP_KINDS][PATH_MAX], const struct cc_group *group, struct cc_err *err)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	for (size_t i = 0; i < CC_GROUP_KINDS; i++)
		if (group->dir[i][0] && !write_text(dirs[i], "cgroup.procs", pid))
			return cc_fail(err, CC_ESYS, errno, "cannot enter the control group %s", dirs[i]);
	return CC_OK;
}

enum cc_code cc_group_enter(const struct cc_group *group, struct cc_err *err)
{
	struct cc_group copy = *group;

	return move(copy.dir, group, err);
}

enum cc_code cc_group_leave(const struct cc_group *group, struct cc_err *err)
{
	struct cc_group copy = *group;

	return move(copy.home, group, err);
}

int64_t cc_group_oom_kills(const struct cc_group *group)
{
	char path[PATH_MAX + 32];
	struct cc_buf text;
	const char *at = NULL;
	int64_t count = 0;

	if (!group->dir[CC_GROUP_MEMORY][0])
		return 0;
	snprintf(path, sizeof(path), "%s/%s", group->dir[CC_GROUP_MEMORY],
		 group->version == 2 ? "memory.events" : "memory.oom_control");
	if (read_text(path, &text) && (at = strstr(text.data, "oom_kill ")))
		count = strtoll(at + 9, NULL, 10);
	cc_buf_done(&text);
	return count;
}

static void kill_all(const char *dir)
{
	char path[PATH_MAX + 32];
	struct cc_buf text;

	if (write_text(dir, "cgroup.kill", "1"))
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	if (read_text(path, &text))
		for (char *at = text.data, *end; *at; at = end) {
			long pid = strtol(at, &end, 10);

			if (end == at)
				break;
			if (pid > 1 && pid != (long)getpid())
				kill((pid_t)pid, SIGKILL);
			end += *end == '\n';
		}
	cc_buf_done(&text);
}

/* A group goes when the last process of it has been reaped, which takes the kernel a moment. */
static void remove_dir(const char *dir)
{
	for (int i = 0; i < REMOVE_TRIES && rmdir(dir) < 0 && errno == EBUSY; i++) {
		kill_all(dir);
		usleep(REMOVE_WAIT_US);
	}
}

void cc_group_remove(struct cc_group *group)
{
	for (size_t i = 0; i < CC_GROUP_KINDS; i++)
		if (group->dir[i][0])
			remove_dir(group->dir[i]);
	memset(group->dir, 0, sizeof(group->dir));
}

static void sweep(const char *prefix, bool (*gone)(const char *name), bool kill_first)
{
	for (size_t i = 0; i <= CC_GROUP_KINDS; i++) {
		char parent[PATH_MAX], path[2 * PATH_MAX];
		const struct dirent *entry;
		DIR *list =
			parent_dir(i < CC_GROUP_KINDS ? kinds[i].controller : NULL, parent) ? opendir(parent) : NULL;

		while (list && (entry = readdir(list)))
			if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && (!gone || gone(entry->d_name))) {
				snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
				if (kill_first)
					remove_dir(path);
				else
					(void)rmdir(path);
			}
		if (list)
			closedir(list);
	}
}

void cc_group_sweep(const char *prefix, bool (*gone)(const char *name))
{
	sweep(prefix, gone, true);
}

void cc_group_sweep_empty(const char *prefix)
{
	sweep(prefix, NULL, false);
}
