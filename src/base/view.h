/* view.h - bytes that somebody else owns, with their length: never dependent on a NUL. Also the owned list of
 * strings that specs and plans are made of. */
#ifndef CC_BASE_VIEW_H
#define CC_BASE_VIEW_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct cc_view {
	const char *ptr;
	size_t len;
};

/* A view of a NUL-terminated string; NULL gives the empty view. */
struct cc_view cc_view_of(const char *text);
bool cc_view_eq(struct cc_view left, struct cc_view right);
bool cc_view_is(struct cc_view view, const char *text);
/* ASCII letters compare equal in both cases, whatever the locale. */
bool cc_view_eq_nocase(struct cc_view left, struct cc_view right);
bool cc_view_starts(struct cc_view view, const char *prefix);
bool cc_view_ends(struct cc_view view, const char *suffix);
unsigned char cc_ascii_lower(unsigned char byte);
/* 0 to 15 for a hexadecimal digit of either case, -1 for any other byte. */
int cc_hex_value(char digit);
/* Bytes of the well-formed UTF-8 sequence at p, of which left bytes (at least one) are there; 0 if there is none. */
size_t cc_utf8_len(const unsigned char *p, size_t left);

/* Copies text with its NUL into out; false, and out is the empty string, when it does not fit. */
bool cc_str_put(char *out, size_t cap, const char *text);
/* A heap copy of a NUL-terminated string; NULL for NULL and when memory ran out. */
char *cc_str_copy(const char *text);
/* The value of NAME=value in a NULL-terminated environment, NULL when it is not there. env may be NULL. */
const char *cc_env_get(char *const *env, const char *name);
/* PATH there, or the usual directories. */
const char *cc_env_path(char *const *env);

/* An owned list of owned strings. Zeroed memory is the empty list. items[count] is always NULL once
 * something was pushed, so that items can serve as an argv. */
struct cc_strv {
	char **items;
	size_t count;
	size_t cap;
};

enum { CC_STRV_MAX = 65536 };

CC_MUST enum cc_code cc_strv_push(struct cc_strv *list, const char *text, struct cc_err *err);
CC_MUST enum cc_code cc_strv_push_view(struct cc_strv *list, struct cc_view text, struct cc_err *err);
CC_MUST enum cc_code cc_strv_pushf(struct cc_strv *list, struct cc_err *err, const char *fmt, ...) CC_PRINTF(3, 4);
CC_MUST enum cc_code cc_strv_copy(struct cc_strv *to, const struct cc_strv *from, struct cc_err *err);
bool cc_strv_has(const struct cc_strv *list, const char *text);
/* Pushes what the list does not have yet. */
CC_MUST enum cc_code cc_strv_add(struct cc_strv *list, const char *text, struct cc_err *err);
/* NAME=VALUE in a list of such: takes the place of the variable's old value. */
CC_MUST enum cc_code cc_strv_set_env(struct cc_strv *list, const char *text, struct cc_err *err);
void cc_strv_done(struct cc_strv *list);

#endif
