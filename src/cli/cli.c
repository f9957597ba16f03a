#include "cli/cli.h"

#include "session/probe.h"

#include "base/mem.h"
#include "cli/options.h"
#include "wire/msg.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VERBS_MAX = 64 };

#ifndef CC_VERSION
#define CC_VERSION "0"
#endif

static const struct cc_verb_row verbs[] = {
	{"run", "ccbox run [OPTIONS] -- COMMAND [ARG...]", "run a command in a sandbox", cc_verb_run, CC_FOR_RUN},
	{"shell", "ccbox shell [OPTIONS]", "your shell in a sandbox", cc_verb_shell, CC_FOR_SHELL},
	{"doctor", "ccbox doctor [--json]", "prove what this host can hold, or say what is missing", cc_verb_doctor, 0},
	{"explain", "ccbox explain VERB OBJECT [OPTIONS] [--json]",
	 "would it be allowed (VERB: write, read, create, delete, exec, host ...), by which rule, what would change it",
	 cc_verb_explain, CC_FOR_EXPLAIN},
	{"policy", "ccbox policy check|show|schema [FILE]", "check or print policies", cc_verb_policy, CC_FOR_POLICY},
	{"events", "ccbox events [--follow] [--json] [SESSION]", "what past and running sessions did", cc_verb_events,
	 0},
	{"completions", "ccbox completions bash|zsh|fish", "completions for a shell", cc_verb_completions, 0},
};
static const struct cc_verb_row *more; /* of the rooms above, ended by a row without a name */

const struct cc_verb_row *cc_verb(size_t at)
{
	if (at < CC_COUNT(verbs))
		return &verbs[at];
	for (size_t i = CC_COUNT(verbs); more && more[i - CC_COUNT(verbs)].name; i++)
		if (i == at)
			return &more[i - CC_COUNT(verbs)];
	return NULL;
}

void cc_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("ccbox: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

int cc_give_up(const struct cc_err *err)
{
	cc_say("%s", err->what);
	if (cc_probe_remedy(err->what)[0])
		cc_say("do this: %s", cc_probe_remedy(err->what));
	return CC_EXIT_NOT_ESTABLISHED;
}

static void print_help(FILE *to)
{
	const struct cc_verb_row *verb;

	fputs("ccbox - a sandbox for coding agents\n\n", to);
	for (size_t i = 0; (verb = cc_verb(i)); i++)
		fprintf(to, "  %-58s %s\n", verb->usage, verb->help);
	fputs("\n  ccbox VERB --help says more. Exit codes: the command's own; 128+n for signal n; 124 time out;\n"
	      "  125 the sandbox was not established and nothing was started; 126 not executable; 127 not found.\n",
	      to);
}

static int print_verb_help(const struct cc_verb_row *verb)
{
	struct cc_buf text;

	cc_buf_init(&text, 1 << 16);
	printf("%s\n%s\n", verb->usage, verb->help);
	if (verb->options) {
		cc_options_help(verb->options, &text);
		printf("\n%s", text.len ? text.data : "");
	}
	cc_buf_done(&text);
	return 0;
}

static bool asks_help(char *const *argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
			return true;
	return false;
}

static int unknown_verb(const char *name)
{
	const struct cc_verb_row *verb;
	const char *names[VERBS_MAX];
	const char *near;
	size_t count = 0;

	while (count < VERBS_MAX && (verb = cc_verb(count)))
		names[count++] = verb->name;
	near = cc_closest(name, names, count);
	cc_say("unknown command \"%s\"%s%s%s; `ccbox --help` lists them", name, near ? "; did you mean " : "",
	       near ? near : "", near ? "?" : "");
	return CC_EXIT_NOT_ESTABLISHED;
}

int cc_cli_main(int argc, char **argv, char **env, const struct cc_verb_row *more_verbs)
{
	const struct cc_verb_row *verb;

	more = more_verbs;
	/* A caller that ignores SIGCHLD would make every wait of ours fail (cases OPS-15). */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		print_help(stderr);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("ccbox %s\n", CC_VERSION);
		return 0;
	}
	for (size_t i = 0; (verb = cc_verb(i)); i++)
		if (strcmp(argv[1], verb->name) == 0)
			return asks_help(argv + 2) ? print_verb_help(verb) : verb->run(argv + 2, env);
	return unknown_verb(argv[1]);
}
