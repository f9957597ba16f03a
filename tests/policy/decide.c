/* decide - the compiled rules of a policy, asked from standard input: one "VERB OBJECT PATH FROM" a line, parts divided
 * by tabs; one "VERDICT RULE" a line comes back. usage: decide [OPTIONS OF ccbox explain] */
#define _GNU_SOURCE
#include "cli/config.h"
#include "policy/decide.h"
#include "session/prepare.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char *const objects[] = {"unknown", "file", "dir", "symlink", "fifo", "socket", "other"};

static void answer(const struct cc_rules *rules, char *line)
{
	char *part[4] = {line, NULL, NULL, NULL};
	struct cc_ask ask = {0};
	struct cc_decision decision;
	bool known = false;

	line[strcspn(line, "\n")] = '\0';
	for (int i = 1; i < 4; i++) {
		part[i] = part[i - 1] + strcspn(part[i - 1], "\t");
		if (*part[i])
			*part[i]++ = '\0';
	}
	for (int i = 0; i < CC_VERB_COUNT; i++) {
		if (strcmp(cc_verb_name((enum cc_verb)i), part[0]) != 0)
			continue;
		ask.verb = (enum cc_verb)i;
		known = true;
	}
	for (int i = 0; i < (int)CC_COUNT(objects); i++)
		if (strcmp(objects[i], part[1]) == 0)
			ask.object = (enum cc_object)i;
	ask.path = cc_view_of(part[2]);
	ask.from = cc_view_of(part[3]);
	decision = cc_decide(rules, &ask);
	printf("%s %s\n",
	       !known                         ? "unknown"
	       : decision.verdict == CC_ALLOW ? "allow"
	       : decision.verdict == CC_JUDGE ? "judged"
					      : "deny",
	       cc_decision_id(&decision));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct cc_ask_run ask;
	struct cc_prepared prepared = {0};
	struct cc_err err = {0};
	char cwd[PATH_MAX], line[4 * PATH_MAX];
	size_t used = 0;
	struct cc_prepare_ask prepare = {.spec = &ask.spec, .cwd = cwd, .env = environ, .rules_only = true};

	(void)argc;
	cc_ask_run_init(&ask);
	if (!getcwd(cwd, sizeof(cwd)) ||
	    cc_config_gather(CC_FOR_EXPLAIN, argv + 1, environ, cwd, &ask, &used, &err) != CC_OK ||
	    cc_prepare(&prepare, &prepared, &err) != CC_OK) {
		fprintf(stderr, "decide: %s\n", err.what);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		answer(prepared.rules, line);
	cc_prepared_done(&prepared);
	cc_ask_run_done(&ask);
	return 0;
}
