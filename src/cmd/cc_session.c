/* cc-session: the owner of one session of the daemon. usage: cc-session FD FILES (the limit of open files that what it
 * starts is to have: the daemon has raised its own). */
#define _GNU_SOURCE
#include "os/proc.h"
#include "owner/owner.h"

#include <stdlib.h>

int main(int argc, char **argv, char **env)
{
	if (argc != 3)
		return 125;
	cc_proc_limit_files(argv[2]);
	return cc_owner_main((int)strtol(argv[1], NULL, 10), env);
}
