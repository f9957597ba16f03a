#define _GNU_SOURCE
#include "init/run.h"

#include "init/zygote.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static enum cc_code tell(struct cc_init *init, struct cc_buf *message, const int *fds, size_t fd_count,
			 struct cc_err *err)
{
	enum cc_code code = cc_buf_check(message, "a message", err);

	if (code == CC_OK)
		code = cc_tell_owner(init->control, message->data, message->len, fds, fd_count, err);
	cc_buf_done(message);
	return code;
}

static void begin(struct cc_jsonw *w, struct cc_buf *message, const char *name, int64_t id)
{
	cc_jsonw_message(w, message, CC_PEER_MAX, name);
	cc_jsonw_kint(w, "id", id);
}

static enum cc_code refuse(struct cc_init *init, int64_t id, int error, const char *text, struct cc_err *err)
{
	struct cc_buf message;
	struct cc_jsonw w;

	begin(&w, &message, "refused", id);
	cc_jsonw_kint(&w, "errno", error);
	cc_jsonw_key(&w, "text");
	cc_jsonw_view(&w, cc_view_of(text));
	cc_jsonw_end(&w);
	return tell(init, &message, NULL, 0, err);
}

static void forget(struct cc_runs *runs, size_t index)
{
	cc_fd_close(&runs->run[index].error_pipe);
	cc_fd_close(&runs->run[index].master);
	runs->run[index] = runs->run[--runs->count];
}

/* A terminal of the sandbox's own instance: the person's is never handed in (attacks 7). */
static int make_terminal(int rows, int cols, int *out_master, int *out_slave)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
	CC_AUTO_FD master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlock = 0, slave;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	ioctl(slave, TIOCSWINSZ, &size);
	*out_master = cc_fd_take(&master);
	*out_slave = slave;
	return 0;
}

static int read_inherit(const struct cc_json *list, struct cc_exec_request *out)
{
	for (const struct cc_json *item = list ? list->child : NULL; item; item = item->next) {
		if (item->kind != CC_JSON_INT || item->integer < 3 || item->integer > CC_INHERIT_HIGHEST ||
		    out->inherited.count == CC_INHERIT_MAX)
			return -EPROTO;
		out->inherited.fds[out->inherited.count++] = (int)item->integer;
	}
	return 0;
}

/* The descriptors of the request, from the message or from a new terminal. fds[ERROR] is added by the caller. */
static int gather(const struct cc_json *request, struct cc_peer_msg *msg, struct cc_exec_request *out, int *fds,
		  int *out_master)
{
	int slave = -1, result;
	size_t own;

	out->pty = cc_json_bool(request, "pty", false);
	own = out->pty ? 1 : 4;
	result = read_inherit(cc_json_get(request, "inherit"), out);
	if (result == 0 && msg->fd_count != own + out->inherited.count)
		result = -EPROTO;
	if (result < 0)
		return result;
	for (size_t i = 0; i < out->inherited.count; i++)
		fds[CC_EXEC_FDS + i] = cc_fd_take(&msg->fds[own + i]);
	fds[CC_EXEC_BLOCK] = cc_fd_take(&msg->fds[0]);
	if (!out->pty) {
		for (int i = 0; i < 3; i++)
			fds[CC_EXEC_STDIN + i] = cc_fd_take(&msg->fds[1 + i]);
		return 0;
	}
	result = make_terminal((int)cc_json_int(request, "rows", 24), (int)cc_json_int(request, "cols", 80), out_master,
			       &slave);
	if (result < 0)
		return result;
	fds[CC_EXEC_STDIN] = slave;
	for (int i = 1; i < 3; i++) {
		fds[CC_EXEC_STDIN + i] = fcntl(slave, F_DUPFD_CLOEXEC, 0);
		if (fds[CC_EXEC_STDIN + i] < 0)
			return -errno;
	}
	return 0;
}

enum cc_code cc_runs_exec(struct cc_init *init, struct cc_runs *runs, const struct cc_json *request,
			  struct cc_peer_msg *msg, struct cc_err *err)
{
	static struct cc_exec_request wanted;
	struct cc_run run = {.id = cc_json_int(request, "id", -1), .error_pipe = -1, .master = -1};
	int fds[CC_EXEC_FDS + CC_INHERIT_MAX], pipe_ends[2], result;
	enum cc_code code = CC_OK;

	memset(&wanted, 0, sizeof(wanted));
	for (size_t i = 0; i < CC_COUNT(fds); i++)
		fds[i] = -1;
	result = snprintf(wanted.cwd, sizeof(wanted.cwd), "%s", cc_json_str(request, "cwd", "/"));
	result = result < 0 || (size_t)result >= sizeof(wanted.cwd) ? -ENAMETOOLONG : 0;
	if (result == 0)
		result = runs->count == CC_RUNS_MAX ? -EAGAIN : gather(request, msg, &wanted, fds, &run.master);
	if (result == 0 && pipe2(pipe_ends, O_CLOEXEC) < 0)
		result = -errno;
	if (result == 0) {
		run.error_pipe = pipe_ends[0];
		fds[CC_EXEC_ERROR] = pipe_ends[1];
		code = cc_zygote_exec(init, &wanted, fds, &run.pid, err);
	}
	for (size_t i = 0; i < CC_COUNT(fds); i++)
		cc_fd_close(&fds[i]);
	if (result == 0 && code == CC_OK) {
		runs->run[runs->count++] = run;
		return CC_OK;
	}
	cc_fd_close(&run.error_pipe);
	cc_fd_close(&run.master);
	if (code == CC_EPROTO || code == CC_ETIMEOUT || result == -EPROTO)
		return code == CC_OK ? cc_fail(err, CC_EPROTO, 0, "exec with the wrong descriptors") : code;
	return refuse(init, run.id, result ? -result : err->sys, result ? "cannot prepare" : "cannot fork", err);
}

void cc_runs_signal(const struct cc_runs *runs, int64_t id, int signal)
{
	for (size_t i = 0; i < runs->count; i++)
		if (runs->run[i].id == id && kill(-runs->run[i].pid, signal) < 0)
			kill(runs->run[i].pid, signal); /* not yet a leader of its session */
}

enum cc_code cc_runs_started(struct cc_init *init, struct cc_runs *runs, size_t index, struct cc_err *err)
{
	struct cc_run *run = &runs->run[index];
	struct cc_exec_failure failure = {0};
	ssize_t got = read(run->error_pipe, &failure, sizeof(failure));
	struct cc_buf message;
	struct cc_jsonw w;
	enum cc_code code;

	cc_fd_close(&run->error_pipe);
	if (got > 0) {
		int64_t id = run->id;

		failure.what[sizeof(failure.what) - 1] = '\0';
		forget(runs, index); /* its exit is nobody's business */
		return refuse(init, id, failure.error, failure.what, err);
	}
	begin(&w, &message, "started", run->id);
	cc_jsonw_kint(&w, "pid", run->pid);
	cc_jsonw_end(&w);
	code = tell(init, &message, &run->master, run->master >= 0, err);
	cc_fd_close(&run->master);
	return code;
}

static enum cc_code ended(struct cc_init *init, struct cc_runs *runs, size_t index, int status, struct cc_err *err)
{
	struct cc_buf message;
	struct cc_jsonw w;
	enum cc_code code = CC_OK;
	pid_t pid = runs->run[index].pid;

	/* It ended before its start was read. */
	if (runs->run[index].error_pipe >= 0)
		code = cc_runs_started(init, runs, index, err);
	if (code != CC_OK || index >= runs->count || runs->run[index].pid != pid)
		return code;
	cc_report_flush(init->report); /* what it did comes before its end */
	begin(&w, &message, "exit", runs->run[index].id);
	if (WIFSIGNALED(status))
		cc_jsonw_kint(&w, "signal", WTERMSIG(status));
	else
		cc_jsonw_kint(&w, "code", WEXITSTATUS(status));
	cc_jsonw_end(&w);
	forget(runs, index);
	return tell(init, &message, NULL, 0, err);
}

static enum cc_code stopped(struct cc_init *init, const struct cc_runs *runs, pid_t pid, struct cc_err *err)
{
	struct cc_buf message;
	struct cc_jsonw w;

	for (size_t i = 0; !init->frozen && i < runs->count; i++) {
		if (runs->run[i].pid != pid)
			continue;
		begin(&w, &message, "stopped", runs->run[i].id);
		cc_jsonw_end(&w);
		return tell(init, &message, NULL, 0, err);
	}
	return CC_OK;
}

/* The filter kills what speaks another ABI; only our own children tell us so. */
static void note_foreign_abi(struct cc_init *init, pid_t pid, int status)
{
	struct cc_violation what = {
		.verb = CC_VERB_READ,
		.action = "process-exec",
		.target = cc_view_of("system call of another ABI"),
		.spelled = cc_view_of(""),
		.rule = "filter:foreign-abi",
		.grant = cc_view_of(""),
		.raw = "SIGSYS",
		.pid = pid,
	};

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		cc_report_violation(init->report, &what);
}

enum cc_code cc_runs_reap(struct cc_init *init, struct cc_runs *runs, struct cc_err *err)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status)) {
			enum cc_code code = stopped(init, runs, pid, err);

			if (code != CC_OK)
				return code;
			continue;
		}
		if (pid == init->zygote_pid)
			return cc_fail(err, CC_ESTATE, 0, "the zygote is gone");
		note_foreign_abi(init, pid, status);
		for (size_t i = 0; i < runs->count; i++) {
			if (runs->run[i].pid == pid) {
				enum cc_code code = ended(init, runs, i, status, err);

				if (code != CC_OK)
					return code;
				break;
			}
		}
	}
	return CC_OK;
}
