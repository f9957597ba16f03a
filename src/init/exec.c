/* exec.c - from a forked child of the zygote to the program. It runs inside floor and filter already. */
#define _GNU_SOURCE
#include "init/zygote.h"

#include "kernel/calls.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

enum { BLOCK_MAX = 8 << 20 };

/* Above whatever the command inherits; both CLOEXEC. */
static int error_at = 3, block_at = 4;

static _Noreturn void fail(int error, const char *what, const char *object)
{
	struct cc_exec_failure failure = {.error = error};

	snprintf(failure.what, sizeof(failure.what), "%s%s%s", what, object ? " " : "", object ? object : "");
	(void)!write(error_at, &failure, sizeof(failure));
	_exit(125);
}

static void put(int from, int at, int flags)
{
	if (dup3(from, at, flags) < 0)
		_exit(125);
}

static bool inherits(const struct cc_exec_request *request, int fd)
{
	for (size_t i = 0; i < request->inherited.count; i++)
		if (request->inherited.fds[i] == fd)
			return true;
	return false;
}

/* 0, 1, 2, what is inherited, and above that the error pipe and the argument block; everything else is closed. */
static void arrange(const struct cc_exec_request *request, const int *fds)
{
	int high[CC_EXEC_FDS + CC_INHERIT_MAX];
	size_t count = CC_EXEC_FDS + request->inherited.count;

	for (size_t i = 0; i < request->inherited.count; i++)
		if (request->inherited.fds[i] >= error_at)
			error_at = request->inherited.fds[i] + 1;
	block_at = error_at + 1;
	for (size_t i = 0; i < count; i++) {
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, block_at + 1);
		if (high[i] < 0)
			_exit(125);
	}
	for (int i = 0; i < 3; i++)
		put(high[CC_EXEC_STDIN + i], i, 0);
	for (int fd = 3; fd < error_at; fd++)
		if (!inherits(request, fd))
			close(fd);
	for (size_t i = 0; i < request->inherited.count; i++)
		put(high[CC_EXEC_FDS + i], request->inherited.fds[i], 0);
	put(high[CC_EXEC_ERROR], error_at, O_CLOEXEC);
	put(high[CC_EXEC_BLOCK], block_at, O_CLOEXEC);
	cc_k_close_range((unsigned)block_at + 1);
}

static void fresh_signals(void)
{
	sigset_t none;

	/* what each signal does the zygote has set right for all of its children */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

/* "ARGC ENVC\n", then that many NUL-terminated strings. The array has a NULL after each list. */
static char **parse(char *text, size_t len, size_t *out_argc)
{
	char *at, *end = text + len;
	unsigned long argc = strtoul(text, &at, 10), envc = *at == ' ' ? strtoul(at + 1, &at, 10) : 0;
	char **list;
	size_t n = 0;

	if (*at != '\n' || argc == 0 || argc > 65536 || envc > 65536)
		return NULL;
	at++;
	list = calloc(argc + envc + 2, sizeof(*list));
	for (unsigned long i = 0; list && i < argc + envc; i++) {
		char *stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

		if (!stop)
			return NULL;
		if (i == argc)
			n++; /* the NULL between */
		list[n++] = at;
		at = stop + 1;
	}
	*out_argc = argc;
	return list;
}

/* A file without "#!" is a script for the shell, as execvp has it. */
static void try_exec(const char *path, char **argv, char **env)
{
	size_t argc = 0;
	char **shell;

	execve(path, argv, env);
	if (errno != ENOEXEC)
		return;
	while (argv[argc])
		argc++;
	shell = calloc(argc + 2, sizeof(*shell));
	if (!shell)
		return;
	shell[0] = (char *)(size_t) "sh";
	shell[1] = (char *)(size_t)path;
	memcpy(shell + 2, argv + 1, argc * sizeof(*argv));
	execve("/bin/sh", shell, env);
}

static int search(char **argv, char **env)
{
	const char *at = cc_env_path(env);
	int best = ENOENT;

	for (;;) {
		size_t len = strcspn(at, ":");
		char path[PATH_MAX];

		if ((size_t)snprintf(path, sizeof(path), "%.*s%s%s", (int)len, at, len ? "/" : "", argv[0]) <
		    sizeof(path)) {
			try_exec(path, argv, env);
			if (errno != ENOENT && errno != ENOTDIR)
				best = errno;
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				return best;
		}
		if (!at[len])
			return best;
		at += len + 1;
	}
}

_Noreturn void cc_exec_become(const struct cc_exec_request *request, int *fds)
{
	struct cc_buf text;
	struct cc_err err;
	size_t argc = 0;
	char **argv;

	arrange(request, fds);
	fresh_signals();
	if (setsid() < 0)
		fail(errno, "setsid", NULL);
	if (request->pty && ioctl(0, TIOCSCTTY, 0) < 0)
		fail(errno, "the terminal", NULL);
	cc_buf_init(&text, BLOCK_MAX);
	if (cc_fd_read_all(block_at, &text, &err) != CC_OK || !text.data)
		fail(err.sys ? err.sys : E2BIG, "the argument block", NULL);
	argv = parse(text.data, text.len, &argc);
	if (!argv || !argv[0])
		fail(EINVAL, "the argument block", NULL);
	if (chdir(request->cwd) < 0)
		fail(errno, "cannot enter", request->cwd);
	if (!argv[0][0])
		fail(ENOENT, "an empty command", NULL);
	if (!strchr(argv[0], '/'))
		fail(search(argv, argv + argc + 1), "cannot run", argv[0]);
	try_exec(argv[0], argv, argv + argc + 1);
	fail(errno, "cannot run", argv[0]);
}
