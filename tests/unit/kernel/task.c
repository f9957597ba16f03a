#define _GNU_SOURCE
#include "../t.h"

#include "kernel/calls.h"
#include "kernel/task.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that does as it is told by single bytes. */
static struct {
	pid_t pid;
	int tell, hear;
} child;

static void serve(int hear, int tell)
{
	char word;

	while (read(hear, &word, 1) == 1) {
		if (word == 'd' && chdir("/usr"))
			_exit(1);
		if (word >= '0' && word <= '7')
			umask((mode_t)(word - '0'));
		while (word == 's') /* spins */
			;
		if (write(tell, &word, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void start(void)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		abort();
	child.pid = fork();
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		umask(0);
		serve(to[0], from[1]);
	}
	child.tell = to[1];
	child.hear = from[0];
}

static void say_to(char word)
{
	char back;

	assert_int_equal(write(child.tell, &word, 1), 1);
	assert_int_equal(read(child.hear, &back, 1), 1);
}

static void end(void)
{
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	close(child.tell);
	close(child.hear);
}

static void wait_until_it_reads(void)
{
	char text[64] = "";

	for (int i = 0; i < 5000 && !(text[0] >= '0' && strtol(text, NULL, 10) == SYS_read); i++) {
		usleep(1000);
		cc_k_proc_text(text, sizeof(text), "/proc/%d/syscall", (int)child.pid);
		if (text[0] == 'r')
			text[0] = '\0'; /* "running" */
	}
}

static void test_names(void **state)
{
	char name[CC_TASK_NAME];

	(void)state;
	assert_int_equal(cc_task_name(AT_FDCWD, name), 0);
	assert_string_equal(name, "cwd");
	assert_int_equal(cc_task_name(0, name), 0);
	assert_string_equal(name, "fd/0");
	assert_int_equal(cc_task_name(INT_MAX, name), 0);
	assert_string_equal(name, "fd/2147483647");
	assert_int_equal(cc_task_name(-1, name), -EBADF);
}

static void test_links_follow_the_caller(void **state)
{
	static struct cc_tasks tasks;
	char path[PATH_MAX];

	(void)state;
	start();
	assert_true(cc_task_link(&tasks, child.pid, "cwd", path, sizeof(path)) > 0);
	say_to('d');
	assert_int_equal(cc_task_link(&tasks, child.pid, "cwd", path, sizeof(path)), 4);
	assert_string_equal(path, "/usr");
	assert_int_equal(cc_task_link(&tasks, child.pid, "fd/999", path, sizeof(path)), -ENOENT);
	end();
	assert_true(cc_task_link(&tasks, child.pid, "cwd", path, sizeof(path)) < 0);
}

/* A number that is used again is another task: its entry is made afresh. */
static void test_another_task_of_that_number(void **state)
{
	static struct cc_tasks tasks;
	char path[PATH_MAX];
	struct cc_task *entry;

	(void)state;
	start();
	assert_true(cc_task_link(&tasks, child.pid, "cwd", path, sizeof(path)) > 0);
	entry = &tasks.items[(unsigned)child.pid % CC_TASKS];
	end();
	start();
	entry->tid = child.pid; /* as if the kernel had given the old number to the new child */
	if (entry != &tasks.items[(unsigned)child.pid % CC_TASKS]) {
		tasks.items[(unsigned)child.pid % CC_TASKS] = *entry;
		*entry = (struct cc_task){0};
	}
	say_to('d');
	assert_int_equal(cc_task_link(&tasks, child.pid, "cwd", path, sizeof(path)), 4);
	end();
}

static void test_pending_umasks(void **state)
{
	static struct cc_umasks umasks;

	(void)state;
	cc_umasks_init(&umasks);
	cc_umask_changes(&umasks, 10);
	assert_int_equal(atomic_load(&umasks.unsettled), 1);
	cc_umask_settles(&umasks, 11);
	assert_int_equal(atomic_load(&umasks.unsettled), 1);
	cc_umask_settles(&umasks, 10);
	assert_int_equal(atomic_load(&umasks.unsettled), 0);
	assert_int_equal(atomic_load(&umasks.changes), 1);
	start();
	wait_until_it_reads(); /* so it is not about to change anything */
	for (int i = 0; i < CC_UMASKS_PENDING; i++)
		cc_umask_changes(&umasks, i ? INT_MAX - i : child.pid);
	assert_int_equal(umasks.count, CC_UMASKS_PENDING);
	cc_umask_changes(&umasks, INT_MAX); /* those that are gone or past it make room */
	assert_int_equal(umasks.count, 1);
	assert_false(umasks.overflowed);
	assert_int_equal(write(child.tell, "s", 1), 1);
	usleep(10000);
	for (int i = 0; i <= CC_UMASKS_PENDING; i++)
		cc_umask_changes(&umasks, child.pid); /* at work: in the middle of it, for all that can be seen */
	cc_umask_settles(&umasks, child.pid);
	end();
	assert_int_not_equal(atomic_load(&umasks.unsettled), 0); /* one was not kept: never sure again */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_links_follow_the_caller),
		cmocka_unit_test(test_another_task_of_that_number),
		cmocka_unit_test(test_pending_umasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
