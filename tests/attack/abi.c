/* abi.c - a program of another ABI (i386 or x32) makes a denied name. Given: that program, which exits 0 when it did,
 * and a word more where the filter is expected to kill it. Where the kernel does not run such a program at all, there
 * is nothing to try. */
#define _GNU_SOURCE
#include "a.h"

#include <signal.h>
#include <sys/wait.h>

/* Its status, or -1: it does not start here. */
static int run(char *program, char *path)
{
	int status, failed = 0, ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		execv(program, (char *[]){program, path, NULL});
		failed = errno;
		write(ends[1], &failed, sizeof(failed));
		_exit(126);
	}
	close(ends[1]);
	waitpid(pid, &status, 0);
	if (read(ends[0], &failed, sizeof(failed)) == sizeof(failed))
		status = -1;
	close(ends[0]);
	return status;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return 2;
	status = run(argv[1], "x.pem");
	if (status < 0) {
		skip("76", "this kernel does not run such programs");
		return 0;
	}
	say(access("x.pem", F_OK) < 0, "76", "a denied name by the calls of another ABI", 0);
	say(!(WIFEXITED(status) && WEXITSTATUS(status) == 0), "76", "and the program cannot say it did", 0);
	if (argc > 2)
		say(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "76", "it is killed at its first call", 0);
	return 0;
}
