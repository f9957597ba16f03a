#define _GNU_SOURCE
#include "terminal/prepare.h"

#include "backend/linux/facts.h"
#include "backend/linux/kept.h"
#include "backend/pick.h"
#include "base/mem.h"
#include "plan/termenv.h"
#include "session/probe.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool resolve_path(void *context, const char *path, char *out, size_t cap)
{
	char resolved[PATH_MAX];

	(void)context;
	return realpath(path, resolved) && cc_str_put(out, cap, resolved);
}

/* How each shell is told to be a login shell that talks to somebody. */
static const struct {
	const char *name;
	const char *options;
} shells[] = {{"bash", "-il"}, {"zsh", "-il"}, {"fish", "-il"}, {"ksh", "-il"}, {"dash", "-il"}, {"sh", "-il"}};

static enum cc_code find_shell(const struct cc_terminal_ask *ask, struct cc_term_plan *plan, struct cc_err *err)
{
	struct passwd entry, *found = NULL;
	char text[4096];
	const char *shell = ask->shell;
	const char *name;
	enum cc_code code;

	if (!shell && getpwuid_r(getuid(), &entry, text, sizeof(text), &found) == 0 && found)
		shell = found->pw_shell;
	if (!shell || !*shell)
		shell = "/bin/sh";
	if (shell[0] != '/' || strlen(shell) >= PATH_MAX)
		return cc_fail(err, CC_EINVAL, 0, "the shell \"%.100s\" is not an absolute path", shell);
	plan->shell = cc_str_copy(shell);
	code = plan->shell ? cc_strv_push(&plan->argv, shell, err) : cc_fail(err, CC_ELIMIT, 0, "out of memory");
	name = strrchr(shell, '/') + 1;
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(shells); i++)
		if (strcmp(shells[i].name, name) == 0)
			code = cc_strv_push(&plan->argv, shells[i].options, err);
	return code;
}

static enum cc_code find_cwd(const struct cc_terminal_ask *ask, struct cc_term_plan *plan, struct cc_err *err)
{
	const char *wish = ask->cwd ? ask->cwd : plan->facts.home;
	char path[PATH_MAX];
	struct stat st;

	if (wish[0] != '/')
		return cc_fail(err, CC_EINVAL, 0, "cwd \"%.100s\" is not an absolute path", wish);
	if (!realpath(wish, path) || stat(path, &st) < 0)
		return cc_fail(err, CC_ENOTFOUND, errno, "cwd %.200s", wish);
	if (!S_ISDIR(st.st_mode))
		return cc_fail(err, CC_EINVAL, 0, "cwd %.200s is not a directory", wish);
	plan->cwd = cc_str_copy(path);
	return plan->cwd ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

/* The rules of the profile; the backend has to hold each, or it is a refusal that names it. */
static enum cc_code plan_native(const struct cc_terminal_ask *ask, struct cc_term_plan *plan, struct cc_err *err)
{
	struct cc_rule_facts facts = {.home = plan->facts.home, .resolve = resolve_path};
	struct cc_linux_ask linux_ask = {.shell = plan->shell};
	char bwrap[PATH_MAX];
	unsigned unheld = 0;
	enum cc_code code = cc_probe_kernel(err);

	if (code == CC_OK)
		code = cc_rules_terminal(ask->id, plan->cwd, ask->daemon_paths, &facts, &plan->rules, err);
	if (code == CC_OK)
		code = cc_backend_pick(CC_BACKEND_NATIVE, cc_needs_of(plan->rules), &plan->backend, &unheld, err);
	if (code == CC_OK && unheld)
		code = cc_fail(err, CC_EUNENFORCED, 0, "the terminal's profile cannot be held");
	if (code == CC_OK)
		code = cc_linux_plan_make(plan->rules, &plan->facts, &linux_ask, &plan->plan, err);
	if (code == CC_OK)
		code = cc_facts_bwrap(ask->env, bwrap, sizeof(bwrap), err);
	if (code != CC_OK)
		return code;
	plan->off = ask->off;
	plan->bwrap = cc_str_copy(bwrap);
	return plan->bwrap ? cc_strv_copy(&plan->env, &plan->plan.env, err)
			   : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

enum cc_code cc_term_prepare(const struct cc_terminal_ask *ask, struct cc_term_plan *out_plan, struct cc_err *err)
{
	struct cc_term_plan plan = {0};
	enum cc_code code = cc_facts_collect(ask->env, ask->init ? ask->init : "cc-init", &plan.facts, err);

	if (code == CC_OK)
		code = find_shell(ask, &plan, err);
	if (code == CC_OK)
		code = find_cwd(ask, &plan, err);
	if (code == CC_OK && ask->backend == CC_BACKEND_NATIVE) {
		code = plan_native(ask, &plan, err);
	} else if (code == CC_OK && ask->backend == CC_BACKEND_NONE) {
		plan.backend = &cc_backend_kept;
		code = cc_plan_terminal_env(&plan.facts, plan.shell, &plan.env, err);
	} else if (code == CC_OK) {
		code = cc_fail(err, CC_EUNSUPPORTED, 0, "no terminal in backend %s; nothing was started",
			       cc_backend_name(ask->backend));
	}
	if (code != CC_OK) {
		cc_term_plan_done(&plan);
		return code;
	}
	*out_plan = plan;
	return CC_OK;
}

void cc_term_launch(const struct cc_term_plan *plan, struct cc_launch *out)
{
	*out = (struct cc_launch){.rules = plan->rules ? &plan->rules : NULL,
				  .plan = &plan->plan,
				  .bwrap_path = plan->bwrap,
				  .off = plan->off};
}

void cc_term_plan_done(struct cc_term_plan *plan)
{
	cc_facts_done(&plan->facts);
	cc_rules_free(plan->rules);
	cc_linux_plan_done(&plan->plan);
	cc_strv_done(&plan->env);
	cc_strv_done(&plan->argv);
	free(plan->cwd);
	free(plan->shell);
	free(plan->bwrap);
	*plan = (struct cc_term_plan){0};
}
