#include "verbs/verbs.h"

#include "base/mem.h"
#include "cli/options.h"
#include "remote/remote.h"
#include "wire/msg.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef CC_VERSION
#define CC_VERSION "0"
#endif

const struct cc_verb_row cc_verbs[] = {
	{"run", "ccbox run [OPTIONS] -- COMMAND [ARG...]", "run a command in a sandbox", cc_verb_run, CC_FOR_RUN},
	{"shell", "ccbox shell [OPTIONS]", "your shell in a sandbox", cc_verb_shell, CC_FOR_SHELL},
	{"doctor", "ccbox doctor [--json]", "prove what this host can hold, or say what is missing", cc_verb_doctor, 0},
	{"explain", "ccbox explain VERB OBJECT [OPTIONS] [--json]",
	 "would it be allowed (VERB: write, read, create, delete, exec, host, command ...), by which rule, what would change it",
	 cc_verb_explain, CC_FOR_EXPLAIN},
	{"policy", "ccbox policy check|show|schema [FILE]", "check or print policies", cc_verb_policy, CC_FOR_POLICY},
	{"events", "ccbox events [--follow] [--json] [SESSION]", "what past and running sessions did", cc_verb_events,
	 0},
	{"acp", "ccbox acp [OPTIONS] -- AGENT [ARG...]",
	 "stand between an editor and an agent that speak the Agent Client Protocol: the agent runs in a sandbox",
	 cc_verb_acp, CC_FOR_RUN},
	{"bwrap", "ccbox bwrap [BUBBLEWRAP'S OPTIONS] -- COMMAND [ARG...]",
	 "in the place of bubblewrap, for tools that call it: their sandbox, and in it the rules about names",
	 cc_verb_bwrap, 0},
	{"hook", "ccbox hook claude [OPTIONS]",
	 "as a PreToolUse hook of Claude Code: its Bash runs in a sandbox, its file tools are held to the rules",
	 cc_verb_hook, CC_FOR_RUN},
	{"mcp", "ccbox mcp [OPTIONS]",
	 "serve file tools and a sandboxed bash to an agent (Model Context Protocol on standard input and output)",
	 cc_verb_mcp, CC_FOR_RUN},
	{"review", "ccbox review [OPTIONS] BASE..HEAD [--json]",
	 "what came into a repository, judged before it is checked out: names, links, submodules, in every commit",
	 cc_verb_review, CC_FOR_EXPLAIN},
	{"apply", "ccbox apply [OPTIONS] [RUN [--accept|--discard]]",
	 "bring what a session with --copy made back as a branch, or throw it away; alone: what waits", cc_verb_apply,
	 CC_FOR_EXPLAIN},
	{"console", "ccbox console [--no-open] [--data-dir DIR]",
	 "the page of the daemon: prints an address that signs a browser in, once, and opens it", cc_verb_console, 0},
	{"launch", "ccbox launch [OPTIONS]", "a sandbox in cc_server, ready for commands; prints its name",
	 cc_verb_launch, CC_FOR_LAUNCH},
	{"exec", "ccbox exec SESSION [--workdir DIR] [--timeout S] -- COMMAND [ARG...]", "run a command in it",
	 cc_verb_exec, 0},
	{"ps", "ccbox ps [--all] [--json]", "the sandboxes of cc_server and how they stand", cc_verb_ps, 0},
	{"logs", "ccbox logs SESSION [--follow] [--json]", "what happened in one", cc_verb_logs, 0},
	{"attach", "ccbox attach SESSION", "its output and refusals as they come, until it ends", cc_verb_attach, 0},
	{"stop", "ccbox stop SESSION...", "end it; nothing of it runs afterwards", cc_verb_stop, 0},
	{"suspend", "ccbox suspend SESSION...", "stop every process in it", cc_verb_suspend, 0},
	{"resume", "ccbox resume SESSION...", "let them go on", cc_verb_resume, 0},
	{"repo", CC_REPO_USAGE, "checkouts that no session of their workspace writes", cc_verb_repo, 0},
	{"agent", CC_AGENT_USAGE, "run an agent in cc_server, talk to it, answer what it asks", cc_verb_agent, 0},
	{"runs", CC_RUNS_USAGE, "the runs of agents, and what happened in one", cc_verb_runs, 0},
	{"completions", "ccbox completions bash|zsh|fish", "completions for a shell", cc_verb_completions, 0},
};
const size_t cc_verb_count = CC_COUNT(cc_verbs);

static void print_help(FILE *to)
{
	fputs("ccbox - a sandbox for coding agents\n\n", to);
	for (size_t i = 0; i < cc_verb_count; i++)
		fprintf(to, "  %-58s %s\n", cc_verbs[i].usage, cc_verbs[i].help);
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

/* The words of `ccbox bwrap` are bubblewrap's, --help too: tools look in it for what they need. */
static bool asks_help(const struct cc_verb_row *verb, char *const *argv)
{
	for (; verb->run != cc_verb_bwrap && *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
			return true;
	return false;
}

static int unknown_verb(const char *name)
{
	const char *names[CC_COUNT(cc_verbs)];
	const char *near;

	for (size_t i = 0; i < cc_verb_count; i++)
		names[i] = cc_verbs[i].name;
	near = cc_closest(name, names, cc_verb_count);
	cc_say("unknown command \"%s\"%s%s%s; `ccbox --help` lists them", name, near ? "; did you mean " : "",
	       near ? near : "", near ? "?" : "");
	return CC_EXIT_NOT_ESTABLISHED;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int cc_verbs_main(int argc, char **argv, char **env)
{
	/* A caller that ignores SIGCHLD would make every wait of ours fail (cases OPS-15). */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (argc > 0 && strcmp(base_name(argv[0]), "bwrap") == 0)
		return cc_verb_bwrap(argv + 1, env);
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
	for (size_t i = 0; i < cc_verb_count; i++)
		if (strcmp(argv[1], cc_verbs[i].name) == 0)
			return asks_help(&cc_verbs[i], argv + 2) ? print_verb_help(&cc_verbs[i])
								 : cc_verbs[i].run(argv + 2, env);
	return unknown_verb(argv[1]);
}
