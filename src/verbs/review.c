#define _GNU_SOURCE
#include "cli/copy.h"
#include "cli/start.h"
#include "verbs/verbs.h"
#include "wire/event.h"
#include "work/review.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FOUND = 1 };

static void print_json(const struct cc_review *review)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, 64 << 20);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", 1);
	cc_jsonw_kint(&w, "commits", (int64_t)review->commits);
	cc_jsonw_kint(&w, "files", (int64_t)review->entries);
	cc_jsonw_key(&w, "findings");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < review->count; i++) {
		cc_jsonw_object(&w);
		cc_jsonw_kstr(&w, "verdict", review->items[i].kind == CC_REVIEW_REFUSED ? "refused" : "flagged");
		cc_jsonw_kstr(&w, "path", review->items[i].path);
		cc_jsonw_kstr(&w, "rule", review->items[i].rule);
		cc_jsonw_kstr(&w, "reason", review->items[i].why);
		cc_jsonw_kstr(&w, "commit", review->items[i].commit);
		cc_jsonw_end(&w);
	}
	cc_jsonw_end(&w);
	cc_jsonw_kstr(&w, "stat", review->stat);
	cc_jsonw_end(&w);
	printf("%s\n", text.failed ? "{}" : text.data);
	cc_buf_done(&text);
}

/* BASE..HEAD, or HEAD alone. */
static enum cc_code range_of(char *text, struct cc_review_ask *ask, struct cc_err *err)
{
	char *dots = text ? strstr(text, "..") : NULL;

	if (!text || !*text || text[0] == '-')
		return cc_fail(err, CC_EINVAL, 0, "what is to be looked at: ccbox review [OPTIONS] BASE..HEAD");
	if (dots && strncmp(dots, "...", 3) == 0)
		return cc_fail(err, CC_EINVAL, 0, "two dots, not three: everything that HEAD has and BASE has not");
	ask->head = dots ? dots + 2 : text;
	ask->base = dots ? text : NULL;
	if (dots)
		*dots = '\0';
	if (!*ask->head)
		ask->head = "HEAD";
	return dots && !*text ? cc_fail(err, CC_EINVAL, 0, "before the dots stands the commit that is known") : CC_OK;
}

static enum cc_code review(char *const *argv, char *const *env, bool *out_found, struct cc_err *err)
{
	struct cc_start start;
	struct cc_review_ask ask = {.env = env};
	struct cc_review result = {0};
	char *const *words = NULL;
	char *range = NULL;
	enum cc_code code = cc_start_gather(&start, CC_FOR_EXPLAIN, argv, env, err);

	start.rules_only = true;
	if (code == CC_OK)
		words = cc_start_command(&start, argv);
	if (code == CC_OK && words[0] && words[1])
		code = cc_fail(err, CC_EINVAL, 0, "one range only: ccbox review [OPTIONS] BASE..HEAD");
	if (code == CC_OK && words[0])
		range = cc_str_copy(words[0]);
	if (code == CC_OK)
		code = range_of(range, &ask, err);
	if (code == CC_OK)
		code = cc_start_prepare(&start, NULL, env, err);
	if (code == CC_OK) {
		ask.dir = start.cwd;
		ask.root = start.ask.spec.binds[0].host_path;
		ask.rules = start.prepared.rules;
		code = cc_review_run(&ask, &result, err);
	}
	if (code == CC_OK && start.ask.json)
		print_json(&result);
	else if (code == CC_OK)
		cc_copy_print(&result, stdout);
	*out_found = cc_copy_refused(&result) > 0;
	cc_review_done(&result);
	free(range);
	cc_start_done(&start);
	return code;
}

int cc_verb_review(char *const *argv, char *const *env)
{
	struct cc_err err = {0};
	bool found = false;

	if (review(argv, env, &found, &err) != CC_OK)
		return cc_give_up(&err);
	return found ? FOUND : 0;
}
