/* race.c - cases 84-86, 95, 96, FS-26, FS-27: memory, links and directories changed while the gate decides. The host
 * looks for what came into being; here only that work goes on. */
#define _GNU_SOURCE
#include "a.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { OPENS = 8000, SWAPS = 3000, PAIRS = 2000, FORKS = 200, MOST = 10000000 };

static char path[64] __attribute__((aligned(8))) = "race.txt";
static volatile bool stop;

/* One store changes the suffix: "race.txt" and "race.pem". */
static void *flip_memory(void *context)
{
	(void)context;
	for (unsigned turn = 0; !stop; turn++) {
		put4(path + 4, turn % 2 ? ".txt" : ".pem");
		for (volatile int wait = 0; wait < 500; wait++)
			;
	}
	return NULL;
}

static void *swap_link(void *context)
{
	(void)context;
	symlink("good-a", "l1");
	symlink("evil.pem", "l2");
	while (!stop)
		syscall(SYS_renameat2, AT_FDCWD, "l1", AT_FDCWD, "l2", 2);
	return NULL;
}

static void *swap_dir(void *context)
{
	(void)context;
	mkdir("d1", 0755);
	symlink(".git/hooks", "d2");
	while (!stop)
		syscall(SYS_renameat2, AT_FDCWD, "d1", AT_FDCWD, "d2", 2);
	return NULL;
}

static void *swap_outside(void *context)
{
	(void)context;
	mkdir("e1", 0755);
	symlink("/proc/self/fd/0", "e2");
	while (!stop)
		syscall(SYS_renameat2, AT_FDCWD, "e1", AT_FDCWD, "e2", 2);
	return NULL;
}

static void against(const char *number, const char *label, void *(*other)(void *), const char *name, int tries,
		    int flags)
{
	pthread_t thread;
	unsigned opened = 0;

	stop = false;
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < tries; i++) {
		int fd = open(name, flags, 0644);

		if (fd >= 0) {
			opened++;
			close(fd);
		}
	}
	stop = true;
	pthread_join(thread, NULL);
	printf("# %s: %u of %d opened\n", label, opened, tries);
	say(true, number, label, 0);
}

static void on_alarm(int number)
{
	(void)number;
}

/* No operation may be done twice: an EEXIST or ENOENT here was a reply that got lost. */
static void interrupted(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
	unsigned wrong = 0, again = 0;

	sigaction(SIGALRM, &action, NULL); /* without SA_RESTART */
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < PAIRS; i++) {
		while (mkdir("pair", 0755) < 0) {
			again += errno == EINTR;
			if (errno != EINTR) {
				wrong++;
				break;
			}
		}
		while (rmdir("pair") < 0) {
			again += errno == EINTR;
			if (errno != EINTR) {
				wrong++;
				break;
			}
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("# EINTR %u times before the gate had the call\n", again);
	say(wrong == 0, "95", "no operation was done twice", 0);
}

static void storm(void)
{
	bool good = true;

	for (int i = 0; i < FORKS; i++) {
		if (fork() == 0) {
			char name[64];
			int bad = 0;

			for (int k = 0; k < 10; k++) {
				int fd;

				snprintf(name, sizeof(name), "sub/s-%d-%d", i, k);
				fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
				bad += fd < 0 || write(fd, "x", 1) != 1;
				close(fd);
			}
			snprintf(name, sizeof(name), "sub/s-%d.pem", i);
			bad += open(name, O_WRONLY | O_CREAT, 0644) >= 0;
			_exit(bad != 0);
		}
	}
	for (int i = 0, status; i < FORKS; i++)
		good = wait(&status) > 0 && status == 0 && good;
	say(good, "96", "a fork storm", 0);
}

/* An argument is the number of tries for each race, for the long run. */
int main(int argc, char **argv)
{
	long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	int opens = asked > 0 && asked <= MOST ? (int)asked : OPENS, swaps = opens == OPENS ? SWAPS : opens;

	against("84", "the path's bytes change", flip_memory, path, opens, O_WRONLY | O_CREAT);
	against("85", "a link changes its target", swap_link, "l1", swaps, O_WRONLY | O_CREAT);
	against("86", "a directory becomes a link to hooks", swap_dir, "d1/pre-push", swaps, O_WRONLY | O_CREAT);
	say(access(".git/hooks/pre-push", F_OK) < 0, "86", "no hook came into being", 0);
	against("FS-27", "a directory becomes a link to a host directory", swap_outside, "e1/made", swaps,
		O_WRONLY | O_CREAT);
	interrupted();
	storm();
	return 0;
}
