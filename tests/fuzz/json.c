/* Whatever is read can be written, and reading that again gives the same text. */
#include "wire/json.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_tree(struct cc_jsonw *w, const struct cc_json *node)
{
	switch (node->kind) {
	case CC_JSON_NULL:
		cc_jsonw_null(w);
		break;
	case CC_JSON_FALSE:
	case CC_JSON_TRUE:
		cc_jsonw_bool(w, node->kind == CC_JSON_TRUE);
		break;
	case CC_JSON_INT:
		cc_jsonw_int(w, node->integer);
		break;
	case CC_JSON_REAL:
	case CC_JSON_STRING:
		cc_jsonw_view(w, node->text);
		break;
	case CC_JSON_ARRAY:
	case CC_JSON_OBJECT:
		if (node->kind == CC_JSON_ARRAY)
			cc_jsonw_array(w);
		else
			cc_jsonw_object(w);
		for (const struct cc_json *m = node->child; m; m = m->next) {
			if (node->kind == CC_JSON_OBJECT)
				cc_jsonw_key(w, m->key.ptr);
			write_tree(w, m);
		}
		cc_jsonw_end(w);
		break;
	}
}

static bool write_out(const struct cc_json_doc *doc, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	write_tree(&w, cc_json_root(doc));
	return !out->failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	CC_AUTO(cc_json_doc) again = NULL;
	struct cc_view text = {(const char *)data, size};
	struct cc_buf one;
	struct cc_buf two;
	struct cc_err err;

	cc_buf_init(&one, 1 << 22);
	cc_buf_init(&two, 1 << 22);
	if (cc_json_parse("a", text, 0, &doc, &err) == CC_OK) {
		CC_AUTO(cc_json_doc) loose = NULL;

		assert(cc_json_parse("b", text, CC_JSON_COMMENTS, &loose, &err) == CC_OK);
	} else if (cc_json_parse("c", text, CC_JSON_COMMENTS, &doc, &err) != CC_OK) {
		assert(!doc && err.what[0]);
	}
	if (doc && write_out(doc, &one)) {
		assert(cc_json_parse("d", cc_buf_view(&one), 0, &again, &err) == CC_OK);
		assert(write_out(again, &two));
		assert(strcmp(one.data, two.data) == 0);
	}
	cc_buf_done(&one);
	cc_buf_done(&two);
	return 0;
}
