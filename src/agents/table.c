#include "agents/table.h"

#include "base/mem.h"

#include <string.h>

static enum cc_code push_all(struct cc_strv *out, const char *const *words, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (; code == CC_OK && *words; words++)
		code = cc_strv_push(out, *words, err);
	return code;
}

/* An option's value begins with no dash: "--model --dangerously-..." would be an option of its own. */
static enum cc_code push_model(struct cc_strv *out, const char *option, const char *model, struct cc_err *err)
{
	enum cc_code code;

	if (!model)
		return CC_OK;
	if (!*model || *model == '-')
		return cc_fail(err, CC_EINVAL, 0, "\"%.100s\" is no name of a model", model);
	code = cc_strv_push(out, option, err);
	return code == CC_OK ? cc_strv_push(out, model, err) : code;
}

/* No --dangerously-skip-permissions: its questions are what the rules and a person answer. */
static enum cc_code claude_argv(const struct cc_runner_ask *ask, struct cc_strv *out, struct cc_err *err)
{
	static const char *const words[] = {"claude",
					    "-p",
					    "--input-format",
					    "stream-json",
					    "--output-format",
					    "stream-json",
					    "--verbose",
					    "--include-partial-messages",
					    "--permission-prompt-tool",
					    "stdio",
					    NULL};
	static const char *const reads[] = {"--permission-mode", "plan", "--disallowedTools",
					    "Write,Edit,MultiEdit,NotebookEdit", NULL};
	enum cc_code code = push_all(out, words, err);

	if (code == CC_OK)
		code = push_model(out, "--model", ask->model, err);
	if (code == CC_OK && !cc_mode_writes(ask->mode))
		code = push_all(out, reads, err);
	return code;
}

static enum cc_code claude_acp_argv(const struct cc_runner_ask *ask, struct cc_strv *out, struct cc_err *err)
{
	(void)ask;
	return cc_strv_push(out, "claude-agent-acp", err);
}

static enum cc_code codex_argv(const struct cc_runner_ask *ask, struct cc_strv *out, struct cc_err *err)
{
	static const char *const words[] = {"codex", "exec", "--skip-git-repo-check", NULL};
	enum cc_code code = push_all(out, words, err);

	if (code == CC_OK)
		code = push_model(out, "-m", ask->model, err);
	if (code == CC_OK)
		code = cc_strv_push(out, "--", err);
	return code == CC_OK ? cc_strv_push(out, ask->prompt, err) : code;
}

static enum cc_code gemini_argv(const struct cc_runner_ask *ask, struct cc_strv *out, struct cc_err *err)
{
	static const char *const words[] = {"gemini", "--acp", NULL};
	enum cc_code code = push_all(out, words, err);

	return code == CC_OK ? push_model(out, "--model", ask->model, err) : code;
}

static enum cc_code opencode_argv(const struct cc_runner_ask *ask, struct cc_strv *out, struct cc_err *err)
{
	static const char *const words[] = {"opencode", "acp", NULL};

	(void)ask;
	return push_all(out, words, err);
}

static enum cc_code goose_argv(const struct cc_runner_ask *ask, struct cc_strv *out, struct cc_err *err)
{
	static const char *const words[] = {"goose", "acp", NULL};

	(void)ask;
	return push_all(out, words, err);
}

static const struct cc_runner runners[] = {
	{"claude", "claude", CC_TALK_STREAM_JSON, false, claude_argv},
	{"claude-acp", "claude", CC_TALK_ACP, true, claude_acp_argv},
	{"codex", "codex", CC_TALK_PLAIN, true, codex_argv},
	{"gemini", "gemini", CC_TALK_ACP, true, gemini_argv},
	{"opencode", "opencode", CC_TALK_ACP, true, opencode_argv},
	{"goose", "goose", CC_TALK_ACP, true, goose_argv},
};

const struct cc_runner *cc_runner_at(size_t index)
{
	return index < CC_COUNT(runners) ? &runners[index] : NULL;
}

const struct cc_runner *cc_runner_by_name(const char *name)
{
	for (size_t i = 0; name && i < CC_COUNT(runners); i++)
		if (strcmp(runners[i].name, name) == 0)
			return &runners[i];
	return NULL;
}
