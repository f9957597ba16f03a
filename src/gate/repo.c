#define _GNU_SOURCE
#include "gate/repo.h"

#include "os/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cc_repo_made(struct cc_gate *gate, const struct cc_loc *loc)
{
	struct cc_gate_pin made = {.fd = -1};
	struct cc_statx st;
	size_t kept = 0;

	if (strcmp(loc->name, ".git") != 0 && strcmp(loc->name, ".git/") != 0)
		return;
	made.fd = cc_k_openat2(loc->parent, ".git", O_PATH | O_NOFOLLOW | O_DIRECTORY, 0, 0);
	if (made.fd < 0 || cc_k_statx(made.fd, "", &st) < 0) {
		cc_fd_close(&made.fd);
		return;
	}
	made.ino = st.ino;
	made.dev_major = st.dev_major;
	made.dev_minor = st.dev_minor;
	pthread_mutex_lock(&gate->repo_lock);
	for (size_t i = 0; i < gate->repo_count; i++) {
		struct cc_gate_pin *old = &gate->repos[i];

		if (cc_k_statx(old->fd, "", &st) < 0 || st.nlink == 0)
			cc_fd_close(&old->fd); /* removed since */
		else
			gate->repos[kept++] = *old;
	}
	if (kept == CC_GATE_REPOS)
		cc_fd_close(&made.fd); /* too many: this one stays */
	else
		gate->repos[kept++] = made;
	gate->repo_count = kept;
	pthread_mutex_unlock(&gate->repo_lock);
}

static bool is_ours(struct cc_gate *gate, int dir)
{
	struct cc_statx st;
	bool found = false;

	if (cc_k_statx(dir, "", &st) < 0)
		return false;
	pthread_mutex_lock(&gate->repo_lock);
	for (size_t i = 0; i < gate->repo_count && !found; i++)
		found = gate->repos[i].ino == st.ino && gate->repos[i].dev_major == st.dev_major &&
			gate->repos[i].dev_minor == st.dev_minor;
	pthread_mutex_unlock(&gate->repo_lock);
	return found;
}

bool cc_repo_may_go(struct cc_gate *gate, enum cc_verb verb, const struct cc_loc *loc,
		    const struct cc_decision *decision)
{
	const struct cc_rule *rule = decision->rule;

	if ((verb != CC_VERB_UNLINK && verb != CC_VERB_RMDIR) || !loc->mount || !rule ||
	    decision->match != CC_MATCH_EXACT)
		return false;
	return (strcmp(rule->id, "git:skeleton") == 0 || strcmp(rule->id, "git:config") == 0) &&
	       is_ours(gate, loc->parent);
}

/* A guard against accidents, not against intent: whoever may run git may prune with it. So its name is enough, where
 * the session cannot have written the program. */
static bool is_git(const struct cc_call *call)
{
	char link[48];
	char path[PATH_MAX];
	const char *name;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)call->tid);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return false;
	path[len] = '\0';
	for (size_t i = 0; i < call->gate->mount_count; i++) {
		const struct cc_gate_mount *mount = &call->gate->mounts[i];

		if (strncmp(path, mount->path, mount->len) == 0 && path[mount->len] == '/')
			return false;
	}
	name = strrchr(path, '/');
	return name && strstr(name, "git");
}

/* The .git that loc lies below. */
static bool in_ours(const struct cc_call *call, const struct cc_loc *loc)
{
	char path[PATH_MAX];
	const char *at = strstr(loc->path, "/.git/");
	CC_AUTO_FD dir = -1;

	if (!at || (size_t)(at - loc->path) + sizeof("/.git") > sizeof(path))
		return false;
	snprintf(path, sizeof(path), "%.*s/.git", (int)(at - loc->path), loc->path);
	dir = cc_k_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_DIRECTORY, 0, CC_RESOLVE_NO_SYMLINKS);
	return dir >= 0 && is_ours(call->gate, dir);
}

bool cc_repo_may_prune(const struct cc_call *call, const struct cc_loc *loc)
{
	size_t len = strlen(loc->name);

	return strncmp(loc->name, "tmp_", 4) == 0 || strncmp(loc->name, ".tmp-", 5) == 0 ||
	       (len > 5 && strcmp(loc->name + len - 5, ".lock") == 0) || is_git(call) || in_ours(call, loc);
}
