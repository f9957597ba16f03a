/* shell.h - a shell's line taken apart: every simple command in it, wherever it stands (lists, pipelines, subshells,
 * groups, conditions, loops, functions, substitutions, here-documents), with its quotes removed. For rules about
 * commands, which are a hint and a trail, never the boundary: what is read here is never executed from here. Pure.
 *
 * What the reader does not follow makes the whole line unclear, and so does a bound that is reached: no rule may then
 * say yes to it. */
#ifndef CC_GUARD_SHELL_H
#define CC_GUARD_SHELL_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>

enum { CC_SHELL_COMMANDS = 256, CC_SHELL_WORDS = 4096, CC_SHELL_BYTES = 64 * 1024, CC_SHELL_DEPTH = 24 };

struct cc_shell_word {
	char *text; /* quotes removed; what an expansion would put there is left out */
	bool open;  /* it has an expansion, a brace list or, unquoted, a wildcard: its value is not known here */
};

struct cc_shell_command {
	struct cc_shell_word *words; /* without assignments in front and redirections */
	size_t count;
	char *input; /* a here-document or here-string, or NULL */
	bool piped;  /* it reads what another command writes */
};

/* Zeroed, it is empty. */
struct cc_shell_script {
	struct cc_shell_command *items;
	size_t count;
	size_t words;
	bool writes; /* output is sent into a file */
	bool unclear;
	const char *why; /* of the first thing that was not understood */
};

/* Adds the commands of text to out; depth counts texts inside texts. Only memory fails: CC_ELIMIT. */
CC_MUST enum cc_code cc_shell_read(struct cc_view text, unsigned depth, struct cc_shell_script *out,
				   struct cc_err *err);
/* Reserved words that only open or close something: a command may stand behind them. Ends with NULL. */
extern const char *const cc_shell_passed_over[];
void cc_shell_script_done(struct cc_shell_script *script);
void cc_shell_unclear(struct cc_shell_script *script, const char *why);

#endif
