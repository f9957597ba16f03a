#include "review/config.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64, VALUE_MAX_BYTES = 2048 };

struct text {
	char bytes[VALUE_MAX_BYTES];
	size_t len;
};

struct parser {
	const char *at, *end;
	unsigned line;
	char section[NAME_MAX_BYTES]; /* folded */
	struct text sub;
	bool has_sub;
	char key[NAME_MAX_BYTES]; /* folded */
	struct text value;
	bool has_value;
	struct cc_view path; /* of the file */
	struct cc_err *err;
};

static bool is_alpha(char c)
{
	unsigned char low = cc_ascii_lower((unsigned char)c);

	return low >= 'a' && low <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static enum cc_code odd(const struct parser *p, const char *what)
{
	return cc_fail(p->err, CC_EINVAL, 0, "git configuration, line %u: %s", p->line, what);
}

static int peek(const struct parser *p)
{
	return p->at < p->end ? (unsigned char)*p->at : -1;
}

static void skip_blank(struct parser *p)
{
	while (peek(p) == ' ' || peek(p) == '\t')
		p->at++;
}

static void skip_line(struct parser *p)
{
	while (p->at < p->end && *p->at != '\n')
		p->at++;
}

static bool text_add(struct text *text, char byte)
{
	if (text->len + 1 >= sizeof(text->bytes))
		return false;
	text->bytes[text->len++] = byte;
	text->bytes[text->len] = '\0';
	return true;
}

/* Letters, digits and '-' into out, folded; a letter first. */
static bool read_name(struct parser *p, char *out)
{
	size_t len = 0;

	if (p->at == p->end || !is_alpha(*p->at))
		return false;
	while (p->at < p->end && (is_alpha(*p->at) || is_digit(*p->at) || *p->at == '-')) {
		if (len + 1 >= NAME_MAX_BYTES)
			return false;
		out[len++] = (char)cc_ascii_lower((unsigned char)*p->at++);
	}
	out[len] = '\0';
	return true;
}

/* Behind "[". */
static enum cc_code read_section(struct parser *p)
{
	p->sub = (struct text){.len = 0};
	p->has_sub = false;
	if (!read_name(p, p->section))
		return odd(p, "a section's name is expected");
	skip_blank(p);
	if (peek(p) == '"') {
		p->has_sub = true;
		for (p->at++; peek(p) != '"'; p->at++) {
			if (p->at == p->end || *p->at == '\n')
				return odd(p, "a subsection's name has no end");
			if (*p->at == '\\' && (++p->at == p->end || (*p->at != '"' && *p->at != '\\')))
				return odd(p, "an escape in a subsection's name");
			if (!text_add(&p->sub, *p->at))
				return odd(p, "a subsection's name is too long");
		}
		p->at++;
	}
	if (peek(p) != ']')
		return odd(p, "']' is expected");
	p->at++;
	return CC_OK;
}

static enum cc_code read_value_escape(struct parser *p)
{
	static const char from[] = "nt\"\\";
	static const char to[] = "\n\t\"\\";
	const char *found;

	if (++p->at == p->end)
		return odd(p, "a backslash at the end");
	if (*p->at == '\n') {
		p->line++;
		return CC_OK; /* the value goes on */
	}
	found = *p->at ? strchr(from, *p->at) : NULL;
	if (!found)
		return odd(p, "an unknown escape");
	return text_add(&p->value, to[found - from]) ? CC_OK : odd(p, "a value is too long");
}

/* Behind "=". Blanks at the end and comments do not count, unless in quotes. */
static enum cc_code read_value(struct parser *p)
{
	bool quoted = false;
	size_t kept = 0;

	skip_blank(p);
	for (; p->at < p->end && (*p->at != '\n' || quoted); p->at++) {
		bool blank = *p->at == ' ' || *p->at == '\t';

		if (*p->at == '\n')
			return odd(p, "a quote has no end");
		if (*p->at == '"') {
			quoted = !quoted;
			kept = p->value.len;
			continue;
		}
		if (!quoted && (*p->at == '#' || *p->at == ';')) {
			skip_line(p);
			break;
		}
		if (*p->at == '\\') {
			enum cc_code code = read_value_escape(p);

			if (code != CC_OK)
				return code;
		} else if (!text_add(&p->value, *p->at)) {
			return odd(p, "a value is too long");
		}
		if (!blank || quoted)
			kept = p->value.len;
	}
	if (quoted)
		return odd(p, "a quote has no end");
	p->value.len = kept;
	p->value.bytes[kept] = '\0';
	return CC_OK;
}

static enum cc_code read_key(struct parser *p)
{
	p->value = (struct text){.len = 0};
	p->has_value = false;
	if (!read_name(p, p->key))
		return odd(p, "a key is expected");
	skip_blank(p);
	if (peek(p) == '\n' || peek(p) == -1)
		return CC_OK;
	if (peek(p) == '#' || peek(p) == ';') {
		skip_line(p);
		return CC_OK;
	}
	if (peek(p) != '=')
		return odd(p, "'=' is expected");
	p->at++;
	p->has_value = true;
	return read_value(p);
}

typedef bool value_check(const char *value);

/* true, false, numbers, names of modes: no path, no command, no blank */
static bool is_word(const char *value)
{
	for (; *value; value++)
		if (!is_alpha(*value) && !is_digit(*value) && *value != '-' && *value != '_')
			return false;
	return true;
}

static bool is_line(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < 0x20 || *value == 0x7f)
			return false;
	return true;
}

static bool is_path_text(const char *value)
{
	return is_line(value) && value[0] != '-' && !strstr(value, "::");
}

/* A URL that git reaches without starting a helper of the repository's choice: no "ext::", no unknown scheme, no host
 * that ssh would take for an option. */
static bool is_url(const char *value)
{
	static const char *const schemes[] = {"https://", "http://", "ssh://", "git://", "file://", "git+ssh://"};
	const char *host = value;
	const char *colon = strchr(value, ':');
	const char *at;

	if (!*value || !is_path_text(value))
		return false;
	if (strstr(value, "://")) {
		size_t i = 0;

		while (i < CC_COUNT(schemes) && strncmp(value, schemes[i], strlen(schemes[i])) != 0)
			i++;
		if (i == CC_COUNT(schemes))
			return false;
		host = value + strlen(schemes[i]);
	} else if (!colon || value[0] == '/' || value[0] == '.' || memchr(value, '/', (size_t)(colon - value))) {
		return true; /* a path */
	}
	at = memchr(host, '@', strcspn(host, "/:"));
	return host[0] != '-' && !(at && at[1] == '-');
}

static bool is_refspec(const char *value)
{
	return is_line(value) && value[0] != '-';
}

static bool is_tag_option(const char *value)
{
	return strcmp(value, "--no-tags") == 0 || strcmp(value, "--tags") == 0;
}

enum sub { NONE, SOME };

/* Everything that a repository's own configuration may say (contract 6.7). */
static const struct {
	const char *section;
	enum sub sub;
	const char *key;
	value_check *check;
} safe[] = {
	{"core", NONE, "repositoryformatversion", is_word},
	{"core", NONE, "filemode", is_word},
	{"core", NONE, "bare", is_word},
	{"core", NONE, "logallrefupdates", is_word},
	{"core", NONE, "ignorecase", is_word},
	{"core", NONE, "precomposeunicode", is_word},
	{"core", NONE, "symlinks", is_word}, /* git init writes it where links do not hold */
	{"extensions", NONE, "objectformat", is_word},
	{"extensions", NONE, "refstorage", is_word},
	{"remote", SOME, "url", is_url},
	{"remote", SOME, "pushurl", is_url},
	{"remote", SOME, "fetch", is_refspec},
	{"remote", SOME, "tagopt", is_tag_option}, /* git clone --no-tags, --depth */
	{"branch", SOME, "remote", is_url},
	{"branch", SOME, "merge", is_refspec},
	{"branch", SOME, "rebase", is_word},
	{"submodule", SOME, "url", is_url}, /* never update: it may be a command */
	{"submodule", SOME, "active", is_word},
	{"user", NONE, "name", is_line},
	{"user", NONE, "email", is_line},
	{"pull", NONE, "rebase", is_word},
	{"init", NONE, "defaultbranch", is_refspec}, /* never templateDir: it brings hooks */
	{"init", NONE, "defaultobjectformat", is_word},
	{"init", NONE, "defaultrefformat", is_word},
	{"lfs", NONE, "repositoryformatversion", is_word},
	/* .git/sequencer/opts; never strategy: it names a program */
	{"options", NONE, "no-commit", is_word},
	{"options", NONE, "edit", is_word},
	{"options", NONE, "allow-empty", is_word},
	{"options", NONE, "allow-empty-message", is_word},
	{"options", NONE, "keep-redundant-commits", is_word},
	{"options", NONE, "signoff", is_word},
	{"options", NONE, "record-origin", is_word},
	{"options", NONE, "allow-ff", is_word},
	{"options", NONE, "mainline", is_word},
	{"options", NONE, "allow-rerere-auto", is_word},
	{"options", NONE, "default-msg-cleanup", is_word},
};

static bool is_safe(const struct parser *p, const char **out_why)
{
	*out_why = "is not one of the keys that a repository may set";
	if (strcmp(p->section, "core") == 0 && !p->has_sub && strcmp(p->key, "worktree") == 0 && p->has_value &&
	    is_line(p->value.bytes))
		return cc_gitworktree_ok(p->path, p->value.bytes);
	for (size_t i = 0; i < CC_COUNT(safe); i++) {
		if (strcmp(safe[i].section, p->section) != 0 || strcmp(safe[i].key, p->key) != 0 ||
		    (safe[i].sub == SOME) != p->has_sub)
			continue;
		if (safe[i].check(p->has_value ? p->value.bytes : "true") && is_line(p->sub.bytes) &&
		    (p->has_value || safe[i].check == is_word))
			return true;
		*out_why = "has a value that is not allowed";
	}
	return false;
}

static enum cc_code blame(const struct parser *p, struct cc_err *err, const char *why)
{
	return cc_fail(err, CC_EPOLICY, 0, "git configuration, line %u: %s%s%.100s.%s %s", p->line, p->section,
		       p->has_sub ? "." : "", p->sub.bytes, p->key, why);
}

static enum cc_code next_key(struct parser *p, bool *out_found)
{
	enum cc_code code = CC_OK;

	while (code == CC_OK && p->at < p->end) {
		skip_blank(p);
		switch (peek(p)) {
		case -1:
			break;
		case '\n':
			p->at++;
			p->line++;
			break;
		case '#':
		case ';':
			skip_line(p);
			break;
		case '[':
			p->at++;
			code = read_section(p);
			break;
		default:
			if (!p->section[0])
				return odd(p, "a key before the first section");
			*out_found = true;
			return read_key(p);
		}
	}
	*out_found = false;
	return code;
}

/* The next key that is not safe; out_why stays NULL at the end of the text. */
static enum cc_code next_unsafe(struct parser *p, const char **out_why)
{
	bool found = true;
	enum cc_code code;

	*out_why = NULL;
	while ((code = next_key(p, &found)) == CC_OK && found)
		if (!is_safe(p, out_why))
			return CC_OK;
	*out_why = NULL;
	return code;
}

static bool same_text(const struct text *a, const struct text *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool same_key(const struct parser *a, const struct parser *b)
{
	return strcmp(a->section, b->section) == 0 && strcmp(a->key, b->key) == 0 && a->has_sub == b->has_sub &&
	       a->has_value == b->has_value && same_text(&a->sub, &b->sub) && same_text(&a->value, &b->value);
}

static enum cc_code start(struct parser *p, struct cc_view path, struct cc_view text, struct cc_err *err)
{
	*p = (struct parser){.at = text.ptr, .end = text.ptr + text.len, .line = 1, .path = path, .err = err};
	if (text.len > CC_GITCONFIG_MAX)
		return cc_fail(err, CC_EINVAL, 0, "git configuration is too long");
	for (size_t i = 0; i < text.len; i++)
		if (((unsigned char)text.ptr[i] < 0x20 && text.ptr[i] != '\n' && text.ptr[i] != '\t') ||
		    text.ptr[i] == 0x7f)
			return cc_fail(err, CC_EINVAL, 0, "git configuration holds a control character");
	return CC_OK;
}

enum cc_code cc_gitconfig_judge(struct cc_view path, struct cc_view text, struct cc_view before, struct cc_err *err)
{
	struct parser now;
	struct parser then;
	const char *why = NULL;
	const char *had = NULL;
	enum cc_code code = start(&now, path, text, err);

	if (code == CC_OK)
		code = start(&then, path, before, err);
	do {
		if (code == CC_OK)
			code = next_unsafe(&then, &had);
		if (code == CC_OK)
			code = next_unsafe(&now, &why);
		if (code == CC_OK && why && !(had && same_key(&now, &then)))
			code = blame(&now, err, why);
		else if (code == CC_OK && had && !why)
			code = blame(&then, err, "stands there and may not be taken away");
	} while (code == CC_OK && why);
	return code;
}
