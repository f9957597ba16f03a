/* links.c - cases 14-16, 24, 25, 27-36, 42-51, 78, 81, 90-92: aliases by links, descriptors and procfs; attacks 1, 2.
 */
#define _GNU_SOURCE
#include "a.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static const char *proc_fd(int fd)
{
	static char path[4][64];
	static unsigned at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[at]), "/proc/self/fd/%d", fd);
	return path[at];
}

static void tmpfile_links(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);

	denied("14", "O_TMPFILE linked to a denied name",
	       linkat(AT_FDCWD, proc_fd(fd), AT_FDCWD, "t.pem", AT_SYMLINK_FOLLOW));
	denied("15", "by AT_EMPTY_PATH", linkat(fd, "", AT_FDCWD, "t.pem", AT_EMPTY_PATH));
	works("16", "to a good name", linkat(AT_FDCWD, proc_fd(fd), AT_FDCWD, "t.txt", AT_SYMLINK_FOLLOW));
}

static void aliases(void)
{
	int fd = open(".env", O_RDONLY), path_fd = open(".env", O_PATH);

	denied("24", "alias by a descriptor", linkat(AT_FDCWD, proc_fd(fd), AT_FDCWD, "alias", AT_SYMLINK_FOLLOW));
	denied("24", "alias by AT_EMPTY_PATH", linkat(fd, "", AT_FDCWD, "alias", AT_EMPTY_PATH));
	works("25", "symlink to it", symlink(".env", "to-env"));
	denied("25", "link through it", linkat(AT_FDCWD, "to-env", AT_FDCWD, "alias", AT_SYMLINK_FOLLOW));
	denied("27", "write through it", open("to-env", O_WRONLY));
	works("28", "dangling symlink", symlink("new.pem", "dangling"));
	denied("28", "create through it", open("dangling", O_WRONLY | O_CREAT, 0644));
	symlink("dangling", "chain");
	denied("29", "a chain of two", open("chain", O_WRONLY | O_CREAT, 0644));
	symlink(in_tree("abs.pem"), "dangling-abs");
	denied("30", "absolute dangling target", open("dangling-abs", O_WRONLY | O_CREAT, 0644));
	symlink(".git/hooks", "to-hooks");
	denied("31", "through a linked directory", open("to-hooks/post-merge", O_WRONLY | O_CREAT, 0755));
	denied("32", "and ..", open("to-hooks/../hooks/x", O_WRONLY | O_CREAT, 0755));
	denied("33", "truncate through it", truncate("to-env", 0));
	fails("34", "dangling and O_EXCL", open("dangling", O_WRONLY | O_CREAT | O_EXCL, 0644), EEXIST);
	fails("35", "O_NOFOLLOW", open("to-env", O_WRONLY | O_NOFOLLOW), ELOOP);
	symlink("loop-b", "loop-a");
	symlink("loop-a", "loop-b");
	fails("36", "a loop", open("loop-a", O_WRONLY | O_CREAT, 0644), ELOOP);
	denied("42", "an O_PATH descriptor opened again", open(proc_fd(path_fd), O_WRONLY));
	denied("43", "a read descriptor opened again", open(proc_fd(fd), O_RDWR));
}

static void by_procfs(void)
{
	char path[PATH_MAX];
	int fd = open(".env", O_RDONLY), good = open("plain.txt", O_RDONLY), dir = open(".", O_RDONLY | O_DIRECTORY);

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	denied("44", "/dev/fd", open(path, O_WRONLY));
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	denied("45", "/proc/thread-self/fd", open(path, O_WRONLY));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	denied("46", "/proc/PID/fd", open(path, O_WRONLY));
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", getpid(), getpid(), fd);
	denied("47", "/proc/PID/task/TID/fd", open(path, O_WRONLY));
	works("48", "an ordinary file that way", open(proc_fd(good), O_WRONLY));
	denied("49", "/proc/self/cwd", open("/proc/self/cwd/x.key", O_WRONLY | O_CREAT, 0644));
	snprintf(path, sizeof(path), "/proc/self/root%s", in_tree("x.key"));
	denied("49", "/proc/self/root", open(path, O_WRONLY | O_CREAT, 0644));
	works("49", "a good name that way", open("/proc/self/cwd/good-cwd", O_WRONLY | O_CREAT, 0644));
	snprintf(path, sizeof(path), "%s/x.key", proc_fd(dir));
	denied("50", "a directory descriptor by procfs", open(path, O_WRONLY | O_CREAT, 0644));
	snprintf(path, sizeof(path), "/proc/1/root%s", in_tree("good-root"));
	denied("51", "/proc/1/root", open(path, O_WRONLY | O_CREAT, 0644));
	denied("51", "/proc/1/cwd", open("/proc/1/cwd/tmp/good", O_WRONLY | O_CREAT, 0644));
	denied("78", "/proc/1/mem", open("/proc/1/mem", O_RDWR));
	denied("78", "ptrace of PID 1", ptrace(PTRACE_SEIZE, 1, 0, 0));
	denied("78", "/proc/1/environ", open("/proc/1/environ", O_RDONLY));
	works("92", "/dev/null", open("/dev/null", O_WRONLY));
	works("92", "/dev/stdout", open("/dev/stdout", O_WRONLY));
	works("FS-43", "/proc/self/maps", open("/proc/self/maps", O_RDONLY));
	denied("1-attacks", "a sysctl", open("/proc/sys/kernel/core_pattern", O_WRONLY));
	denied("1-attacks", "oom_score_adj", open("/proc/self/oom_score_adj", O_WRONLY));
	fd = memfd_create("m", 0);
	works("81", "a memory file opened again", open(proc_fd(fd), O_RDWR));
}

/* Descriptor 0 is a directory of the host outside every bind. */
static void deputy(void)
{
	int victim = openat(0, "victim", O_RDONLY);
	struct stat st;

	if (fstat(0, &st) < 0 || !S_ISDIR(st.st_mode)) {
		skip("2-attacks", "descriptor 0 is no directory of the host");
		return;
	}
	denied("2-attacks", "create in a host directory", openat(0, "made", O_WRONLY | O_CREAT, 0644));
	denied("2-attacks", "mkdir in it", mkdirat(0, "made", 0755));
	denied("2-attacks", "unlink in it", unlinkat(0, "victim", 0));
	denied("2-attacks", "append to its file", openat(0, "victim", O_WRONLY | O_APPEND));
	denied("2-attacks", "open its file again for writing", open(proc_fd(victim), O_WRONLY | O_TRUNC));
	denied("2-attacks", "chmod of its file", fchmodat(0, "victim", 0666, 0));
	denied("2-attacks", "fchmod of its file", fchmod(victim, 0666));
	denied("2-attacks", "its times", futimens(victim, NULL));
	denied("2-attacks", "rename in it", renameat(0, "victim", 0, "made"));
	fails("2-attacks", "rename out of it: another mount", renameat(0, "victim", AT_FDCWD, "made"), EXDEV);
	denied("2-attacks", "symlink in it", symlinkat("x", 0, "made"));
	denied("2-attacks", "O_TMPFILE in it", openat(0, ".", O_TMPFILE | O_RDWR, 0600));
	denied("2-attacks", "openat2 in it", openat2_(0, "made", O_WRONLY | O_CREAT, 0644, 8));
	say(linkat(0, "victim", AT_FDCWD, "made", 0) < 0, "2-attacks", "link out of it", errno);
}

static int pipe_ready[2];

static void *other_cwd(void *context)
{
	char byte;

	(void)context;
	if (unshare(CLONE_FS) == 0 && chdir("sub") == 0)
		make("by-thread");
	byte = access(in_tree("sub/by-thread"), F_OK) == 0;
	return (void *)(size_t)byte;
}

static void fifo(void)
{
	pid_t pid;
	char byte = 0;
	int fd, status;

	if (mkfifo("/tmp/fifo", 0600)) {
		works("90", "a FIFO in /tmp", -1);
		return;
	}
	fails("90", "a writer without a reader, not blocking", open("/tmp/fifo", O_WRONLY | O_NONBLOCK), ENXIO);
	if (pipe(pipe_ready))
		return;
	pid = fork();
	if (pid == 0) {
		fd = open("/tmp/fifo", O_WRONLY);
		_exit(fd >= 0 && write(fd, "f", 1) == 1 ? 0 : 1);
	}
	usleep(50000);
	works("90", "the gate goes on while a writer waits", open("meanwhile", O_WRONLY | O_CREAT, 0644));
	fd = open("/tmp/fifo", O_RDONLY);
	say(read(fd, &byte, 1) == 1 && byte == 'f' && waitpid(pid, &status, 0) == pid && status == 0, "90",
	    "the writer gets its reader", errno);
	close(fd);
	pid = fork();
	if (pid == 0)
		_exit(open("/tmp/fifo", O_WRONLY) >= 0);
	usleep(50000);
	kill(pid, SIGTERM);
	say(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "90", "a waiting writer can be ended", errno);
}

int main(void)
{
	pthread_t thread;
	void *good = NULL;

	printf("expect \"rule\":\"mount:outside\"\n");
	tmpfile_links();
	aliases();
	by_procfs();
	deputy();
	fifo();
	pthread_create(&thread, NULL, other_cwd, NULL);
	pthread_join(thread, &good);
	say(good != NULL, "91", "a thread with a working directory of its own", 0);
	return 0;
}
