#include "policy/names.h"

#include "base/mem.h"
#include "policy/defaults.h"

#include <stdlib.h>
#include <string.h>

static const char *fault_of(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/')
		return "must be absolute";
	if (len >= CC_PATH_MAX)
		return "is too long";
	if (len > 1 && path[len - 1] == '/')
		return "must not end in a slash";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return "holds a control character";
	for (const char *part = path; len > 1 && part; part = strchr(part, '/')) {
		size_t size = strcspn(++part, "/");

		if (size == 0)
			return "holds an empty part";
		if (size > CC_NAME_MAX)
			return "holds a name longer than 255 bytes";
		if (part[0] == '.' && (size == 1 || (size == 2 && part[1] == '.')))
			return "must not hold \".\" or \"..\"";
	}
	return NULL;
}

enum cc_code cc_path_check(const char *what, const char *path, struct cc_err *err)
{
	const char *fault = path && *path ? fault_of(path) : "is empty";

	if (fault)
		return cc_fail(err, CC_EINVAL, 0, "%s %s: \"%.200s\"", what, fault, path ? path : "");
	return CC_OK;
}

bool cc_path_within(struct cc_view path, struct cc_view root)
{
	if (root.len == 1 && root.ptr[0] == '/')
		return path.len >= 1 && path.ptr[0] == '/';
	return root.len > 0 && path.len >= root.len && memcmp(path.ptr, root.ptr, root.len) == 0 &&
	       (path.len == root.len || path.ptr[root.len] == '/');
}

bool cc_path_is_glob(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}

static unsigned char fold(char byte)
{
	return cc_ascii_lower((unsigned char)byte);
}

/* "*" and "?" over folded bytes. Going back to the last star is enough: an earlier one never helps more. */
static bool general_match(const struct cc_part *part, struct cc_view name)
{
	size_t p = 0;
	size_t n = 0;
	size_t star = SIZE_MAX;
	size_t resume = 0;

	while (n < name.len) {
		if (p < part->len && part->text[p] == '*') {
			star = ++p;
			resume = n;
		} else if (p < part->len && part->text[p] == '?') {
			p++;
			for (n++; n < name.len && ((unsigned char)name.ptr[n] & 0xc0) == 0x80; n++)
				; /* one character, not one byte */
		} else if (p < part->len && (unsigned char)part->text[p] == fold(name.ptr[n])) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star;
			n = ++resume;
		} else {
			return false;
		}
	}
	while (p < part->len && part->text[p] == '*')
		p++;
	return p == part->len;
}

static bool same_folded(const char *folded, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)folded[i] != fold(bytes[i]))
			return false;
	return true;
}

bool cc_part_match(const struct cc_part *part, struct cc_view name)
{
	size_t tail;

	switch (part->kind) {
	case CC_PART_LITERAL:
		return part->len == name.len && same_folded(part->text, name.ptr, name.len);
	case CC_PART_AFFIX:
		tail = part->len - part->head - 1;
		return name.len >= part->head + tail &&
		       same_folded(part->text + part->head + 1, name.ptr + name.len - tail, tail) &&
		       same_folded(part->text, name.ptr, part->head);
	case CC_PART_GENERAL:
		return general_match(part, name);
	case CC_PART_DEEP:
		break;
	}
	return false;
}

static void classify(struct cc_part *part)
{
	const char *star = memchr(part->text, '*', part->len);
	bool question = memchr(part->text, '?', part->len) != NULL;

	if (!star && !question) {
		part->kind = CC_PART_LITERAL;
	} else if (!question && !memchr(star + 1, '*', part->len - (size_t)(star + 1 - part->text))) {
		part->kind = CC_PART_AFFIX;
		part->head = (size_t)(star - part->text);
	} else {
		part->kind = CC_PART_GENERAL;
	}
}

static enum cc_code add_part(struct cc_pattern *p, const char *text, size_t len, bool last, struct cc_err *err)
{
	struct cc_part part = {CC_PART_DEEP, text, len, 0};

	if (len == 0)
		return cc_fail(err, CC_EINVAL, 0, "glob \"%.200s\" can never match: an empty part", p->text);
	if (len > CC_NAME_MAX)
		return cc_fail(err, CC_EINVAL, 0, "glob \"%.60s...\" can never match: a name is too long", p->text);
	if (text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.')))
		return cc_fail(err, CC_EINVAL, 0, "glob \"%.200s\" can never match: \".\" or \"..\" in it", p->text);
	if (len == 2 && memcmp(text, "**", 2) == 0) {
		if (p->count > 0 && p->parts[p->count - 1].kind == CC_PART_DEEP) {
			p->below = last;
			p->count -= last; /* two in a row are one */
			return CC_OK;
		}
		if (last) {
			p->below = true;
			return CC_OK;
		}
	} else {
		classify(&part);
	}
	if (p->count == CC_PATTERN_PARTS)
		return cc_fail(err, CC_EINVAL, 0, "glob \"%.60s...\" has too many parts", p->text);
	p->parts[p->count++] = part;
	return CC_OK;
}

static enum cc_code split(struct cc_pattern *p, const char *rest, struct cc_err *err)
{
	for (;;) {
		size_t len = strcspn(rest, "/");
		bool last = rest[len] == '\0';
		enum cc_code code = add_part(p, rest, len, last, err);

		if (code != CC_OK || last)
			return code;
		rest += len + 1;
	}
}

enum cc_code cc_pattern_parse(const char *text, bool floats, struct cc_pattern *out_pattern, struct cc_err *err)
{
	struct cc_pattern p = {0};
	size_t parts = 1;
	const char *rest;
	enum cc_code code;

	if (!text || !*text)
		return cc_fail(err, CC_EINVAL, 0, "a glob is empty");
	if (strlen(text) >= CC_PATH_MAX)
		return cc_fail(err, CC_EINVAL, 0, "glob \"%.60s...\" is too long", text);
	for (const char *c = text; *c; c++)
		parts += *c == '/' && parts < CC_PATTERN_PARTS;
	p.text = cc_str_copy(text);
	p.parts = calloc(parts, sizeof(*p.parts));
	if (!p.text || !p.parts) {
		cc_pattern_done(&p);
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	for (char *c = p.text; *c; c++)
		*c = (char)fold(*c);
	rest = p.text;
	if (rest[0] == '/') {
		p.anchor = CC_ANCHOR_ROOT;
		rest++;
	} else if (rest[0] == '.' && rest[1] == '/') {
		p.anchor = CC_ANCHOR_MOUNT;
		rest += 2;
	} else if (strncmp(rest, "**/", 3) == 0) {
		rest += 3; /* at any depth anyway */
	} else if (strchr(rest, '/') && !floats) {
		p.anchor = CC_ANCHOR_MOUNT;
	}
	code = split(&p, rest, err);
	if (code != CC_OK) {
		cc_pattern_done(&p);
		return code;
	}
	*out_pattern = p;
	return CC_OK;
}

void cc_pattern_done(struct cc_pattern *pattern)
{
	free(pattern->parts);
	free(pattern->text);
	*pattern = (struct cc_pattern){0};
}

/* Parts [from, to) of the pattern against the path's parts starting at offset *at. Returns how many parts matched
 * before the path ended or all were matched; -1 on a part that differs. *at moves behind them. */
static int run_match(const struct cc_pattern *p, size_t from, size_t to, struct cc_view path, size_t *at)
{
	int matched = 0;

	for (size_t i = from; i < to && *at <= path.len; i++, matched++) {
		struct cc_view name = cc_path_part(path, *at);

		if (name.len == 0 || !cc_part_match(&p->parts[i], name))
			return -1;
		*at += name.len + 1;
	}
	return matched;
}

static size_t run_end(const struct cc_pattern *p, size_t from)
{
	while (from < p->count && p->parts[from].kind != CC_PART_DEEP)
		from++;
	return from;
}

/* The leftmost place at or behind *at where parts [from, to) match; *partial says that the path ends inside such a
 * match. Leftmost is best: everything behind it only grows. */
static bool run_search(const struct cc_pattern *p, size_t from, size_t to, struct cc_view path, size_t *at,
		       bool *partial)
{
	for (size_t start = *at; start <= path.len; start += cc_path_part(path, start).len + 1) {
		size_t end = start;
		int matched = run_match(p, from, to, path, &end);

		if (matched == (int)(to - from)) {
			*at = end;
			return true;
		}
		if (matched > 0)
			*partial = true;
	}
	return false;
}

struct cc_hit cc_pattern_from(const struct cc_pattern *p, struct cc_view path, size_t start)
{
	const struct cc_hit none = {CC_MATCH_NONE, 0};
	const struct cc_hit above = {CC_MATCH_ANCESTOR, path.len};
	size_t at = start;
	size_t i = 0;

	do {
		bool deep = i < p->count && p->parts[i].kind == CC_PART_DEEP;
		size_t to;

		i += deep;
		to = run_end(p, i);
		if (deep) {
			bool partial = at > path.len;

			if (!run_search(p, i, to, path, &at, &partial))
				return partial ? above : none;
		} else {
			int matched = run_match(p, i, to, path, &at);

			if (matched < 0)
				return none;
			if ((size_t)matched < to - i)
				return above;
		}
		i = to;
	} while (i < p->count);
	if (p->below && at > path.len)
		return above;
	return (struct cc_hit){CC_MATCH_EXACT, at ? at - 1 : 0};
}

bool cc_pattern_names(const struct cc_pattern *p, struct cc_view path, size_t start)
{
	bool open = p->anchor == CC_ANCHOR_ANY; /* a ** in front */
	size_t deep = 0;
	size_t resume = start;
	size_t at = start;
	size_t i = 0;

	for (;;) {
		struct cc_view name = at <= path.len ? cc_path_part(path, at) : (struct cc_view){NULL, 0};

		if (i == p->count) {
			if (p->below == (at <= path.len))
				return true;
		} else if (p->parts[i].kind == CC_PART_DEEP) {
			open = true;
			deep = ++i;
			resume = at;
			continue;
		} else if (at <= path.len && cc_part_match(&p->parts[i], name)) {
			i++;
			at += name.len + 1;
			continue;
		}
		if (!open || resume > path.len)
			return false;
		resume += cc_path_part(path, resume).len + 1;
		at = resume;
		i = deep;
	}
}

size_t cc_path_parts_end(struct cc_view path, size_t start, size_t count)
{
	size_t end = start ? start - 1 : 0;

	while (count-- > 0 && end < path.len)
		end += 1 + cc_path_part(path, end + 1).len;
	return end;
}

bool cc_name_could_fold(struct cc_view name)
{
	bool ascii = true;

	for (size_t i = 0; i < name.len; i++) {
		unsigned char byte = (unsigned char)name.ptr[i];

		if (byte == 0xc0 || byte == 0xc1 || byte >= 0xf5)
			return false;
		ascii = ascii && byte < 0x80;
	}
	return !ascii;
}

bool cc_path_in_packages(struct cc_view path)
{
	for (size_t i = 0; cc_default_packages[i]; i++) {
		struct cc_pattern pattern;
		bool found = false;

		if (cc_pattern_parse(cc_default_packages[i], false, &pattern, NULL) != CC_OK)
			continue;
		for (size_t at = 1; at < path.len && !found; at += cc_path_part(path, at).len + 1)
			found = cc_pattern_from(&pattern, path, at).match == CC_MATCH_EXACT;
		cc_pattern_done(&pattern);
		if (found)
			return true;
	}
	return false;
}
