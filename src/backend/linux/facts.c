#define _GNU_SOURCE
#include "backend/linux/facts.h"

#include "base/mem.h"
#include "os/proc.h"
#include "plan/visible.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static enum cc_code add_path(struct cc_fact_path **paths, size_t *count, const char *path, enum cc_path_kind kind,
			     const char *target, struct cc_err *err)
{
	struct cc_fact_path *grown = realloc(*paths, (*count + 1) * sizeof(*grown));

	if (!grown)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	*paths = grown;
	grown[*count] = (struct cc_fact_path){cc_str_copy(path), kind, cc_str_copy(target)};
	(*count)++;
	return grown[*count - 1].path ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

/* Links into /usr (merged /bin, /etc/localtime ...) are made again as links: cheaper than a mount and true to the host.
 * Any other link is bound to what it points at. */
static bool link_within_usr(const char *path, const char *target)
{
	if (target[0] == '/')
		return strncmp(target, "/usr/", 5) == 0;
	if (strncmp(target, "usr/", 4) == 0)
		return strrchr(path, '/') == path;
	return strncmp(target, "../usr/", 7) == 0 && strchr(path + 1, '/') == strrchr(path, '/');
}

static enum cc_code look(struct cc_fact_path **paths, size_t *count, const char *path, struct cc_err *err)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (lstat(path, &st) < 0)
		return CC_OK;
	if (S_ISLNK(st.st_mode)) {
		len = readlink(path, target, sizeof(target) - 1);
		if (len > 0) {
			target[len] = '\0';
			if (link_within_usr(path, target))
				return add_path(paths, count, path, CC_PATH_LINK, target, err);
		}
		if (stat(path, &st) < 0)
			return CC_OK;
	}
	if (access(path, R_OK) < 0)
		return CC_OK;
	if (S_ISDIR(st.st_mode))
		return add_path(paths, count, path, CC_PATH_DIR, NULL, err);
	if (S_ISREG(st.st_mode))
		return add_path(paths, count, path, CC_PATH_FILE, NULL, err);
	return CC_OK;
}

static enum cc_code collect_home(char *const *env, struct cc_facts *facts, struct cc_err *err)
{
	const char *home = cc_env_get(env, "HOME");
	char resolved[PATH_MAX];

	if (!home || home[0] != '/') {
		const struct passwd *entry = getpwuid(getuid());

		home = entry ? entry->pw_dir : NULL;
	}
	if (!home || home[0] != '/')
		return cc_fail(err, CC_EINVAL, 0, "HOME is not set and user %u is not in the user database", getuid());
	if (strcmp(home, "/") == 0)
		home = "/home/user"; /* a private HOME at / would hide the system */
	facts->home = cc_str_copy(realpath(home, resolved) ? resolved : home);
	return facts->home ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

enum cc_code cc_facts_helper(const char *name, char *out, size_t cap, struct cc_err *err)
{
	/* a build tree, an installed prefix */
	static const char *const places[] = {"", "/../libexec/ccbox"};
	char dir[PATH_MAX];
	enum cc_code code = cc_proc_self_dir(dir, sizeof(dir), err);

	if (code != CC_OK)
		return code;
	for (size_t i = 0; i < CC_COUNT(places); i++) {
		char path[PATH_MAX * 2];

		snprintf(path, sizeof(path), "%s%s/%s", dir, places[i], name);
		if (access(path, X_OK) == 0 && realpath(path, dir) && strlen(dir) < cap) {
			memcpy(out, dir, strlen(dir) + 1);
			return CC_OK;
		}
	}
	return cc_fail(err, CC_ENOTFOUND, 0,
		       "the helper %s is not installed beside ccbox; run `make build` or reinstall", name);
}

/* A program that is found as bwrap may be this one (`ccbox bwrap`). */
static bool is_ourselves(const char *path)
{
	struct stat self, other;

	return stat("/proc/self/exe", &self) == 0 && stat(path, &other) == 0 && self.st_dev == other.st_dev &&
	       self.st_ino == other.st_ino;
}

static bool find_bwrap(const char *dirs, char *out, size_t cap)
{
	for (size_t len; dirs && *dirs; dirs += len + (dirs[len] == ':')) {
		char dir[PATH_MAX];

		len = strcspn(dirs, ":");
		if (len == 0 || len >= sizeof(dir))
			continue;
		memcpy(dir, dirs, len);
		dir[len] = '\0';
		if (cc_proc_which("bwrap", dir, out, cap, NULL) == CC_OK && !is_ourselves(out))
			return true;
	}
	return false;
}

enum cc_code cc_facts_bwrap(char *const *env, char *out, size_t cap, struct cc_err *err)
{
	return find_bwrap(CC_PATH_SYSTEM, out, cap) || find_bwrap(cc_env_get(env, "PATH"), out, cap)
		       ? CC_OK
		       : cc_fail(err, CC_ENOTFOUND, 0,
				 "bwrap is missing: install the package bubblewrap; nothing was started");
}

enum cc_code cc_facts_collect(char *const *env, const char *init, struct cc_facts *out_facts, struct cc_err *err)
{
	struct cc_facts facts = {0};
	struct sysinfo info;
	char path[PATH_MAX];
	enum cc_code code = collect_home(env, &facts, err);

	for (size_t i = 0; code == CC_OK && cc_visible_system[i]; i++)
		code = look(&facts.system, &facts.system_count, cc_visible_system[i], err);
	for (size_t i = 0; code == CC_OK && cc_visible_home[i]; i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", facts.home, cc_visible_home[i]) < sizeof(path))
			code = look(&facts.home_dirs, &facts.home_count, path, err);
	for (; code == CC_OK && env && *env; env++)
		code = cc_strv_push(&facts.env, *env, err);
	if (code == CC_OK) {
		if (cc_facts_helper(init, path, sizeof(path), NULL) == CC_OK)
			facts.init_path = cc_str_copy(path);
		if (cc_facts_helper("cc-connect", path, sizeof(path), NULL) == CC_OK)
			facts.connect_path = cc_str_copy(path);
		facts.memory = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : (uint64_t)1 << 30;
	}
	if (code != CC_OK) {
		cc_facts_done(&facts);
		return code;
	}
	*out_facts = facts;
	return CC_OK;
}
