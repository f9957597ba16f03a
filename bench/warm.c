/* warm: the next command in a warm session against a plain fork and exec of it. Prints medians in microseconds.
 * usage: warm DIR ROUNDS PROGRAM    (through the same session code as `ccbox run`) */
#define _GNU_SOURCE
#include "os/fd.h"
#include "os/proc.h"
#include "session/prepare.h"
#include "session/session.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int finished;

static double now_us(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static void on_event(void *context, const struct cc_event *event)
{
	(void)context, (void)event;
}

static void on_note(void *context, struct cc_note *note)
{
	(void)context;
	if (note->kind == CC_NOTE_EXIT || note->kind == CC_NOTE_REFUSED || note->kind == CC_NOTE_LOST)
		finished = 1;
}

static void wait_exit(struct cc_session *session)
{
	struct cc_err err;

	while (!finished) {
		struct pollfd entries[CC_BOX_WATCH];
		int fds[CC_BOX_WATCH];
		size_t count = cc_session_watch(session, fds);

		for (size_t i = 0; i < count; i++)
			entries[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		poll(entries, count, 5000);
		for (size_t i = 0; i < count; i++)
			if (entries[i].revents && cc_session_step(session, fds[i], &err) != CC_OK)
				exit(2);
	}
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double plain(char *const *argv, char *const *env, int null)
{
	struct cc_spawn how = {.argv = argv, .envp = env, .stdio = {null, null, null}, .new_session = true};
	struct cc_child child;
	struct cc_err err;
	double start = now_us();
	int status;

	if (cc_proc_spawn(&how, &child, &err) != CC_OK)
		exit(2);
	cc_proc_wait(&child, -1, &status);
	return now_us() - start;
}

static double warm(struct cc_session *session, const struct cc_box_exec *exec)
{
	struct cc_err err;
	double start = now_us();
	int id;

	finished = 0;
	if (cc_session_exec(session, exec, &id, &err) != CC_OK)
		exit(2);
	wait_exit(session);
	return now_us() - start;
}

int main(int argc, char **argv)
{
	struct cc_err err = {0};
	struct cc_spec spec;
	struct cc_prepared prepared;
	struct cc_prepare_ask ask = {.spec = &spec, .backend = CC_BACKEND_NATIVE, .env = environ, .agent = "none"};
	struct cc_session_config config = {.session_id = "bench", .sink = {NULL, on_event, on_note}};
	struct cc_session *session;
	struct cc_strv words = {0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	double *a, *b;

	if (argc != 4 || rounds < 1)
		return 2;
	ask.cwd = argv[1];
	cc_spec_init(&spec);
	if (cc_spec_add_bind(&spec, argv[1], false, &err) || cc_prepare(&ask, &prepared, &err) ||
	    cc_prepare_launch(&prepared, &config.launch, &err)) {
		fprintf(stderr, "%s\n", err.what);
		return 2;
	}
	config.backend = prepared.backend;
	if (cc_session_launch(&config, &session, &err) || cc_strv_push(&words, argv[3], &err)) {
		fprintf(stderr, "%s\n", err.what);
		return 2;
	}
	struct cc_box_exec exec = {
		.argv = &words, .env = &prepared.plan.env, .cwd = argv[1], .stdio = {null, null, null}};

	a = calloc((size_t)rounds, sizeof(*a));
	b = calloc((size_t)rounds, sizeof(*b));
	for (int i = 0; i < rounds; i++) {
		a[i] = plain(words.items, prepared.plan.env.items, null);
		b[i] = warm(session, &exec);
	}
	qsort(a, (size_t)rounds, sizeof(*a), by_value);
	qsort(b, (size_t)rounds, sizeof(*b), by_value);
	printf("%.0f %.0f\n", a[rounds / 2], b[rounds / 2]);
	cc_session_free(session);
	return 0;
}
