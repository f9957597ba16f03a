/* show.c - the record of a run for a person: what the agent says on standard output, all else beside it. */
#define _GNU_SOURCE
#include "remote/remote.h"

#include "base/mem.h"
#include "os/fd.h"
#include "wire/event.h"
#include "wire/json.h"

#include <string.h>
#include <strings.h>

/* A line that begins as ours do is quoted: on a terminal both streams come together, and an agent must not be able to
 * say how its run ended. Blanks and capitals before it deceive an eye as well. */
static bool looks_like_ours(struct cc_view line)
{
	while (line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t' || line.ptr[0] == '\r')) {
		line.ptr++;
		line.len--;
	}
	return line.len >= 5 && strncasecmp(line.ptr, "ccbox", 5) == 0;
}

/* Bytes of an agent's for a terminal: its lines stay lines, the rest of what is not plain is written as its number. */
static void put_text(int fd, const char *before, const char *text)
{
	struct cc_buf out;
	struct cc_view line;
	struct cc_err err;

	cc_buf_init(&out, 4 << 20);
	for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, "\n");
		line = (struct cc_view){at, (size_t)(end - at)};
		cc_buf_adds(&out, *before || !looks_like_ours(line) ? before : "| ");
		cc_event_safe(&out, line);
		cc_buf_adds(&out, "\n");
	}
	if (!out.failed && out.len)
		(void)!cc_fd_write_all(fd, out.data, out.len, &err);
	cc_buf_done(&out);
}

static void put_call(const struct cc_json *event)
{
	const struct cc_json *input = cc_json_get(event, "input");
	const char *what =
		cc_json_str(input, "command", cc_json_str(input, "file_path", cc_json_str(event, "content", "")));
	struct cc_buf line;

	cc_buf_init(&line, 1 << 20);
	cc_buf_addf(&line, "%s %s", cc_json_str(event, "tool", "?"), what);
	put_text(2, "> ", line.data ? line.data : "");
	cc_buf_done(&line);
}

static void put_approval(const char *run, const struct cc_json *event)
{
	long long number = (long long)cc_json_int(event, "approval", 0);

	put_call(event);
	cc_say("the agent wants to do this (%s). ccbox agent approve %s %lld, or the same with --deny",
	       cc_json_str(event, "rule", "?"), run, number);
}

static void put_ready(const char *run, const struct cc_json *event)
{
	if (cc_json_bool(event, "sandboxed", false))
		cc_say("run %s: %s sandbox, in %s%s", run, cc_json_str(event, "backend", "?"),
		       cc_json_str(event, "directory", "?"),
		       cc_json_bool(event, "network", true) ? "" : ", without a network");
	else
		cc_say("run %s: %s", run, cc_json_str(event, "content", "NO SANDBOX"));
}

static void put_end(const char *run, const struct cc_json *event)
{
	const char *stat = cc_json_str(event, "stat", "");

	if (*stat)
		put_text(2, "  ", stat);
	cc_say("run %s: %s, exit %lld, %lld refused%s%s", run, cc_json_str(event, "reason", "?"),
	       (long long)cc_json_int(event, "exitCode", 125), (long long)cc_json_int(event, "violations", 0),
	       cc_json_str(event, "branch", NULL) ? ", on branch " : "", cc_json_str(event, "branch", ""));
}

static void put_decision(const struct cc_json *event)
{
	const char *decision = cc_json_str(event, "decision", "?");

	/* what a rule allows is every tool of every turn */
	if (strcmp(decision, "allow") != 0 || strcmp(cc_json_str(event, "by", ""), "rule") != 0)
		cc_say("%s by %s%s%s", decision, cc_json_str(event, "by", "?"),
		       cc_json_str(event, "rule", NULL) ? ": " : "", cc_json_str(event, "rule", ""));
}

void cc_remote_show(const char *run, const struct cc_json *event)
{
	static const struct {
		const char *type, *before;
		int fd;
	} texts[] = {{"text", "", 1},    {"thinking", "~ ", 2}, {"toolResult", "< ", 2},
		     {"error", "! ", 2}, {"steer", "@ ", 2},    {"sandboxViolation", "", 2}};
	const char *type = cc_json_str(event, "type", "");

	for (size_t i = 0; i < CC_COUNT(texts); i++)
		if (strcmp(texts[i].type, type) == 0)
			put_text(texts[i].fd, texts[i].before, cc_json_str(event, "content", ""));
	if (strcmp(type, "toolCall") == 0)
		put_call(event);
	if (strcmp(type, "approval") == 0)
		put_approval(run, event);
	if (strcmp(type, "decision") == 0)
		put_decision(event);
	if (strcmp(type, "ready") == 0)
		put_ready(run, event);
	if (strcmp(cc_json_str(event, "record", ""), "end") == 0)
		put_end(run, event);
}
