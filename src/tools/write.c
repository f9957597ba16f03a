#define _GNU_SOURCE
#include "tools/place.h"

#include "base/mem.h"
#include "tools/text.h"

#include <stdlib.h>
#include <string.h>

/* A member that must be a text; empty texts are fine. */
static enum cc_code text_of(const struct cc_json *args, const char *key, struct cc_view *out, struct cc_err *err)
{
	const struct cc_json *value = cc_json_get(args, key);

	if (!value || value->kind != CC_JSON_STRING)
		return cc_fail(err, CC_EINVAL, 0, "%s is missing", key);
	*out = value->text;
	return CC_OK;
}

enum cc_code cc_tool_write(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out, struct cc_err *err)
{
	CC_AUTO_PLACE place = {.parent = -1};
	CC_AUTO_CHANGES changes = {0};
	struct cc_view text = {0};
	enum cc_code code = text_of(args, "content", &text, err);

	if (code == CC_OK)
		code = cc_place_find(tools, cc_json_str(args, "path", ""), true, &place, err);
	if (code == CC_OK)
		code = cc_changes_add(tools, &changes, &place, text, err);
	if (code == CC_OK)
		code = cc_changes_apply(&changes, err);
	if (code == CC_OK)
		cc_buf_addf(out, "wrote %s: %zu bytes, hash %s\n", changes.items[0].place.path, text.len,
			    cc_text_hash(text).text);
	return code;
}

/* One replacement in a text that grows in place. */
static enum cc_code replace(struct cc_buf *text, const struct cc_json *edit, struct cc_err *err)
{
	struct cc_view old = {0}, fresh = {0};
	bool all = cc_json_bool(edit, "replace_all", false);
	struct cc_buf next;
	size_t count, at = 0, first = 0;
	enum cc_code code = text_of(edit, "old_text", &old, err);

	if (code == CC_OK)
		code = text_of(edit, "new_text", &fresh, err);
	if (code != CC_OK)
		return code;
	count = cc_text_count(cc_buf_view(text), old, &first);
	if (count == 0)
		return cc_fail(err, CC_ENOTFOUND, 0, "old_text is not in the file: \"%.120s\"", old.len ? old.ptr : "");
	if (count > 1 && !all)
		return cc_fail(err, CC_EINVAL, 0, "old_text is there %zu times: give more of it, or replace_all",
			       count);
	cc_buf_init(&next, text->max);
	for (size_t i = 0; i < count; i++) {
		struct cc_view rest = {text->data + at, text->len - at};

		(void)cc_text_count(rest, old, &first);
		cc_buf_add(&next, rest.ptr, first);
		cc_buf_add(&next, fresh.ptr, fresh.len);
		at += first + old.len;
	}
	cc_buf_add(&next, text->data + at, text->len - at);
	code = cc_buf_check(&next, "the file", err);
	if (code == CC_OK) {
		cc_buf_done(text);
		*text = next;
	} else {
		cc_buf_done(&next);
	}
	return code;
}

enum cc_code cc_tool_edit(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out, struct cc_err *err)
{
	const struct cc_json *edits = cc_json_get(args, "edits"), *edit = edits ? edits->child : args;
	CC_AUTO_PLACE place = {.parent = -1};
	CC_AUTO_CHANGES changes = {0};
	struct cc_buf text;
	size_t count = 0;
	enum cc_code code = cc_place_find(tools, cc_json_str(args, "path", ""), false, &place, err);

	cc_buf_init(&text, CC_TOOL_FILE_MAX + 1);
	if (code == CC_OK && !edit)
		code = cc_fail(err, CC_EINVAL, 0, "edits is empty");
	if (code == CC_OK && !place.there)
		code = cc_fail(err, CC_ENOTFOUND, 0, "%.200s is not there: write makes it", place.path);
	if (code == CC_OK)
		code = cc_place_read(tools, &place, &text, err);
	/* all of them in memory first: a wrong one changes nothing */
	for (; code == CC_OK && edit; edit = edits ? edit->next : NULL, count++)
		code = replace(&text, edit, err);
	if (code == CC_OK)
		code = cc_changes_add(tools, &changes, &place, cc_buf_view(&text), err);
	if (code == CC_OK)
		code = cc_changes_apply(&changes, err);
	if (code == CC_OK)
		cc_buf_addf(out, "edited %s: %zu replacements, hash %s\n", changes.items[0].place.path, count,
			    cc_text_hash(cc_buf_view(&text)).text);
	cc_buf_done(&text);
	return code;
}

/* Lines start to end (from 1, both included) become the replacement; start = end + 1 inserts before start. */
static enum cc_code splice(struct cc_buf *text, const struct cc_json *edit, struct cc_err *err)
{
	int64_t start = cc_json_int(edit, "start_line", 0), end = cc_json_int(edit, "end_line", -1);
	struct cc_view all = cc_buf_view(text), fresh = {0};
	size_t lines = cc_text_lines(all), at = 0, from = 0;
	struct cc_buf next;
	enum cc_code code = text_of(edit, "replacement", &fresh, err);

	if (code != CC_OK)
		return code;
	if (start < 1 || end < start - 1 || (size_t)end > lines || (size_t)start > lines + 1)
		return cc_fail(err, CC_EINVAL, 0, "lines %lld to %lld are not in a file of %zu lines", (long long)start,
			       (long long)end, lines);
	for (int64_t i = 1; i <= end || i < start; i++) {
		if (i == start)
			from = at;
		(void)cc_text_line(all, &at);
	}
	if (end < start)
		from = at;
	cc_buf_init(&next, text->max);
	cc_buf_add(&next, all.ptr, from);
	cc_buf_add(&next, fresh.ptr, fresh.len);
	if (fresh.len && fresh.ptr[fresh.len - 1] != '\n' && at < all.len)
		cc_buf_adds(&next, "\n");
	cc_buf_add(&next, all.ptr + at, all.len - at);
	code = cc_buf_check(&next, "the file", err);
	if (code == CC_OK) {
		cc_buf_done(text);
		*text = next;
	} else {
		cc_buf_done(&next);
	}
	return code;
}

/* The edits of one file, from its end to its beginning, so that line numbers stay what the reader saw. */
static const struct cc_json *lower_than(const struct cc_json *edits, struct cc_view path, int64_t below)
{
	const struct cc_json *best = NULL;

	for (const struct cc_json *edit = edits->child; edit; edit = edit->next) {
		int64_t start = cc_json_int(edit, "start_line", 0);

		if (cc_view_is(path, cc_json_str(edit, "path", "")) && start < below &&
		    (!best || start > cc_json_int(best, "start_line", 0)))
			best = edit;
	}
	return best;
}

static enum cc_code patch_file(struct cc_tools *tools, const struct cc_json *edits, const char *path,
			       struct cc_changes *changes, size_t *applied, struct cc_buf *out, struct cc_err *err)
{
	CC_AUTO_PLACE place = {.parent = -1};
	struct cc_buf text;
	int64_t below = INT64_MAX, last = INT64_MAX;
	enum cc_code code = cc_place_find(tools, path, false, &place, err);

	cc_buf_init(&text, CC_TOOL_FILE_MAX + 1);
	if (code == CC_OK && !place.there)
		code = cc_fail(err, CC_ENOTFOUND, 0, "%.200s is not there: write makes it", path);
	if (code == CC_OK)
		code = cc_place_read(tools, &place, &text, err);
	if (code == CC_OK) {
		struct cc_text_hash hash = cc_text_hash(cc_buf_view(&text));
		const struct cc_json *edit;

		while (code == CC_OK && (edit = lower_than(edits, cc_view_of(path), below))) {
			if (strcmp(cc_json_str(edit, "file_hash", ""), hash.text) != 0)
				code = cc_fail(err, CC_ESTATE, 0, "%.150s has changed (hash %s): read it again", path,
					       hash.text);
			else if (cc_json_int(edit, "end_line", -1) >= last)
				code = cc_fail(err, CC_EINVAL, 0, "two edits of %.150s overlap", path);
			if (code == CC_OK)
				code = splice(&text, edit, err);
			++*applied;
			last = below = cc_json_int(edit, "start_line", 0);
		}
	}
	if (code == CC_OK)
		cc_buf_addf(out, "patched %s: hash %s\n", place.path, cc_text_hash(cc_buf_view(&text)).text);
	if (code == CC_OK)
		code = cc_changes_add(tools, changes, &place, cc_buf_view(&text), err);
	cc_buf_done(&text);
	return code;
}

enum cc_code cc_tool_apply_patch(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out,
				 struct cc_err *err)
{
	const struct cc_json *edits = cc_json_get(args, "edits");
	CC_AUTO_CHANGES changes = {0};
	size_t applied = 0;
	enum cc_code code = CC_OK;

	if (!edits || edits->kind != CC_JSON_ARRAY || !edits->child)
		return cc_fail(err, CC_EINVAL, 0, "edits is missing or empty");
	for (const struct cc_json *edit = edits->child; code == CC_OK && edit; edit = edit->next) {
		const char *path = cc_json_str(edit, "path", "");
		bool seen = false;

		for (const struct cc_json *before = edits->child; before != edit && !seen; before = before->next)
			seen = strcmp(cc_json_str(before, "path", ""), path) == 0;
		if (!seen)
			code = patch_file(tools, edits, path, &changes, &applied, out, err);
	}
	if (code == CC_OK && applied != edits->count)
		code = cc_fail(err, CC_EINVAL, 0, "two edits begin at the same line");
	if (code == CC_OK)
		code = cc_changes_apply(&changes, err);
	return code;
}
