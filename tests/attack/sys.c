/* sys.c - cases 70-83, 97, attacks 7, 12, 13, 17-19 and E, SYS-*: calls that must not be there, and PID 1. */
#define _GNU_SOURCE
#include "a.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

static const struct {
	const char *number, *label;
	long nr;
	long arg[4];
	int want;
} calls[] = {
	{"70", "io_uring_setup", 425, {1, 0}, ENOSYS},
	{"72", "clone3", 435, {0, 0}, ENOSYS},
	{"71", "unshare NEWUSER", SYS_unshare, {CLONE_NEWUSER}, EPERM},
	{"71", "unshare NEWNS", SYS_unshare, {CLONE_NEWNS}, EPERM},
	{"71", "unshare NEWNET", SYS_unshare, {CLONE_NEWNET}, EPERM},
	{"71", "clone NEWUSER", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
	{"71", "clone NEWNS", SYS_clone, {CLONE_NEWNS | SIGCHLD}, EPERM},
	{"73", "mount", SYS_mount, {0}, EPERM},
	{"73", "umount2", SYS_umount2, {0}, EPERM},
	{"73", "chroot", SYS_chroot, {0}, EPERM},
	{"73", "pivot_root", SYS_pivot_root, {0}, EPERM},
	{"73", "setns", SYS_setns, {0}, EPERM},
	{"73", "open_tree", 428, {0}, EPERM},
	{"73", "move_mount", 429, {0}, EPERM},
	{"73", "fsopen", 430, {0}, EPERM},
	{"73", "mount_setattr", 442, {0}, EPERM},
	{"73", "open_tree_attr", 467, {0}, EPERM},
	{"74", "open_by_handle_at", SYS_open_by_handle_at, {0}, EPERM},
	{"FS-28", "name_to_handle_at", SYS_name_to_handle_at, {0}, EPERM},
	{"E", "userfaultfd", SYS_userfaultfd, {0}, EPERM},
	{"E", "perf_event_open", SYS_perf_event_open, {0}, EPERM},
	{"E", "bpf", SYS_bpf, {0}, EPERM},
	{"E", "keyctl", SYS_keyctl, {0}, EPERM},
	{"E", "add_key", SYS_add_key, {0}, EPERM},
	{"E", "fanotify_init", SYS_fanotify_init, {0}, EPERM},
	{"E", "kcmp", SYS_kcmp, {0}, EPERM},
	{"E", "syslog", SYS_syslog, {3, 0, 0}, EPERM},
	{"E", "quotactl", SYS_quotactl, {0}, EPERM},
	{"E", "sethostname", SYS_sethostname, {0}, EPERM},
	{"E", "clock_settime", SYS_clock_settime, {0}, EPERM},
	{"E", "init_module", SYS_init_module, {0}, EPERM},
	{"E", "process_madvise", 440, {0}, EPERM},
	{"E", "listmount", 458, {0}, EPERM},
	{"E", "personality READ_IMPLIES_EXEC", SYS_personality, {0x400000}, EPERM},
	{"E", "a call nobody has classified", 470, {0}, ENOSYS},
	{"E", "and a number far away", 5000, {0}, ENOSYS},
	{"80", "prlimit of PID 1", SYS_prlimit64, {1, RLIMIT_NOFILE, 0x1000, 0}, EPERM},
	{"13-attacks", "prlimit of a gate thread", SYS_prlimit64, {2, RLIMIT_CPU, 0x1000, 0}, EPERM},
	{"13-attacks", "sched_setaffinity of a gate thread", SYS_sched_setaffinity, {3, 8, 0}, EPERM},
	{"13-attacks", "setpriority of the user", SYS_setpriority, {PRIO_USER, 0, 19}, EPERM},
	{"13-attacks", "setpriority of PID 1", SYS_setpriority, {PRIO_PROCESS, 1, 19}, EPERM},
	{"79", "kill PID 1", SYS_kill, {1, SIGKILL}, EPERM},
	{"79", "kill a gate thread", SYS_tkill, {2, SIGKILL}, EPERM},
	{"79", "tgkill one", SYS_tgkill, {1, 2, SIGKILL}, EPERM},
	{"12-attacks", "kill everything", SYS_kill, {-1, SIGTERM}, EPERM},
	{"79", "pidfd_open of PID 1", 434, {1, 0}, EPERM},
};

static void table(void)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		fails(calls[i].number, calls[i].label,
		      syscall(calls[i].nr, calls[i].arg[0], calls[i].arg[1], calls[i].arg[2], calls[i].arg[3]),
		      calls[i].want);
#ifdef __x86_64__
	fails("77", "x32", syscall(0x40000000 + 39), ENOSYS);
#endif
}

static void requests(void)
{
	int fd = open("plain.txt", O_RDONLY), tty = open("/dev/ptmx", O_RDWR | O_NOCTTY), number = 0;
	char byte = 'x';

	fails("75", "btrfs subvolume", ioctl(fd, 0x5000940e, &number), EPERM);
	fails("7-attacks", "TIOCSTI", ioctl(tty, TIOCSTI, &byte), EPERM);
	fails("7-attacks", "TIOCSTI with high bits", syscall(SYS_ioctl, tty, 0x100005412, &byte), EPERM);
	fails("7-attacks", "TIOCSETD", ioctl(tty, TIOCSETD, &number), EPERM);
	works("7-attacks", "a terminal of one's own", ioctl(tty, TIOCGPTN, &number));
	fails("17-attacks", "a lease", fcntl(fd, F_SETLEASE, F_RDLCK), EPERM);
	fails("17-attacks", "directory notification", fcntl(fd, F_NOTIFY, 1), EPERM);
}

/* Who owns a descriptor gets its signal, and that may be SIGKILL (attacks 13). */
static void owners(void)
{
	for (int pid = 1; pid <= 5; pid++) {
		struct f_owner_ex owner = {F_OWNER_PID, pid};
		int ends[2], number = pid;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
			continue;
		fails("13-attacks", "F_SETOWN to PID 1, its threads, the zygote", fcntl(ends[0], F_SETOWN, pid), EPERM);
		fails("13-attacks", "F_SETOWN to its group", fcntl(ends[0], F_SETOWN, -pid), EPERM);
		fails("13-attacks", "F_SETOWN_EX", fcntl(ends[0], F_SETOWN_EX, &owner), EPERM);
		fails("13-attacks", "FIOSETOWN", ioctl(ends[0], FIOSETOWN, &number), EPERM);
		fails("13-attacks", "SIOCSPGRP", ioctl(ends[0], SIOCSPGRP, &number), EPERM);
		fcntl(ends[0], F_SETSIG, SIGKILL);
		fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
		write(ends[1], "x", 1);
		close(ends[0]);
		close(ends[1]);
	}
}

static int child_status(void (*what)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		what();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void crash(void)
{
	raise(SIGSEGV);
}

static void by_int80(void)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
	_exit(result > 0 ? 1 : 0);
#endif
}

/* Cannot be read by anybody without CAP_SYS_PTRACE, which PID 1 keeps for this. */
static void not_dumpable(void)
{
	int fd;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	fd = open("made-by-agent", O_WRONLY | O_CREAT, 0600);
	_exit(fd < 0 || open("agent.key", O_WRONLY | O_CREAT, 0600) >= 0);
}

static void processes(void)
{
	int status = child_status(crash), zygote = 0, dir;
	struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY};
	char path[64], byte;
	DIR *here;
	struct iovec local = {&byte, 1}, remote = {&byte, 1};

	say(WIFSIGNALED(status) && access("core", F_OK) < 0, "97", "a crash leaves no core", errno);
	works("18-attacks", "RLIMIT_CORE may be asked for", setrlimit(RLIMIT_CORE, &core));
	getrlimit(RLIMIT_CORE, &core);
	say(core.rlim_max == 1, "18-attacks", "and stays", 0);
	status = child_status(by_int80);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		say(true, "76", "int 0x80 is killed by the filter", 0);
	else if (WIFSIGNALED(status))
		skip("76", "this kernel has no i386 entry");
	else
		say(status == 0, "76", "int 0x80", 0);
	say(child_status(not_dumpable) == 0, "2-names", "a process that is not dumpable is served and judged", 0);
	/* The zygote is the last of ours: the parent of nobody here, but the process before the first exec. */
	for (zygote = 2; zygote < 64; zygote++) {
		snprintf(path, sizeof(path), "/proc/%d", zygote);
		if (access(path, F_OK) == 0 && kill(zygote, 0) < 0 && errno == EPERM)
			break;
	}
	dir = open(path, O_RDONLY | O_DIRECTORY);
	fails("12-attacks", "pidfd_send_signal by a directory of /proc", syscall(424, dir, SIGKILL, NULL, 0), EPERM);
	dir = open("/proc/1", O_RDONLY | O_DIRECTORY);
	fails("79", "the same for PID 1", syscall(424, dir, SIGKILL, NULL, 0), EPERM);
	dir = open("/proc/self", O_RDONLY | O_DIRECTORY);
	works("79", "and for oneself", syscall(424, dir, 0, NULL, 0));
	fails("12-attacks", "ptrace of the zygote", ptrace(PTRACE_SEIZE, zygote, 0, 0), EPERM);
	say(process_vm_readv(zygote, &local, 1, &remote, 1, 0) < 0, "12-attacks", "its memory", errno);
	snprintf(path, sizeof(path), "/proc/%d/fd", zygote);
	here = opendir(path);
	say(here == NULL || readlink(strcat(path, "/3"), path, 1) < 0, "SYS-09", "its descriptors", errno);
	say(access("/proc/1/fd/3", F_OK) < 0, "19-attacks", "PID 1's descriptors", errno);
	fails("SYS-08", "the launcher's binary", open("/run/ccbox/cc-init", O_WRONLY), EROFS);
	say(getppid() == 1, "12-attacks", "PID 1 is the parent", 0);
}

static void descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	bool clean = true;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(dir))
			clean = false;
	say(clean, "SYS-09", "nothing but 0, 1 and 2 was inherited", 0);
	if (dir)
		closedir(dir);
}

static void nested(void)
{
	struct {
		unsigned short len;
		void *filter;
	} program;
	struct {
		unsigned short code;
		unsigned char jt, jf;
		unsigned k;
	} allow = {6, 0, 0, 0x7fff0000};

	program.len = 1;
	program.filter = &allow;
	fails("82", "a listener of one's own", syscall(SYS_seccomp, 1, 8, &program), EBUSY);
	works("83", "a filter of one's own", syscall(SYS_seccomp, 1, 0, &program));
	denied("83", "it weakens nothing", open("z.pem", O_WRONLY | O_CREAT, 0644));
	say(open("/proc/sys/user/max_user_namespaces", O_RDONLY) >= 0, "17-attacks", "limits are lowered", errno);
}

int main(void)
{
	descriptors();
	table();
	requests();
	owners();
	processes();
	nested();
	return 0;
}
