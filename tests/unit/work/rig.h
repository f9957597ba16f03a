/* rig.h - a directory of its own for a test that needs git, and shell lines in it. */
#ifndef CC_TESTS_WORK_RIG_H
#define CC_TESTS_WORK_RIG_H

#include "../t.h"

#include "work/worktree.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
#define LINE(text) assert_int_equal(sh(text), 0)

static char base[PATH_MAX];

/* openat2, which the room opens everything below a copy with. An emulator of programs may not have it; a kernel that
 * the product starts on does. */
static inline bool rig_can(void)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	int fd = (int)syscall(__NR_openat2, AT_FDCWD, ".", &how, sizeof(how));

	if (fd >= 0)
		close(fd);
	else
		puts("1..0 # SKIP this kernel, or who plays one, has no openat2");
	return fd >= 0;
}

static inline int rig_up(void **state)
{
	char home[PATH_MAX + 16];

	(void)state;
	snprintf(base, sizeof(base), "%s/ccbox-work.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(base))
		return -1;
	snprintf(home, sizeof(home), "%s/home", base);
	setenv("HOME", home, 1);
	setenv("B", base, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	unsetenv("XDG_CONFIG_HOME");
	return mkdir(home, 0700) == 0 && chdir(base) == 0 ? 0 : -1;
}

/* A line of the shell in the test's directory ($B): its status. */
static inline int sh(const char *line)
{
	static const char no[] = "no() { if \"$@\"; then return 1; fi; }; "; /* "!" is nothing that -e sees */
	char text[8192];
	pid_t pid;
	int status = -1;

	snprintf(text, sizeof(text), "%s%s", no, line);
	pid = fork();

	if (pid == 0) {
		dup2(2, 1); /* standard output is the test's */
		execl("/bin/sh", "sh", "-ec", text, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int rig_down(void **state)
{
	(void)state;
	return chdir("/") == 0 && sh("chmod -R u+rwX \"$B\"; rm -rf \"$B\"") == 0 ? 0 : -1;
}

/* A repository that is called "plain", with a commit, a change, an untracked and an ignored file. */
static const char rig_plain[] =
	"git config --global user.name Ann; git config --global user.email ann@example.test; "
	"git config --global init.defaultBranch main; git config --global core.fsync none; git init -q plain; cd plain; echo a >a; mkdir d; echo b >d/b; "
	"echo ign >.gitignore; git add .; git commit -qm one; git tag v1; git branch side; echo change >>a; echo u >untracked; "
	"echo secret >ign";

static inline int up(void **state)
{
	return rig_up(state) == 0 && sh(rig_plain) == 0 ? 0 : -1;
}

static inline enum cc_code make(const char *origin, const char *run, const char *from, struct cc_worktree *tree,
				struct cc_err *err)
{
	static char where[PATH_MAX + 64], dir[PATH_MAX + 64];
	struct cc_worktree_ask ask = {.origin = where, .dir = dir, .run = run, .base = from, .env = environ};

	snprintf(where, sizeof(where), "%s/%s", base, origin);
	snprintf(dir, sizeof(dir), "%s/runs", base);
	if (cc_worktree_make(&ask, tree, err) != CC_OK)
		return err->code;
	/* on a file system where it is known which one it must be */
	if (getenv("RIG_KIND"))
		assert_string_equal(cc_worktree_kind_name(tree->kind), getenv("RIG_KIND"));
	return CC_OK;
}

#endif
