/* Completions come out of the verb and option tables, so they cannot drift from what the program takes. */
#include "verbs/verbs.h"

#include "base/mem.h"
#include "cli/options.h"
#include "wire/msg.h"

#include <stdio.h>
#include <string.h>

static void print_verbs(const char *separator)
{
	for (size_t i = 0; i < cc_verb_count; i++)
		printf("%s%s", i ? separator : "", cc_verbs[i].name);
}

static void print_options(unsigned verbs)
{
	for (size_t i = 0; i < cc_option_count; i++)
		if (cc_options[i].verbs & verbs)
			printf("--%s ", cc_options[i].name);
	printf("--help");
}

static void bash(void)
{
	printf("_ccbox() {\n\tlocal word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]}\n\tCOMPREPLY=()\n"
	       "\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W \"");
	print_verbs(" ");
	printf("\" -- \"$word\"))\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (size_t i = 0; i < cc_verb_count; i++) {
		if (!cc_verbs[i].options)
			continue;
		printf("\t%s) [[ $word == -* ]] && COMPREPLY=($(compgen -W \"", cc_verbs[i].name);
		print_options(cc_verbs[i].options);
		printf("\" -- \"$word\")) ;;\n");
	}
	printf("\tcompletions) COMPREPLY=($(compgen -W \"bash zsh fish\" -- \"$word\")) ;;\n"
	       "\tpolicy) COMPREPLY=($(compgen -W \"check show schema\" -- \"$word\")) ;;\n"
	       "\tesac\n}\ncomplete -o default -F _ccbox ccbox\n");
}

/* Between single quotes: what an apostrophe is there. */
static void print_inside_quotes(const char *text, const char *apostrophe)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("%s", apostrophe);
		else
			putchar(*text);
	}
}

static void zsh(void)
{
	printf("#compdef ccbox\nlocal -a verbs\nverbs=(\n");
	for (size_t i = 0; i < cc_verb_count; i++) {
		printf("\t'%s:", cc_verbs[i].name);
		print_inside_quotes(cc_verbs[i].help, "'\\''");
		printf("'\n");
	}
	printf(")\nif ((CURRENT == 2)); then\n\t_describe command verbs\n\treturn\nfi\ncase $words[2] in\n");
	for (size_t i = 0; i < cc_verb_count; i++) {
		if (!cc_verbs[i].options)
			continue;
		printf("%s) compadd -- ", cc_verbs[i].name);
		print_options(cc_verbs[i].options);
		printf("; _files ;;\n");
	}
	printf("completions) compadd bash zsh fish ;;\npolicy) compadd check show schema; _files ;;\nesac\n");
}

static void fish(void)
{
	printf("complete -c ccbox -n '__fish_use_subcommand' -f -a '");
	print_verbs(" ");
	printf("'\n");
	for (size_t v = 0; v < cc_verb_count; v++)
		for (size_t i = 0; i < cc_option_count; i++) {
			if (!(cc_options[i].verbs & cc_verbs[v].options))
				continue;
			printf("complete -c ccbox -n '__fish_seen_subcommand_from %s' -l %s %s-d '", cc_verbs[v].name,
			       cc_options[i].name, cc_options[i].value ? "-r " : "");
			print_inside_quotes(cc_options[i].help, "\\'");
			printf("'\n");
		}
	printf("complete -c ccbox -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'\n");
}

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

int cc_verb_completions(char *const *argv, char *const *env)
{
	(void)env;
	for (size_t i = 0; argv[0] && i < CC_COUNT(shells); i++)
		if (strcmp(argv[0], shells[i].name) == 0) {
			shells[i].print();
			return 0;
		}
	cc_say("ccbox completions bash|zsh|fish");
	return CC_EXIT_NOT_ESTABLISHED;
}
