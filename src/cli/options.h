/* options.h - every flag of `ccbox run`, `shell` and `explain` as one row of one table: the parser, --help, the shell
 * completions and the environment variables all read it. */
#ifndef CC_CLI_OPTIONS_H
#define CC_CLI_OPTIONS_H

#include "base/buf.h"
#include "policy/spec.h"
#include "wire/request.h"

#include <stdbool.h>

/* What the person asked for, after all sources were merged. */
struct cc_ask_run {
	struct cc_spec spec;
	enum cc_backend_kind backend;
	char *workdir;
	char *agent;             /* NULL: by the command's name; "none": none */
	struct cc_strv policies; /* --policy files */
	struct cc_strv binds;    /* DIR or DIR:ro, as written */
	char *events;            /* FILE or fd:N */
	long timeout;            /* seconds, 0 = none */
	struct cc_limits limits;
	int pty; /* -1 decide by stdin, 0, 1 */
	bool dry_run;
	bool json;
	bool bridge_socat;
	bool all_proxy_socks;
	bool ssh_agent;
	bool quiet;
	bool learn;
	bool copy;
};

void cc_ask_run_init(struct cc_ask_run *ask);
void cc_ask_run_done(struct cc_ask_run *ask);

enum { CC_FOR_RUN = 1, CC_FOR_SHELL = 2, CC_FOR_EXPLAIN = 4, CC_FOR_POLICY = 8, CC_FOR_LAUNCH = 16 };

struct cc_option {
	const char *name;  /* without the dashes */
	const char *value; /* metavariable, NULL = a switch */
	const char *env;   /* variable that gives a default, NULL = none */
	unsigned verbs;
	enum cc_code (*take)(struct cc_ask_run *ask, const char *value, struct cc_err *err);
	const char *help;
};

extern const struct cc_option cc_options[];
extern const size_t cc_option_count;

/* Environment first, then argv: flags win. Stops at "--" or at the first word that is no option; *out_used is how many
 * words were taken. */
CC_MUST enum cc_code cc_options_env(unsigned verb, char *const *env, struct cc_ask_run *ask, struct cc_err *err);
CC_MUST enum cc_code cc_options_parse(unsigned verb, char *const *argv, struct cc_ask_run *ask, size_t *out_used,
				      struct cc_err *err);
void cc_options_help(unsigned verb, struct cc_buf *out);
/* The closest known word, or NULL when none is close. */
const char *cc_closest(const char *word, const char *const *words, size_t count);

#endif
