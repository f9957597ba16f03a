/* soak - one owner that starts and ends many sessions; each tries a file, a forbidden name and a forbidden host (the
 * proof that `ccbox doctor` runs). Its descriptors, children and mappings are where they were. Speaks TAP.
 * usage: soak ROUNDS */
#define _GNU_SOURCE
#include "session/proof.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static long resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size = 0, pages = 0;

	if (file) {
		if (fscanf(file, "%ld %ld", &size, &pages) != 2)
			pages = 0;
		fclose(file);
	}
	return pages;
}

static unsigned number;

static void say(int good, const char *label)
{
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++number, label);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0, pages = 0;
	int held = 0, fds = 0, tasks = 0;

	for (long i = 0; i < rounds; i++) {
		struct cc_err err = {0};
		struct cc_proof proof;

		if (cc_proof_run(environ, &proof, &err) == CC_OK && proof.started && proof.names_held &&
		    proof.hosts_held)
			held++;
		else
			printf("# round %ld: %s\n", i, err.what);
		if (i == rounds / 10) { /* warm: what is kept for good is there */
			fds = entries("/proc/self/fd");
			tasks = entries("/proc/self/task");
			pages = resident();
		}
	}
	printf("# descriptors %d, %d; threads %d, %d; pages %ld, %ld\n", fds, entries("/proc/self/fd"), tasks,
	       entries("/proc/self/task"), pages, resident());
	say(held == rounds, "every session started and held its rules");
	say(entries("/proc/self/fd") == fds, "one owner: as many descriptors as before");
	say(entries("/proc/self/task") == tasks, "one owner: as many threads as before");
	say(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "one owner: no child is left");
	say(resident() < pages + 256, "one owner: less than 1 MiB more memory");
	printf("1..%u\n", number);
	return 0;
}
