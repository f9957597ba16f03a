/* cc-run: one run of an agent. usage: cc-run FD FILES (the limit of open files: the daemon has raised its own). */
#define _GNU_SOURCE
#include "runner/runner.h"

#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char **argv, char **env)
{
	struct rlimit files;

	if (argc != 3)
		return 125;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = (rlim_t)strtoul(argv[2], NULL, 10);
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return cc_runner_main((int)strtol(argv[1], NULL, 10), env);
}
