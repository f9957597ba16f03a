/* server: a command in a warm session of a running cc_server, over its Unix socket, against a plain fork and exec of the same
 * program. Prints medians and 99th percentiles in microseconds. usage: bench-server SESSION ROUNDS PROGRAM */
#define _GNU_SOURCE
#include <ccbox.h>

#include "os/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char **environ;

static double now_us(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double plain(char *const *argv)
{
	struct cc_spawn how = {.argv = argv, .envp = environ, .stdio = {-1, -1, -1}, .new_session = true};
	struct cc_child child;
	struct cc_err err;
	double start = now_us();
	int status;

	if (cc_proc_spawn(&how, &child, &err) != CC_OK)
		exit(2);
	cc_proc_wait(&child, -1, &status);
	return now_us() - start;
}

static double warm(struct ccbox *box, const char *session, const struct ccbox_command *command)
{
	struct ccbox_error error;
	struct ccbox_stream *stream;
	struct ccbox_event event;
	double start = now_us();
	int code = -1;

	if (ccbox_exec(box, session, command, &stream, &error) != 0) {
		fprintf(stderr, "%s\n", error.message);
		exit(2);
	}
	while (code < 0 && ccbox_next(stream, -1, &event, &error) > 0)
		if (strcmp(event.type, "exit") == 0)
			code = event.exit_code;
	start = now_us() - start;
	ccbox_stream_close(stream);
	if (code != 0)
		exit(2);
	return start;
}

int main(int argc, char **argv)
{
	int rounds = argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0;
	const char *words[] = {argc == 4 ? argv[3] : "", NULL};
	struct ccbox_command command = {.size = sizeof(command), .argv = words};
	struct ccbox_error error;
	struct ccbox *box;
	double *a, *b;

	if (rounds < 1 || ccbox_open(NULL, &box, &error) != 0)
		return 2;
	a = calloc((size_t)rounds, sizeof(*a));
	b = calloc((size_t)rounds, sizeof(*b));
	for (int i = 0; i < rounds; i++) {
		a[i] = plain((char *const *)(size_t)words);
		b[i] = warm(box, argv[1], &command);
	}
	qsort(a, (size_t)rounds, sizeof(*a), by_value);
	qsort(b, (size_t)rounds, sizeof(*b), by_value);
	printf("%.0f %.0f %.0f %.0f\n", a[rounds / 2], b[rounds / 2], a[rounds * 99 / 100], b[rounds * 99 / 100]);
	ccbox_close(box);
	return 0;
}
