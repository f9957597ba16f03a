/* json.c - the reader. One allocation holds the nodes and the unescaped text: both are bounded before parsing starts,
 * because every value but the first follows an opening bracket or a comma, and unescaping never makes text longer. */
#include "wire/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cc_json_doc {
	struct cc_json *root;
	struct cc_json nodes[]; /* the text lies behind them */
};

struct reader {
	const char *name;
	const char *start, *at, *end;
	unsigned flags;
	unsigned depth;
	struct cc_json *nodes;
	size_t node_count, node_cap;
	char *text; /* where the next unescaped string goes */
	/* the position worked out last: lines and columns are counted only forwards, so that one pass stays one pass */
	const char *mark;
	unsigned line, column;
	struct cc_err *err;
};

static void locate(struct reader *r, const char *to, unsigned *line, unsigned *column)
{
	if (to < r->mark) {
		r->mark = r->start;
		r->line = r->column = 1;
	}
	for (; r->mark < to; r->mark++) {
		if (*r->mark == '\n') {
			r->line++;
			r->column = 1;
		} else if (((unsigned char)*r->mark & 0xc0) != 0x80) {
			r->column++; /* a character, not a byte of its tail */
		}
	}
	*line = r->line;
	*column = r->column;
}

static enum cc_code refuse(struct reader *r, const char *where, const char *what)
{
	unsigned line;
	unsigned column;

	locate(r, where, &line, &column);
	return cc_fail(r->err, CC_EINVAL, 0, "%s:%u:%u: %s", r->name, line, column, what);
}

/* Skips white space and, in JSONC, comments. */
static enum cc_code skip_space(struct reader *r)
{
	for (;;) {
		while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
			r->at++;
		if (!(r->flags & CC_JSON_COMMENTS) || r->end - r->at < 2 || r->at[0] != '/')
			return CC_OK;
		if (r->at[1] == '/') {
			while (r->at < r->end && *r->at != '\n')
				r->at++;
		} else if (r->at[1] == '*') {
			const char *open = r->at;

			for (r->at += 2; r->end - r->at >= 2 && (r->at[0] != '*' || r->at[1] != '/'); r->at++)
				;
			if (r->end - r->at < 2)
				return refuse(r, open, "this comment has no end");
			r->at += 2;
		} else {
			return CC_OK;
		}
	}
}

static void put_utf8(char **to, unsigned code)
{
	unsigned char *p = (unsigned char *)*to;

	if (code < 0x80) {
		*p++ = (unsigned char)code;
	} else if (code < 0x800) {
		*p++ = (unsigned char)(0xc0 | code >> 6);
		*p++ = (unsigned char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*p++ = (unsigned char)(0xe0 | code >> 12);
		*p++ = (unsigned char)(0x80 | (code >> 6 & 0x3f));
		*p++ = (unsigned char)(0x80 | (code & 0x3f));
	} else {
		*p++ = (unsigned char)(0xf0 | code >> 18);
		*p++ = (unsigned char)(0x80 | (code >> 12 & 0x3f));
		*p++ = (unsigned char)(0x80 | (code >> 6 & 0x3f));
		*p++ = (unsigned char)(0x80 | (code & 0x3f));
	}
	*to = (char *)p;
}

/* Four hexadecimal digits at r->at; false if they are not there. */
static bool hex4(struct reader *r, unsigned *out)
{
	unsigned value = 0;

	if (r->end - r->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int digit = cc_hex_value(r->at[i]);

		if (digit < 0)
			return false;
		value = value << 4 | (unsigned)digit;
	}
	r->at += 4;
	*out = value;
	return true;
}

/* Behind "\u". A surrogate must come with its other half. */
static enum cc_code read_unicode(struct reader *r, const char *where)
{
	unsigned code;
	unsigned low;

	if (!hex4(r, &code))
		return refuse(r, where, "\\u needs four hexadecimal digits");
	if (code == 0)
		return refuse(r, where, "\\u0000 is not allowed");
	if (code >= 0xdc00 && code < 0xe000)
		return refuse(r, where, "half of a surrogate pair");
	if (code >= 0xd800 && code < 0xdc00) {
		if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
			return refuse(r, where, "half of a surrogate pair");
		r->at += 2;
		if (!hex4(r, &low) || low < 0xdc00 || low >= 0xe000)
			return refuse(r, where, "half of a surrogate pair");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	put_utf8(&r->text, code);
	return CC_OK;
}

static enum cc_code read_escape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *where = r->at++;
	const char *found;

	if (r->at == r->end)
		return refuse(r, where, "this string has no end");
	if (*r->at == 'u') {
		r->at++;
		return read_unicode(r, where);
	}
	found = *r->at ? strchr(from, *r->at) : NULL;
	if (!found)
		return refuse(r, where, "unknown escape");
	*r->text++ = to[found - from];
	r->at++;
	return CC_OK;
}

static enum cc_code read_string(struct reader *r, struct cc_view *out)
{
	const char *open = r->at++;
	char *begin = r->text;

	for (;;) {
		unsigned char c;
		size_t len;

		if (r->at == r->end)
			return refuse(r, open, "this string has no end");
		c = (unsigned char)*r->at;
		if (c == '"')
			break;
		if (c == '\\') {
			enum cc_code code = read_escape(r);

			if (code != CC_OK)
				return code;
			continue;
		}
		if (c < 0x20)
			return refuse(r, r->at, "a control character stands in a string");
		len = cc_utf8_len((const unsigned char *)r->at, (size_t)(r->end - r->at));
		if (len == 0)
			return refuse(r, r->at, "this is not UTF-8");
		memcpy(r->text, r->at, len);
		r->text += len;
		r->at += len;
	}
	r->at++;
	*out = (struct cc_view){begin, (size_t)(r->text - begin)};
	*r->text++ = '\0';
	return CC_OK;
}

static size_t digits(struct reader *r)
{
	const char *from = r->at;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
		r->at++;
	return (size_t)(r->at - from);
}

static enum cc_code read_number(struct reader *r, struct cc_json *node)
{
	const char *from = r->at;
	bool whole = true;
	bool ok;

	if (*r->at == '-')
		r->at++;
	if (r->at < r->end && *r->at == '0') {
		r->at++;
		ok = r->at == r->end || *r->at < '0' || *r->at > '9';
	} else {
		ok = digits(r) > 0;
	}
	if (ok && r->at < r->end && *r->at == '.') {
		whole = false;
		r->at++;
		ok = digits(r) > 0;
	}
	if (ok && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
		whole = false;
		r->at++;
		if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
			r->at++;
		ok = digits(r) > 0;
	}
	if (!ok)
		return refuse(r, from, "this is not a number");
	node->text = (struct cc_view){r->text, (size_t)(r->at - from)};
	memcpy(r->text, from, node->text.len);
	r->text += node->text.len;
	*r->text++ = '\0';
	node->kind = CC_JSON_REAL;
	if (whole) {
		errno = 0;
		node->integer = strtoll(node->text.ptr, NULL, 10);
		node->kind = errno ? CC_JSON_REAL : CC_JSON_INT;
		if (errno)
			node->integer = 0;
	}
	return CC_OK;
}

static enum cc_code read_word(struct reader *r, struct cc_json *node)
{
	static const struct {
		const char *word;
		enum cc_json_kind kind;
	} words[] = {{"null", CC_JSON_NULL}, {"false", CC_JSON_FALSE}, {"true", CC_JSON_TRUE}};

	for (size_t i = 0; i < CC_COUNT(words); i++) {
		size_t len = strlen(words[i].word);

		if ((size_t)(r->end - r->at) >= len && memcmp(r->at, words[i].word, len) == 0) {
			node->kind = words[i].kind;
			r->at += len;
			return CC_OK;
		}
	}
	return refuse(r, r->at, "a value is expected here");
}

static enum cc_code read_value(struct reader *r, struct cc_json **out_node, const struct cc_json *member);

enum { FEW_KEYS = 24 };

static int by_key(const void *left, const void *right)
{
	const struct cc_json *a = *(const struct cc_json *const *)left;
	const struct cc_json *b = *(const struct cc_json *const *)right;
	size_t len = a->key.len < b->key.len ? a->key.len : b->key.len;
	int order = len ? memcmp(a->key.ptr, b->key.ptr, len) : 0;

	if (order == 0)
		order = (a->key.len > b->key.len) - (a->key.len < b->key.len);
	return order ? order : (a > b) - (a < b); /* equal keys in the order of the text */
}

/* Nearly all objects are small: no memory is taken for them. */
static enum cc_code refuse_twins(struct reader *r, const struct cc_json *object)
{
	const struct cc_json *few[FEW_KEYS];
	const struct cc_json **keys = object->count <= FEW_KEYS ? few : malloc(object->count * sizeof(*keys));
	const struct cc_json *twin = NULL;
	size_t count = 0;

	if (!keys)
		return cc_fail(r->err, CC_ELIMIT, 0, "%s: out of memory", r->name);
	for (const struct cc_json *m = object->child; m; m = m->next)
		keys[count++] = m;
	qsort(keys, count, sizeof(*keys), by_key);
	for (size_t i = 1; i < count; i++)
		if (cc_view_eq(keys[i - 1]->key, keys[i]->key) && (!twin || keys[i] < twin))
			twin = keys[i];
	if (keys != few)
		free(keys);
	return !twin ? CC_OK
		     : cc_fail(r->err, CC_EINVAL, 0, "%s:%u:%u: \"%.60s\" is here twice", r->name, twin->key_line,
			       twin->key_column, twin->key.ptr);
}

static enum cc_code read_key(struct reader *r, struct cc_json *member)
{
	enum cc_code code;

	if (r->at == r->end || *r->at != '"')
		return refuse(r, r->at, "a name in quotes is expected here");
	locate(r, r->at, &member->key_line, &member->key_column);
	code = read_string(r, &member->key);
	if (code == CC_OK)
		code = skip_space(r);
	if (code != CC_OK)
		return code;
	if (r->at == r->end || *r->at != ':')
		return refuse(r, r->at, "':' is expected here");
	r->at++;
	return skip_space(r);
}

/* Behind the opening bracket. */
static enum cc_code read_members(struct reader *r, struct cc_json *node)
{
	bool object = node->kind == CC_JSON_OBJECT;
	char close = object ? '}' : ']';
	struct cc_json *last = NULL;
	enum cc_code code;

	while ((code = skip_space(r)) == CC_OK) {
		struct cc_json member = {0};
		struct cc_json *made = NULL;

		if (r->at < r->end && *r->at == close && (!last || (r->flags & CC_JSON_COMMENTS)))
			break;
		if (object)
			code = read_key(r, &member);
		if (code == CC_OK)
			code = read_value(r, &made, &member);
		if (code == CC_OK)
			code = skip_space(r);
		if (code != CC_OK)
			return code;
		if (last)
			last->next = made;
		else
			node->child = made;
		last = made;
		node->count++;
		if (r->at < r->end && *r->at == close)
			break;
		if (r->at == r->end || *r->at != ',')
			return refuse(r, r->at, object ? "',' or '}' is expected here" : "',' or ']' is expected here");
		r->at++;
	}
	if (code != CC_OK)
		return code;
	r->at++;
	return object ? refuse_twins(r, node) : CC_OK;
}

static enum cc_code read_value(struct reader *r, struct cc_json **out_node, const struct cc_json *member)
{
	struct cc_json *node;
	enum cc_code code;

	if (r->at == r->end)
		return refuse(r, r->at, "the text ends where a value is expected");
	if (r->node_count == r->node_cap)
		return refuse(r, r->at, "too many values");
	node = &r->nodes[r->node_count++];
	*node = *member;
	locate(r, r->at, &node->line, &node->column);
	*out_node = node;
	if (*r->at == '"') {
		node->kind = CC_JSON_STRING;
		return read_string(r, &node->text);
	}
	if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'))
		return read_number(r, node);
	if (*r->at != '{' && *r->at != '[')
		return read_word(r, node);
	if (r->depth == CC_JSON_DEPTH_MAX)
		return refuse(r, r->at, "nested too deeply");
	node->kind = *r->at++ == '{' ? CC_JSON_OBJECT : CC_JSON_ARRAY;
	r->depth++;
	code = read_members(r, node);
	r->depth--;
	return code;
}

static size_t node_bound(struct cc_view text)
{
	size_t bound = 1;

	for (size_t i = 0; i < text.len && bound < CC_JSON_NODES_MAX; i++)
		if (text.ptr[i] == ',' || text.ptr[i] == '[' || text.ptr[i] == '{')
			bound++;
	return bound;
}

enum cc_code cc_json_parse(const char *name, struct cc_view text, unsigned flags, struct cc_json_doc **out_doc,
			   struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct reader r = {.name = name, .flags = flags, .line = 1, .column = 1, .err = err};
	const struct cc_json bare = {0};
	enum cc_code code;

	if (text.len > CC_JSON_TEXT_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%s: more than %d bytes", name, (int)CC_JSON_TEXT_MAX);
	if ((flags & CC_JSON_COMMENTS) && cc_view_starts(text, "\xef\xbb\xbf"))
		text = (struct cc_view){text.ptr + 3, text.len - 3}; /* what some editors put in front */
	r.node_cap = node_bound(text);
	doc = calloc(1, sizeof(*doc) + r.node_cap * sizeof(doc->nodes[0]) + text.len + 2);
	if (!doc)
		return cc_fail(err, CC_ELIMIT, 0, "%s: out of memory", name);
	r.nodes = doc->nodes;
	r.text = (char *)(doc->nodes + r.node_cap);
	r.start = r.at = r.mark = text.ptr ? text.ptr : "";
	r.end = r.start + text.len;
	code = skip_space(&r);
	if (code == CC_OK)
		code = read_value(&r, &doc->root, &bare);
	if (code == CC_OK)
		code = skip_space(&r);
	if (code == CC_OK && r.at != r.end)
		code = refuse(&r, r.at, "something follows the value");
	if (code == CC_OK)
		*out_doc = cc_json_doc_take(&doc);
	return code;
}

const struct cc_json *cc_json_root(const struct cc_json_doc *doc)
{
	return doc ? doc->root : NULL;
}

void cc_json_doc_free(struct cc_json_doc *doc)
{
	free(doc);
}

const struct cc_json *cc_json_get(const struct cc_json *object, const char *key)
{
	if (!object || object->kind != CC_JSON_OBJECT)
		return NULL;
	for (const struct cc_json *m = object->child; m; m = m->next)
		if (cc_view_is(m->key, key))
			return m;
	return NULL;
}

int64_t cc_json_int(const struct cc_json *object, const char *key, int64_t fallback)
{
	const struct cc_json *m = cc_json_get(object, key);

	return m && m->kind == CC_JSON_INT ? m->integer : fallback;
}

bool cc_json_bool(const struct cc_json *object, const char *key, bool fallback)
{
	const struct cc_json *m = cc_json_get(object, key);

	return m && (m->kind == CC_JSON_TRUE || m->kind == CC_JSON_FALSE) ? m->kind == CC_JSON_TRUE : fallback;
}

const char *cc_json_str(const struct cc_json *object, const char *key, const char *fallback)
{
	const struct cc_json *m = cc_json_get(object, key);

	return m && m->kind == CC_JSON_STRING ? m->text.ptr : fallback;
}
