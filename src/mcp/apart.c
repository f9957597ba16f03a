#define _GNU_SOURCE
#include "mcp/apart.h"

#include "base/mem.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than the tools' own bounds, which say what was found so far; this one says nothing. */
enum { SECONDS = 30 };

bool cc_apart_busy(const struct cc_apart *apart)
{
	for (size_t i = 0; i < CC_APART_MAX; i++)
		if (apart->calls[i].pid)
			return true;
	return false;
}

bool cc_apart_full(const struct cc_apart *apart)
{
	for (size_t i = 0; i < CC_APART_MAX; i++)
		if (!apart->calls[i].pid)
			return false;
	return true;
}

static _Noreturn void work(struct cc_tools *tools, const char *name, const struct cc_json *args, size_t text_max,
			   int out)
{
	struct cc_buf text;
	struct cc_err err = {0};
	enum cc_code code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(SECONDS);
	cc_buf_init(&text, text_max);
	code = cc_tool_call(tools, name, args, &text, &err);
	if (code != CC_OK)
		cc_buf_addf(&text, "%s\n", err.what);
	(void)!cc_fd_write_all(out, text.data, text.len, NULL);
	_exit(code != CC_OK || text.failed);
}

enum cc_code cc_apart_start(struct cc_apart *apart, const char *id, struct cc_tools *tools, const char *name,
			    const struct cc_json *args, size_t text_max, struct cc_err *err)
{
	struct cc_apart_call *call = apart->calls;
	int ends[2];

	while (call->pid)
		if (++call == apart->calls + CC_APART_MAX)
			return cc_fail(err, CC_ELIMIT, 0, "too many calls at once");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "a pipe");
	call->pid = fork();
	if (call->pid == 0)
		work(tools, name, args, text_max, ends[1]);
	close(ends[1]);
	if (call->pid < 0) {
		call->pid = 0;
		close(ends[0]);
		return cc_fail(err, CC_ESYS, errno, "a process");
	}
	call->fd = ends[0];
	cc_fd_set_nonblock(call->fd, true);
	cc_buf_init(&call->text, text_max + 1);
	snprintf(call->id, sizeof(call->id), "%s", id);
	return CC_OK;
}

void cc_apart_watch(const struct cc_apart *apart, struct pollfd entries[CC_APART_MAX])
{
	for (size_t i = 0; i < CC_APART_MAX; i++)
		entries[i] = (struct pollfd){.fd = apart->calls[i].pid ? apart->calls[i].fd : -1, .events = POLLIN};
}

/* Its exit status; the place is free. */
static int finish(struct cc_apart_call *call)
{
	int status = 0;

	while (waitpid(call->pid, &status, 0) < 0 && errno == EINTR)
		;
	cc_fd_close(&call->fd);
	call->pid = 0;
	return status;
}

/* False: there is more to come. */
static bool read_all(struct cc_apart_call *call)
{
	char bytes[65536];
	ssize_t got;

	while ((got = read(call->fd, bytes, sizeof(bytes))) > 0)
		cc_buf_add(&call->text, bytes, (size_t)got);
	return got == 0 || (errno != EAGAIN && errno != EINTR);
}

void cc_apart_step(struct cc_apart *apart,
		   void (*over)(void *context, const char *id, bool failed, struct cc_view text), void *context)
{
	for (struct cc_apart_call *call = apart->calls; call < apart->calls + CC_APART_MAX; call++) {
		int status;

		if (!call->pid || !read_all(call))
			continue;
		status = finish(call);
		if (WIFSIGNALED(status))
			cc_buf_adds(&call->text, "[it was ended: it took too long]\n");
		over(context, call->id, status != 0, cc_buf_view(&call->text));
		cc_buf_done(&call->text);
	}
}

void cc_apart_drop(struct cc_apart *apart, const char *id)
{
	for (struct cc_apart_call *call = apart->calls; call < apart->calls + CC_APART_MAX; call++) {
		if (!call->pid || (id && strcmp(call->id, id) != 0))
			continue;
		kill(call->pid, SIGKILL);
		(void)finish(call);
		cc_buf_done(&call->text);
	}
}
