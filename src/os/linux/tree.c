/* A process may fork while it is looked for, so everything found is stopped first, again and again until nothing new
 * turns up; what is stopped cannot fork. Then all of it is killed. */
#define _GNU_SOURCE
#include "os/tree.h"

#include "os/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TREE_MAX = 32768, STOP_ROUNDS = 64, KILL_ROUNDS = 400 };

struct links {
	struct {
		pid_t pid, parent, session;
		bool zombie;
	} item[TREE_MAX];
	size_t count;
};

/* "PID (NAME) STATE PARENT GROUP SESSION ...": NAME may hold anything, so the last bracket counts. */
static bool read_stat(const char *name, struct links *links)
{
	char path[64], text[512], *at;
	char state = 0;
	int parent = 0, group = 0, session = 0;
	CC_AUTO_FD fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (got <= 0)
		return false;
	text[got] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %c %d %d %d", &state, &parent, &group, &session) != 4)
		return false;
	links->item[links->count].pid = (pid_t)strtol(name, NULL, 10);
	links->item[links->count].parent = parent;
	links->item[links->count].session = session;
	links->item[links->count].zombie = state == 'Z' || state == 'X';
	links->count++;
	return true;
}

static bool read_all(struct links *links)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	links->count = 0;
	while (dir && links->count < TREE_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			(void)read_stat(entry->d_name, links);
	if (dir)
		closedir(dir);
	return dir != NULL;
}

static int by_pid(const void *left, const void *right)
{
	pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

	return a < b ? -1 : a > b;
}

/* The living descendants of root, as a sorted list: passes over the table until one adds nobody. */
static size_t find(const struct links *links, pid_t root, pid_t *out)
{
	static bool in[TREE_MAX];
	size_t count = 0, before;

	memset(in, 0, sizeof(in));
	do {
		before = count;
		for (size_t i = 0; i < links->count; i++) {
			pid_t parent = links->item[i].parent;

			if (in[i] || links->item[i].pid == root ||
			    (parent != root && !(count && bsearch(&parent, out, before, sizeof(*out), by_pid))))
				continue;
			in[i] = true;
			out[count++] = links->item[i].pid;
		}
		qsort(out, count, sizeof(*out), by_pid);
	} while (count != before);
	return count;
}

static size_t look(pid_t *out)
{
	static struct links links;

	return read_all(&links) ? find(&links, getpid(), out) : 0;
}

size_t cc_tree_signal(int signal)
{
	static pid_t found[TREE_MAX];
	size_t count = look(found);

	for (size_t i = 0; i < count; i++)
		kill(found[i], signal);
	return count;
}

static void stop_all(void)
{
	static pid_t last[TREE_MAX], now[TREE_MAX];
	size_t last_count = 0;

	for (int round = 0; round < STOP_ROUNDS; round++) {
		size_t count = look(now);

		if (count == last_count && memcmp(now, last, count * sizeof(*now)) == 0)
			return;
		for (size_t i = 0; i < count; i++)
			kill(now[i], SIGSTOP);
		memcpy(last, now, count * sizeof(*now));
		last_count = count;
	}
}

bool cc_tree_end(void)
{
	const struct timespec pause = {0, 5000000};

	for (int round = 0; round < KILL_ROUNDS; round++) {
		stop_all();
		if (cc_tree_signal(SIGKILL) == 0)
			return true;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (round > 1)
			nanosleep(&pause, NULL);
	}
	return false;
}

void cc_tree_end_session(pid_t leader)
{
	static struct links links;

	if (leader <= 1 || !read_all(&links))
		return;
	for (size_t i = 0; i < links.count; i++)
		if (links.item[i].session == leader && !links.item[i].zombie)
			kill(links.item[i].pid, SIGKILL);
}
