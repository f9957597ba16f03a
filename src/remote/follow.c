/* follow.c - verbs that read events: a command with its streams and its exit code, a session's past and present. */
#define _GNU_SOURCE
#include "remote/remote.h"

#include "base/mem.h"
#include "base/view.h"
#include "os/fd.h"
#include "wire/event.h"
#include "wire/msg.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define EXEC_USAGE "ccbox exec SESSION [--workdir DIR] [--env NAME=VALUE] [--timeout S] -- COMMAND [ARG...]"
enum { INPUT_CHUNK = 64 << 10, ENV_MAX = 256 };

struct run {
	struct ccbox *box;
	const char *session;
	struct ccbox_stream *stream;
	int signals;
	bool input; /* standard input is still read */
	int code;   /* -1 until the exit was seen */
};

static void say_event(const struct ccbox_event *event)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_event read;
	struct cc_buf text;
	struct cc_err err;

	if (cc_json_parse("event", cc_view_of(event->json), 0, &doc, &err) != CC_OK ||
	    cc_event_read(cc_json_root(doc), &read, &err) != CC_OK)
		return;
	cc_buf_init(&text, 1 << 16);
	cc_event_say(&read, &text);
	cc_say("%s", text.data ? text.data : "");
	cc_buf_done(&text);
}

/* Output as it is; what the sandbox says of itself on standard error. */
static void show(const struct ccbox_event *event)
{
	struct cc_err err;
	int fd = strcmp(event->type, "stdout") == 0 ? 1 : strcmp(event->type, "stderr") == 0 ? 2 : -1;

	if (fd > 0)
		(void)!cc_fd_write_all(fd, event->content, event->content_len, &err);
	else if (strcmp(event->type, "exit") != 0 && strcmp(event->type, "starting") != 0 &&
		 strcmp(event->type, "ready") != 0)
		say_event(event);
}

static const struct {
	int number;
	const char *name;
} passed[] = {{SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGHUP, "HUP"},
	      {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < CC_COUNT(passed); i++)
		sigaddset(&set, passed[i].number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void pass_signals(struct run *run)
{
	struct signalfd_siginfo info;
	struct ccbox_error error;

	while (read(run->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		for (size_t i = 0; i < CC_COUNT(passed); i++)
			if (passed[i].number == (int)info.ssi_signo)
				ccbox_signal(run->box, run->session, ccbox_stream_command(run->stream), passed[i].name,
					     &error);
}

/* The server takes what fits and says when it is too much: then it is tried again while output is read. */
static void pass_input(struct run *run)
{
	static char chunk[INPUT_CHUNK];
	static size_t kept;
	struct ccbox_error error = {0};
	ssize_t got = kept ? 0 : read(0, chunk, sizeof(chunk));
	int last;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	last = !kept && got <= 0;
	kept = kept ? kept : got > 0 ? (size_t)got : 0;
	if (ccbox_stdin(run->box, run->session, ccbox_stream_command(run->stream), chunk, kept, last, &error) != 0 &&
	    strcmp(error.code, "limit") == 0) {
		usleep(20000);
		return;
	}
	kept = 0;
	if (last || error.code[0])
		run->input = false;
}

static int relay(struct run *run)
{
	struct ccbox_error error = {0};
	struct ccbox_event event;
	int got = 0;

	run->code = -1;
	while (got >= 0) {
		struct pollfd set[] = {{.fd = ccbox_stream_fd(run->stream), .events = POLLIN},
				       {.fd = run->signals, .events = POLLIN},
				       {.fd = run->input ? 0 : -1, .events = POLLIN}};

		got = ccbox_next(run->stream, 0, &event, &error);
		if (got > 0) {
			show(&event);
			if (strcmp(event.type, "exit") == 0)
				run->code = event.exit_code;
			continue;
		}
		if (got < 0 || (poll(set, CC_COUNT(set), -1) < 0 && errno != EINTR))
			break;
		if (set[1].revents)
			pass_signals(run);
		if (run->input && set[2].revents)
			pass_input(run);
	}
	if (run->code >= 0)
		return run->code;
	snprintf(error.message, sizeof(error.message), "the server went away; the command was ended");
	return cc_remote_give_up(&error);
}

static int start(const char *session, const struct ccbox_command *command)
{
	struct ccbox_error error = {0};
	struct run run = {.session = session, .input = true, .signals = open_signals()};
	int result;

	if (ccbox_open(NULL, &run.box, &error) != 0)
		return cc_remote_give_up(&error);
	if (ccbox_exec(run.box, session, command, &run.stream, &error) != 0) {
		ccbox_close(run.box);
		return cc_remote_give_up(&error);
	}
	result = relay(&run);
	ccbox_stream_close(run.stream);
	ccbox_close(run.box);
	close(run.signals);
	return result;
}

int cc_verb_exec(char *const *argv, char *const *env)
{
	const char *set[ENV_MAX + 1] = {NULL};
	struct ccbox_command command = {.size = sizeof(command), .env = set, .stdin_open = 1};
	const char *session = argv[0];
	size_t at = 1, count = 0;
	char *end;

	(void)env;
	if (!session || session[0] == '-')
		return cc_remote_usage(EXEC_USAGE);
	for (; argv[at] && strcmp(argv[at], "--") != 0 && argv[at][0] == '-' && argv[at + 1]; at += 2) {
		const char *value = argv[at + 1];

		if (strcmp(argv[at], "--workdir") == 0) {
			command.workdir = value;
		} else if (strcmp(argv[at], "--env") == 0 && strchr(value, '=') && count < ENV_MAX) {
			set[count++] = value;
		} else if (strcmp(argv[at], "--timeout") == 0) {
			command.timeout = strtol(value, &end, 10);
			if (*end || command.timeout < 1)
				return cc_remote_usage(EXEC_USAGE);
		} else {
			return cc_remote_usage(EXEC_USAGE);
		}
	}
	at += argv[at] && strcmp(argv[at], "--") == 0;
	if (!argv[at])
		return cc_remote_usage(EXEC_USAGE);
	command.argv = (const char *const *)(argv + at);
	return start(session, &command);
}

static int follow(const char *session, bool wait, bool raw, bool output)
{
	struct ccbox_error error = {0};
	struct ccbox_stream *stream;
	struct ccbox_event event;
	struct ccbox *box;
	int got;

	if (ccbox_open(NULL, &box, &error) != 0)
		return cc_remote_give_up(&error);
	if (ccbox_events(box, session, 0, wait, &stream, &error) != 0) {
		ccbox_close(box);
		return cc_remote_give_up(&error);
	}
	while ((got = ccbox_next(stream, -1, &event, &error)) > 0) {
		if (raw)
			printf("%s\n", event.json);
		else if (output)
			show(&event);
		else
			say_event(&event);
		fflush(stdout);
	}
	ccbox_stream_close(stream);
	ccbox_close(box);
	return error.code[0] ? cc_remote_give_up(&error) : 0;
}

int cc_verb_logs(char *const *argv, char *const *env)
{
	const char *session = NULL;
	bool wait = false, raw = false;

	(void)env;
	for (; *argv; argv++) {
		if (strcmp(*argv, "--follow") == 0)
			wait = true;
		else if (strcmp(*argv, "--json") == 0)
			raw = true;
		else if (!session && (*argv)[0] != '-')
			session = *argv;
		else
			return cc_remote_usage("ccbox logs SESSION [--follow] [--json]");
	}
	if (!session)
		return cc_remote_usage("ccbox logs SESSION [--follow] [--json]");
	return follow(session, wait, raw, false);
}

int cc_verb_attach(char *const *argv, char *const *env)
{
	(void)env;
	if (!argv[0] || argv[1] || argv[0][0] == '-')
		return cc_remote_usage("ccbox attach SESSION");
	return follow(argv[0], true, false, true);
}
