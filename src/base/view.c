#include "base/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned char cc_ascii_lower(unsigned char byte)
{
	return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + ('a' - 'A')) : byte;
}

int cc_hex_value(char digit)
{
	unsigned char low = cc_ascii_lower((unsigned char)digit);

	if (low >= '0' && low <= '9')
		return low - '0';
	return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

size_t cc_utf8_len(const unsigned char *p, size_t left)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	if (len == 0 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return len;
}

struct cc_view cc_view_of(const char *text)
{
	return (struct cc_view){text, text ? strlen(text) : 0};
}

bool cc_view_eq(struct cc_view left, struct cc_view right)
{
	return left.len == right.len && (left.len == 0 || memcmp(left.ptr, right.ptr, left.len) == 0);
}

bool cc_view_is(struct cc_view view, const char *text)
{
	return cc_view_eq(view, cc_view_of(text));
}

bool cc_view_eq_nocase(struct cc_view left, struct cc_view right)
{
	if (left.len != right.len)
		return false;
	for (size_t i = 0; i < left.len; i++)
		if (cc_ascii_lower((unsigned char)left.ptr[i]) != cc_ascii_lower((unsigned char)right.ptr[i]))
			return false;
	return true;
}

bool cc_view_starts(struct cc_view view, const char *prefix)
{
	size_t len = strlen(prefix);

	return view.len >= len && memcmp(view.ptr, prefix, len) == 0;
}

bool cc_view_ends(struct cc_view view, const char *suffix)
{
	size_t len = strlen(suffix);

	return view.len >= len && memcmp(view.ptr + view.len - len, suffix, len) == 0;
}

bool cc_str_put(char *out, size_t cap, const char *text)
{
	size_t size = strlen(text) + 1;

	if (size > cap) {
		out[0] = '\0';
		return false;
	}
	memcpy(out, text, size);
	return true;
}

char *cc_str_copy(const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	char *copy = size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

const char *cc_env_get(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

const char *cc_env_path(char *const *env)
{
	const char *path = cc_env_get(env, "PATH");

	return path ? path : "/usr/local/bin:/usr/bin:/bin";
}

static enum cc_code strv_own(struct cc_strv *list, char *text, struct cc_err *err)
{
	if (!text)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (list->count + 1 >= list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 8;
		char **items = cap > CC_STRV_MAX ? NULL : realloc(list->items, cap * sizeof(*items));

		if (!items) {
			free(text);
			return cc_fail(err, CC_ELIMIT, 0, "list of %zu strings is too long", list->count);
		}
		list->items = items;
		list->cap = cap;
	}
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
	return CC_OK;
}

enum cc_code cc_strv_push_view(struct cc_strv *list, struct cc_view text, struct cc_err *err)
{
	char *copy = malloc(text.len + 1);

	if (copy) {
		if (text.len)
			memcpy(copy, text.ptr, text.len);
		copy[text.len] = '\0';
	}
	return strv_own(list, copy, err);
}

enum cc_code cc_strv_push(struct cc_strv *list, const char *text, struct cc_err *err)
{
	return cc_strv_push_view(list, cc_view_of(text), err);
}

enum cc_code cc_strv_pushf(struct cc_strv *list, struct cc_err *err, const char *fmt, ...)
{
	va_list args;
	va_list again;
	char *text = NULL;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len >= 0)
		text = malloc((size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return strv_own(list, text, err);
}

enum cc_code cc_strv_copy(struct cc_strv *to, const struct cc_strv *from, struct cc_err *err)
{
	for (size_t i = 0; i < from->count; i++) {
		enum cc_code code = cc_strv_push(to, from->items[i], err);

		if (code != CC_OK)
			return code;
	}
	return CC_OK;
}

bool cc_strv_has(const struct cc_strv *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

enum cc_code cc_strv_add(struct cc_strv *list, const char *text, struct cc_err *err)
{
	return cc_strv_has(list, text) ? CC_OK : cc_strv_push(list, text, err);
}

enum cc_code cc_strv_set_env(struct cc_strv *list, const char *text, struct cc_err *err)
{
	size_t len = strcspn(text, "=") + 1;

	for (size_t i = 0; i < list->count; i++) {
		char *copy;

		if (strncmp(list->items[i], text, len) != 0)
			continue;
		copy = cc_str_copy(text);
		if (!copy)
			return cc_fail(err, CC_ELIMIT, 0, "out of memory");
		free(list->items[i]);
		list->items[i] = copy;
		return CC_OK;
	}
	return cc_strv_push(list, text, err);
}

void cc_strv_done(struct cc_strv *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct cc_strv){0};
}
