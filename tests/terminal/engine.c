/* The terminal engine with real shells: what a person sees and types, in both backends, and what is left afterwards.
 * Speaks TAP. usage: terminal-engine (beside the helpers); terminal-engine unheld, where native cannot be held */
#define _GNU_SOURCE
#include "rig.h"

#include "os/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const enum cc_backend_kind backends[] = {CC_BACKEND_NONE, CC_BACKEND_NATIVE};

static void shells(enum cc_backend_kind backend)
{
	static const struct {
		const char *path, *login;
	} rows[] = {{"/bin/bash", "shopt -q login_shell && echo log\"\"in\r"},
		    {"/bin/zsh", "[[ -o login ]] && echo log\"\"in\r"},
		    {"/usr/bin/fish", "status is-login; and echo log\"\"in\r"}};

	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct rig_term it;
		struct cc_err err;
		bool good = rig_open(&it, backend, rows[i].path, &err);

		if (good) {
			rig_type(&it, "printf '<%s>\\n' $TERM ro\"\"ws\r");
			good = rig_see(&it, "<xterm-256color>") && rig_see(&it, "<rows>");
			rig_type(&it, rows[i].login);
			good = good && rig_see(&it, "login\r");
			rig_type(&it, "env | grep -c '^LEAKED' | sed 's/^/leaked-/'\r");
			good = good && rig_see(&it, "leaked-0");
			rig_type(&it, "pwd | sed 's/^/at-/'\r");
			good = good && rig_see(&it, "at-/tmp/ccbox-term-work");
		}
		rig_ok(good, "%s: %s is the login shell, in the directory asked for, with an environment from the list",
		       cc_backend_name(backend), rows[i].path);
		rig_close(&it);
	}
}

static void jobs(enum cc_backend_kind backend)
{
	struct rig_term it;
	struct cc_err err;
	bool good = rig_open(&it, backend, NULL, &err);

	rig_type(&it, "sleep NAP\r");
	for (int i = 0; good && rig_count(rig_nap) == 0 && i < 200; i++)
		rig_pump(&it, 50);
	rig_type(&it, "\x1a");
	good = good && rig_see(&it, "Stopped");
	rig_type(&it, "jobs | grep -c Stopped | sed 's/^/stopped-/'\r");
	good = good && rig_see(&it, "stopped-1");
	rig_ok(good, "%s: ^Z stops the job, and the shell knows it", cc_backend_name(backend));
	cc_buf_reset(&it.text);
	rig_type(&it, "fg\r");
	good = good && rig_see(&it, rig_nap);
	/* the shell says so before it hands the terminal over: one that comes too early is the shell's */
	for (int i = 0; good && i < 100 && rig_count(rig_nap); i++) {
		rig_type(&it, "\x03");
		rig_pump(&it, 50);
		poll(NULL, 0, 50);
	}
	rig_type(&it, "echo ali\"\"ve\r");
	rig_ok(good && rig_see(&it, "alive") && rig_count(rig_nap) == 0, "%s: fg and ^C end it",
	       cc_backend_name(backend));
	rig_close(&it);
}

static void sizes(enum cc_backend_kind backend)
{
	struct rig_term it;
	struct cc_err err;
	bool good = rig_open(&it, backend, NULL, &err);

	rig_type(
		&it,
		"stty size; sh -c 'trap \"echo win\"\"ch; stty size; exit\" WINCH; echo tra\"\"pped; while :; do sleep 0.1; done'\r");
	good = good && rig_see(&it, "24 80") && rig_see(&it, "trapped");
	if (good)
		cc_terminal_resize(it.terminal, (struct cc_pty_size){41, 123});
	rig_ok(good && rig_see(&it, "41 123") && rig_see(&it, "winch"),
	       "%s: a program sees the new size, and is told of it", cc_backend_name(backend));
	rig_close(&it);
}

static void failures(enum cc_backend_kind backend)
{
	struct rig_term it;
	struct cc_err err = {0};
	struct cc_terminal_ask ask = {.backend = backend, .shell = "/bin/bash", .cwd = "/nowhere/at/all"};
	char path[200];
	FILE *file;

	rig_ok(!rig_open(&it, backend, "/usr/bin/no-such-shell", &err) && err.code == CC_ENOTFOUND &&
		       strstr(err.what, "no-such-shell"),
	       "%s: a shell that is not there is reported", cc_backend_name(backend));
	rig_close(&it);
	snprintf(path, sizeof(path), "%s/broken", rig_work);
	file = fopen(path, "w");
	if (file) {
		fputs("#!/no/such/interpreter\n", file);
		fclose(file);
	}
	chmod(path, 0755);
	rig_ok(!rig_open(&it, backend, path, &err) && strstr(err.what, "broken"),
	       "%s: a shell that cannot be executed is reported", cc_backend_name(backend));
	rig_close(&it);
	rig_ok(!rig_open_as(&it, &ask, &err) && strstr(err.what, "/nowhere/at/all"),
	       "%s: so is a directory that is not there", cc_backend_name(backend));
	rig_close(&it);
}

static uint64_t said(const struct rig_term *it)
{
	struct cc_terminal_info info;

	cc_terminal_info(it->terminal, &info);
	return info.end;
}

/* A reader that has stopped: the program is stopped by the kernel, nothing grows, and typing still works. */
static void flood(enum cc_backend_kind backend)
{
	struct rig_term it;
	struct cc_err err;
	bool good = rig_open(&it, backend, NULL, &err);
	uint64_t before = 0, last = 1;
	int still = 0;

	rig_type(&it, "echo re\"\"ady\r");
	good = good && rig_see(&it, "ready");
	it.stopped = true;
	before = good ? it.viewer.at : 0;
	rig_type(&it, "yes NAP\r");
	for (int i = 0; good && still < 10 && i < 400; i++) {
		rig_pump(&it, 20);
		still = said(&it) == last && last > before + 4096 ? still + 1 : 0;
		last = said(&it);
	}
	rig_ok(good && still == 10 && last - before <= CC_TERMINAL_WINDOW + 65536 && rig_count(rig_nap) == 1,
	       "%s: a flood that nobody takes stops, bounded (%llu bytes)", cc_backend_name(backend),
	       (unsigned long long)(last - before));
	it.stopped = false;
	rig_pump(&it, 20);
	rig_type(&it, "\x03");
	rig_type(&it, "echo af\"\"ter\r");
	rig_ok(good && rig_see(&it, "after"), "%s: it goes on when the reader does, and ^C ends it",
	       cc_backend_name(backend));
	rig_close(&it);
}

static bool same_from(struct rig_term *it, uint64_t from)
{
	struct cc_viewer again;
	struct cc_err err;
	struct cc_view bytes;
	bool same = cc_viewer_join(&again, it->terminal, from, 0, &err) == CC_OK && again.at == from;

	while (same && cc_viewer_next(&again, 777, &bytes) && bytes.len) {
		same = again.at + bytes.len <= it->text.len &&
		       memcmp(it->text.data + again.at, bytes.ptr, bytes.len) == 0;
		cc_viewer_sent(&again, bytes.len);
	}
	same = same && again.at == said(it);
	cc_viewer_leave(&again);
	return same;
}

static void viewers(void)
{
	struct rig_term it;
	struct cc_viewer slow, windowed;
	struct cc_view bytes;
	struct cc_err err;
	bool good = rig_open(&it, CC_BACKEND_NONE, NULL, &err);

	rig_type(&it, "seq 1 2000 | sed 's/$/ line/'; echo do\"\"ne\r");
	good = good && rig_see(&it, "done");
	rig_ok(good && same_from(&it, 0) && same_from(&it, 1234), "a viewer that comes back is shown the same bytes");
	good = good && cc_viewer_join(&slow, it.terminal, said(&it), 0, &err) == CC_OK &&
	       cc_viewer_join(&windowed, it.terminal, 0, 1000, &err) == CC_OK;
	good = good && cc_viewer_next(&windowed, 4096, &bytes) && bytes.len == 1000;
	cc_viewer_sent(&windowed, 1000);
	good = good && cc_viewer_next(&windowed, 4096, &bytes) && bytes.len == 0;
	good = good && cc_viewer_ack(&windowed, 1001, &err) == CC_EPROTO &&
	       cc_viewer_ack(&windowed, 400, &err) == CC_OK;
	good = good && cc_viewer_ack(&windowed, 399, &err) == CC_EPROTO && cc_viewer_next(&windowed, 4096, &bytes) &&
	       bytes.len == 400;
	rig_ok(good, "a viewer with a window is sent no more than it has acknowledged");
	rig_type(&it, "seq 1 200000; echo en\"\"d\r");
	good = good && rig_see(&it, "end");
	rig_ok(good && !cc_viewer_next(&slow, 1, &bytes),
	       "a slow viewer does not hold the fast one, and loses its place");
	cc_viewer_leave(&slow);
	cc_viewer_leave(&windowed);
	rig_close(&it);
}

static void titles(enum cc_backend_kind backend)
{
	struct rig_term it;
	struct cc_terminal_info info = {0};
	struct cc_err err;
	bool good = rig_open(&it, backend, NULL, &err);

	rig_type(&it, "PS1='$ '; printf '\\033]0;build %s\\007se''en\\n' 9\r");
	good = good && rig_see(&it, "seen");
	if (good)
		cc_terminal_info(it.terminal, &info);
	rig_ok(good && strcmp(info.title, "build 9") == 0, "%s: the title is read out of the output",
	       cc_backend_name(backend));
	rig_close(&it);
}

#define LEAVE                                                                                                          \
	"trap '' HUP TERM; sleep NAP & (setsid sleep NAP &) ; (trap '' HUP; (sleep NAP &) &) ; setsid nohup sh -c "    \
	"'sleep 1; (sleep NAP &); exec sleep NAP' >/dev/null 2>&1 & echo sta\"\"rted\r"

static void nothing_stays(enum cc_backend_kind backend)
{
	struct rig_term it;
	struct cc_terminal_info info = {0};
	struct cc_err err;
	bool good = rig_open(&it, backend, NULL, &err);

	rig_type(&it, LEAVE);
	good = good && rig_see(&it, "started") && rig_there(rig_nap, 2);
	rig_close(&it);
	rig_ok(good && rig_gone(rig_nap),
	       "%s: after close nothing is left: not what ignores SIGHUP, nor what left the session",
	       cc_backend_name(backend));
	good = rig_open(&it, backend, NULL, &err);
	rig_type(&it, "sleep NAP & setsid sleep NAP & sleep 0.2; echo last wo\"\"rds; exit 7\r");
	good = good && rig_over(&it);
	if (good)
		cc_terminal_info(it.terminal, &info);
	rig_ok(good && info.reason == CC_CLOSE_EXIT && info.code == 7 && rig_see(&it, "last words") &&
		       rig_gone(rig_nap),
	       "%s: the shell's exit status is told after its last words, and ends the rest", cc_backend_name(backend));
	rig_close(&it);
}

static void owner_dies(enum cc_backend_kind backend)
{
	int ends[2];
	char byte = 0;
	pid_t pid;
	bool good = pipe2(ends, O_CLOEXEC) == 0;

	pid = fork();
	if (pid == 0) {
		struct rig_term it;
		struct cc_err err;

		if (rig_open(&it, backend, NULL, &err)) {
			rig_type(&it, LEAVE);
			if (rig_see(&it, "started") && write(ends[1], "x", 1) == 1)
				pause();
		}
		_exit(1);
	}
	close(ends[1]);
	good = good && read(ends[0], &byte, 1) == 1 && rig_there(rig_nap, 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	rig_ok(good && rig_gone(rig_nap), "%s: an owner that is killed leaves nothing", cc_backend_name(backend));
}

static void idle(void)
{
	struct rig_term it;
	struct cc_terminal_info info = {0};
	struct cc_err err;
	struct cc_terminal_ask ask = {.backend = CC_BACKEND_NONE, .shell = "/bin/bash", .idle_ms = 300};
	bool good = rig_open_as(&it, &ask, &err) && rig_over(&it);

	if (good)
		cc_terminal_info(it.terminal, &info);
	rig_ok(good && info.reason == CC_CLOSE_IDLE && info.why[0],
	       "a terminal that nobody types into ends, where that was asked for");
	rig_close(&it);
}

/* Whoever kills the keeper loses the terminal with it. */
static void keeper_dies(void)
{
	struct rig_term it;
	struct cc_terminal_info info = {0};
	struct cc_err err;
	bool good = rig_open(&it, CC_BACKEND_NONE, NULL, &err);

	rig_type(&it, "sleep NAP & echo sta\"\"rted; kill -9 $PPID\r");
	good = good && rig_over(&it);
	if (good)
		cc_terminal_info(it.terminal, &info);
	rig_ok(good && info.reason == CC_CLOSE_LOST && rig_gone(rig_nap),
	       "none: a program that kills its keeper ends the terminal and what is in its session");
	rig_close(&it);
}

static void unheld(void)
{
	struct rig_term it;
	struct cc_err err = {0};

	rig_ok(!rig_open(&it, CC_BACKEND_NATIVE, NULL, &err) && strstr(err.what, "andlock"),
	       "native that cannot be held is no terminal at all");
	rig_close(&it);
	rig_ok(!rig_open(&it, CC_BACKEND_MICROVM, NULL, &err) && strstr(err.what, "microvm"), "nor is microvm");
	rig_close(&it);
	rig_ok(rig_open(&it, CC_BACKEND_NONE, NULL, &err), "none was asked for, and is there");
	rig_close(&it);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	rig_setup();
	if (argc > 1 && strcmp(argv[1], "unheld") == 0) {
		unheld();
	} else {
		for (size_t i = 0; i < CC_COUNT(backends); i++) {
			shells(backends[i]);
			jobs(backends[i]);
			sizes(backends[i]);
			failures(backends[i]);
			flood(backends[i]);
			titles(backends[i]);
			nothing_stays(backends[i]);
			owner_dies(backends[i]);
		}
		viewers();
		idle();
		keeper_dies();
	}
	rig_teardown();
	return rig_done();
}
