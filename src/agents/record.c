#include "agents/record.h"

#include "agents/redact.h"

void cc_recorder_init(struct cc_recorder *recorder, void (*line)(void *context, struct cc_view object), void *context)
{
	*recorder = (struct cc_recorder){.line = line, .context = context};
	cc_buf_init(&recorder->pending, 4 * (size_t)CC_AGENT_TEXT_MAX);
}

void cc_recorder_done(struct cc_recorder *recorder)
{
	cc_buf_done(&recorder->pending);
}

static void out(struct cc_recorder *recorder, const struct cc_agent_event *event)
{
	struct cc_buf line;

	cc_buf_init(&line, CC_AGENT_EVENT_MAX + 16);
	cc_agent_event_write(event, &line);
	if (!line.failed)
		recorder->line(recorder->context, cc_buf_view(&line));
	cc_buf_done(&line);
}

/* keep: bytes at the end that stay. */
static void put(struct cc_recorder *recorder, size_t keep, int64_t now_ms)
{
	size_t len = recorder->pending.len - keep;
	struct cc_agent_event event = {.type = recorder->type, .text = {recorder->pending.data, len}};

	if (len == 0)
		return;
	out(recorder, &event);
	cc_buf_eat(&recorder->pending, len);
	recorder->since = now_ms;
}

void cc_recorder_flush(struct cc_recorder *recorder)
{
	put(recorder, 0, 0);
}

/* Of a text that goes on: a secret whose beginning is here would not be recognised in two halves. */
static size_t held_back(const struct cc_recorder *recorder)
{
	size_t open = cc_redact_open(cc_buf_view(&recorder->pending));

	return open < recorder->pending.len ? open : 0;
}

static void add_text(struct cc_recorder *recorder, struct cc_view text, int64_t now_ms)
{
	while (text.len) {
		size_t room = CC_AGENT_TEXT_MAX - recorder->pending.len;
		size_t part = text.len < room ? text.len : room;

		/* not in the middle of a character */
		while (part < text.len && part > 0 && ((unsigned char)text.ptr[part] & 0xc0) == 0x80)
			part--;
		if (recorder->pending.len == 0)
			recorder->since = now_ms;
		cc_buf_add(&recorder->pending, text.ptr, part);
		text.ptr += part;
		text.len -= part;
		if (recorder->pending.len >= CC_AGENT_TEXT_MAX || part == 0)
			put(recorder, held_back(recorder), now_ms);
	}
}

void cc_recorder_add(struct cc_recorder *recorder, const struct cc_agent_event *event, int64_t now_ms)
{
	bool joins = event->type == CC_AGENT_TEXT || event->type == CC_AGENT_THINKING;

	if (!joins || event->type != recorder->type)
		cc_recorder_flush(recorder);
	if (!joins) {
		out(recorder, event);
		return;
	}
	recorder->type = event->type;
	add_text(recorder, event->text, now_ms);
}

int64_t cc_recorder_tick(struct cc_recorder *recorder, int64_t now_ms)
{
	if (recorder->pending.len == 0)
		return -1;
	if (now_ms - recorder->since >= 2 * (int64_t)CC_RECORD_WAIT_MS)
		cc_recorder_flush(recorder); /* nothing came for that long: it is whole */
	else if (now_ms - recorder->since >= CC_RECORD_WAIT_MS)
		put(recorder, held_back(recorder), now_ms);
	if (recorder->pending.len == 0)
		return -1;
	return recorder->since + CC_RECORD_WAIT_MS - now_ms > 0 ? recorder->since + CC_RECORD_WAIT_MS - now_ms : 100;
}
