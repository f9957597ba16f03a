/* remote.h - the verbs of `ccbox` that call a running cc_server over its Unix socket. */
#ifndef CC_REMOTE_REMOTE_H
#define CC_REMOTE_REMOTE_H

#include <ccbox.h>
#include "cli/cli.h"

#define CC_REPO_USAGE "ccbox repo add [DIR] [--workspace NAME] | ls | rm NUMBER"

#define CC_AGENT_USAGE                                                                                                 \
	"ccbox agent run [--repo DIR|NUMBER | --in DIR] [--mode MODE] [--model M] [--backend B] [--base REV] "         \
	"[--env NAME] [--action NAME=allow|prompt|deny] [--detach] AGENT PROMPT... | steer RUN TEXT... | stop RUN | "  \
	"approve RUN [NUMBER] [--deny]"
#define CC_RUNS_USAGE "ccbox runs [RUN [--follow]] [--json]"

cc_verb cc_verb_launch, cc_verb_exec, cc_verb_ps, cc_verb_logs, cc_verb_attach, cc_verb_stop, cc_verb_suspend,
	cc_verb_resume, cc_verb_repo, cc_verb_agent, cc_verb_runs;

/* One line of the record of that run. */
struct cc_json;
void cc_remote_show(const char *run, const struct cc_json *event);

/* Says what went wrong; returns 125. */
int cc_remote_give_up(const struct ccbox_error *error);
/* The same for words that are wrong. */
int cc_remote_usage(const char *usage);

#endif
