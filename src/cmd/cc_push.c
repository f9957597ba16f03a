/* cc-push: one run's push gateway. usage: cc-push FD FILES (the limit of open files: the daemon has raised its own). */
#define _GNU_SOURCE
#include "os/proc.h"
#include "pushgate/pushgate.h"

#include <stdlib.h>

int main(int argc, char **argv, char **env)
{
	if (argc != 3)
		return 125;
	cc_proc_limit_files(argv[2]);
	return cc_pushgate_main((int)strtol(argv[1], NULL, 10), env);
}
