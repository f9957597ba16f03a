#include "cli/learn.h"

#include "policy/names.h"
#include "wire/policyfile.h"

#include <stdlib.h>
#include <string.h>

enum { CLOSED_MAX = 200, FLAGS_MAX = 4000 };

void cc_learn_init(struct cc_learn *learn)
{
	*learn = (struct cc_learn){0};
	cc_ask_run_init(&learn->asked);
}

void cc_learn_done(struct cc_learn *learn)
{
	cc_ask_run_done(&learn->asked);
	cc_strv_done(&learn->flags);
	cc_strv_done(&learn->closed);
}

/* A word of a shell's line: 'it'\''s' is it's. False: it is no single word. */
static bool unquote(const char *text, struct cc_buf *out)
{
	bool quoted = false;

	for (; *text; text++) {
		if (*text == '\'')
			quoted = !quoted;
		else if (!quoted && *text == '\\' && text[1])
			cc_buf_add(out, ++text, 1);
		else if (!quoted && *text == ' ')
			return false;
		else
			cc_buf_add(out, text, 1);
	}
	return !quoted && !out->failed;
}

/* Could a policy file say it? A path with a star in it, for one, cannot stand there. */
static bool can_be_written(const struct cc_policy *policy)
{
	struct cc_policy again;
	struct cc_buf text;
	struct cc_err err;
	bool good;

	cc_policy_init(&again);
	cc_buf_init(&text, 1 << 20);
	cc_policyfile_write(policy, &text);
	good = !text.failed &&
	       cc_policyfile_parse("learned", cc_buf_view(&text), CC_POLICY_OPERATOR, &again, &err) == CC_OK;
	cc_buf_done(&text);
	cc_policy_done(&again);
	return good;
}

static bool take_option(struct cc_learn *learn, const struct cc_option *option, const char *value)
{
	struct cc_ask_run alone;
	struct cc_err err;
	bool good;

	cc_ask_run_init(&alone);
	good = option->take(&alone, value, &err) == CC_OK && can_be_written(&alone.spec.policy) &&
	       option->take(&learn->asked, value, &err) == CC_OK;
	cc_ask_run_done(&alone);
	return good;
}

/* The flag of a refusal, as the table of options knows it: only what a policy file can say. */
static bool take_flag(struct cc_learn *learn, const char *grant)
{
	static const char *const known[] = {"allow-name", "allow-path", "allow-socket", "allow-host", "host"};
	size_t len = strcspn(grant, " ");
	struct cc_buf value;
	bool taken = false;

	if (strncmp(grant, "--", 2) != 0 || !grant[len])
		return false;
	cc_buf_init(&value, 1 << 16);
	for (size_t i = 0; i < CC_COUNT(known); i++) {
		if (strlen(known[i]) != len - 2 || strncmp(known[i], grant + 2, len - 2) != 0 ||
		    !unquote(grant + len + 1, &value) || !value.data)
			continue;
		for (size_t k = 0; k < cc_option_count; k++)
			if (strcmp(cc_options[k].name, known[i]) == 0)
				taken = take_option(learn, &cc_options[k], value.data);
	}
	cc_buf_done(&value);
	return taken;
}

static void close_line(struct cc_learn *learn, const struct cc_event *event)
{
	struct cc_buf text;
	struct cc_err err;

	cc_buf_init(&text, 16384);
	cc_event_say(event, &text);
	if (text.data && !cc_strv_has(&learn->closed, text.data) &&
	    (learn->closed.count == CLOSED_MAX || cc_strv_push(&learn->closed, text.data, &err) != CC_OK))
		learn->lost++;
	cc_buf_done(&text);
}

void cc_learn_take(struct cc_learn *learn, const struct cc_event *event)
{
	const char *grant = event->violation.grant;
	struct cc_err err;

	if (event->type != CC_EVENT_VIOLATION)
		return;
	if (!grant || !*grant) {
		close_line(learn, event);
		return;
	}
	if (cc_strv_has(&learn->flags, grant))
		return;
	if (learn->flags.count == FLAGS_MAX || !take_flag(learn, grant) ||
	    cc_strv_push(&learn->flags, grant, &err) != CC_OK)
		close_line(learn, event);
}

/* What lies below another path of the list is opened by it. */
static void drop_covered(struct cc_strv *paths)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths->count; i++) {
		bool covered = false;

		for (size_t k = 0; k < paths->count && !covered; k++) {
			struct cc_view other = cc_view_of(paths->items[k]), path = cc_view_of(paths->items[i]);

			/* what was dropped already is empty, and another one covers all that it did */
			covered = k != i && other.len && cc_path_within(path, other) && (other.len < path.len || k < i);
		}
		if (covered)
			paths->items[i][0] = '\0';
	}
	for (size_t i = 0; i < paths->count; i++)
		if (paths->items[i][0])
			paths->items[kept++] = paths->items[i];
		else
			free(paths->items[i]);
	paths->count = kept;
}

bool cc_learn_write(const struct cc_learn *learn, struct cc_buf *out)
{
	struct cc_policy policy;
	struct cc_err err;
	bool good;

	if (!learn->flags.count && !learn->closed.count && !learn->lost)
		return false;
	cc_policy_init(&policy);
	good = cc_policy_merge(&policy, &learn->asked.spec.policy, &err) == CC_OK;
	if (good)
		drop_covered(&policy.allow_paths);
	if (learn->flags.count)
		cc_buf_adds(
			out,
			"// What this run was refused, opened; nothing else. Read it before you use it: --policy FILE\n");
	else
		cc_buf_adds(out, "// Nothing of what this run was refused can be opened.\n");
	if (good)
		cc_policyfile_write(&policy, out);
	if (out->len && out->data[out->len - 1] != '\n')
		cc_buf_adds(out, "\n");
	if (learn->closed.count)
		cc_buf_adds(out, "// Not opened by any setting:\n");
	for (size_t i = 0; i < learn->closed.count; i++)
		cc_buf_addf(out, "//   %s\n", learn->closed.items[i]);
	if (learn->lost)
		cc_buf_addf(out, "// and %zu refusals more than fit here\n", learn->lost);
	cc_policy_done(&policy);
	return good && !out->failed;
}
