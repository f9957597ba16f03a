#define _GNU_SOURCE
#include "tools/tools.h"

#include "base/mem.h"
#include "guard/command.h"
#include "os/fd.h"
#include "tools/place.h"

#include <stdio.h>
#include <string.h>

#define STR(name, help) "\"" name "\":{\"type\":\"string\",\"description\":\"" help "\"}"
#define NUM(name, help) "\"" name "\":{\"type\":\"integer\",\"description\":\"" help "\"}"
#define OBJECT(members, required)                                                                                      \
	"{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "],\"additionalProperties\":false}"

const struct cc_tool cc_tools_table[] = {
	{"read", "Reads lines of a text file, with their numbers and the file's hash.",
	 OBJECT(STR("path", "absolute, or below the working directory") "," NUM("offset", "first line, from 1") "," NUM(
			"limit", "lines, at most 2000") "," STR("sel", "N, A-B or A+n instead of offset and limit"),
		"\"path\""),
	 CC_TIER_READ, cc_tool_read, false},
	{"write", "Writes a whole file; directories on the way are made.",
	 OBJECT(STR("path", "the file") "," STR("content", "all of it"), "\"path\",\"content\""), CC_TIER_WRITE,
	 cc_tool_write, false},
	{"edit", "Replaces texts in a file; each old_text must be there exactly once, unless replace_all is true.",
	 OBJECT(STR("path", "the file") "," STR("old_text", "what is there") "," STR(
			"new_text",
			"what comes instead") ",\"replace_all\":{\"type\":\"boolean\"},\"edits\":{\"type\":\"array\","
					      "\"description\":\"several at once, all or none\",\"items\":" OBJECT(
						      STR("old_text", "what is there") "," STR(
							      "new_text",
							      "what comes instead") ",\"replace_all\":{\"type\":\"boolean\"}",
						      "\"old_text\",\"new_text\"") "}",
		"\"path\""),
	 CC_TIER_WRITE, cc_tool_edit, false},
	{"apply_patch", "Replaces lines of files by number; all files or none. file_hash is what read said.",
	 OBJECT("\"edits\":{\"type\":\"array\",\"items\":" OBJECT(
			STR("path", "the file") "," STR("file_hash", "from read") "," NUM(
				"start_line",
				"from 1") "," NUM("end_line",
						  "included; start_line - 1 inserts") "," STR("replacement",
											      "the new lines"),
			"\"path\",\"file_hash\",\"start_line\",\"end_line\",\"replacement\"") "}",
		"\"edits\""),
	 CC_TIER_WRITE, cc_tool_apply_patch, false},
	{"search", "Finds lines by an extended regular expression: path:line:text, at most 200.",
	 OBJECT(STR("pattern", "POSIX extended regular expression") "," STR("path", "directory to start in") "," STR(
			"glob", "only files with such names"),
		"\"pattern\""),
	 CC_TIER_READ, cc_tool_search, true},
	{"find", "Finds files by a name pattern, newest first, at most 200.",
	 OBJECT(STR("pattern", "*.c, src/**/x.h") "," STR("path", "directory to start in"), "\"pattern\""),
	 CC_TIER_READ, cc_tool_find, true},
	{"search_files", "Finds files whose path has the letters of the query in their order, best first.",
	 OBJECT(STR("query", "letters of the path") "," NUM("limit", "at most 100"), "\"query\""), CC_TIER_READ,
	 cc_tool_search_files, true},
	{"bash", "Runs a command line in the sandbox.",
	 OBJECT(STR("command", "for bash -c") "," NUM("timeout", "seconds, 1 to 3600; 120 if absent") "," STR(
			"cwd", "directory to start in"),
		"\"command\""),
	 CC_TIER_EXEC, cc_tool_bash, false},
};
const size_t cc_tools_count = CC_COUNT(cc_tools_table);

bool cc_tool_offered(const struct cc_tool *tool, enum cc_mode mode)
{
	return tool->tier == CC_TIER_READ || cc_mode_writes(mode);
}

bool cc_tool_walks(const char *name)
{
	for (size_t i = 0; i < cc_tools_count; i++)
		if (strcmp(cc_tools_table[i].name, name) == 0)
			return cc_tools_table[i].walks;
	return false;
}

enum cc_code cc_tool_call(struct cc_tools *tools, const char *name, const struct cc_json *args, struct cc_buf *out,
			  struct cc_err *err)
{
	char offered[200] = "";
	size_t len = 0;

	for (size_t i = 0; i < cc_tools_count; i++) {
		const struct cc_tool *tool = &cc_tools_table[i];

		if (!cc_tool_offered(tool, tools->mode))
			continue;
		if (strcmp(tool->name, name) == 0)
			return tool->run(tools, args, out, err);
		if (len < sizeof(offered))
			len += (size_t)snprintf(offered + len, sizeof(offered) - len, "%s%s", len ? ", " : "",
						tool->name);
	}
	return cc_fail(err, CC_ENOTFOUND, 0, "no tool \"%.40s\" is offered here; there are: %s", name, offered);
}

/* A person's yes; what is denied is not asked about. */
static bool asked(const struct cc_tools *tools, const struct cc_command_verdict *verdict, const char *line)
{
	struct cc_buf question;
	bool yes;

	if (verdict->verdict != CC_GUARD_ASK || !tools->shell.ask)
		return false;
	cc_buf_init(&question, 4096 + CC_SHELL_BYTES);
	cc_buf_addf(&question, "Run this in the sandbox? (%s%s%s)\n%s", verdict->rule, *verdict->why ? " " : "",
		    verdict->why, line);
	yes = question.data && !question.failed && tools->shell.ask(tools->shell.context, question.data);
	cc_buf_done(&question);
	return yes;
}

enum cc_code cc_tool_bash(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out, struct cc_err *err)
{
	const char *line = cc_json_str(args, "command", ""), *cwd = cc_json_str(args, "cwd", NULL);
	int64_t timeout = cc_json_int(args, "timeout", 120);
	char place[PATH_MAX];
	CC_AUTO_FD dir = -1;
	struct cc_command_verdict verdict;
	int exit_code = 0;
	enum cc_code code;

	if (!*line)
		return cc_fail(err, CC_EINVAL, 0, "command is missing");
	if (timeout < 1 || timeout > 3600)
		return cc_fail(err, CC_EINVAL, 0, "timeout is 1 to 3600 seconds");
	if (!tools->shell.run)
		return cc_fail(err, CC_ESTATE, 0, "no session to run it in");
	code = cc_command_judge(cc_view_of(line), tools->mode, &verdict, err);
	if (code == CC_OK && cwd)
		code = cc_place_dir(tools, cwd, place, &dir, err);
	if (code != CC_OK)
		return code;
	if (verdict.verdict != CC_GUARD_ALLOW && !asked(tools, &verdict, line)) {
		/* 126: found, and not to be run */
		cc_buf_addf(out, "refused by the command policy: %s%s%s\n[exit 126]\n", verdict.rule,
			    *verdict.why ? " " : "", verdict.why);
		return CC_OK;
	}
	code = tools->shell.run(tools->shell.context, line, cwd ? place : NULL, (long)timeout, out, &exit_code, err);
	if (code == CC_OK)
		cc_buf_addf(out, "[exit %d]\n", exit_code);
	return code;
}
