#define _GNU_SOURCE
#include "server/config.h"

#include "base/mem.h"
#include "cli/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct option {
	const char *name, *value, *env;
	enum cc_code (*take)(struct cc_server_config *config, const char *value, struct cc_err *err);
	const char *help;
};

/* A wrong word must not be taken for the other one: `of` would leave a sandbox on that somebody wanted off, or off that
 * somebody wanted on. */
static enum cc_code take_sandbox(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return cc_fail(err, CC_EINVAL, 0, "--sandbox takes on or off, not \"%s\"", value);
	config->sandbox = strcmp(value, "on") == 0;
	return CC_OK;
}

static enum cc_code take_port(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	char *end;
	unsigned long port = strtoul(value, &end, 10);

	if (!*value || *end || strspn(value, "0123456789") != strlen(value) || strlen(value) > 5 || port > 65535)
		return cc_fail(err, CC_EINVAL, 0, "--port takes 0 to 65535 (0: one that is free), not \"%s\"", value);
	config->port = (uint16_t)port;
	return CC_OK;
}

static enum cc_code take_bind(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	if (strcmp(value, "loopback") != 0 && strcmp(value, "any") != 0)
		return cc_fail(err, CC_EINVAL, 0, "--bind takes loopback or any, not \"%s\"", value);
	config->bind_any = strcmp(value, "any") == 0;
	return CC_OK;
}

/* Made absolute: what is started from here may stand elsewhere. */
static enum cc_code take_path(const char *option, char **slot, const char *value, struct cc_err *err)
{
	char cwd[PATH_MAX];
	char path[2 * PATH_MAX];

	if (!*value)
		return cc_fail(err, CC_EINVAL, 0, "--%s takes a path", option);
	if (value[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return cc_fail(err, CC_ESYS, 0, "the current directory is gone");
	snprintf(path, sizeof(path), "%s%s%s", value[0] == '/' ? "" : cwd, value[0] == '/' ? "" : "/", value);
	free(*slot);
	*slot = cc_str_copy(path);
	return *slot ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static enum cc_code take_cert(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	return take_path("tls-cert", &config->tls_cert, value, err);
}

static enum cc_code take_key(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	return take_path("tls-key", &config->tls_key, value, err);
}

static enum cc_code take_data_dir(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	return take_path("data-dir", &config->data_dir, value, err);
}

static bool is_origin(struct cc_view text)
{
	size_t scheme = cc_view_starts(text, "https://") ? 8 : cc_view_starts(text, "http://") ? 7 : 0;

	if (scheme == 0 || text.len == scheme || text.len > 250)
		return false;
	for (size_t i = scheme; i < text.len; i++)
		if (text.ptr[i] <= 0x20 || text.ptr[i] >= 0x7f || text.ptr[i] == '/' || text.ptr[i] == '*')
			return false;
	return true;
}

static enum cc_code take_origins(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	while (*value) {
		struct cc_view one = {value, strcspn(value, ",")};
		enum cc_code code;

		if (!is_origin(one))
			return cc_fail(err, CC_EINVAL, 0,
				       "--allowed-origins takes http://HOST[:PORT] or https://..., with commas, not "
				       "\"%.*s\"",
				       (int)(one.len < 100 ? one.len : 100), one.ptr);
		code = cc_strv_push_view(&config->origins, one, err);
		if (code != CC_OK)
			return code;
		value += one.len + (value[one.len] == ',');
	}
	return CC_OK;
}

static const char *const levels[] = {"error", "warning", "info", "debug"};

static enum cc_code take_log_level(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	for (size_t i = 0; i < CC_COUNT(levels); i++)
		if (strcmp(levels[i], value) == 0) {
			config->log_level = (enum cc_log_level)i;
			return CC_OK;
		}
	return cc_fail(err, CC_EINVAL, 0, "--log-level takes error, warning, info or debug, not \"%s\"", value);
}

static enum cc_code take_tools_timeout(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	unsigned long seconds = strtoul(value, NULL, 10);

	if (!*value || strspn(value, "0123456789") != strlen(value) || strlen(value) > 5 || seconds < 1)
		return cc_fail(err, CC_EINVAL, 0, "--tools-timeout takes 1 to 99999 seconds, not \"%s\"", value);
	config->tools_timeout = seconds;
	return CC_OK;
}

static enum cc_code take_insecure(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	config->insecure = true;
	return CC_OK;
}

static enum cc_code take_version(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	config->version = true;
	return CC_OK;
}

static enum cc_code take_help(struct cc_server_config *config, const char *value, struct cc_err *err)
{
	(void)value, (void)err;
	config->help = true;
	return CC_OK;
}

static const struct option options[] = {
	{"sandbox", "on|off", "CC_SERVER_SANDBOX", take_sandbox,
	 "on (default): wrap agents where this host offers a sandbox; off: never"},
	{"port", "PORT", "CC_SERVER_PORT", take_port, "TCP port, 9030 by default; 0 takes a free one and prints it"},
	{"bind", "loopback|any", "CC_SERVER_BIND", take_bind,
	 "any listens on every interface and needs TLS, or --insecure"},
	{"tls-cert", "FILE", "CC_SERVER_TLS_CERT", take_cert, "certificate chain (PEM)"},
	{"tls-key", "FILE", "CC_SERVER_TLS_KEY", take_key, "its private key (PEM)"},
	{"insecure", NULL, NULL, take_insecure, "allow --bind any without TLS: the token travels in the clear"},
	{"data-dir", "DIR", "CC_SERVER_DATA_DIR", take_data_dir,
	 "where token and database lie; default: ccbox-server in $XDG_DATA_HOME or ~/.local/share"},
	{"allowed-origins", "LIST", "CC_SERVER_ALLOWED_ORIGINS", take_origins,
	 "pages of other origins that may call, with commas between"},
	{"log-level", "LEVEL", "CC_SERVER_LOG_LEVEL", take_log_level, "error, warning (default), info, debug"},
	{"tools-timeout", "SECONDS", "CC_SERVER_TOOLS_TIMEOUT", take_tools_timeout,
	 "end tools of /v1/mcp that do not answer for so long; default: 3720, beyond their longest command"},
	{"version", NULL, NULL, take_version, "print the version"},
	{"help", NULL, NULL, take_help, "print this"},
};

void cc_server_config_init(struct cc_server_config *config)
{
	*config = (struct cc_server_config){
		.sandbox = true, .port = 9030, .log_level = CC_LOG_WARNING, .tools_timeout = 3720};
}

void cc_server_config_done(struct cc_server_config *config)
{
	free(config->tls_cert);
	free(config->tls_key);
	free(config->data_dir);
	cc_strv_done(&config->origins);
}

static enum cc_code read_env(char *const *env, struct cc_server_config *config, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(options); i++) {
		const char *value = options[i].env ? cc_env_get(env, options[i].env) : NULL;

		if (value)
			code = options[i].take(config, value, err);
		if (code != CC_OK && err) {
			struct cc_err why = *err;

			cc_fail(err, code, 0, "%s: %s", options[i].env, why.what);
		}
	}
	return code;
}

static const struct option *find(const char *name, size_t len)
{
	for (size_t i = 0; i < CC_COUNT(options); i++)
		if (strlen(options[i].name) == len && strncmp(options[i].name, name, len) == 0)
			return &options[i];
	return NULL;
}

static enum cc_code unknown(const char *word, struct cc_err *err)
{
	const char *names[CC_COUNT(options)];
	const char *near;

	for (size_t i = 0; i < CC_COUNT(options); i++)
		names[i] = options[i].name;
	near = cc_closest(strncmp(word, "--", 2) == 0 ? word + 2 : word, names, CC_COUNT(options));
	return cc_fail(err, CC_EINVAL, 0, "unknown option %s%s%s%s; cc_server --help lists them", word,
		       near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static enum cc_code read_argv(char *const *argv, struct cc_server_config *config, struct cc_err *err)
{
	enum cc_code code = CC_OK;
	bool origins_said = false;

	while (code == CC_OK && *argv) {
		const char *word = *argv++;
		size_t len = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
		const struct option *option = len ? find(word + 2, len) : NULL;
		const char *value = option && word[2 + len] ? word + 3 + len : NULL;

		if (!option)
			return unknown(word, err);
		if (!option->value && value)
			return cc_fail(err, CC_EINVAL, 0, "--%s takes no value", option->name);
		if (option->value && !value && *argv)
			value = *argv++;
		if (option->value && !value)
			return cc_fail(err, CC_EINVAL, 0, "--%s needs a value (%s)", option->name, option->value);
		if (option->take == take_origins && !origins_said) { /* the flag wins over the variable */
			cc_strv_done(&config->origins);
			origins_said = true;
		}
		code = option->take(config, value, err);
	}
	return code;
}

enum cc_code cc_server_config_read(char *const *argv, char *const *env, struct cc_server_config *config,
				   struct cc_err *err)
{
	enum cc_code code = read_env(env, config, err);

	if (code == CC_OK)
		code = read_argv(argv, config, err);
	if (code != CC_OK || config->version || config->help)
		return code;
	if (!config->tls_cert != !config->tls_key)
		return cc_fail(err, CC_EINVAL, 0, "--tls-cert and --tls-key go together");
	if (config->bind_any && !config->tls_cert && !config->insecure)
		return cc_fail(
			err, CC_EINVAL, 0,
			"--bind any without TLS would send the token in the clear: add --tls-cert and --tls-key, "
			"or --insecure if that network is yours alone");
	return CC_OK;
}

void cc_server_config_help(struct cc_buf *out)
{
	cc_buf_adds(out,
		    "cc_server [OPTIONS]\nthe daemon of ccbox: sandboxes, their events and terminals over HTTP\n\n");
	for (size_t i = 0; i < CC_COUNT(options); i++) {
		char left[80];

		snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].value ? " " : "",
			 options[i].value ? options[i].value : "");
		cc_buf_addf(out, "  %-24s %s\n", left, options[i].help);
	}
}
