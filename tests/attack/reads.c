/* reads.c - a deny-read inside a writable bind (attacks 6): kept.txt may not be read by any spelling, and everything
 * else goes on as before although every open now passes the gate. */
#define _GNU_SOURCE
#include "a.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

static char path[64] __attribute__((aligned(8))) = "plan.txt";
static volatile bool stop;

static void *flip(void *context)
{
	(void)context;
	for (unsigned turn = 0; !stop; turn++) {
		put4(path, turn % 2 ? "plan" : "kept");
		for (volatile int wait = 0; wait < 500; wait++)
			;
	}
	return NULL;
}

/* The path's and the flags' bytes change under openat2. */
static struct a_how how = {O_WRONLY, 0, 0};
static char device[16] __attribute__((aligned(8))) = "/dev/nul";

static void *flip_how(void *context)
{
	(void)context;
	for (unsigned turn = 0; !stop; turn++) {
		__atomic_store_n(&how.flags, turn % 2 ? O_WRONLY : O_RDONLY, __ATOMIC_SEQ_CST);
		put4(device + 4, turn % 2 ? "/nul" : ".txt");
		put4(device, turn % 2 ? "/dev" : "kept");
		for (volatile int wait = 0; wait < 500; wait++)
			;
	}
	return NULL;
}

static bool has_secret(int fd)
{
	char text[8] = "";
	bool found = fd >= 0 && read(fd, text, 5) == 5 && memcmp(text, "kept\n", 5) == 0;

	if (fd >= 0)
		close(fd);
	return found;
}

static void races(void)
{
	pthread_t thread;
	unsigned leaked = 0, opened = 0;

	make("plan.txt");
	pthread_create(&thread, NULL, flip, NULL);
	for (int i = 0; i < 8000; i++) {
		int fd = open(path, O_RDONLY);

		opened += fd >= 0;
		leaked += has_secret(fd);
	}
	stop = true;
	pthread_join(thread, NULL);
	printf("# %u of 8000 opened\n", opened);
	say(leaked == 0, "6-attacks", "the path's bytes change", 0);
	stop = false;
	device[8] = '\0';
	pthread_create(&thread, NULL, flip_how, NULL);
	for (int i = 0; i < 4000; i++)
		leaked += has_secret((int)syscall(437, AT_FDCWD, device, &how, sizeof(how)));
	stop = true;
	pthread_join(thread, NULL);
	say(leaked == 0, "6-attacks", "so do the flags of openat2", 0);
}

static int run(const char *script)
{
	int status = system(script);

	errno = EPERM;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static void still_works(void)
{
	works("reads", "an ordinary file", open("plain.txt", O_RDONLY));
	works("reads", "a directory", open(".", O_RDONLY | O_DIRECTORY));
	works("reads", "/usr", open("/usr/bin/env", O_RDONLY));
	works("reads", "openat2", (int)openat2_(AT_FDCWD, "plain.txt", O_RDONLY, 0, 0));
	works("reads", "/proc/self/maps", open("/proc/self/maps", O_RDONLY));
	works("reads", "/proc/self/fd", open("/proc/self/fd", O_RDONLY | O_DIRECTORY));
	works("reads", "/proc/cpuinfo", open("/proc/cpuinfo", O_RDONLY));
	works("reads", "/proc/1/stat", open("/proc/1/stat", O_RDONLY));
	works("reads", "/dev/null", open("/dev/null", O_RDONLY));
	works("reads", "/dev/null for writing", open("/dev/null", O_WRONLY));
	works("reads", "/dev/urandom", open("/dev/urandom", O_RDONLY));
	works("reads", "a new file", open("new.txt", O_RDWR | O_CREAT, 0644));
	fails("reads", "/dev/tty without a terminal", open("/dev/tty", O_RDWR), ENXIO);
	fails("reads", "a missing file", open("none", O_RDONLY), ENOENT);
	fails("reads", "O_NOFOLLOW", (symlink("plain.txt", "l"), open("l", O_RDONLY | O_NOFOLLOW)), ELOOP);
	fails("reads", "not a directory", open("plain.txt", O_RDONLY | O_DIRECTORY), ENOTDIR);
	works("reads", "a shell, pipes and programs",
	      run("cat plain.txt /proc/self/status | grep -q Name && ls / >/dev/null && cp plain.txt p2 && (echo x | cat /dev/stdin) >/dev/null"));
	works("reads", "a FIFO",
	      run("mkfifo /tmp/f; (sleep 0.1; echo hello > /tmp/f) & test \"$(cat /tmp/f)\" = hello"));
}

int main(void)
{
	char name[64];
	int path_fd = open("kept.txt", O_PATH);

	printf("expect \"action\":\"file-read*\"\n");
	denied("6-attacks", "open", open("kept.txt", O_RDONLY));
	denied("6-attacks", "open for both", open("kept.txt", O_RDWR));
	denied("6-attacks", "openat2", openat2_(AT_FDCWD, "kept.txt", O_RDONLY, 0, 0));
	denied("6-attacks", "openat2 BENEATH", openat2_(AT_FDCWD, "kept.txt", O_RDONLY, 0, 8));
	symlink("kept.txt", "link");
	denied("6-attacks", "through a symlink", open("link", O_RDONLY));
	denied("6-attacks", "/proc/self/cwd", open("/proc/self/cwd/kept.txt", O_RDONLY));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	denied("6-attacks", "a path descriptor opened again", open(name, O_RDONLY));
	denied("FS-06", "a second name", link("kept.txt", "second"));
	denied("FS-06", "another name", rename("kept.txt", "other"));
	denied("78", "PID 1's environment", open("/proc/1/environ", O_RDONLY));
	denied("78", "PID 1's memory", open("/proc/1/mem", O_RDONLY));
	denied("78", "PID 1's maps", open("/proc/1/maps", O_RDONLY));
	denied("78", "PID 1's descriptors", open("/proc/1/fd", O_RDONLY | O_DIRECTORY));
	denied("78", "a thread of PID 1", open("/proc/1/task/2/environ", O_RDONLY));
	denied("78", "a gate thread", open("/proc/2/environ", O_RDONLY));
	still_works();
	races();
	return 0;
}
