/* masks.c - the umask is the caller's at the moment of its call, however many threads and processes change theirs, and
 * whether they share it or not (spec/names case 88 and issue 3.2). */
#define _GNU_SOURCE
#include "a.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

enum { ROUNDS = 1500 };

static const mode_t masks[] = {0, 022, 077, 027, 0777, 0133};

struct worker {
	const char *name;
	unsigned first;
	bool own;
	unsigned wrong;
};

static bool made_with(const char *name, mode_t mask, int kind)
{
	struct stat st;
	bool good;
	int fd = -1;

	if (kind == 0)
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	else if (kind == 1)
		mkdir(name, 0777);
	else
		mknod(name, S_IFREG | 0666, 0);
	good = stat(name, &st) == 0 && (st.st_mode & 0777) == ((kind == 1 ? 0777u : 0666u) & ~mask);
	close(fd);
	if (kind == 1)
		rmdir(name);
	else
		unlink(name);
	return good;
}

static void *own_mask(void *context)
{
	struct worker *worker = context;

	if (worker->own && unshare(CLONE_FS) < 0)
		worker->wrong++;
	for (unsigned i = 0; i < ROUNDS; i++) {
		mode_t mask = masks[(i + worker->first) % 6];

		umask(mask);
		worker->wrong += !made_with(worker->name, mask, (int)(i % 3));
	}
	return NULL;
}

/* One sets what both share, the other makes the file. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	unsigned set, used;
	unsigned wrong;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};

static void *makes(void *context)
{
	(void)context;
	pthread_mutex_lock(&shared.lock);
	while (shared.used < ROUNDS) {
		while (shared.set == shared.used)
			pthread_cond_wait(&shared.turn, &shared.lock);
		shared.wrong += !made_with("shared", masks[shared.set % 6], (int)(shared.set % 3));
		shared.used = shared.set;
		pthread_cond_signal(&shared.turn);
	}
	pthread_mutex_unlock(&shared.lock);
	return NULL;
}

static void take_turns(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, makes, NULL);
	pthread_mutex_lock(&shared.lock);
	while (shared.set < ROUNDS) {
		umask(masks[++shared.set % 6]);
		pthread_cond_signal(&shared.turn);
		while (shared.used != shared.set)
			pthread_cond_wait(&shared.turn, &shared.lock);
	}
	pthread_mutex_unlock(&shared.lock);
	pthread_join(thread, NULL);
	say(shared.wrong == 0, "88", "one thread sets the umask, another makes the file", 0);
}

int main(void)
{
	struct worker alone[2] = {{"m1", 0, true, 0}, {"m2", 3, true, 0}}, child = {"m3", 2, false, 0};
	pthread_t threads[2];
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		own_mask(&child);
		_exit(child.wrong != 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, own_mask, &alone[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	waitpid(pid, &status, 0);
	say(alone[0].wrong + alone[1].wrong == 0, "88", "two threads with umasks of their own", 0);
	say(status == 0, "88", "a process beside them", 0);
	take_turns();
	return 0;
}
