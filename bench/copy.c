/* copy.c - makes a copy of a checkout by the room of worktrees, settles and removes it: one line of milliseconds for each.
 * usage: bench-copy ORIGIN DIR; the run's work is the command in CCBOX_BENCH_WORK, if there is one. */
#define _GNU_SOURCE
#include "work/worktree.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void must(enum cc_code code, const struct cc_err *err)
{
	if (code == CC_OK)
		return;
	fprintf(stderr, "bench-copy: %s\n", err->what);
	exit(1);
}

int main(int argc, char **argv)
{
	struct cc_worktree tree;
	struct cc_worktree_outcome outcome;
	struct cc_err err = {0};
	struct cc_worktree_ask ask = {.run = "bench", .env = environ};
	const char *work = getenv("CCBOX_BENCH_WORK");
	char line[8192];
	double at[4];

	if (argc != 3)
		return 2;
	ask.origin = argv[1];
	ask.dir = argv[2];
	at[0] = now();
	must(cc_worktree_make(&ask, &tree, &err), &err);
	at[1] = now();
	snprintf(line, sizeof(line), "cd '%s' && { %s; }", tree.path, work ? work : ":");
	if (system(line) != 0)
		return 1;
	at[2] = now();
	must(cc_worktree_settle(&tree, NULL, NULL, &outcome, &err), &err);
	at[3] = now();
	printf("%s make %.2f settle %.2f", cc_worktree_kind_name(tree.kind), at[1] - at[0], at[3] - at[2]);
	cc_worktree_outcome_done(&outcome);
	at[0] = now();
	must(cc_worktree_remove(&tree, &err), &err);
	printf(" remove %.2f\n", now() - at[0]);
	return 0;
}
