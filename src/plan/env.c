#include "plan/env.h"

#include "base/mem.h"
#include "plan/visible.h"

#include <stdlib.h>
#include <string.h>

/* What the session itself says. A later entry never overrides an earlier one of the same name, so the person's --env
 * comes first, then this table, then the allow-listed rest of the caller's environment. */
static const char *const session_env[] = {
	"TMPDIR=/tmp",
	"HTTP_PROXY=http://127.0.0.1:3128",
	"http_proxy=http://127.0.0.1:3128",
	"HTTPS_PROXY=http://127.0.0.1:3128",
	"https_proxy=http://127.0.0.1:3128",
	"GRPC_PROXY=http://127.0.0.1:3128",
	"grpc_proxy=http://127.0.0.1:3128",
	"FTP_PROXY=socks5h://127.0.0.1:1080",
	"ftp_proxy=socks5h://127.0.0.1:1080",
	"CC_SOCKS=socks5h://127.0.0.1:1080",
	"NODE_USE_ENV_PROXY=1",
	("JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 "
	 "-Dhttps.proxyPort=3128 -Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]"),
	/* ControlMaster would try to leave a socket of the host's ssh */
	"GIT_SSH_COMMAND=ssh -o ProxyCommand='/run/ccbox/cc-connect %h %p' -o ControlMaster=no -o ControlPath=none",
	"GIT_TEMPLATE_DIR=",
	"GIT_TERMINAL_PROMPT=0",
	/* the signing key is absent: a repository that asks for signatures would not take a commit */
	"GIT_CONFIG_COUNT=2",
	"GIT_CONFIG_KEY_0=commit.gpgSign",
	"GIT_CONFIG_VALUE_0=false",
	"GIT_CONFIG_KEY_1=tag.gpgSign",
	"GIT_CONFIG_VALUE_1=false",
};

static const char *const all_proxy_http[] = {"ALL_PROXY=http://127.0.0.1:3128", "all_proxy=http://127.0.0.1:3128"};
static const char *const all_proxy_socks[] = {"ALL_PROXY=socks5h://127.0.0.1:1080",
					      "all_proxy=socks5h://127.0.0.1:1080"};

/* Names that load code or redirect a program's trust: even --env passes them only with an explicit value. */
static const char *const code_loading[] = {
	"LD_*",         "DYLD_*",   "BASH_ENV",       "ENV",        "BASH_FUNC_*",
	"PERL5OPT",     "PERL5LIB", "PERL_MM_OPT",    "PYTHONPATH", "PYTHONSTARTUP",
	"NODE_OPTIONS", "RUBYOPT",  "RUBYLIB",        "GIT_SSH",    "GIT_EXEC_PATH",
	"GIT_CONFIG_*", "ZDOTDIR",  "GLIBC_TUNABLES", "GCONV_PATH",
};

/* What the session itself decides: another value would point programs at what is not there, or past the proxies. */
static const char *const decided[] = {"HOME", "NO_PROXY", "no_proxy", "CCBOX_SESSION"};

static const char *const secret_words[] = {"TOKEN",  "SECRET", "PASSWORD",   "PASSWD", "API_KEY",
					   "APIKEY", "_KEY",   "CREDENTIAL", "AUTH"};

static size_t name_len(const char *item)
{
	return strcspn(item, "=");
}

bool cc_plan_env_is_secret(const char *name, size_t len)
{
	for (size_t i = 0; i < CC_COUNT(secret_words); i++) {
		size_t word = strlen(secret_words[i]);

		for (size_t at = 0; at + word <= len; at++)
			if (memcmp(name + at, secret_words[i], word) == 0)
				return true;
	}
	return false;
}

static const char *lookup(const struct cc_strv *env, const char *name, size_t len)
{
	for (size_t i = 0; i < env->count; i++)
		if (name_len(env->items[i]) == len && memcmp(env->items[i], name, len) == 0 &&
		    env->items[i][len] == '=')
			return env->items[i];
	return NULL;
}

static enum cc_code add(struct cc_linux_plan *plan, const char *item, struct cc_err *err)
{
	if (lookup(&plan->env, item, name_len(item)))
		return CC_OK;
	return cc_strv_push(&plan->env, item, err);
}

static enum cc_code add_all(struct cc_linux_plan *plan, const char *const *items, size_t count, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < count; i++)
		code = add(plan, items[i], err);
	return code;
}

enum cc_code cc_plan_env_sanitise(const struct cc_strv *env, struct cc_strv *out, struct cc_err *err)
{
	static const char *const others[] = {"ld_*", "dyld_*", "NODE_EXTRA_CA_CERTS", "GIT_SSH_COMMAND",
					     "JAVA_TOOL_OPTIONS"};
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < env->count; i++) {
		const char *item = env->items[i];
		size_t len = name_len(item);

		if (!cc_env_listed(code_loading, CC_COUNT(code_loading), item, len) &&
		    !cc_env_listed(others, CC_COUNT(others), item, len))
			code = cc_strv_push(out, item, err);
	}
	return code;
}

static enum cc_code refuse_decided(const struct cc_strv *list, struct cc_err *err)
{
	for (size_t i = 0; list && i < list->count; i++) {
		const char *item = list->items[i];

		if (cc_env_listed(decided, CC_COUNT(decided), item, name_len(item)))
			return cc_fail(err, CC_EINVAL, 0, "--env %.*s: the session decides this variable itself",
				       (int)name_len(item), item);
	}
	return CC_OK;
}

/* NAME takes the caller's value, NAME=VALUE is taken as it stands. */
static enum cc_code add_asked(struct cc_linux_plan *plan, const struct cc_facts *facts, const struct cc_strv *list,
			      struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; list && code == CC_OK && i < list->count; i++) {
		const char *item = list->items[i];
		size_t len = name_len(item);

		if (!item[len]) {
			if (cc_env_listed(code_loading, CC_COUNT(code_loading), item, len))
				return cc_fail(err, CC_EPOLICY, 0,
					       "--env %s: this variable loads code; give its value (--env %s=...)",
					       item, item);
			item = lookup(&facts->env, item, len);
		}
		if (item)
			code = add(plan, item, err);
	}
	return code;
}

/* An entry of its own, whatever its port and spelling; a range or a pattern is not one. */
static bool is_entry(const struct cc_net_rules *net, const char *name)
{
	struct cc_host host;
	const char *entry;

	if (cc_host_parse(cc_view_of(name), CC_HOST_SOCKS, &host, NULL) != CC_OK)
		return false;
	entry = cc_net_decide_name(net, &host).entry;
	return cc_net_decide_name(net, &host).allowed && entry && !strpbrk(entry, "/*");
}

/* An address allowed as an exact literal must leave NO_PROXY, or the client goes direct and meets nothing. */
static enum cc_code add_no_proxy(struct cc_linux_plan *plan, const struct cc_rules *rules, struct cc_err *err)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "::1"};
	struct cc_buf value;
	enum cc_code code;

	cc_buf_init(&value, 256);
	for (size_t i = 0; i < CC_COUNT(own); i++)
		if (!is_entry(rules->net, own[i]))
			cc_buf_addf(&value, "%s%s", value.len ? "," : "", own[i]);
	code = cc_strv_pushf(&plan->env, err, "NO_PROXY=%s", value.len ? value.data : "");
	if (code == CC_OK)
		code = cc_strv_pushf(&plan->env, err, "no_proxy=%s", value.len ? value.data : "");
	cc_buf_done(&value);
	return code;
}

static enum cc_code add_host(struct cc_linux_plan *plan, const struct cc_facts *facts, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < facts->env.count; i++) {
		const char *item = facts->env.items[i];
		size_t len = name_len(item);

		if (lookup(&plan->env, item, len))
			continue;
		if (cc_visible_env(item, len) && item[len])
			code = cc_strv_push(&plan->env, item, err);
		else
			code = cc_strv_push_view(&plan->dropped, (struct cc_view){item, len}, err);
	}
	return code;
}

enum cc_code cc_plan_env(const struct cc_rules *rules, const struct cc_facts *facts, const struct cc_linux_ask *ask,
			 struct cc_linux_plan *plan, struct cc_err *err)
{
	enum cc_code code = refuse_decided(ask->env, err);

	if (code == CC_OK)
		code = add_asked(plan, facts, ask->env, err);
	if (code == CC_OK)
		code = add_asked(plan, facts, ask->agent_set, err);
	if (code == CC_OK)
		code = add_asked(plan, facts, ask->agent_env, err);
	if (code == CC_OK && ask->ssh_socket)
		code = cc_strv_push(&plan->env, "SSH_AUTH_SOCK=" CC_SSH_SOCKET, err);
	if (code == CC_OK)
		code = cc_strv_pushf(&plan->env, err, "HOME=%s", facts->home);
	if (code == CC_OK)
		code = ask->all_proxy_socks ? add_all(plan, all_proxy_socks, CC_COUNT(all_proxy_socks), err)
					    : add_all(plan, all_proxy_http, CC_COUNT(all_proxy_http), err);
	if (code == CC_OK)
		code = add_no_proxy(plan, rules, err);
	if (code == CC_OK)
		code = add_all(plan, session_env, CC_COUNT(session_env), err);
	if (code == CC_OK)
		code = cc_strv_pushf(&plan->env, err, "CCBOX_SESSION=%s", rules->session_id);
	if (code == CC_OK)
		code = add_host(plan, facts, err);
	if (code == CC_OK)
		code = add(plan, "PATH=/usr/local/bin:/usr/bin:/bin", err);
	if (code == CC_OK)
		code = add(plan, "LANG=C.UTF-8", err);
	return code;
}
