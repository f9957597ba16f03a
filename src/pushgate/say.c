#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What goes into one string of a run's record; a longer one could not be put to a person (src/agents/event.h). */
enum { REFS_SHOWN = 100, STAT_SHOWN = 1900, COMMITS_SHOWN = 50 };

static void write_refs(const struct cc_push *push, struct cc_jsonw *w)
{
	cc_jsonw_key(w, "refs");
	cc_jsonw_array(w);
	for (size_t i = 0; i < push->list.count && i < REFS_SHOWN; i++) {
		const struct cc_push_command *command = &push->list.items[i];

		cc_jsonw_object(w);
		cc_jsonw_kstr(w, "ref", command->ref);
		cc_jsonw_kstr(w, "what", cc_push_what_name(push->what[i]));
		if (command->old[0])
			cc_jsonw_kstr(w, "old", command->old);
		if (command->new[0])
			cc_jsonw_kstr(w, "new", command->new);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	if (push->list.count > REFS_SHOWN)
		cc_jsonw_kint(w, "moreRefs", (int64_t)(push->list.count - REFS_SHOWN));
}

static void write_findings(const struct cc_push *push, struct cc_jsonw *w)
{
	cc_jsonw_key(w, "findings");
	cc_jsonw_array(w);
	for (size_t i = 0; i < push->findings && i < CC_PUSH_FINDINGS; i++) {
		cc_jsonw_object(w);
		cc_jsonw_kstr(w, "path", push->found[i].path);
		cc_jsonw_kstr(w, "rule", push->found[i].rule);
		cc_jsonw_kstr(w, "reason", push->found[i].why);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	if (push->findings > CC_PUSH_FINDINGS)
		cc_jsonw_kint(w, "moreFindings", (int64_t)(push->findings - CC_PUSH_FINDINGS));
}

static void write_push(const struct cc_push *push, struct cc_jsonw *w, const char *verdict)
{
	cc_jsonw_kstr(w, "type", "push");
	cc_jsonw_kstr(w, "verdict", verdict);
	cc_jsonw_kstr(w, "repository", push->repo);
	cc_jsonw_kstr(w, "rule", push->rule);
	cc_jsonw_kstr(w, "reason", push->sentence);
	if (push->list.options.count)
		cc_jsonw_kstrv(w, "options", &push->list.options);
	write_refs(push, w);
}

static void begin(struct cc_jsonw *w, struct cc_buf *text, const char *name, int64_t id)
{
	cc_jsonw_message(w, text, CC_PEER_MAX, name);
	if (id)
		cc_jsonw_kint(w, "id", id);
}

void cc_push_event(struct cc_push *push, const char *verdict)
{
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;

	begin(&w, &text, "event", 0);
	cc_jsonw_key(&w, "e");
	cc_jsonw_object(&w);
	write_push(push, &w, verdict);
	write_findings(push, &w);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	/* names of a thousand bytes each may be too many for one message: then their number has to do */
	if (text.failed) {
		cc_buf_done(&text);
		begin(&w, &text, "event", 0);
		cc_jsonw_key(&w, "e");
		cc_jsonw_object(&w);
		cc_jsonw_kstr(&w, "type", "push");
		cc_jsonw_kstr(&w, "verdict", verdict);
		cc_jsonw_kstr(&w, "repository", push->repo);
		cc_jsonw_kstr(&w, "rule", push->rule);
		cc_jsonw_kstr(&w, "reason", push->sentence);
		cc_jsonw_kint(&w, "moreRefs", (int64_t)push->list.count);
		cc_jsonw_end(&w);
		cc_jsonw_end(&w);
	}
	(void)!cc_push_send(push->gate, &text, NULL, 0, &err);
}

static enum cc_code send_question(struct cc_push *push, int64_t id, struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;
	size_t len = push->stat ? strlen(push->stat) : 0;

	begin(&w, &text, "ask", id);
	cc_jsonw_key(&w, "e");
	cc_jsonw_object(&w);
	write_push(push, &w, "asked");
	cc_jsonw_kint(&w, "commitCount", (int64_t)push->commits);
	cc_jsonw_key(&w, "commits");
	cc_jsonw_array(&w);
	for (size_t at = 0; at < push->subjects.len;) {
		const char *line = push->subjects.data + at;
		const char *space = strchr(line, ' ');
		struct cc_view id_text = {line, space ? (size_t)(space - line) : 0};

		cc_jsonw_object(&w);
		cc_jsonw_key(&w, "id");
		cc_jsonw_view(&w, id_text);
		cc_jsonw_kstr(&w, "subject", space ? space + 1 : line);
		cc_jsonw_end(&w);
		at += strlen(line) + 1;
	}
	cc_jsonw_end(&w);
	cc_jsonw_key(&w, "stat");
	cc_jsonw_view(&w, (struct cc_view){push->stat, len < STAT_SHOWN ? len : STAT_SHOWN});
	if (len > STAT_SHOWN || push->commits > COMMITS_SHOWN)
		cc_jsonw_kbool(&w, "statIsCut", true);
	write_findings(push, &w);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	return cc_push_send(push->gate, &text, NULL, 0, err);
}

static bool no(struct cc_push *push, const char *why)
{
	snprintf(push->sentence, sizeof(push->sentence), "%s", why);
	return false;
}

bool cc_push_ask(struct cc_push *push)
{
	struct cc_push_wait wait;
	struct cc_err err = {0};
	struct cc_buf text;
	struct cc_jsonw w;
	bool heard, sent;

	/* who is asked sees all of what is asked */
	if (push->list.count > REFS_SHOWN)
		return no(push, "a person would have to be asked, and nobody can be asked about that many references");
	if (cc_push_describe(push, &err) != CC_OK)
		return no(push, "a person would have to be asked, and what it changes cannot be summed up");
	cc_push_wait_begin(push->gate, &wait);
	sent = send_question(push, wait.id, &err) == CC_OK;
	heard = sent && cc_push_wait_for(push->gate, &wait, push->gate->wait_ms, push);
	cc_push_wait_end(push->gate, &wait);
	if (heard && wait.allow) {
		snprintf(push->sentence, sizeof(push->sentence), "allowed by %.100s",
			 wait.text[0] ? wait.text : "a person");
		return true;
	}
	if (heard && strcmp(wait.text, "person") == 0)
		return no(push, "a person was asked, and said no");
	if (heard && strcmp(wait.text, "timeout") == 0)
		return no(push, "a person was asked, and nobody answered");
	if (heard)
		return no(push, "a person would have to be asked, and was not: too much is asked at once");
	if (!sent)
		return no(push, "a person would have to be asked, and the question is too large");
	begin(&w, &text, "settled", wait.id);
	cc_jsonw_end(&w);
	(void)!cc_push_send(push->gate, &text, NULL, 0, &err);
	return no(push, "a person was asked, and nobody answered");
}
