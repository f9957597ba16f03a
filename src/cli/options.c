#include "cli/options.h"

#include "base/mem.h"
#include "policy/net.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cc_ask_run_init(struct cc_ask_run *ask)
{
	*ask = (struct cc_ask_run){.pty = -1};
	cc_spec_init(&ask->spec);
}

void cc_ask_run_done(struct cc_ask_run *ask)
{
	cc_spec_done(&ask->spec);
	cc_strv_done(&ask->policies);
	cc_strv_done(&ask->binds);
	free(ask->workdir);
	free(ask->agent);
	free(ask->events);
}

static enum cc_code replace(char **slot, const char *value, struct cc_err *err)
{
	char *copy = cc_str_copy(value);

	if (!copy)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	free(*slot);
	*slot = copy;
	return CC_OK;
}

static enum cc_code take_backend(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_backend_parse(value, &ask->backend, err);
}

static enum cc_code take_mode(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_mode_parse(value, &ask->spec.mode, err);
}

static enum cc_code take_bind(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->binds, value, err);
}

static enum cc_code take_workdir(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return replace(&ask->workdir, value, err);
}

static enum cc_code take_agent(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return replace(&ask->agent, value, err);
}

static enum cc_code take_state_dir(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.runner_state_dirs, value, err);
}

static enum cc_code take_protect(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.protected_paths, value, err);
}

static enum cc_code take_policy(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->policies, value, err);
}

static enum cc_code take_allow_name(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.policy.allow_names, value, err);
}

static enum cc_code take_allow_path(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.policy.allow_paths, value, err);
}

static enum cc_code take_preset(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.policy.presets, value, err);
}

static enum cc_code take_allow_host(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.policy.allowed_domains, value, err);
}

/* NAME=ADDR[,ADDR...] */
static enum cc_code take_host(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	const char *equals = strchr(value, '=');
	struct cc_static_host *host;
	enum cc_code code;

	if (!equals || equals == value || !equals[1])
		return cc_fail(err, CC_EINVAL, 0, "--host takes NAME=ADDRESS[,ADDRESS], not \"%s\"", value);
	code = cc_policy_add_host(&ask->spec.policy, value, &host, err);
	if (code != CC_OK)
		return code;
	host->name[equals - value] = '\0';
	for (const char *at = equals + 1; code == CC_OK && *at;) {
		size_t len = strcspn(at, ",");

		code = cc_strv_push_view(&host->addresses, (struct cc_view){at, len}, err);
		at += len + (at[len] == ',');
	}
	return code;
}

static enum cc_code take_env(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	if (!*value || *value == '=')
		return cc_fail(err, CC_EINVAL, 0, "--env takes NAME or NAME=VALUE, not \"%s\"", value);
	return cc_strv_push(&ask->spec.policy.env, value, err);
}

static enum cc_code take_events(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return replace(&ask->events, value, err);
}

static enum cc_code take_timeout(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	char *end;

	errno = 0;
	ask->timeout = strtol(value, &end, 10);
	if (errno || *end || end == value || !isdigit((unsigned char)*value) || ask->timeout < 1 ||
	    ask->timeout > 365L * 24 * 3600)
		return cc_fail(err, CC_EINVAL, 0, "--timeout takes a number of seconds, not \"%s\"", value);
	return CC_OK;
}

static enum cc_code take_closed_port(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.owner_ports, value, err);
}

static enum cc_code take_all_proxy(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	ask->all_proxy_socks = strcmp(value, "socks") == 0;
	if (!ask->all_proxy_socks && strcmp(value, "http") != 0)
		return cc_fail(err, CC_EINVAL, 0, "--all-proxy takes http or socks, not \"%s\"", value);
	return CC_OK;
}

static enum cc_code take_port(const char *option, struct cc_strv *list, const char *value, struct cc_err *err)
{
	if (cc_host_port(cc_view_of(value)) == 0)
		return cc_fail(err, CC_EINVAL, 0, "--%s takes a port from 1 to 65535, not \"%s\"", option, value);
	return cc_strv_add(list, value, err);
}

static enum cc_code take_publish(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return take_port("publish", &ask->spec.publish, value, err);
}

static enum cc_code take_host_port(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return take_port("host-port", &ask->spec.host_ports, value, err);
}

/* Said by name, it must work or nothing starts; unsaid, it is tried. */
static enum cc_code take_transparent(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	ask->spec.transparent = strcmp(value, "on") == 0 ? CC_TRANSPARENT_MUST : CC_TRANSPARENT_OFF;
	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return cc_fail(err, CC_EINVAL, 0, "--transparent takes on or off, not \"%s\"", value);
	return CC_OK;
}

static enum cc_code take_bridge(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	ask->bridge_socat = strcmp(value, "socat") == 0;
	if (!ask->bridge_socat && strcmp(value, "direct") != 0)
		return cc_fail(err, CC_EINVAL, 0, "--bridge takes direct or socat, not \"%s\"", value);
	return CC_OK;
}

static enum cc_code take_allow_socket(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return cc_strv_push(&ask->spec.policy.allow_sockets, value, err);
}

static enum cc_code take_ssh_agent(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->ssh_agent = true;
	return CC_OK;
}

static enum cc_code take_no_network(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->spec.network_enabled = false;
	return CC_OK;
}

static enum cc_code take_dry_run(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->dry_run = true;
	return CC_OK;
}

static enum cc_code take_pty(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->pty = 1;
	return CC_OK;
}

static enum cc_code take_no_pty(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->pty = 0;
	return CC_OK;
}

static enum cc_code take_json(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->json = true;
	return CC_OK;
}

static enum cc_code take_quiet(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->quiet = true;
	return CC_OK;
}

static enum cc_code take_learn(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->learn = true;
	return CC_OK;
}

static enum cc_code take_copy(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	ask->copy = true;
	return CC_OK;
}

static enum cc_code take_id(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return replace(&ask->spec.session_id, value, err);
}

static enum cc_code take_workspace(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return replace(&ask->spec.workspace_id, value, err);
}

static enum cc_code take_amount(const char *option, const char *value, bool sizes, int64_t *slot, struct cc_err *err)
{
	static const char units[] = "KMGT";
	char *end;
	const char *unit;
	long long number;

	errno = 0;
	number = strtoll(value, &end, 10);
	unit = sizes && *end ? strchr(units, *end) : NULL;
	if (errno || !isdigit((unsigned char)*value) || number < 1 || (*end && (!unit || end[1])) ||
	    (unit && number > (INT64_MAX >> (10 * (unit - units + 1)))))
		return cc_fail(err, CC_EINVAL, 0, "--%s takes a number%s, not \"%s\"", option,
			       sizes ? ", with K, M, G or T if wanted" : "", value);
	*slot = unit ? number << (10 * (unit - units + 1)) : number;
	return CC_OK;
}

static enum cc_code take_memory(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return take_amount("memory", value, true, &ask->limits.memory, err);
}

static enum cc_code take_pids(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return take_amount("pids", value, false, &ask->limits.pids, err);
}

static enum cc_code take_cpu(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return take_amount("cpu", value, false, &ask->limits.cpu, err);
}

static enum cc_code take_wall(struct cc_ask_run *ask, const char *value, struct cc_err *err)
{
	return take_amount("wall", value, false, &ask->limits.wall, err);
}

#define RUNS  (CC_FOR_RUN | CC_FOR_SHELL)
#define RULES (RUNS | CC_FOR_EXPLAIN | CC_FOR_POLICY | CC_FOR_LAUNCH)

const struct cc_option cc_options[] = {
	{"backend", "NAME", "CC_BACKEND", RUNS | CC_FOR_LAUNCH, take_backend,
	 "native (default) or none; none means no sandbox at all"},
	{"mode", "MODE", "CC_MODE", RULES, take_mode,
	 "chat (default: binds writable), review, plan, orchestrate (read-only)"},
	{"bind", "DIR[:ro]", NULL, RULES, take_bind,
	 "show DIR inside, writable or read-only; default: the git work tree or the directory you stand in"},
	{"copy", NULL, NULL, RUNS, take_copy,
	 "work in a copy of what the repository has committed; what comes of it waits for `ccbox apply`"},
	{"workdir", "DIR", NULL, RUNS | CC_FOR_LAUNCH, take_workdir,
	 "start the command there; default: where you stand"},
	{"agent", "NAME", "CC_AGENT", RULES, take_agent,
	 "known agent whose login and settings to lend; none: none. Default: by the command's name"},
	{"state-dir", "DIR", NULL, RULES, take_state_dir, "a directory that stays writable in every mode"},
	{"protect", "PATH", NULL, RULES, take_protect, "never writable, in any mode"},
	{"policy", "FILE", "CC_POLICY", RULES, take_policy, "a policy file (JSONC) beside the configured ones"},
	{"allow-name", "GLOB", NULL, RULES, take_allow_name, "let file names like GLOB be made, changed and removed"},
	{"allow-path", "PATH", NULL, RULES, take_allow_path, "open one path that a built-in rule closes"},
	{"preset", "NAME", NULL, RULES, take_preset, "named set of openings: packages, tracked, tooling"},
	{"allow-host", "PATTERN", NULL, RULES, take_allow_host,
	 "a host, *.example.com or a.*.example.com, with :PORT if wanted"},
	{"host", "NAME=ADDR", NULL, RULES, take_host,
	 "reach NAME, if it is allowed, at these addresses without asking a resolver"},
	{"allow-socket", "PATH", NULL, RULES, take_allow_socket,
	 "let a Unix socket of the host inside a bind be connected to"},
	{"ssh-agent", NULL, NULL, RUNS, take_ssh_agent, "lend your ssh agent: it signs, and its keys stay outside"},
	{"no-network", NULL, NULL, RULES, take_no_network, "refuse every connection"},
	{"transparent", "on|off", "CC_TRANSPARENT", RUNS, take_transparent,
	 "serve programs that ignore proxy variables; default: where the kernel can do it"},
	{"bridge", "direct|socat", "CC_BRIDGE", RUNS, take_bridge,
	 "how the proxies are reached: by a socket handed over (default), or by pairs of socat"},
	{"publish", "PORT", NULL, RUNS, take_publish, "make a port inside reachable on this host's loopback"},
	{"host-port", "PORT", NULL, RUNS, take_host_port, "make a port of this host's loopback reachable inside"},
	{"closed-port", "PORT", NULL, RUNS, take_closed_port,
	 "never let a port of this host be reached, whatever a rule says"},
	{"all-proxy", "http|socks", "CC_ALL_PROXY", RUNS, take_all_proxy,
	 "what ALL_PROXY names inside; http (default) works with more clients"},
	{"env", "NAME[=VALUE]", NULL, RUNS | CC_FOR_LAUNCH, take_env, "pass a variable on, or set it"},
	{"timeout", "SECONDS", "CC_TIMEOUT", RUNS, take_timeout, "end the command after SECONDS: exit code 124"},
	{"pty", NULL, NULL, RUNS, take_pty, "give the command a terminal even if standard input is none"},
	{"no-pty", NULL, NULL, RUNS, take_no_pty, "pipes even on a terminal"},
	{"events", "FILE|fd:N", "CC_EVENTS", RUNS, take_events, "write events as JSON Lines, output included"},
	{"dry-run", NULL, NULL, RUNS, take_dry_run, "print what would be done and start nothing"},
	{"learn", NULL, NULL, RUNS, take_learn,
	 "enforce as always, and at the end print the smallest policy that would have allowed what was refused"},
	{"quiet", NULL, NULL, RUNS, take_quiet, "no lines of ccbox's own on standard error, refusals excepted"},
	{"json", NULL, NULL, CC_FOR_EXPLAIN, take_json, "answer as JSON"},
	{"id", "NAME", NULL, CC_FOR_LAUNCH, take_id, "the session's name; default: one is made"},
	{"workspace", "NAME", NULL, CC_FOR_LAUNCH, take_workspace,
	 "whose registered checkouts are never written; default: \"default\""},
	{"memory", "SIZE", NULL, RUNS | CC_FOR_LAUNCH, take_memory, "limit of memory: bytes, or with K, M, G"},
	{"pids", "N", NULL, RUNS | CC_FOR_LAUNCH, take_pids, "limit of processes and threads"},
	{"cpu", "PERCENT", NULL, RUNS | CC_FOR_LAUNCH, take_cpu, "limit of CPU, in percent of one processor"},
	{"wall", "SECONDS", NULL, CC_FOR_LAUNCH, take_wall, "end the session after SECONDS"},
};
const size_t cc_option_count = CC_COUNT(cc_options);

static const struct cc_option *find(unsigned verb, const char *name, size_t len)
{
	for (size_t i = 0; i < cc_option_count; i++)
		if ((cc_options[i].verbs & verb) && strlen(cc_options[i].name) == len &&
		    memcmp(cc_options[i].name, name, len) == 0)
			return &cc_options[i];
	return NULL;
}

enum cc_code cc_options_env(unsigned verb, char *const *env, struct cc_ask_run *ask, struct cc_err *err)
{
	for (; env && *env; env++)
		for (size_t i = 0; i < cc_option_count; i++) {
			const char *name = cc_options[i].env;
			size_t len = name ? strlen(name) : 0;

			if (len && (cc_options[i].verbs & verb) && strncmp(*env, name, len) == 0 &&
			    (*env)[len] == '=') {
				enum cc_code code = cc_options[i].take(ask, *env + len + 1, err);

				if (code != CC_OK)
					return code;
			}
		}
	return CC_OK;
}

static enum cc_code unknown(unsigned verb, const char *word, struct cc_err *err)
{
	const char *names[CC_COUNT(cc_options)];
	size_t count = 0;
	const char *near;

	for (size_t i = 0; i < cc_option_count; i++)
		if (cc_options[i].verbs & verb)
			names[count++] = cc_options[i].name;
	near = cc_closest(word + 2, names, count);
	return cc_fail(err, CC_EINVAL, 0, "unknown option %s%s%s%s", word, near ? "; did you mean --" : "",
		       near ? near : "", near ? "?" : "");
}

enum cc_code cc_options_parse(unsigned verb, char *const *argv, struct cc_ask_run *ask, size_t *out_used,
			      struct cc_err *err)
{
	size_t at = 0;

	while (argv[at] && strncmp(argv[at], "--", 2) == 0 && argv[at][2]) {
		const char *word = argv[at++];
		size_t len = strcspn(word + 2, "=");
		const struct cc_option *option = find(verb, word + 2, len);
		const char *value = word[2 + len] ? word + 3 + len : NULL;
		enum cc_code code;

		if (!option)
			return unknown(verb, word, err);
		if (option->value && !value) {
			value = argv[at];
			if (!value || strcmp(value, "--") == 0)
				return cc_fail(err, CC_EINVAL, 0, "--%s needs a value (%s)", option->name,
					       option->value);
			at++;
		}
		if (!option->value && value)
			return cc_fail(err, CC_EINVAL, 0, "--%s takes no value", option->name);
		code = option->take(ask, value, err);
		if (code != CC_OK)
			return code;
	}
	*out_used = at;
	return CC_OK;
}

void cc_options_help(unsigned verb, struct cc_buf *out)
{
	for (size_t i = 0; i < cc_option_count; i++) {
		const struct cc_option *option = &cc_options[i];
		char left[80];

		if (!(option->verbs & verb))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", option->name, option->value ? " " : "",
			 option->value ? option->value : "");
		cc_buf_addf(out, "  %-24s %s\n", left, option->help);
	}
}

/* Edit distance, bounded: words are short. */
static size_t distance(const char *left, const char *right)
{
	size_t row[64];
	size_t width = strlen(right);

	if (strlen(left) > 60 || width > 60)
		return 99;
	for (size_t k = 0; k <= width; k++)
		row[k] = k;
	for (size_t i = 1; left[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t k = 1; k <= width; k++) {
			size_t change = diagonal + (left[i - 1] != right[k - 1]);
			size_t best = row[k] + 1 < row[k - 1] + 1 ? row[k] + 1 : row[k - 1] + 1;

			diagonal = row[k];
			row[k] = change < best ? change : best;
		}
	}
	return row[width];
}

const char *cc_closest(const char *word, const char *const *words, size_t count)
{
	const char *best = NULL;
	size_t least = 4;

	for (size_t i = 0; i < count; i++) {
		size_t far = distance(word, words[i]);

		if (far < least) {
			least = far;
			best = words[i];
		}
	}
	return best;
}
