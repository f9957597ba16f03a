/* jsonw.c - the JSON writer. Whatever bytes go in, printable UTF-8 comes out: a terminal that shows an event never sees
 * a control byte of the agent's. */
#include "wire/json.h"

#include <string.h>

void cc_jsonw_init(struct cc_jsonw *w, struct cc_buf *out)
{
	*w = (struct cc_jsonw){.out = out};
	w->first[0] = true;
}

void cc_jsonw_message(struct cc_jsonw *w, struct cc_buf *out, size_t max, const char *name)
{
	cc_buf_init(out, max);
	cc_jsonw_init(w, out);
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "m", name);
}

/* The comma before a value or a key, where one is due. */
static void separate(struct cc_jsonw *w)
{
	if (w->after_key)
		w->after_key = false;
	else if (w->depth > 0 && !w->first[w->depth])
		cc_buf_adds(w->out, ",");
	w->first[w->depth] = false;
}

static void open_level(struct cc_jsonw *w, const char *bracket)
{
	separate(w);
	if (w->depth + 1 >= CC_JSON_DEPTH_MAX) {
		w->out->failed = true;
		return;
	}
	w->depth++;
	w->first[w->depth] = true;
	w->object[w->depth] = *bracket == '{';
	cc_buf_adds(w->out, bracket);
}

void cc_jsonw_object(struct cc_jsonw *w)
{
	open_level(w, "{");
}

void cc_jsonw_array(struct cc_jsonw *w)
{
	open_level(w, "[");
}

void cc_jsonw_end(struct cc_jsonw *w)
{
	if (w->depth == 0) {
		w->out->failed = true;
		return;
	}
	cc_buf_adds(w->out, w->object[w->depth] ? "}" : "]");
	w->depth--;
}

/* Bytes of the well-formed, printable character at p; 0 when it must be escaped byte by byte. */
static size_t printable(const unsigned char *p, size_t left)
{
	size_t len = cc_utf8_len(p, left);

	if (len == 0 || p[0] < 0x20 || p[0] == 0x7f || p[0] == '"' || p[0] == '\\')
		return 0;
	if (p[0] == 0xc2 && p[1] < 0xa0) /* C1 controls: some terminals obey them */
		return 0;
	return len;
}

static void add_quoted(struct cc_buf *out, struct cc_view text)
{
	const unsigned char *p = (const unsigned char *)text.ptr;
	size_t run = 0;

	cc_buf_adds(out, "\"");
	for (size_t i = 0; i < text.len;) {
		size_t len = printable(p + i, text.len - i);

		if (len) {
			i += len;
			continue;
		}
		cc_buf_add(out, p + run, i - run);
		if (p[i] == '"' || p[i] == '\\')
			cc_buf_addf(out, "\\%c", p[i]);
		else if (p[i] == '\n')
			cc_buf_adds(out, "\\n");
		else if (p[i] == '\t')
			cc_buf_adds(out, "\\t");
		else if (p[i] == 0xc2 && i + 1 < text.len && p[i + 1] >= 0x80 && p[i + 1] < 0xa0)
			cc_buf_addf(out, "\\u%04x", p[++i]);
		else /* NUL is what no reader takes: it would end the conversation */
			cc_buf_addf(out, "\\u%04x", p[i] ? p[i] : 0xfffd);
		run = ++i;
	}
	cc_buf_add(out, p + run, text.len - run);
	cc_buf_adds(out, "\"");
}

void cc_jsonw_key(struct cc_jsonw *w, const char *key)
{
	separate(w);
	add_quoted(w->out, cc_view_of(key));
	cc_buf_adds(w->out, ":");
	w->after_key = true;
}

void cc_jsonw_view(struct cc_jsonw *w, struct cc_view text)
{
	separate(w);
	add_quoted(w->out, text);
}

void cc_jsonw_str(struct cc_jsonw *w, const char *text)
{
	if (text)
		cc_jsonw_view(w, cc_view_of(text));
	else
		cc_jsonw_null(w);
}

void cc_jsonw_int(struct cc_jsonw *w, int64_t value)
{
	separate(w);
	cc_buf_addf(w->out, "%lld", (long long)value);
}

void cc_jsonw_raw(struct cc_jsonw *w, const char *json)
{
	separate(w);
	cc_buf_adds(w->out, json);
}

void cc_jsonw_bool(struct cc_jsonw *w, bool value)
{
	separate(w);
	cc_buf_adds(w->out, value ? "true" : "false");
}

void cc_jsonw_null(struct cc_jsonw *w)
{
	separate(w);
	cc_buf_adds(w->out, "null");
}

void cc_jsonw_kstr(struct cc_jsonw *w, const char *key, const char *text)
{
	cc_jsonw_key(w, key);
	cc_jsonw_str(w, text);
}

void cc_jsonw_kint(struct cc_jsonw *w, const char *key, int64_t value)
{
	cc_jsonw_key(w, key);
	cc_jsonw_int(w, value);
}

void cc_jsonw_kbool(struct cc_jsonw *w, const char *key, bool value)
{
	cc_jsonw_key(w, key);
	cc_jsonw_bool(w, value);
}

void cc_jsonw_kstrv(struct cc_jsonw *w, const char *key, const struct cc_strv *list)
{
	cc_jsonw_key(w, key);
	cc_jsonw_array(w);
	for (size_t i = 0; i < list->count; i++)
		cc_jsonw_str(w, list->items[i]);
	cc_jsonw_end(w);
}

void cc_jsonw_copy(struct cc_jsonw *w, const struct cc_json *value)
{
	static const char *const words[] = {
		[CC_JSON_NULL] = "null", [CC_JSON_FALSE] = "false", [CC_JSON_TRUE] = "true"};

	switch (value->kind) {
	case CC_JSON_NULL:
	case CC_JSON_FALSE:
	case CC_JSON_TRUE:
		cc_jsonw_raw(w, words[value->kind]);
		return;
	case CC_JSON_INT:
	case CC_JSON_REAL:
		separate(w);
		cc_buf_add(w->out, value->text.ptr, value->text.len);
		return;
	case CC_JSON_STRING:
		cc_jsonw_view(w, value->text);
		return;
	case CC_JSON_ARRAY:
		cc_jsonw_array(w);
		break;
	case CC_JSON_OBJECT:
		cc_jsonw_object(w);
		break;
	}
	for (const struct cc_json *child = value->child; child; child = child->next) {
		if (value->kind == CC_JSON_OBJECT)
			cc_jsonw_key(w, child->key.ptr);
		cc_jsonw_copy(w, child);
	}
	cc_jsonw_end(w);
}

void cc_jsonw_members(struct cc_jsonw *w, const struct cc_json *object, const char *const *but)
{
	for (const struct cc_json *m = object && object->kind == CC_JSON_OBJECT ? object->child : NULL; m;
	     m = m->next) {
		size_t at = 0;

		while (but[at] && !cc_view_is(m->key, but[at]))
			at++;
		if (but[at])
			continue;
		cc_jsonw_key(w, m->key.ptr);
		cc_jsonw_copy(w, m);
	}
}
