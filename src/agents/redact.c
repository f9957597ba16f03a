#include "agents/redact.h"

#include "agents/event.h"
#include "base/mem.h"

#include <string.h>

enum { OPEN_WORDS = 3, OPEN_MAX = 512, SCHEME_BACK = 16, USER_MAX = 200 };

/* Which bytes a secret of that kind is made of. Nothing that a shell acts on is in any of them: a person who is asked
 * about a command sees all of it that does something. */
enum shape { ALNUM, WORD, VALUE };

/* What stands before a secret, and how long that has to be at least to be one. keep: what stands before stays. */
static const struct {
	const char *before;
	enum shape shape;
	size_t least;
	bool keep;
} rows[] = {
	{"sk-", WORD, 20, false},         {"ghp_", ALNUM, 36, false},      {"gho_", ALNUM, 36, false},
	{"ghs_", ALNUM, 36, false},       {"ghu_", ALNUM, 36, false},      {"ghr_", ALNUM, 36, false},
	{"github_pat_", WORD, 22, false}, {"glpat-", WORD, 20, false},     {"lin_api_", WORD, 8, false},
	{"xoxb-", WORD, 10, false},       {"xoxp-", WORD, 10, false},      {"AKIA", ALNUM, 16, false},
	{"--api-key=", VALUE, 1, true},   {"--api-key ", VALUE, 1, true},  {"--token=", VALUE, 1, true},
	{"--token ", VALUE, 1, true},     {"--key=", VALUE, 1, true},      {"--key ", VALUE, 1, true},
	{"--password=", VALUE, 1, true},  {"--password ", VALUE, 1, true}, {"Bearer ", VALUE, 8, true},
	{"Basic ", VALUE, 12, true},
};

/* Any upper-case name with one of these and "=" behind it: GH_TOKEN=, TICKETING_API_KEY= ... */
static const char *const secret_names[] = {"apikey", "token", "secret", "password", "passwd", "credential", "auth"};

static bool in_shape(char byte, enum shape shape)
{
	bool alnum = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');

	if (shape == ALNUM)
		return alnum;
	if (shape == WORD)
		return alnum || byte == '_' || byte == '-';
	return alnum || (byte && strchr("-._~+/=:%,!#@^", byte));
}

static size_t run_of(struct cc_view text, size_t at, enum shape shape)
{
	size_t end = at;

	while (end < text.len && in_shape(text.ptr[end], shape))
		end++;
	return end - at;
}

static bool same(const char *left, const char *right, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (cc_ascii_lower((unsigned char)left[i]) != cc_ascii_lower((unsigned char)right[i]))
			return false;
	return true;
}

/* Without "_" and "-", so that api_key, api-key and apiKey are one. */
bool cc_redact_is_name(struct cc_view name)
{
	char plain[128];
	size_t len = 0;

	for (size_t i = 0; i < name.len && len + 1 < sizeof(plain); i++)
		if (name.ptr[i] != '_' && name.ptr[i] != '-')
			plain[len++] = (char)cc_ascii_lower((unsigned char)name.ptr[i]);
	plain[len] = '\0';
	/* a count of tokens is none of them */
	if (len >= 6 && strcmp(plain + len - 6, "tokens") == 0)
		return false;
	for (size_t i = 0; i < CC_COUNT(secret_names); i++)
		if (strstr(plain, secret_names[i]))
			return true;
	return false;
}

/* A row's text here? *out_from, *out_to: what is to be blanked. */
static bool by_row(struct cc_view text, size_t at, size_t *out_from, size_t *out_to)
{
	/* in the middle of a word it is something else: task-, "risk-free-..." */
	bool begins = at == 0 || !in_shape(text.ptr[at - 1], ALNUM);

	for (size_t i = 0; begins && i < CC_COUNT(rows); i++) {
		size_t len = strlen(rows[i].before), found;

		if (at + len > text.len || !same(text.ptr + at, rows[i].before, len))
			continue;
		if (rows[i].keep && at + len < text.len && strchr("\"'", text.ptr[at + len]))
			len++;
		found = run_of(text, at + len, rows[i].shape);
		if (found < rows[i].least)
			continue;
		*out_from = rows[i].keep ? at + len : at;
		*out_to = at + len + found;
		return true;
	}
	return false;
}

/* NAME=value and "name": "value". */
static bool by_name(struct cc_view text, size_t at, size_t *out_from, size_t *out_to)
{
	size_t len = run_of(text, at, WORD), next = at + len;
	enum shape shape = VALUE;

	if (len == 0 || len > 100 || (at > 0 && in_shape(text.ptr[at - 1], WORD)) ||
	    !cc_redact_is_name((struct cc_view){text.ptr + at, len}))
		return false;
	if (next < text.len && text.ptr[next] == '=') {
		next++;
		if (next < text.len && (text.ptr[next] == '"' || text.ptr[next] == '\''))
			next++;
	} else if (next < text.len && text.ptr[next] == '"') {
		next++;
		next += next < text.len && text.ptr[next] == ':';
		while (next < text.len && text.ptr[next] == ' ')
			next++;
		if (next >= text.len || text.ptr[next] != '"')
			return false;
		next++;
	} else {
		return false;
	}
	*out_from = next;
	*out_to = next + run_of(text, next, shape);
	return *out_to > *out_from;
}

/* scheme://user:secret@ ; at stands on the "://". */
static bool by_url(struct cc_view text, size_t at, size_t *out_from, size_t *out_to)
{
	size_t colon = 0, end = at + 3;

	if (at + 3 >= text.len || memcmp(text.ptr + at, "://", 3) != 0 || at == 0)
		return false;
	while (end < text.len && end - at < USER_MAX && in_shape(text.ptr[end], VALUE) && text.ptr[end] != '/' &&
	       text.ptr[end] != '@') {
		if (text.ptr[end] == ':' && !colon)
			colon = end;
		end++;
	}
	if (end >= text.len || text.ptr[end] != '@' || !colon || end == colon + 1)
		return false;
	*out_from = colon + 1;
	*out_to = end;
	return true;
}

void cc_redact(struct cc_view text, struct cc_buf *out)
{
	size_t copied = 0, from, to;

	for (size_t at = 0; at < text.len;) {
		if (!by_row(text, at, &from, &to) && !by_name(text, at, &from, &to) && !by_url(text, at, &from, &to)) {
			at++;
			continue;
		}
		cc_buf_add(out, text.ptr + copied, from - copied);
		cc_buf_adds(out, CC_REDACTED);
		at = copied = to;
	}
	cc_buf_add(out, text.ptr + copied, text.len - copied);
}

size_t cc_redact_open(struct cc_view text)
{
	size_t at = text.len;

	/* a header's name, its scheme, its value */
	for (int words = 0; words < OPEN_WORDS; words++) {
		while (at > 0 && (unsigned char)text.ptr[at - 1] <= ' ')
			at--;
		while (at > 0 && (unsigned char)text.ptr[at - 1] > ' ')
			at--;
	}
	return text.len - at <= OPEN_MAX ? text.len - at : OPEN_MAX;
}

static void write_string(struct cc_view text, struct cc_jsonw *w)
{
	struct cc_buf clean;
	bool cut = text.len > CC_AGENT_LEAF_MAX;

	if (cut) {
		text.len = CC_AGENT_LEAF_MAX;
		while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
			text.len--;
	}
	cc_buf_init(&clean, 8 * (size_t)CC_AGENT_LEAF_MAX + 256);
	cc_redact(text, &clean);
	if (cut)
		cc_buf_adds(&clean, " [cut]");
	cc_jsonw_view(w, cc_buf_view(&clean));
	cc_buf_done(&clean);
}

/* A name is the agent's text as much as a value is. One that was changed gets its place behind it: two of them may have
 * become the same, and an object with one name twice is none. */
static void write_key(struct cc_view name, size_t place, struct cc_jsonw *w)
{
	struct cc_buf clean;
	bool cut = name.len > CC_AGENT_KEY_MAX;

	if (cut) {
		name.len = CC_AGENT_KEY_MAX;
		while (name.len > 0 && ((unsigned char)name.ptr[name.len] & 0xc0) == 0x80)
			name.len--;
	}
	cc_buf_init(&clean, 8 * (size_t)CC_AGENT_KEY_MAX + 256);
	cc_redact(name, &clean);
	if (cut || (clean.data && strstr(clean.data, CC_REDACTED)))
		cc_buf_addf(&clean, "%s #%zu", cut ? " [cut]" : "", place);
	cc_jsonw_key(w, clean.data ? clean.data : "");
	cc_buf_done(&clean);
}

void cc_redact_json(const struct cc_json *value, struct cc_jsonw *w)
{
	size_t place = 0;

	if (value->kind == CC_JSON_STRING) {
		write_string(value->text, w);
		return;
	}
	if (value->kind != CC_JSON_OBJECT && value->kind != CC_JSON_ARRAY) {
		cc_jsonw_copy(w, value);
		return;
	}
	if (value->kind == CC_JSON_OBJECT)
		cc_jsonw_object(w);
	else
		cc_jsonw_array(w);
	for (const struct cc_json *m = value->child; m; m = m->next) {
		if (value->kind == CC_JSON_OBJECT)
			write_key(m->key, ++place, w);
		if (value->kind == CC_JSON_OBJECT && cc_redact_is_name(m->key) && m->kind != CC_JSON_TRUE &&
		    m->kind != CC_JSON_FALSE && m->kind != CC_JSON_NULL)
			cc_jsonw_str(w, CC_REDACTED);
		else
			cc_redact_json(m, w);
	}
	cc_jsonw_end(w);
}
