#include "guard/prefix.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

/* How a program names what it runs. */
enum form {
	WORDS,  /* its own words, then the command's */
	TEXT,   /* the command is a text: the value of the flag with that letter */
	JOINED, /* the rest of the words, joined, is a text */
	FIRST,  /* the first word is a text */
};

static const struct prefix {
	const char *name;
	enum form form;
	const char *values; /* flags that take a word, in spaces */
	unsigned own;       /* words of its own before the command */
	char letter;        /* TEXT */
} prefixes[] = {
	{"env", WORDS, " -u --unset -C --chdir ", 0, 0},
	{"nohup", WORDS, "", 0, 0},
	{"nice", WORDS, " -n --adjustment ", 0, 0},
	{"ionice", WORDS, " -c -n --class --classdata ", 0, 0},
	{"timeout", WORDS, " -k --kill-after -s --signal ", 1, 0},
	{"time", WORDS, " -f -o --format --output ", 0, 0},
	{"stdbuf", WORDS, " -i -o -e ", 0, 0},
	{"setsid", WORDS, "", 0, 0},
	{"xargs", WORDS,
	 " -a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --max-chars ", 0, 0},
	{"parallel", WORDS, " -j -n -N --jobs ", 0, 0},
	{"command", WORDS, "", 0, 0},
	{"builtin", WORDS, "", 0, 0},
	{"exec", WORDS, " -a ", 0, 0},
	{"busybox", WORDS, "", 0, 0},
	{"toybox", WORDS, "", 0, 0},
	{"chrt", WORDS, " -T -P -D ", 1, 0},
	{"taskset", WORDS, "", 1, 0},
	{"flock", WORDS, " -w --timeout -E --conflict-exit-code ", 1, 0},
	{"strace", WORDS, " -e -o -p -s -u -P -E -I -O -S ", 0, 0},
	{"ltrace", WORDS, " -e -o -p -s -u ", 0, 0},
	{"unbuffer", WORDS, "", 0, 0},
	{"fakeroot", WORDS, " -l -s -i -b ", 0, 0},
	{"xvfb-run", WORDS, " -n -s -e -f -w ", 0, 0},
	{"dbus-run-session", WORDS, "", 0, 0},
	{"systemd-run", WORDS, " -p -u -E --unit --property --slice ", 0, 0},
	{"sh", TEXT, " -o -O --rcfile --init-file ", 0, 'c'},
	{"bash", TEXT, " -o -O --rcfile --init-file ", 0, 'c'},
	{"dash", TEXT, " -o ", 0, 'c'},
	{"zsh", TEXT, " -o ", 0, 'c'},
	{"ksh", TEXT, " -o ", 0, 'c'},
	{"mksh", TEXT, " -o ", 0, 'c'},
	{"ash", TEXT, " -o ", 0, 'c'},
	{"fish", TEXT, " -C --init-command ", 0, 'c'},
	{"rbash", TEXT, " -o -O ", 0, 'c'},
	{"eval", JOINED, "", 0, 0},
	{"watch", JOINED, " -n --interval ", 0, 0},
	{"trap", FIRST, "", 0, 0},
	{"script", FIRST, "", 0, 0}, /* script -c TEXT: its words are looked at as texts */
};

const char *cc_prefix_name(const struct cc_shell_command *command, size_t at)
{
	const char *slash;

	if (at >= command->count || command->words[at].open)
		return NULL;
	slash = strrchr(command->words[at].text, '/');
	return slash ? slash + 1 : command->words[at].text;
}

static bool takes_value(const struct prefix *prefix, const char *flag)
{
	char padded[64];
	size_t len = strlen(flag);

	if (len + 3 > sizeof(padded))
		return false;
	padded[0] = ' ';
	memcpy(padded + 1, flag, len);
	memcpy(padded + 1 + len, " ", 2);
	return strstr(prefix->values, padded) != NULL;
}

static bool is_flag(const struct cc_shell_word *word)
{
	return word->text[0] == '-' || (word->text[0] == '+' && word->text[1]);
}

static bool is_assignment(const char *text)
{
	size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return name && text[name] == '=';
}

static enum cc_code read_text(struct cc_shell_script *script, const struct cc_shell_word *word, struct cc_err *err)
{
	if (word->open)
		cc_shell_unclear(script, "a shell is given a text that an expansion fills");
	return cc_shell_read(cc_view_of(word->text), 1, script, err);
}

/* env -S TEXT, env --split-string=TEXT */
static const char *split_string(const struct cc_shell_command *command, size_t at)
{
	const char *text = command->words[at].text;

	if (strcmp(text, "-S") == 0 || strcmp(text, "--split-string") == 0)
		return at + 1 < command->count ? command->words[at + 1].text : NULL;
	if (strncmp(text, "-S", 2) == 0)
		return text + 2;
	if (strncmp(text, "--split-string=", 15) == 0)
		return text + 15;
	return NULL;
}

static enum cc_code step_words(const struct prefix *prefix, const struct cc_shell_command *command, size_t at,
			       struct cc_shell_script *script, size_t *out_at, struct cc_err *err)
{
	bool is_env = strcmp(prefix->name, "env") == 0, only_flags = false;
	unsigned own = prefix->own;

	for (; at < command->count; at++) {
		const struct cc_shell_word *word = &command->words[at];

		if (!only_flags && is_flag(word)) {
			const char *text = is_env ? split_string(command, at) : NULL;

			if (text) {
				*out_at = command->count;
				return cc_shell_read(cc_view_of(text), 1, script, err);
			}
			if (strcmp(prefix->name, "command") == 0 && strpbrk(word->text, "vV")) {
				*out_at = command->count; /* it only asks where a command is */
				return CC_OK;
			}
			only_flags = strcmp(word->text, "--") == 0;
			at += takes_value(prefix, word->text);
		} else if (is_env && is_assignment(word->text)) {
			continue;
		} else if (own) {
			own--;
		} else {
			break;
		}
	}
	*out_at = at < command->count ? at : command->count;
	return CC_OK;
}

/* A shell: its text, or its script's name, or what it reads. */
static enum cc_code step_shell(const struct prefix *prefix, const struct cc_shell_command *command, size_t at,
			       struct cc_shell_script *script, struct cc_err *err)
{
	bool wants_text = false;

	for (; at < command->count; at++) {
		const struct cc_shell_word *word = &command->words[at];

		if (!is_flag(word) || word->open)
			break;
		if (strcmp(word->text, "--version") == 0 || strcmp(word->text, "--help") == 0)
			return CC_OK;
		wants_text |=
			word->text[0] == '-' && word->text[1] != '-' && strchr(word->text, prefix->letter) != NULL;
		wants_text |= strcmp(word->text, "--command") == 0; /* fish */
		at += takes_value(prefix, word->text);
	}
	if (at < command->count)
		return wants_text ? read_text(script, &command->words[at], err) : CC_OK;
	if (command->input)
		return cc_shell_read(cc_view_of(command->input), 1, script, err);
	cc_shell_unclear(script, "a shell that reads its commands from elsewhere");
	return CC_OK;
}

static enum cc_code step_joined(const struct prefix *prefix, const struct cc_shell_command *command, size_t at,
				struct cc_shell_script *script, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, CC_SHELL_BYTES);
	for (; at < command->count; at++) {
		const struct cc_shell_word *word = &command->words[at];

		if (text.len == 0 && is_flag(word)) {
			at += takes_value(prefix, word->text);
			continue;
		}
		if (word->open)
			cc_shell_unclear(script, "a text that an expansion fills is executed");
		cc_buf_adds(&text, text.len ? " " : "");
		cc_buf_adds(&text, word->text);
	}
	code = cc_buf_check(&text, "a command", err);
	if (code == CC_OK)
		code = cc_shell_read(cc_buf_view(&text), 1, script, err);
	cc_buf_done(&text);
	return code;
}

enum cc_code cc_prefix_step(const struct cc_shell_command *command, size_t at, struct cc_shell_script *script,
			    bool *out_found, size_t *out_at, struct cc_err *err)
{
	const char *name = cc_prefix_name(command, at);
	enum cc_code code = CC_OK;

	*out_found = true;
	*out_at = command->count;
	for (size_t i = 0; name && cc_shell_passed_over[i]; i++)
		if (strcmp(name, cc_shell_passed_over[i]) == 0) { /* time { ...; } */
			*out_at = at + 1;
			return CC_OK;
		}
	for (size_t i = 0; name && i < CC_COUNT(prefixes); i++) {
		if (strcmp(name, prefixes[i].name) != 0)
			continue;
		switch (prefixes[i].form) {
		case WORDS:
			return step_words(&prefixes[i], command, at + 1, script, out_at, err);
		case TEXT:
			return step_shell(&prefixes[i], command, at + 1, script, err);
		case JOINED:
			return step_joined(&prefixes[i], command, at + 1, script, err);
		case FIRST:
			for (size_t k = at + 1; code == CC_OK && k < command->count; k++)
				if (!is_flag(&command->words[k]))
					code = read_text(script, &command->words[k], err);
			return code;
		}
	}
	*out_found = false;
	return CC_OK;
}
