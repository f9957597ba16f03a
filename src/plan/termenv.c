#include "plan/termenv.h"

#include "base/mem.h"
#include "plan/visible.h"

#include <string.h>

/* Who one is, where programs lie, how text and time look. No socket, no token, nothing that loads code. */
static const char *const passed[] = {
	"LOGNAME", "USER", "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "EDITOR", "VISUAL", "PAGER",
};

/* Whether the server itself was started on a terminal says nothing about this one. */
static const char *const fixed[] = {"TERM=xterm-256color", "COLORTERM=truecolor"};

static bool has(const struct cc_strv *env, const char *name)
{
	return env->count && cc_env_get(env->items, name);
}

enum cc_code cc_plan_terminal_env(const struct cc_facts *facts, const char *shell, struct cc_strv *out_env,
				  struct cc_err *err)
{
	enum cc_code code = cc_strv_pushf(out_env, err, "HOME=%s", facts->home);

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(fixed); i++)
		code = cc_strv_push(out_env, fixed[i], err);
	if (code == CC_OK && shell)
		code = cc_strv_pushf(out_env, err, "SHELL=%s", shell);
	for (size_t i = 0; code == CC_OK && i < facts->env.count; i++) {
		const char *item = facts->env.items[i];
		size_t len = strcspn(item, "=");

		if (item[len] && cc_env_listed(passed, CC_COUNT(passed), item, len))
			code = cc_strv_push(out_env, item, err);
	}
	if (code == CC_OK && !has(out_env, "PATH"))
		code = cc_strv_push(out_env, "PATH=/usr/local/bin:/usr/bin:/bin", err);
	if (code == CC_OK && !has(out_env, "LANG"))
		code = cc_strv_push(out_env, "LANG=C.UTF-8", err);
	return code;
}
