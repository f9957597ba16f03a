/* deny-syscall NR ERRNO MASK COMMAND [ARG...]: runs COMMAND on a kernel that (simulated) lacks a system call: NR
 * answers ERRNO, when MASK is not 0 only if its second argument has one of those bits. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned nr, error, mask;

	if (argc < 5)
		return 2;
	nr = (unsigned)strtoul(argv[1], NULL, 0);
	error = (unsigned)strtoul(argv[2], NULL, 0);
	mask = (unsigned)strtoul(argv[3], NULL, 0);

	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask ? mask : ~0U, 0, mask ? 1 : 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
		perror("deny-syscall");
		return 2;
	}
	execvp(argv[4], argv + 4);
	perror(argv[4]);
	return 2;
}
