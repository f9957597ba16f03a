/* json.h - bounded JSON and JSONC with positions. Ours, so that cc-init and cc-proxy need no library, a refusal
 * can say line and column, and duplicate keys are an error.
 *
 * Reader: one pass into a tree inside one allocation owned by the document. Limits: CC_JSON_TEXT_MAX bytes of text,
 * CC_JSON_DEPTH_MAX levels, CC_JSON_NODES_MAX nodes. Strings must be UTF-8 after unescaping; "\u0000" is refused.
 * Writer: into a cc_buf; invalid UTF-8 and control bytes come out as escapes, so any bytes can be written. */
#ifndef CC_WIRE_JSON_H
#define CC_WIRE_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CC_JSON_TEXT_MAX = 16 << 20, CC_JSON_DEPTH_MAX = 64, CC_JSON_NODES_MAX = 1 << 20 };

enum cc_json_kind {
	CC_JSON_NULL = 0,
	CC_JSON_FALSE,
	CC_JSON_TRUE,
	CC_JSON_INT,  /* fits int64 */
	CC_JSON_REAL, /* any other number */
	CC_JSON_STRING,
	CC_JSON_ARRAY,
	CC_JSON_OBJECT,
};

struct cc_json {
	enum cc_json_kind kind;
	unsigned line; /* 1-based, where the value starts */
	unsigned column;
	struct cc_view key; /* in an object: the member's name */
	unsigned key_line, key_column;
	struct cc_view text;         /* CC_JSON_STRING: unescaped, NUL-terminated; numbers: as written */
	int64_t integer;             /* CC_JSON_INT */
	const struct cc_json *child; /* first element or member */
	const struct cc_json *next;  /* next sibling */
	size_t count;                /* elements or members */
};

struct cc_json_doc;

/* flags */
enum { CC_JSON_COMMENTS = 1 }; /* // and slash-star comments and trailing commas (JSONC) */

/* Parses the whole text. name is used in messages ("name:line:column: ..."). On failure *out_doc is untouched. */
CC_MUST enum cc_code cc_json_parse(const char *name, struct cc_view text, unsigned flags, struct cc_json_doc **out_doc,
				   struct cc_err *err);
const struct cc_json *cc_json_root(const struct cc_json_doc *doc);
void cc_json_doc_free(struct cc_json_doc *doc);
CC_OWNED(cc_json_doc)

/* NULL when object is not an object or has no such member. */
const struct cc_json *cc_json_get(const struct cc_json *object, const char *key);
/* Typed member access for messages between our own processes: absent gives the fallback, a wrong type too. */
int64_t cc_json_int(const struct cc_json *object, const char *key, int64_t fallback);
bool cc_json_bool(const struct cc_json *object, const char *key, bool fallback);
const char *cc_json_str(const struct cc_json *object, const char *key, const char *fallback);

/* Writer. Commas and nesting are kept by the writer. Keys are written in call order. */
struct cc_jsonw {
	struct cc_buf *out;
	unsigned depth;
	bool first[CC_JSON_DEPTH_MAX];
	bool object[CC_JSON_DEPTH_MAX]; /* which bracket closes the level */
	bool after_key;
};

void cc_jsonw_init(struct cc_jsonw *w, struct cc_buf *out);
/* Begins a message between our own processes: {"m": name, in a buffer of its own of at most max bytes. */
void cc_jsonw_message(struct cc_jsonw *w, struct cc_buf *out, size_t max, const char *name);
void cc_jsonw_object(struct cc_jsonw *w);
void cc_jsonw_array(struct cc_jsonw *w);
void cc_jsonw_end(struct cc_jsonw *w); /* closes the innermost object or array */
void cc_jsonw_key(struct cc_jsonw *w, const char *key);
void cc_jsonw_str(struct cc_jsonw *w, const char *text); /* NULL writes null */
void cc_jsonw_view(struct cc_jsonw *w, struct cc_view text);
void cc_jsonw_int(struct cc_jsonw *w, int64_t value);
void cc_jsonw_bool(struct cc_jsonw *w, bool value);
void cc_jsonw_null(struct cc_jsonw *w);
void cc_jsonw_raw(struct cc_jsonw *w, const char *json); /* one value, written as it is: constants of ours only */
/* A value of a document that was read. */
void cc_jsonw_copy(struct cc_jsonw *w, const struct cc_json *value);
/* The members of an object that was read, but for these names (NULL at their end), into the one that is written. */
void cc_jsonw_members(struct cc_jsonw *w, const struct cc_json *object, const char *const *but);
/* key + value in one call */
void cc_jsonw_kstr(struct cc_jsonw *w, const char *key, const char *text);
void cc_jsonw_kint(struct cc_jsonw *w, const char *key, int64_t value);
void cc_jsonw_kbool(struct cc_jsonw *w, const char *key, bool value);
void cc_jsonw_kstrv(struct cc_jsonw *w, const char *key, const struct cc_strv *list);

#endif
