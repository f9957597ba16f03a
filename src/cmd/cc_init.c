/* cc-init CONTROLFD: PID 1 of a native sandbox. Not for people: the session's owner starts it inside bubblewrap. */
#define _GNU_SOURCE
#include "init/init.h"
#include "wire/msg.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *end;
	long control;

	if (argc != 2) {
		fprintf(stderr, "usage: cc-init CONTROLFD\n");
		return CC_EXIT_NOT_ESTABLISHED;
	}
	control = strtol(argv[1], &end, 10);
	if (*end || control < 3 || control > 1 << 20 || fcntl((int)control, F_SETFD, FD_CLOEXEC) < 0) {
		fprintf(stderr, "cc-init: %s is no control socket\n", argv[1]);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	if (getpid() != 1) {
		fprintf(stderr, "cc-init: runs as PID 1 of a sandbox only\n");
		return CC_EXIT_NOT_ESTABLISHED;
	}
	/* bubblewrap's death is ours; the owner's we hear as the end of file on the control socket. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* No return to libc's exit handlers: threads are running. */
	_exit(cc_init_main((int)control));
}
