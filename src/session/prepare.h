/* prepare.h - from what was asked to what will be applied: facts of the host, git's place, the compiled rules, the
 * backend, the plan. Nothing is started and nothing is written. */
#ifndef CC_SESSION_PREPARE_H
#define CC_SESSION_PREPARE_H

#include "backend/backend.h"
#include "plan/linux.h"
#include "os/proc.h"
#include "session/gitplace.h"
#include "session/lend.h"

struct cc_prepare_ask {
	struct cc_spec *spec; /* binds may be empty: the git work tree or cwd is added; without an id it is "local" */
	enum cc_backend_kind backend;
	const char *cwd; /* absolute, as the person stands */
	char *const *env;
	const char *agent;   /* NULL: by the command's name, "none": none */
	const char *program; /* the command's first word; NULL without a command */
	const char *init;    /* NULL: "cc-init"; twin builds name their own */
	bool all_proxy_socks;
	const char *bridge_dir;           /* --bridge socat, or NULL */
	bool ssh_agent;                   /* the socket of SSH_AUTH_SOCK is lent */
	bool rules_only;                  /* explain, policy: no backend, no plan */
	const struct cc_foreign *foreign; /* NULL, or whose mounts spec has (plan/foreign.h) */
};

struct cc_prepared {
	struct cc_facts facts;
	struct cc_git_place git;
	struct cc_rules *rules;  /* before cc_prepare_finish: without what git on the host executes */
	struct cc_capture asked; /* git, answering */
	struct cc_prepare_ask ask;
	const struct cc_backend *backend;
	unsigned unheld; /* with backend none: what nobody holds */
	struct cc_linux_plan plan;
	char *workdir;       /* where the command starts */
	struct cc_strv said; /* lines for the person: what is visible and writable, which agent was lent what */
	struct cc_lend lend; /* what a known agent is lent */
	char *bwrap, *proxy; /* the programs of a native launch: cc_prepare_launch */
};

/* What ask points at must live until cc_prepare_finish. */
CC_MUST enum cc_code cc_prepare(const struct cc_prepare_ask *ask, struct cc_prepared *out_prepared, struct cc_err *err);
/* Takes git's answer: the rules and the plan are whole afterwards. A launch calls it while bubblewrap is starting
 * (context: the cc_prepared), everybody else at once. */
CC_MUST enum cc_code cc_prepare_finish(void *context, struct cc_err *err);
/* What starts it; points at prepared, which must outlive the launch. */
CC_MUST enum cc_code cc_prepare_launch(struct cc_prepared *prepared, struct cc_launch *out, struct cc_err *err);
void cc_prepared_done(struct cc_prepared *prepared);

#endif
