#define _GNU_SOURCE
#include "rig.h"

#include "os/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char rig_home[] = "/tmp/ccbox-term-home.XXXXXX", rig_work[] = "/tmp/ccbox-term-work.XXXXXX";
char rig_nap[24];
static int count, failed;

void rig_ok(bool good, const char *format, ...)
{
	va_list args;

	failed += !good;
	printf("%s %d - ", good ? "ok" : "not ok", ++count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

int rig_done(void)
{
	printf("1..%d\n", count);
	return failed != 0;
}

void rig_setup(void)
{
	char path[200];
	int fd;

	if (!mkdtemp(rig_home) || !mkdtemp(rig_work))
		exit(99);
	snprintf(rig_nap, sizeof(rig_nap), "7%d", (int)getpid());
	setenv("HOME", rig_home, 1);
	setenv("LEAKED_TOKEN", "do-not-pass-this-on", 1);
	setenv("LC_TIME", "C", 1);
	/* without one, zsh asks what to put into it */
	snprintf(path, sizeof(path), "%s/.zshrc", rig_home);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

void rig_teardown(void)
{
	char command[200];
	int status;

	snprintf(command, sizeof(command), "rm -rf %s %s", rig_home, rig_work);
	status = system(command);
	(void)status;
}

static void on_event(void *context, const struct cc_event *event)
{
	struct rig_term *it = context;

	cc_event_write(event, &it->events);
}

bool rig_open_as(struct rig_term *it, struct cc_terminal_ask *ask, struct cc_err *err)
{
	memset(it, 0, sizeof(*it));
	cc_buf_init(&it->text, 16 << 20);
	cc_buf_init(&it->events, 1 << 20);
	ask->id = ask->id ? ask->id : "term-tty1::space";
	ask->env = environ;
	ask->event = on_event;
	ask->context = it;
	ask->cwd = ask->cwd ? ask->cwd : rig_work;
	if (!ask->size.rows)
		ask->size = (struct cc_pty_size){24, 80};
	if (cc_terminal_open(ask, &it->terminal, err) != CC_OK) {
		printf("# %s\n", err->what);
		return false;
	}
	return cc_viewer_join(&it->viewer, it->terminal, 0, 0, err) == CC_OK;
}

bool rig_open(struct rig_term *it, enum cc_backend_kind backend, const char *shell, struct cc_err *err)
{
	struct cc_terminal_ask ask = {.backend = backend, .shell = shell ? shell : "/bin/bash"};

	return rig_open_as(it, &ask, err);
}

static void put_in(struct rig_term *it, struct cc_view rest)
{
	while (rest.len) {
		size_t taken = cc_terminal_input(it->terminal, rest);

		rest.ptr += taken;
		rest.len -= taken;
		if (rest.len)
			rig_pump(it, 50);
	}
}

void rig_type(struct rig_term *it, const char *text)
{
	for (const char *nap; (nap = strstr(text, "NAP")); text = nap + 3) {
		put_in(it, (struct cc_view){text, (size_t)(nap - text)});
		put_in(it, cc_view_of(rig_nap));
	}
	put_in(it, cc_view_of(text));
}

static void look(struct rig_term *it)
{
	struct cc_view bytes;

	while (!it->stopped && cc_viewer_next(&it->viewer, 4096, &bytes) && bytes.len) {
		cc_buf_add(&it->text, bytes.ptr, bytes.len);
		cc_viewer_sent(&it->viewer, bytes.len);
	}
}

void rig_pump(struct rig_term *it, int ms)
{
	struct cc_terminal_watch watch[CC_TERMINAL_WATCH];
	struct pollfd set[CC_TERMINAL_WATCH];
	size_t n = cc_terminal_watch(it->terminal, watch);

	for (size_t i = 0; i < n; i++)
		set[i] = (struct pollfd){
			.fd = watch[i].fd,
			.events = (short)((watch[i].read ? POLLIN : 0) | (watch[i].write ? POLLOUT : 0))};
	poll(set, n, ms);
	for (size_t i = 0; i < n; i++)
		if (set[i].revents)
			cc_terminal_step(it->terminal, set[i].fd);
	cc_terminal_tick(it->terminal, cc_clock_ms());
	look(it);
}

bool rig_see(struct rig_term *it, const char *text)
{
	for (int quiet = 0; quiet < 400; quiet++) {
		size_t before = it->text.len;

		if (it->text.data && memmem(it->text.data, it->text.len, text, strlen(text)))
			return true;
		rig_pump(it, 50);
		if (it->text.len != before)
			quiet = 0;
	}
	printf("# waited for \"%s\", saw:\n", text);
	for (size_t i = it->text.len > 600 ? it->text.len - 600 : 0; i < it->text.len; i++)
		printf("%s%c", i == 0 || it->text.data[i - 1] == '\n' ? "# " : "", it->text.data[i]);
	printf("\n");
	return false;
}

bool rig_over(struct rig_term *it)
{
	struct cc_terminal_info info = {0};

	for (int i = 0; i < 400 && !info.over; i++) {
		cc_terminal_info(it->terminal, &info);
		if (!info.over)
			rig_pump(it, 50);
	}
	look(it);
	return info.over;
}

void rig_close(struct rig_term *it)
{
	if (it->terminal) {
		cc_terminal_close(it->terminal, CC_CLOSE_CLOSED);
		if (!rig_over(it))
			rig_ok(false, "a closed terminal is over");
		cc_viewer_leave(&it->viewer);
	}
	cc_terminal_free(it->terminal);
	cc_buf_done(&it->text);
	cc_buf_done(&it->events);
	memset(it, 0, sizeof(*it));
}

static bool has_word(const char *pid, const char *word)
{
	char path[PATH_MAX], text[4096];
	size_t len = strlen(word);
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	if (fd >= 0)
		close(fd);
	return got > (ssize_t)len && memcmp(text + got - len - 1, word, len + 1) == 0;
}

int rig_count(const char *word)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && has_word(entry->d_name, word);
	if (dir)
		closedir(dir);
	return n;
}

bool rig_gone(const char *word)
{
	for (int i = 0; i < 200; i++) {
		if (rig_count(word) == 0)
			return true;
		poll(NULL, 0, 50);
	}
	return false;
}

bool rig_there(const char *word, int least)
{
	for (int i = 0; i < 200; i++) {
		if (rig_count(word) >= least)
			return true;
		poll(NULL, 0, 50);
	}
	return false;
}
