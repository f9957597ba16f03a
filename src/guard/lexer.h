/* lexer.h - words of a shell's line: quoting, escapes and expansions. Private to the room. Pure. */
#ifndef CC_GUARD_LEXER_H
#define CC_GUARD_LEXER_H

#include "base/buf.h"
#include "guard/shell.h"

/* A here-document that was announced and whose lines are still to come. */
struct cc_shell_heredoc {
	char *end;
	size_t command; /* index of the command that reads it */
	bool tabs, literal;
};

enum { CC_SHELL_HEREDOCS = 16 };

struct cc_shell_reader {
	const char *text;
	size_t len, at;
	unsigned depth;
	struct cc_shell_script *out;
	struct cc_shell_heredoc docs[CC_SHELL_HEREDOCS];
	size_t doc_count;
	bool failed; /* out of memory */
};

/* The byte that is next, or one further on; 0 at the end (a NUL in the text makes it unclear first). */
char cc_shell_peek(const struct cc_shell_reader *reader, size_t ahead);
/* Blanks, and lines continued by a backslash. */
void cc_shell_blanks(struct cc_shell_reader *reader);
bool cc_shell_is_meta(char byte);

/* A word as it stands, quotes removed. bare: nothing in it was quoted or expanded, so it may be a reserved word. */
struct cc_shell_token {
	struct cc_buf text;
	bool open, bare;
};
/* Reads one; its text may be empty (''). The caller releases text. */
void cc_shell_word(struct cc_shell_reader *reader, struct cc_shell_token *out);
/* Reads the commands of an expansion that is open: at stands behind "$(" or "<("; ends behind its ")". */
void cc_shell_inner(struct cc_shell_reader *reader);
/* The expansions of a text that is otherwise taken as it stands (the body of a here-document). */
void cc_shell_expansions(struct cc_shell_reader *reader, struct cc_view text);

/* Those whose lines never came: the text is unclear then. */
void cc_shell_drop_heredocs(struct cc_shell_reader *reader);

#endif
