#include "agents/inside.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* plain: what it writes is text, and nothing can be said to it. */
static void plain_begin(struct cc_talk *talk)
{
	talk->over = true;
}

static void plain_line(struct cc_talk *talk, struct cc_view line)
{
	struct cc_agent_event event = {.type = CC_AGENT_TEXT, .text = line};

	cc_talk_event(talk, &event);
	cc_talk_note(talk, CC_AGENT_TEXT, "\n");
}

static const struct {
	void (*begin)(struct cc_talk *talk);
	void (*line)(struct cc_talk *talk, struct cc_view line);
	void (*say)(struct cc_talk *talk, const char *text);
	void (*answer)(struct cc_talk *talk, struct cc_talk_asked *asked, bool allow, const char *reason);
} protocols[] = {
	[CC_TALK_PLAIN] = {plain_begin, plain_line, NULL, NULL},
	[CC_TALK_STREAM_JSON] = {cc_claude_begin, cc_claude_line, cc_claude_say, cc_claude_answer},
	[CC_TALK_ACP] = {cc_acpc_begin, cc_acpc_line, cc_acpc_say, cc_acpc_answer},
};

enum cc_code cc_talk_new(const struct cc_talk_config *config, struct cc_talk **out_talk, struct cc_err *err)
{
	CC_AUTO(cc_talk) talk = calloc(1, sizeof(*talk));

	if (!talk)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	talk->config = *config;
	talk->prompt = cc_str_copy(config->prompt);
	talk->cwd = cc_str_copy(config->cwd);
	cc_lines_init(&talk->lines, CC_TALK_LINE_MAX);
	cc_buf_init(&talk->out, CC_TALK_OUT_MAX);
	if (!talk->prompt || !talk->cwd)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	protocols[config->kind].begin(talk);
	if (talk->failed)
		return cc_fail(err, CC_ELIMIT, 0, "the prompt is too long");
	*out_talk = talk;
	talk = NULL;
	return CC_OK;
}

void cc_talk_free(struct cc_talk *talk)
{
	if (!talk)
		return;
	for (size_t i = 0; i < CC_TALK_BLOCKS; i++)
		cc_buf_done(&talk->blocks[i].json);
	for (size_t i = 0; i < CC_TALK_ASKS; i++)
		free(talk->asked[i].input);
	cc_lines_done(&talk->lines);
	cc_buf_done(&talk->out);
	free(talk->prompt);
	free(talk->cwd);
	free(talk);
}

void cc_talk_event(struct cc_talk *talk, const struct cc_agent_event *event)
{
	talk->config.sink.event(talk->config.sink.context, event);
}

void cc_talk_note(struct cc_talk *talk, enum cc_agent_event_type type, const char *text)
{
	struct cc_agent_event event = {.type = type, .text = cc_view_of(text)};

	if (*text)
		cc_talk_event(talk, &event);
}

struct cc_talk_asked *cc_talk_asks(struct cc_talk *talk)
{
	for (size_t i = 0; i < CC_TALK_ASKS; i++)
		if (!talk->asked[i].number) {
			free(talk->asked[i].input);
			talk->asked[i] = (struct cc_talk_asked){.number = ++talk->asked_count};
			return &talk->asked[i];
		}
	return NULL;
}

void cc_talk_answer(struct cc_talk *talk, int number, bool allow, const char *reason)
{
	for (size_t i = 0; i < CC_TALK_ASKS; i++)
		if (number && talk->asked[i].number == number) {
			protocols[talk->config.kind].answer(talk, &talk->asked[i], allow, reason);
			talk->asked[i].number = 0;
			free(talk->asked[i].input);
			talk->asked[i].input = NULL;
			return;
		}
}

/* One bad byte of an agent's must not cost its message. */
static void take_line(struct cc_talk *talk, struct cc_view raw)
{
	struct cc_buf line;

	cc_buf_init(&line, 3 * (size_t)CC_TALK_LINE_MAX);
	cc_buf_add_utf8(&line, raw);
	if (!line.failed && line.len)
		protocols[talk->config.kind].line(talk, cc_buf_view(&line));
	cc_buf_done(&line);
}

bool cc_talk_take(struct cc_talk *talk, const char *bytes, size_t len)
{
	bool fits = cc_lines_add(&talk->lines, bytes, len);
	struct cc_view line;

	while (cc_lines_next(&talk->lines, &line))
		take_line(talk, line);
	talk->failed |= !fits;
	return fits;
}

void cc_talk_end(struct cc_talk *talk)
{
	(void)!cc_talk_take(talk, "\n", 1);
}

enum cc_code cc_talk_say(struct cc_talk *talk, const char *text, struct cc_err *err)
{
	if (!protocols[talk->config.kind].say)
		return cc_fail(err, CC_ESTATE, 0, "this agent takes nothing but its first prompt");
	if (talk->over || talk->turns == 0)
		return cc_fail(err, CC_ESTATE, 0, "the agent's turn is over, or has not begun");
	protocols[talk->config.kind].say(talk, text);
	return CC_OK;
}

struct cc_buf *cc_talk_out(struct cc_talk *talk)
{
	return &talk->out;
}

bool cc_talk_is_over(const struct cc_talk *talk)
{
	return talk->over;
}

bool cc_talk_failed(const struct cc_talk *talk)
{
	return talk->failed;
}
