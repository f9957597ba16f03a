#include "review/config.h"

#include "base/mem.h"

enum { WORD_MAX = 12 };

/* Never "exec" or "x". "merge" takes labels and commits; its strategy is git's own. */
static const char *const steps[] = {
	"pick", "p",     "reword", "r", "edit",  "e", "squash",     "s", "fixup", "f", "drop", "d",
	"l",    "label", "reset",  "t", "merge", "m", "update-ref", "u", "break", "b", "noop",
};

static bool is_step(struct cc_view word)
{
	for (size_t i = 0; i < CC_COUNT(steps); i++)
		if (cc_view_is(word, steps[i]))
			return true;
	return false;
}

static bool is_end(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

enum cc_code cc_gittodo_judge(struct cc_view text, struct cc_err *err)
{
	unsigned line = 1;

	for (size_t at = 0; at < text.len; line++) {
		size_t end;

		while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t'))
			at++;
		for (end = at; end < text.len && !is_end(text.ptr[end]); end++)
			;
		if (end > at && text.ptr[at] != '#' && !is_step((struct cc_view){text.ptr + at, end - at}))
			return cc_fail(err, CC_EPOLICY, 0,
				       "list of a rebase, line %u: %.*s is not one of its own steps", line,
				       (int)(end - at < WORD_MAX ? end - at : WORD_MAX), text.ptr + at);
		for (at = end; at < text.len && text.ptr[at] != '\n'; at++)
			if ((unsigned char)text.ptr[at] < 0x20 && text.ptr[at] != '\t')
				return cc_fail(err, CC_EPOLICY, 0, "list of a rebase, line %u: a control character",
					       line);
		at++;
	}
	return CC_OK;
}
