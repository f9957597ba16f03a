/* linux.h - rules + facts -> how a native Linux session is started: bubblewrap's arguments, the files laid into the
 * private HOME, the environment of every exec. Plain data, golden-tested; backend/linux applies it. */
#ifndef CC_PLAN_LINUX_H
#define CC_PLAN_LINUX_H

#include "base/buf.h"
#include "plan/facts.h"
#include "plan/foreign.h"
#include "policy/rules.h"

/* A file that exists only inside, on the private HOME's tmpfs. */
struct cc_plan_file {
	char *dest;
	unsigned mode;
	char *source;  /* host file read at launch (O_NOFOLLOW), or NULL */
	char *content; /* used when source is NULL */
	bool late;     /* the content comes while bubblewrap starts, which waits for it */
};

struct cc_linux_plan {
	/* bubblewrap's arguments up to the command; "@file:N" stands for the descriptor of files[N], which the applier
	 * fills in. They go through --args, so argv stays constant whatever the policy. */
	struct cc_strv bwrap;
	struct cc_strv command; /* cc-init's argv; the control descriptor is appended by the applier */
	struct cc_strv env;     /* NAME=VALUE of every exec */
	struct cc_strv dropped; /* names (never values) of variables that were not passed on */
	struct cc_strv notes;   /* what was added and why, for --dry-run */
	struct cc_plan_file *files;
	size_t file_count;
	/* descriptors that the arguments name, for bubblewrap itself: closed here once it has them */
	int fds[CC_FOREIGN_FDS];
	size_t fd_count;
};

/* Where the ssh agent is shown inside (--ssh-agent). */
#define CC_SSH_SOCKET "/run/ccbox/ssh-agent"

/* The two ends of --bridge socat, as the inside sees them. */
#define CC_BRIDGE_HTTP  "/run/ccbox/http.sock"
#define CC_BRIDGE_SOCKS "/run/ccbox/socks.sock"

/* What the person asked for that is neither a rule nor a fact. */
struct cc_linux_ask {
	const struct cc_strv *env;        /* --env and the policy's env: NAME or NAME=VALUE */
	const struct cc_strv *agent_env;  /* names the known agent's row passes on */
	const struct cc_strv *agent_set;  /* NAME=VALUE the row sets */
	const struct cc_plan_file *files; /* the agent's private copy */
	size_t file_count;
	bool all_proxy_socks;
	const char *ssh_socket;           /* the host's ssh agent, or NULL */
	const char *bridge_dir;           /* where the host's ends of --bridge socat are, or NULL */
	const char *shell;                /* a terminal's, whose environment is its own (plan/termenv.h) */
	const struct cc_foreign *foreign; /* NULL, or the tool whose mounts and environment these are */
};

CC_MUST enum cc_code cc_linux_plan_make(const struct cc_rules *rules, const struct cc_facts *facts,
					const struct cc_linux_ask *ask, struct cc_linux_plan *out_plan,
					struct cc_err *err);
void cc_linux_plan_done(struct cc_linux_plan *plan);
/* The plan as text: golden tests and --dry-run. */
void cc_linux_plan_print(const struct cc_linux_plan *plan, struct cc_buf *out);

#endif
