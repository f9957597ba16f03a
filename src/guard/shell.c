/* shell.c - the grammar: where commands begin and end. Reserved words only open and close; a command stands behind most
 * of them, so they are read over, and the few that take words of their own (for, case, [[) are followed. */
#include "guard/shell.h"

#include "base/mem.h"
#include "guard/lexer.h"

#include <string.h>

void cc_shell_script_done(struct cc_shell_script *script)
{
	for (size_t i = 0; i < script->count; i++) {
		for (size_t k = 0; k < script->items[i].count; k++)
			free(script->items[i].words[k].text);
		free(script->items[i].words);
		free(script->items[i].input);
	}
	free(script->items);
	*script = (struct cc_shell_script){0};
}

void cc_shell_unclear(struct cc_shell_script *script, const char *why)
{
	if (!script->unclear)
		script->why = why;
	script->unclear = true;
}

/* Where a list of commands ends. */
enum ending { TO_END, TO_PAREN, TO_CASE };

/* A simple command that is being read: its place in the script, or none yet. */
struct current {
	size_t index;
	bool begun, piped;
};

static bool fail(struct cc_shell_reader *reader, const char *why)
{
	cc_shell_unclear(reader->out, why);
	reader->at = reader->len;
	return false;
}

static bool begin(struct cc_shell_reader *reader, struct current *now)
{
	struct cc_shell_script *out = reader->out;
	struct cc_shell_command *items;

	if (now->begun)
		return true;
	if (out->count == CC_SHELL_COMMANDS)
		return fail(reader, "more commands than are looked at");
	items = realloc(out->items, (out->count + 1) * sizeof(*items));
	if (!items) {
		reader->failed = true;
		return false;
	}
	out->items = items;
	items[out->count] = (struct cc_shell_command){.piped = now->piped};
	now->index = out->count++;
	now->begun = true;
	return true;
}

/* Takes the token's text. */
static bool add_word(struct cc_shell_reader *reader, struct current *now, struct cc_shell_token *token)
{
	struct cc_shell_command *command;
	struct cc_shell_word *words;

	if (!begin(reader, now))
		return false;
	if (++reader->out->words > CC_SHELL_WORDS)
		return fail(reader, "more words than are looked at");
	command = &reader->out->items[now->index];
	words = realloc(command->words, (command->count + 1) * sizeof(*words));
	if (!words) {
		reader->failed = true;
		return false;
	}
	command->words = words;
	words[command->count++] = (struct cc_shell_word){token->text.data, token->open};
	token->text.data = NULL;
	return true;
}

static void end(struct current *now, bool piped)
{
	now->begun = false;
	now->piped = piped;
}

static void drop(struct cc_shell_token *token)
{
	cc_buf_done(&token->text);
}

static bool is(const struct cc_shell_token *token, const char *text)
{
	return token->bare && token->text.data && strcmp(token->text.data, text) == 0;
}

/* NAME=..., NAME+=..., NAME[...]=... */
static bool is_assignment(const struct cc_shell_token *token)
{
	const char *at = token->text.data;
	size_t name = at ? strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;

	if (!name || (*at >= '0' && *at <= '9'))
		return false;
	at += name;
	if (*at == '[')
		at += strcspn(at, "]") + 1;
	return *at == '=' || (at[0] == '+' && at[1] == '=');
}

static void announce(struct cc_shell_reader *reader, struct current *now, bool tabs)
{
	struct cc_shell_token word;

	cc_shell_blanks(reader);
	cc_shell_word(reader, &word);
	if (!begin(reader, now) || reader->doc_count == CC_SHELL_HEREDOCS) {
		drop(&word);
		fail(reader, "more here-documents than are looked at");
		return;
	}
	reader->docs[reader->doc_count++] = (struct cc_shell_heredoc){
		.end = word.text.data, .command = now->index, .tabs = tabs, .literal = !word.bare};
}

static void add_input(struct cc_shell_reader *reader, size_t index, struct cc_view text)
{
	struct cc_shell_command *command = &reader->out->items[index];
	struct cc_buf all;

	cc_buf_init(&all, 2 * CC_SHELL_BYTES);
	if (command->input)
		cc_buf_adds(&all, command->input);
	cc_buf_add(&all, text.ptr, text.len);
	cc_buf_adds(&all, "\n");
	reader->failed |= all.failed;
	free(command->input);
	command->input = all.data;
}

/* The lines up to the announced one. */
static void take_heredoc(struct cc_shell_reader *reader, struct cc_shell_heredoc *doc)
{
	size_t from = reader->at, last;

	for (;;) {
		size_t start = reader->at, stop;
		const char *line_end = memchr(reader->text + start, '\n', reader->len - start);

		last = start;
		stop = line_end ? (size_t)(line_end - reader->text) : reader->len;
		reader->at = stop + (line_end ? 1 : 0);
		while (doc->tabs && start < stop && reader->text[start] == '\t')
			start++;
		if (cc_view_is((struct cc_view){reader->text + start, stop - start}, doc->end ? doc->end : ""))
			break;
		if (!line_end) { /* the shell takes the end of the text for the end */
			last = stop;
			break;
		}
	}
	add_input(reader, doc->command, (struct cc_view){reader->text + from, last - from});
	if (!doc->literal)
		cc_shell_expansions(reader, (struct cc_view){reader->text + from, last - from});
}

static void newline(struct cc_shell_reader *reader)
{
	reader->at++;
	for (size_t i = 0; i < reader->doc_count; i++) {
		take_heredoc(reader, &reader->docs[i]);
		free(reader->docs[i].end);
	}
	reader->doc_count = 0;
}

/* At < or >. */
static void redirection(struct cc_shell_reader *reader, struct current *now)
{
	struct cc_shell_token target;
	bool here = cc_shell_peek(reader, 0) == '<' && cc_shell_peek(reader, 1) == '<';
	bool here_string = here && cc_shell_peek(reader, 2) == '<', writes;

	if (here && !here_string) {
		bool tabs = cc_shell_peek(reader, 2) == '-';

		reader->at += tabs ? 3 : 2;
		announce(reader, now, tabs);
		return;
	}
	writes = cc_shell_peek(reader, 0) == '>' || cc_shell_peek(reader, 1) == '>';
	reader->at += here_string ? 3 : 1;
	if (!here_string && cc_shell_peek(reader, 0) && strchr("<>&|", cc_shell_peek(reader, 0)))
		reader->at++;
	cc_shell_blanks(reader);
	cc_shell_word(reader, &target);
	if (writes && target.text.data && strcmp(target.text.data, "/dev/null") != 0 &&
	    strspn(target.text.data, "0123456789-") != target.text.len)
		reader->out->writes = true;
	if (here_string && begin(reader, now)) {
		add_input(reader, now->index, cc_buf_view(&target.text));
		if (target.open)
			cc_shell_unclear(reader->out, "a here-string that an expansion fills");
	}
	drop(&target);
}

static void list(struct cc_shell_reader *reader, enum ending ending);

/* A( ... ): the words of an array, or the body of a function behind NAME (). */
static void paren_behind_word(struct cc_shell_reader *reader, struct current *now, bool after_assignment)
{
	reader->at++;
	if (after_assignment) {
		while (reader->at < reader->len && cc_shell_peek(reader, 0) != ')') {
			struct cc_shell_token word;

			if (cc_shell_is_meta(cc_shell_peek(reader, 0))) {
				reader->at++;
				continue;
			}
			cc_shell_word(reader, &word);
			drop(&word);
		}
		reader->at++;
		return;
	}
	cc_shell_blanks(reader);
	if (cc_shell_peek(reader, 0) != ')') {
		fail(reader, "a parenthesis in the middle of a command");
		return;
	}
	reader->at++;
	end(now, false); /* the name stays as a command without a rule; what follows is its body */
}

static void skip_words_to(struct cc_shell_reader *reader, const char *stop)
{
	while (reader->at < reader->len && !reader->failed) {
		struct cc_shell_token word;
		bool found;

		while (reader->at < reader->len && cc_shell_is_meta(cc_shell_peek(reader, 0)))
			reader->at++;
		cc_shell_word(reader, &word);
		found = is(&word, stop);
		drop(&word);
		if (found)
			return;
	}
	cc_shell_unclear(reader->out, "[[ without ]]");
}

/* for NAME [in WORDS]; do and select: the words are looked at for substitutions and are no commands. */
static void skip_line(struct cc_shell_reader *reader)
{
	for (;;) {
		struct cc_shell_token word;
		char byte;

		cc_shell_blanks(reader);
		byte = cc_shell_peek(reader, 0);
		if (!byte || byte == ';' || byte == '\n' || reader->failed)
			return;
		if (cc_shell_is_meta(byte)) {
			reader->at++;
			continue;
		}
		cc_shell_word(reader, &word);
		drop(&word);
	}
}

static void skip_space(struct cc_shell_reader *reader)
{
	while (cc_shell_peek(reader, 0) && strchr(" \t\r\n", cc_shell_peek(reader, 0)))
		reader->at++;
}

/* case WORD in [(] PATTERN [| PATTERN] ) LIST ;; ... esac */
static void case_of(struct cc_shell_reader *reader)
{
	struct cc_shell_token word;
	bool ends;

	skip_space(reader);
	cc_shell_word(reader, &word);
	drop(&word);
	skip_space(reader);
	cc_shell_word(reader, &word);
	ends = !is(&word, "in");
	drop(&word);
	if (ends) {
		fail(reader, "a case without its in");
		return;
	}
	while (reader->at < reader->len && !reader->failed) {
		skip_space(reader);
		if (cc_shell_peek(reader, 0) == '(')
			reader->at++;
		while (reader->at < reader->len && cc_shell_peek(reader, 0) != ')') {
			cc_shell_word(reader, &word);
			ends = is(&word, "esac");
			drop(&word);
			if (ends)
				return;
			if (cc_shell_is_meta(cc_shell_peek(reader, 0)) && cc_shell_peek(reader, 0) != ')')
				reader->at++;
		}
		reader->at++;
		list(reader, TO_CASE);
	}
}

/* Reserved words that only open or close something. */
const char *const cc_shell_passed_over[] = {"if", "then", "elif", "else", "fi", "while", "until",
					    "do", "done", "!",    "{",    "}",  NULL};

/* True: the word was one, and what it takes is read. */
static bool reserved(struct cc_shell_reader *reader, const struct cc_shell_token *token)
{
	for (size_t i = 0; cc_shell_passed_over[i]; i++)
		if (is(token, cc_shell_passed_over[i]))
			return true;
	if (is(token, "for") || is(token, "select"))
		skip_line(reader);
	else if (is(token, "case"))
		case_of(reader);
	else if (is(token, "[["))
		skip_words_to(reader, "]]");
	else if (is(token, "coproc"))
		cc_shell_unclear(reader->out, "coproc");
	else if (is(token, "function")) {
		struct cc_shell_token name;

		cc_shell_blanks(reader);
		cc_shell_word(reader, &name);
		drop(&name);
		cc_shell_blanks(reader);
		if (cc_shell_peek(reader, 0) == '(' && cc_shell_peek(reader, 1) == ')')
			reader->at += 2;
	} else {
		return false;
	}
	return true;
}

/* A word at the place of a command's name or behind it. */
static void word(struct cc_shell_reader *reader, struct current *now, bool *assigned)
{
	struct cc_shell_token token;
	char next;
	bool first = !now->begun || reader->out->items[now->index].count == 0;

	cc_shell_word(reader, &token);
	next = cc_shell_peek(reader, 0);
	*assigned = is_assignment(&token);
	if (token.bare && token.text.len && (next == '<' || next == '>') &&
	    strspn(token.text.data, "0123456789") == token.text.len) {
		drop(&token); /* the number of a descriptor */
		return;
	}
	if (first && (reserved(reader, &token) || *assigned)) {
		drop(&token);
		return;
	}
	add_word(reader, now, &token);
	drop(&token);
}

/* At an operator. True: the list ends here. */
static bool operator_at(struct cc_shell_reader *reader, struct current *now, enum ending ending)
{
	char byte = cc_shell_peek(reader, 0), next = cc_shell_peek(reader, 1);

	if (byte == ')' && ending == TO_PAREN) {
		reader->at++;
		return true;
	}
	if (byte == ')')
		return !fail(reader, "a parenthesis that nothing opens");
	if (byte == '&' && next == '>') { /* &> and &>> send output to a file */
		reader->at++;
		redirection(reader, now);
		return false;
	}
	if (byte == ';' && (next == ';' || next == '&') && ending == TO_CASE) {
		reader->at += cc_shell_peek(reader, 2) == '&' ? 3 : 2;
		return true;
	}
	if (byte == '\n') {
		end(now, false);
		newline(reader);
		return false;
	}
	end(now, byte == '|' && next != '|');
	reader->at += byte == next || (byte == '|' && next == '&') ? 2 : 1;
	return false;
}

static bool is_esac(struct cc_shell_reader *reader)
{
	return reader->len - reader->at >= 4 && memcmp(reader->text + reader->at, "esac", 4) == 0 &&
	       cc_shell_is_meta(cc_shell_peek(reader, 4));
}

static void list(struct cc_shell_reader *reader, enum ending ending)
{
	struct current now = {0};
	bool assigned = false;

	if (++reader->depth > CC_SHELL_DEPTH)
		fail(reader, "too deep");
	while (reader->at < reader->len && !reader->failed) {
		char byte;

		cc_shell_blanks(reader);
		byte = cc_shell_peek(reader, 0);
		if (reader->at >= reader->len)
			break;
		if (!byte) {
			fail(reader, "a NUL byte");
		} else if (byte == '#') {
			while (reader->at < reader->len && cc_shell_peek(reader, 0) != '\n')
				reader->at++;
		} else if (byte == '(') {
			if (now.begun || assigned) {
				paren_behind_word(reader, &now, assigned);
			} else {
				reader->at++;
				list(reader, TO_PAREN);
			}
		} else if ((byte == '<' || byte == '>') && cc_shell_peek(reader, 1) != '(') {
			redirection(reader, &now);
		} else if (byte == '<' || byte == '>' || !cc_shell_is_meta(byte)) {
			if (ending == TO_CASE && !now.begun && is_esac(reader)) {
				break; /* the case's own loop reads it */
			}
			word(reader, &now, &assigned);
			continue;
		} else if (operator_at(reader, &now, ending)) {
			reader->depth--;
			return;
		}
		assigned = false;
	}
	if (ending == TO_PAREN && reader->at >= reader->len)
		cc_shell_unclear(reader->out, "a parenthesis is not closed");
	reader->depth--;
}

void cc_shell_inner(struct cc_shell_reader *reader)
{
	list(reader, TO_PAREN);
}

void cc_shell_drop_heredocs(struct cc_shell_reader *reader)
{
	for (size_t i = 0; i < reader->doc_count; i++) {
		cc_shell_unclear(reader->out, "a here-document without its text");
		free(reader->docs[i].end);
	}
	reader->doc_count = 0;
}

enum cc_code cc_shell_read(struct cc_view text, unsigned depth, struct cc_shell_script *out, struct cc_err *err)
{
	struct cc_shell_reader reader = {.text = text.ptr, .len = text.len, .depth = depth, .out = out};

	if (text.len > CC_SHELL_BYTES)
		cc_shell_unclear(out, "it is longer than is looked at");
	else if (depth > CC_SHELL_DEPTH)
		cc_shell_unclear(out, "too deep");
	else
		list(&reader, TO_END);
	cc_shell_drop_heredocs(&reader);
	return reader.failed ? cc_fail(err, CC_ELIMIT, 0, "out of memory for a command line") : CC_OK;
}
