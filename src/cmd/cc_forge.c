/* cc-forge FD FILES - the daemon's broker of tokens: the only process that speaks to forges, and that holds what they
 * are asked with (wire/forgemsg.h). It ends when the daemon closes its end. */
#define _GNU_SOURCE
#include "forge/forge.h"
#include "os/confine.h"
#include "os/proc.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef CC_SANITIZED /* the sanitizers need files of their own */
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

#define ANY(name)                                                                                                      \
	{                                                                                                              \
		__NR_##name, -1, {0}, 0                                                                                \
	}
/* The journal, the body of a push, and threads: what the C library starts them with, and nothing that makes a process.
 */
enum {
	THREAD_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
		       CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
};
static const struct cc_confine_call calls[] = {
	ANY(fsync),           ANY(renameat),
	ANY(renameat2),       ANY(unlinkat),
	ANY(pread64),         ANY(getdents64),
	ANY(set_robust_list), ANY(sched_getaffinity),
	ANY(eventfd2),        {__NR_clone, 0, {THREAD_FLAGS}, 1},
};

static enum cc_code serve(int link, struct cc_err *err)
{
	struct cc_broker *broker = NULL;
	/* Before a secret is read: no core file, no debugger. The user stays, whose files these are. */
	enum cc_code code = cc_confine_self(err);

	if (code == CC_OK)
		code = cc_broker_open(link, &broker, err);
	if (code == CC_OK && !sanitized)
		code = cc_confine_lookup_files(cc_broker_dir(broker), err);
	if (code == CC_OK && !sanitized)
		code = cc_confine_lookup_calls(calls, sizeof(calls) / sizeof(calls[0]), err);
	return code == CC_OK ? cc_broker_run(broker, err) : code;
}

int main(int argc, char **argv)
{
	struct cc_err err = {0};
	enum cc_code code;
	int link;

	if (argc != 3)
		return 125;
	link = (int)strtol(argv[1], NULL, 10);
	cc_proc_limit_files(argv[2]);
	/* Libraries are told things there: a proxy, a file for the keys of connections, another configuration. */
	clearenv();
	signal(SIGPIPE, SIG_IGN);
	/* Memory is overwritten as it is freed: copies that the libraries made of a secret are none of ours to wipe. */
	mallopt(M_PERTURB, 0x55);
	code = serve(link, &err);
	if (code != CC_OK)
		fprintf(stderr, "cc-forge: %s\n", err.what);
	/* Threads may still wait for a forge: nothing is torn down under them. */
	fflush(stderr);
	_exit(code == CC_OK ? 0 : 125);
}
