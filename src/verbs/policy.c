#define _GNU_SOURCE
#include "verbs/verbs.h"
#include "cli/config.h"
#include "cli/start.h"
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

static void say(const struct cc_policy *policy, const struct cc_rules *rules, bool prints)
{
	struct cc_buf text;

	if (!prints) {
		printf("ok\n");
		return;
	}
	cc_buf_init(&text, 1 << 20);
	cc_policyfile_write(policy, &text);
	printf("%s\n", text.data ? text.data : "{}");
	for (size_t i = 0; rules && i < rules->rule_count; i++)
		printf("// %-28s %s\n", rules->rules[i].id, rules->rules[i].pattern);
	cc_buf_done(&text);
}

/* A file alone, as the operator's. */
static enum cc_code with_file(const char *path, bool prints, struct cc_err *err)
{
	struct cc_policy policy;
	enum cc_code code;

	cc_policy_init(&policy);
	code = cc_config_read(path, CC_POLICY_OPERATOR, true, &policy, err);
	if (code == CC_OK)
		say(&policy, NULL, prints);
	cc_policy_done(&policy);
	return code;
}

/* Everything as `run` would gather it. */
static enum cc_code with_all(char *const *argv, char *const *env, bool prints, struct cc_err *err)
{
	struct cc_start start;
	enum cc_code code = cc_start_gather(&start, CC_FOR_POLICY, argv, env, err);

	start.rules_only = true;
	if (code == CC_OK && argv[start.used])
		code = cc_fail(err, CC_EINVAL, 0, "unexpected word \"%s\"", argv[start.used]);
	if (code == CC_OK)
		code = cc_start_prepare(&start, NULL, env, err);
	if (code == CC_OK)
		say(&start.ask.spec.policy, start.prepared.rules, prints);
	cc_start_done(&start);
	return code;
}

static enum cc_code with_policy(char *const *argv, char *const *env, bool prints, struct cc_err *err)
{
	return argv[0] && strncmp(argv[0], "--", 2) != 0 ? with_file(argv[0], prints, err)
							 : with_all(argv, env, prints, err);
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
