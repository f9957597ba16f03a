#include "agents/event.h"

#include "agents/redact.h"
#include "base/mem.h"
#include "guard/actions.h"

static const char *const names[] = {
#define NAME(type, name) name,
	CC_AGENT_EVENTS(NAME)
#undef NAME
};

const char *cc_agent_event_name(enum cc_agent_event_type type)
{
	return (size_t)type < CC_COUNT(names) ? names[type] : "debug";
}

static void write_text(struct cc_jsonw *w, const char *key, struct cc_view text, size_t most, bool *cut)
{
	struct cc_buf clean;

	/* at most: what is cut away is not read for secrets, and a secret on the edge is cut with its rest */
	if (text.len > most) {
		text.len = most;
		while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
			text.len--;
		*cut = true;
	}
	cc_buf_init(&clean, 8 * most + 256);
	cc_redact(text, &clean);
	cc_jsonw_key(w, key);
	cc_jsonw_view(w, cc_buf_view(&clean));
	cc_buf_done(&clean);
}

static void write_all(const struct cc_agent_event *event, bool with_detail, struct cc_buf *out)
{
	struct cc_jsonw w;
	bool cut = !with_detail && event->detail;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "type", cc_agent_event_name(event->type));
	if (event->id)
		write_text(&w, "id", cc_view_of(event->id), 200, &cut);
	if (event->tool)
		write_text(&w, "tool", cc_view_of(event->tool), 200, &cut);
	if (event->approval)
		cc_jsonw_kint(&w, "approval", event->approval);
	if (event->type == CC_AGENT_DECISION) {
		cc_jsonw_kstr(&w, "decision", cc_guard_name(event->verdict));
		cc_jsonw_kstr(&w, "by", event->by ? event->by : "rule");
	}
	if (event->rule)
		cc_jsonw_kstr(&w, "rule", event->rule);
	if (event->type == CC_AGENT_TOOL_RESULT)
		cc_jsonw_kbool(&w, "isError", event->failed);
	if (event->type == CC_AGENT_USAGE) {
		cc_jsonw_kint(&w, "inputTokens", event->tokens_in);
		cc_jsonw_kint(&w, "outputTokens", event->tokens_out);
	}
	if (event->text.len)
		write_text(&w, "content", event->text, CC_AGENT_TEXT_MAX, &cut);
	if (with_detail && event->detail) {
		cc_jsonw_key(&w, event->type == CC_AGENT_VIOLATION ? "violation" : "input");
		cc_redact_json(event->detail, &w);
	}
	if (cut)
		cc_jsonw_kbool(&w, "cut", true);
	cc_jsonw_end(&w);
}

int64_t cc_agent_tokens(const struct cc_json *object, const char *name)
{
	int64_t count = cc_json_int(object, name, 0);

	return count > 0 && count <= CC_AGENT_TOKENS_MAX ? count : 0;
}

void cc_agent_event_write(const struct cc_agent_event *event, struct cc_buf *out)
{
	struct cc_agent_event bare = {.type = event->type, .approval = event->approval, .verdict = event->verdict};
	struct cc_buf text;

	cc_buf_init(&text, CC_AGENT_EVENT_MAX);
	for (int i = 0; i < 3; i++) {
		cc_buf_done(&text);
		cc_buf_init(&text, CC_AGENT_EVENT_MAX);
		write_all(i < 2 ? event : &bare, i == 0, &text);
		if (!text.failed)
			break;
	}
	cc_buf_add(out, text.data, text.len);
	cc_buf_done(&text);
}
