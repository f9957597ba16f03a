/* Anything an agent may write, in every protocol: what goes back to it is whole lines of JSON, every event is one
 * bounded line of JSON, and no question is answered that was not asked. */
#include "agents/record.h"
#include "agents/talk.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cc_talk *talk;

static void on_line(void *context, struct cc_view object)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;

	(void)context;
	assert(object.len <= CC_AGENT_EVENT_MAX && !memchr(object.ptr, '\n', object.len));
	assert(cc_json_parse("event", object, 0, &doc, &err) == CC_OK);
	assert(cc_json_str(cc_json_root(doc), "type", NULL));
}

static void on_event(void *context, const struct cc_agent_event *event)
{
	cc_recorder_add(context, event, 0);
}

static void on_judge(void *context, const struct cc_tool_ask *ask, struct cc_tool_verdict *out)
{
	struct cc_tool_rules rules = {.mode = CC_MODE_PLAN, .root = "/p"};

	(void)context;
	cc_tool_judge(&rules, ask, out);
	assert(out->verdict != CC_GUARD_ASK);
	assert(ask->kind != CC_TOOL_EDITS || out->verdict == CC_GUARD_DENY);
}

static void on_ask(void *context, int number, const struct cc_tool_ask *ask, const char *title)
{
	(void)context;
	(void)title;
	assert(number > 0 && ask->tool);
	if (number % 3)
		cc_talk_answer(talk, number, number % 2, "no");
}

static void check_out(struct cc_buf *out)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	char *at = out->data, *end;

	for (; at && *at; at = end + 1) {
		end = strchr(at, '\n');
		assert(end);
		assert(cc_json_parse("out", (struct cc_view){at, (size_t)(end - at)}, 0, &doc, &err) == CC_OK);
		cc_json_doc_free(cc_json_doc_take(&doc));
	}
	cc_buf_reset(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_recorder recorder;
	struct cc_talk_config config = {
		.sink = {&recorder, on_event, on_judge, on_ask}, .prompt = "p", .cwd = "/p", .mode = CC_MODE_PLAN};
	struct cc_err err;

	if (size == 0)
		return 0;
	config.kind = (enum cc_talk_kind)(data[0] % 3);
	cc_recorder_init(&recorder, on_line, NULL);
	assert(cc_talk_new(&config, &talk, &err) == CC_OK);
	for (size_t at = 1; at < size; at += 100) {
		assert(cc_talk_take(talk, (const char *)data + at, size - at < 100 ? size - at : 100));
		if (cc_talk_out(talk)->data)
			check_out(cc_talk_out(talk));
	}
	cc_talk_end(talk);
	cc_recorder_flush(&recorder);
	cc_recorder_done(&recorder);
	cc_talk_free(talk);
	return 0;
}
