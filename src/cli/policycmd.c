#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/config.h"
#include "os/fd.h"
#include "session/prepare.h"
#include "wire/policyfile.h"
#include "wire/msg.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum cc_code show_schema(char *const *argv, char *const *env, struct cc_err *err)
{
	struct cc_buf text;

	(void)argv, (void)env, (void)err;
	cc_buf_init(&text, 1 << 20);
	cc_policyfile_schema(&text);
	printf("%s\n", text.data ? text.data : "");
	cc_buf_done(&text);
	return CC_OK;
}

/* A file alone, as the operator's; without one, everything as `run` would gather it. */
static enum cc_code gather(char *const *argv, char *const *env, struct cc_ask_run *ask, struct cc_prepared *prepared,
			   struct cc_err *err)
{
	char cwd[PATH_MAX];
	size_t used = 0;
	struct cc_prepare_ask prepare_ask = {.spec = &ask->spec, .cwd = cwd, .env = env, .rules_only = true};
	enum cc_code code;

	if (argv[0] && strncmp(argv[0], "--", 2) != 0)
		return cc_config_read(argv[0], CC_POLICY_OPERATOR, true, &ask->spec.policy, err);
	if (!getcwd(cwd, sizeof(cwd)))
		return cc_fail(err, CC_ESYS, 0, "the current directory is gone");
	code = cc_config_gather(CC_FOR_POLICY, argv, env, cwd, ask, &used, err);
	if (code == CC_OK && argv[used])
		code = cc_fail(err, CC_EINVAL, 0, "unexpected word \"%s\"", argv[used]);
	return code == CC_OK ? cc_prepare(&prepare_ask, prepared, err) : code;
}

static enum cc_code with_policy(char *const *argv, char *const *env, bool print, struct cc_err *err)
{
	struct cc_ask_run ask;
	struct cc_prepared prepared = {0};
	struct cc_buf text;
	enum cc_code code;

	cc_ask_run_init(&ask);
	cc_buf_init(&text, 1 << 20);
	code = gather(argv, env, &ask, &prepared, err);
	if (code == CC_OK && print) {
		cc_policyfile_write(&ask.spec.policy, &text);
		printf("%s\n", text.data ? text.data : "{}");
		for (size_t i = 0; prepared.rules && i < prepared.rules->rule_count; i++)
			printf("// %-28s %s\n", prepared.rules->rules[i].id, prepared.rules->rules[i].pattern);
	} else if (code == CC_OK) {
		printf("ok\n");
	}
	cc_buf_done(&text);
	cc_prepared_done(&prepared);
	cc_ask_run_done(&ask);
	return code;
}

static enum cc_code check(char *const *argv, char *const *env, struct cc_err *err)
{
	return with_policy(argv, env, false, err);
}

static enum cc_code show(char *const *argv, char *const *env, struct cc_err *err)
{
	return with_policy(argv, env, true, err);
}

static const struct {
	const char *name;
	enum cc_code (*run)(char *const *argv, char *const *env, struct cc_err *err);
} actions[] = {{"check", check}, {"show", show}, {"schema", show_schema}};

int cc_verb_policy(char *const *argv, char *const *env)
{
	struct cc_err err = {0};

	for (size_t i = 0; argv[0] && i < CC_COUNT(actions); i++)
		if (strcmp(argv[0], actions[i].name) == 0)
			return actions[i].run(argv + 1, env, &err) == CC_OK ? 0 : cc_give_up(&err);
	cc_say("ccbox policy check|show|schema [FILE]");
	return CC_EXIT_NOT_ESTABLISHED;
}
