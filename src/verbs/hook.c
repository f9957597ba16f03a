/* hook.c - `ccbox hook claude`: what Claude Code asks before it uses a tool (PreToolUse). Its Bash goes through a
 * sandbox with the same options as this hook; its file tools are held to the rules. Whatever goes wrong is a refusal:
 * Claude takes exit code 2 for one, and any other failure for a yes. */
#define _GNU_SOURCE
#include "cli/start.h"
#include "guard/command.h"
#include "os/fd.h"
#include "tools/place.h"
#include "verbs/self.h"
#include "verbs/verbs.h"
#include "wire/json.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MAX = 8 << 20, REFUSED = 2 };

struct hook {
	struct cc_start *start;
	struct cc_tools *tools;
	const struct cc_strv *run;   /* `ccbox run` and the options of this hook */
	const struct cc_json *input; /* the tool's own arguments */
};

/* What is answered. reason is shown to the model when it is no. */
static void answer(const char *decision, const char *reason, const struct cc_json *input, const char *command)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, 2 * INPUT_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "hookSpecificOutput");
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "hookEventName", "PreToolUse");
	cc_jsonw_kstr(&w, "permissionDecision", decision);
	cc_jsonw_kstr(&w, "permissionDecisionReason", reason);
	if (command) {
		cc_jsonw_key(&w, "updatedInput");
		cc_jsonw_object(&w);
		for (const struct cc_json *member = input->child; member; member = member->next) {
			cc_jsonw_key(&w, member->key.ptr);
			if (cc_view_is(member->key, "command"))
				cc_jsonw_str(&w, command);
			else
				cc_jsonw_copy(&w, member);
		}
		cc_jsonw_end(&w);
	}
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	cc_buf_adds(&text, "\n");
	fputs(text.failed ? "" : text.data, stdout);
	fflush(stdout);
	cc_buf_done(&text);
}

static void add_word(struct cc_buf *line, const char *word)
{
	if (line->len)
		cc_buf_adds(line, " ");
	cc_buf_add_quoted(line, cc_view_of(word));
}

/* The command itself, run in a sandbox. */
static enum cc_code bash(const struct hook *hook, struct cc_err *err)
{
	const char *command = cc_json_str(hook->input, "command", "");
	struct cc_command_verdict verdict;
	struct cc_buf line;
	char reason[300];
	enum cc_code code = *command ? cc_command_judge(cc_view_of(command), hook->start->ask.spec.mode, &verdict, err)
				     : cc_fail(err, CC_EINVAL, 0, "a Bash call without a command");

	if (code != CC_OK)
		return code;
	if (verdict.verdict == CC_GUARD_DENY) {
		snprintf(reason, sizeof(reason), "refused by the command policy: %s%s%s", verdict.rule,
			 *verdict.why ? " " : "", verdict.why);
		answer("deny", reason, NULL, NULL);
		return CC_OK;
	}
	cc_buf_init(&line, INPUT_MAX);
	for (size_t i = 0; i < hook->run->count; i++)
		add_word(&line, hook->run->items[i]);
	cc_buf_adds(&line, " -- bash -c");
	add_word(&line, command);
	code = cc_buf_check(&line, "the command", err);
	snprintf(reason, sizeof(reason),
		 verdict.verdict == CC_GUARD_ASK ? "in a sandbox, but it would: %s%s%s" : "in a sandbox",
		 verdict.rule ? verdict.rule : "", *verdict.why ? " " : "", verdict.why);
	if (code == CC_OK)
		answer(verdict.verdict == CC_GUARD_ASK ? "ask" : "allow", reason, hook->input, line.data);
	cc_buf_done(&line);
	return code;
}

/* Where Claude's own tools write and read. It opens the path itself afterwards: a trail and a hint, no boundary. */
static enum cc_code file(const struct hook *hook, bool writes, struct cc_err *err)
{
	const char *path = cc_json_str(hook->input, "file_path", cc_json_str(hook->input, "notebook_path", ""));
	CC_AUTO_PLACE place = {.parent = -1};
	enum cc_code code = cc_place_find(hook->tools, path, false, &place, err);

	if (code == CC_OK)
		code = cc_place_permit(hook->tools,
				       !writes       ? CC_VERB_READ
				       : place.there ? CC_VERB_WRITE
						     : CC_VERB_CREATE,
				       place.path, err);
	if (code == CC_ENOTFOUND && writes)
		code = CC_OK; /* its directory is made first, and asked about like every file in it */
	if (code == CC_EPOLICY && writes) {
		answer("deny", err->what, NULL, NULL);
		return CC_OK;
	}
	if (code == CC_EPOLICY &&
	    place.parent >= 0) { /* a rule says so; what lies outside the binds is Claude's to ask */
		answer("deny", err->what, NULL, NULL);
		return CC_OK;
	}
	return code == CC_EPOLICY || code == CC_ENOTFOUND ? CC_OK : code;
}

static enum cc_code write_file(const struct hook *hook, struct cc_err *err)
{
	return file(hook, true, err);
}

static enum cc_code read_file(const struct hook *hook, struct cc_err *err)
{
	return file(hook, false, err);
}

static const struct {
	const char *tool;
	enum cc_code (*judge)(const struct hook *hook, struct cc_err *err);
} judges[] = {{"Bash", bash},
	      {"Write", write_file},
	      {"Edit", write_file},
	      {"MultiEdit", write_file},
	      {"NotebookEdit", write_file},
	      {"Read", read_file}};

static enum cc_code judge(struct hook *hook, const struct cc_json *call, struct cc_err *err)
{
	const char *tool = cc_json_str(call, "tool_name", "");

	hook->input = cc_json_get(call, "tool_input");
	if (strcmp(cc_json_str(call, "hook_event_name", "PreToolUse"), "PreToolUse") != 0)
		return cc_fail(err, CC_EINVAL, 0, "this hook is for PreToolUse");
	for (size_t i = 0; i < sizeof(judges) / sizeof(judges[0]); i++)
		if (strcmp(judges[i].tool, tool) == 0)
			return hook->input && hook->input->kind == CC_JSON_OBJECT
				       ? judges[i].judge(hook, err)
				       : cc_fail(err, CC_EINVAL, 0, "a call of %.40s without arguments", tool);
	return CC_OK; /* another tool: nothing of ours, Claude asks as it would */
}

static enum cc_code serve(struct cc_start *start, const struct cc_json *call, const struct cc_strv *run,
			  struct cc_err *err)
{
	struct hook hook = {.start = start, .tools = calloc(1, sizeof(*hook.tools)), .run = run};
	enum cc_code code = hook.tools ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");

	if (code == CC_OK)
		code = cc_tools_init(hook.tools, start->prepared.rules, start->ask.spec.mode, start->prepared.workdir,
				     err);
	if (code == CC_OK)
		code = judge(&hook, call, err);
	if (hook.tools)
		cc_tools_done(hook.tools);
	free(hook.tools);
	return code;
}

/* The call, and the place that it is made from: what is bound goes by that. */
static enum cc_code read_call(struct cc_json_doc **out_doc, struct cc_err *err)
{
	const char *cwd;
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, INPUT_MAX);
	code = cc_fd_read_all(0, &text, err);
	if (code == CC_OK)
		code = cc_json_parse("standard input", cc_buf_view(&text), 0, out_doc, err);
	cc_buf_done(&text);
	if (code != CC_OK)
		return code;
	cwd = cc_json_str(cc_json_root(*out_doc), "cwd", "");
	return *cwd && chdir(cwd) < 0 ? cc_fail(err, CC_ENOTFOUND, 0, "the working directory of the call is gone")
				      : CC_OK;
}

static enum cc_code answer_call(char *const *argv, char *const *env, const struct cc_json *call, struct cc_err *err)
{
	struct cc_start start;
	struct cc_strv run = {0};
	enum cc_code code = cc_start_gather(&start, CC_FOR_RUN, argv, env, err);

	if (code == CC_OK && *cc_start_command(&start, argv))
		code = cc_fail(err, CC_EINVAL, 0, "ccbox hook claude takes options and no command");
	if (code == CC_OK)
		code = cc_self_run_words(argv, start.used, &run, err);
	if (code == CC_OK)
		code = cc_start_prepare(&start, NULL, env, err);
	if (code == CC_OK)
		code = cc_prepare_finish(&start.prepared, err);
	if (code == CC_OK)
		code = serve(&start, call, &run, err);
	cc_start_done(&start);
	cc_strv_done(&run);
	return code;
}

int cc_verb_hook(char *const *argv, char *const *env)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err = {0};
	enum cc_code code = argv[0] && strcmp(argv[0], "claude") == 0
				    ? read_call(&doc, &err)
				    : cc_fail(&err, CC_EINVAL, 0, "ccbox hook claude [OPTIONS]");

	if (code == CC_OK)
		code = answer_call(argv + 1, env, cc_json_root(doc), &err);
	if (code == CC_OK)
		return 0;
	cc_say("%s", err.what);
	return REFUSED;
}
