#include "guard/lexer.h"

#include "base/mem.h"

#include <string.h>

enum { WORD_MAX = CC_SHELL_BYTES };

char cc_shell_peek(const struct cc_shell_reader *reader, size_t ahead)
{
	return reader->at + ahead < reader->len ? reader->text[reader->at + ahead] : '\0';
}

void cc_shell_blanks(struct cc_shell_reader *reader)
{
	for (;;) {
		char byte = cc_shell_peek(reader, 0);

		if (byte == ' ' || byte == '\t' || byte == '\r')
			reader->at++;
		else if (byte == '\\' && cc_shell_peek(reader, 1) == '\n')
			reader->at += 2;
		else
			return;
	}
}

bool cc_shell_is_meta(char byte)
{
	return !byte || strchr(" \t\r\n;&|()<>", byte);
}

static bool is_name(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       byte == '_';
}

/* The text between backquotes, one level of backslashes taken off, is a script of its own. */
static void backquote(struct cc_shell_reader *reader)
{
	struct cc_buf inner;
	struct cc_err err;

	cc_buf_init(&inner, WORD_MAX);
	reader->at++;
	while (cc_shell_peek(reader, 0) && cc_shell_peek(reader, 0) != '`') {
		char next = cc_shell_peek(reader, 1);

		if (cc_shell_peek(reader, 0) == '\\' && next && strchr("`\\$", next))
			reader->at++;
		cc_buf_add(&inner, reader->text + reader->at, 1);
		reader->at++;
	}
	if (!cc_shell_peek(reader, 0))
		cc_shell_unclear(reader->out, "a backquote is not closed");
	reader->at++;
	if (inner.failed || cc_shell_read(cc_buf_view(&inner), reader->depth + 1, reader->out, &err) != CC_OK)
		reader->failed = true;
	cc_buf_done(&inner);
}

static void expansion(struct cc_shell_reader *reader, struct cc_shell_token *out);

/* Up to the closing quote; at stands behind the opening one. */
static void double_quoted(struct cc_shell_reader *reader, struct cc_shell_token *out)
{
	for (;;) {
		char byte = cc_shell_peek(reader, 0), next = cc_shell_peek(reader, 1);

		if (!byte) {
			cc_shell_unclear(reader->out, "a quote is not closed");
			return;
		}
		if (byte == '"') {
			reader->at++;
			return;
		}
		if (byte == '\\' && next == '\n') {
			reader->at += 2;
		} else if (byte == '\\' && next && strchr("$`\"\\", next)) {
			cc_buf_add(&out->text, &next, 1);
			reader->at += 2;
		} else if (byte == '$' || byte == '`') {
			expansion(reader, out);
		} else {
			cc_buf_add(&out->text, &byte, 1);
			reader->at++;
		}
	}
}

static void single_quoted(struct cc_shell_reader *reader, struct cc_shell_token *out)
{
	const char *from = reader->text + reader->at;
	const char *end = memchr(from, '\'', reader->len - reader->at);

	if (!end) {
		cc_shell_unclear(reader->out, "a quote is not closed");
		reader->at = reader->len;
		return;
	}
	cc_buf_add(&out->text, from, (size_t)(end - from));
	reader->at += (size_t)(end - from) + 1;
}

/* Digits of base, at most count of them. */
static unsigned number(struct cc_shell_reader *reader, unsigned base, unsigned count)
{
	unsigned value = 0;

	for (unsigned i = 0; i < count; i++) {
		int digit = cc_hex_value(cc_shell_peek(reader, 0));

		if (digit < 0 || (unsigned)digit >= base)
			break;
		value = value * base + (unsigned)digit;
		reader->at++;
	}
	return value;
}

/* $'...': letters stand for control bytes and numbers for any byte. */
static void ansi_escape(struct cc_shell_reader *reader, struct cc_shell_token *out)
{
	static const char from[] = "abeEfnrtv", to[] = "\a\b\033\033\f\n\r\t\v";
	char byte = cc_shell_peek(reader, 0);
	const char *known = byte ? strchr(from, byte) : NULL;
	unsigned value;

	if (byte >= '0' && byte <= '7') {
		value = number(reader, 8, 3);
	} else if (byte == 'x') {
		reader->at++;
		value = number(reader, 16, 2);
	} else if (byte == 'u' || byte == 'U') {
		reader->at++;
		value = number(reader, 16, byte == 'u' ? 4 : 8);
	} else if (byte == 'c') {
		reader->at++;
		value = (unsigned)cc_shell_peek(reader, 0) & 31;
		reader->at++;
	} else {
		value = known ? (unsigned char)to[known - from] : (unsigned char)byte;
		reader->at += byte != '\0';
	}
	if (value > 0x7f)
		out->open = true; /* no name of ours has it */
	else if (value)
		cc_buf_add(&out->text, &(char){(char)value}, 1);
}

static void ansi_quoted(struct cc_shell_reader *reader, struct cc_shell_token *out)
{
	for (;;) {
		char byte = cc_shell_peek(reader, 0);

		if (!byte) {
			cc_shell_unclear(reader->out, "a quote is not closed");
			return;
		}
		reader->at++;
		if (byte == '\'')
			return;
		if (byte == '\\')
			ansi_escape(reader, out);
		else
			cc_buf_add(&out->text, &byte, 1);
	}
}

/* ${...}: its value is not known, but commands may stand in it. */
static void braces(struct cc_shell_reader *reader)
{
	struct cc_shell_token rest = {.open = true};

	cc_buf_init(&rest.text, WORD_MAX);
	reader->at += 2;
	for (;;) {
		char byte = cc_shell_peek(reader, 0);

		if (!byte) {
			cc_shell_unclear(reader->out, "${ is not closed");
			break;
		}
		if (byte == '}') {
			reader->at++;
			break;
		}
		if (byte == '$' || byte == '`') {
			expansion(reader, &rest);
			continue;
		}
		reader->at++;
		if (byte == '\\')
			reader->at += reader->at < reader->len;
		else if (byte == '\'')
			single_quoted(reader, &rest);
		else if (byte == '"')
			double_quoted(reader, &rest);
	}
	cc_buf_done(&rest.text);
}

/* What follows a dollar or a backquote, in a word or in double quotes. */
static void expansion(struct cc_shell_reader *reader, struct cc_shell_token *out)
{
	char next = cc_shell_peek(reader, 1);

	out->bare = false;
	if (reader->depth >= CC_SHELL_DEPTH) {
		cc_shell_unclear(reader->out, "too deep");
		reader->at = reader->len;
		return;
	}
	if (cc_shell_peek(reader, 0) == '`') {
		out->open = true;
		backquote(reader);
	} else if (next == '(') {
		out->open = true;
		reader->at += 2;
		cc_shell_inner(reader); /* $((1+2)) is read as commands too: none of them has a rule */
	} else if (next == '{') {
		out->open = true;
		reader->depth++;
		braces(reader);
		reader->depth--;
	} else if (is_name(next) || (next && strchr("@*#?$!-", next))) {
		out->open = true;
		reader->at += 2;
		while (is_name(next) && is_name(cc_shell_peek(reader, 0)))
			reader->at++;
	} else {
		cc_buf_adds(&out->text, "$");
		reader->at++;
	}
}

void cc_shell_expansions(struct cc_shell_reader *reader, struct cc_view text)
{
	struct cc_shell_reader inside = *reader;
	struct cc_shell_token value = {0};

	cc_buf_init(&value.text, WORD_MAX);
	inside.text = text.ptr;
	inside.len = text.len;
	inside.at = 0;
	inside.doc_count = 0;
	while (inside.at < inside.len) {
		char byte = cc_shell_peek(&inside, 0);

		if (byte == '$' || byte == '`')
			expansion(&inside, &value);
		else
			inside.at += byte == '\\' ? 2 : 1;
	}
	cc_shell_drop_heredocs(&inside);
	reader->failed |= inside.failed;
	cc_buf_done(&value.text);
}

/* A wildcard stands in for names that are there. [ alone is a command. */
static bool is_wildcard(const struct cc_shell_reader *reader)
{
	char byte = cc_shell_peek(reader, 0);

	if (byte != '[')
		return byte == '*' || byte == '?';
	for (size_t i = 1; !cc_shell_is_meta(cc_shell_peek(reader, i)); i++)
		if (cc_shell_peek(reader, i) == ']')
			return true;
	return false;
}

/* {a,b} and {a..b} become several words, or another one. */
static bool is_brace_list(const struct cc_shell_reader *reader)
{
	unsigned depth = 0;
	bool list = false;

	for (size_t i = 0; !cc_shell_is_meta(cc_shell_peek(reader, i)); i++) {
		char byte = cc_shell_peek(reader, i);

		if (byte == '{')
			depth++;
		else if (byte == '}' && depth && --depth == 0)
			return list;
		list |= byte == ',' || (byte == '.' && cc_shell_peek(reader, i + 1) == '.');
	}
	return false;
}

/* One piece of a word that is not simply a byte. False: it is one. */
static bool piece(struct cc_shell_reader *reader, struct cc_shell_token *out)
{
	char byte = cc_shell_peek(reader, 0), next = cc_shell_peek(reader, 1);

	if (byte == '\\') {
		out->bare = false;
		reader->at += next ? 2 : 1;
		if (next && next != '\n')
			cc_buf_add(&out->text, &next, 1);
	} else if (byte == '\'') {
		out->bare = false;
		reader->at++;
		single_quoted(reader, out);
	} else if (byte == '"' || (byte == '$' && next == '"')) {
		out->bare = false;
		reader->at += byte == '$' ? 2 : 1;
		double_quoted(reader, out);
	} else if (byte == '$' && next == '\'') {
		out->bare = false;
		reader->at += 2;
		ansi_quoted(reader, out);
	} else if (byte == '$' || byte == '`') {
		expansion(reader, out);
	} else {
		return false;
	}
	return true;
}

void cc_shell_word(struct cc_shell_reader *reader, struct cc_shell_token *out)
{
	*out = (struct cc_shell_token){.bare = true};
	cc_buf_init(&out->text, WORD_MAX);
	while (!reader->failed) {
		char byte = cc_shell_peek(reader, 0), next = cc_shell_peek(reader, 1);

		if ((byte == '<' || byte == '>') && next == '(') {
			out->open = true;
			out->bare = false;
			reader->at += 2;
			cc_shell_inner(reader);
			continue;
		}
		if (cc_shell_is_meta(byte))
			break;
		if (piece(reader, out))
			continue;
		out->open |= is_wildcard(reader) || (byte == '{' && is_brace_list(reader));
		cc_buf_add(&out->text, &byte, 1);
		reader->at++;
	}
	cc_buf_adds(&out->text, ""); /* never NULL */
	reader->failed |= out->text.failed;
}
