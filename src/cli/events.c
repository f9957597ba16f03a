#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/config.h"
#include "os/fd.h"
#include "wire/event.h"
#include "wire/msg.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1 << 20 };

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Newest session's log, or the one named. */
static bool find_log(const char *dir, const char *session, char *out, size_t cap)
{
	struct cc_strv names = {0};
	struct cc_err err;
	DIR *list = opendir(dir);
	const struct dirent *entry;
	bool found = false;

	while (list && (entry = readdir(list)))
		if (strstr(entry->d_name, ".jsonl") &&
		    (!session || strncmp(entry->d_name, session, strlen(session)) == 0))
			(void)!cc_strv_push(&names, entry->d_name, &err);
	if (list)
		closedir(list);
	if (names.count) {
		qsort(names.items, names.count, sizeof(names.items[0]), by_name);
		found = (size_t)snprintf(out, cap, "%s/%s", dir, names.items[names.count - 1]) < cap;
	}
	cc_strv_done(&names);
	return found;
}

static void print_line(struct cc_view line)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;
	struct cc_buf text;
	const struct cc_json *root, *violation;
	struct cc_event event = {.type = CC_EVENT_NOTICE};
	const char *type;
	time_t seconds;
	char clock[32];

	if (cc_json_parse("event", line, 0, &doc, &err) != CC_OK) {
		printf("(not understood: %s)\n", err.what);
		return;
	}
	root = cc_json_root(doc);
	violation = cc_json_get(root, "violation");
	type = cc_json_str(root, "type", "?");
	for (int i = 0; i <= CC_EVENT_NOTICE; i++)
		if (strcmp(cc_event_type_name((enum cc_event_type)i), type) == 0)
			event.type = (enum cc_event_type)i;
	event.exit_code = (int)cc_json_int(root, "exitCode", 0);
	event.content = cc_view_of(cc_json_str(root, "content", NULL));
	if (violation)
		event.violation = (struct cc_violation){.action = cc_json_str(violation, "action", NULL),
							.target = cc_json_str(violation, "target", NULL),
							.rule = cc_json_str(violation, "rule", NULL),
							.reason = cc_json_str(violation, "reason", NULL),
							.grant = cc_json_str(violation, "grant", NULL),
							.count = cc_json_int(violation, "count", 1)};
	cc_buf_init(&text, LINE_MAX_BYTES);
	cc_event_say(&event, &text);
	seconds = (time_t)(cc_json_int(root, "time", 0) / 1000);
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime(&seconds));
	printf("%s  %s\n", clock, text.data ? text.data : type);
	cc_buf_done(&text);
}

static void print_lines(struct cc_buf *pending, bool json)
{
	char *end;

	while (pending->len && (end = memchr(pending->data, '\n', pending->len))) {
		size_t len = (size_t)(end - pending->data);

		if (json)
			printf("%.*s\n", (int)len, pending->data);
		else
			print_line((struct cc_view){pending->data, len});
		cc_buf_eat(pending, len + 1);
	}
	fflush(stdout);
}

static int show(const char *path, bool follow, bool json)
{
	CC_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	CC_AUTO_FD watch = follow ? inotify_init1(IN_CLOEXEC) : -1;
	struct cc_buf pending;
	char chunk[16384];
	ssize_t got;

	if (fd < 0 || (follow && (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY) < 0))) {
		cc_say("%s: %s", path, strerror(errno));
		return CC_EXIT_NOT_ESTABLISHED;
	}
	cc_buf_init(&pending, LINE_MAX_BYTES * 2);
	for (;;) {
		while ((got = read(fd, chunk, sizeof(chunk))) > 0) {
			cc_buf_add(&pending, chunk, (size_t)got);
			print_lines(&pending, json);
		}
		/* the kernel wakes us when the log grows: no polling */
		if (!follow || read(watch, chunk, sizeof(chunk)) <= 0)
			break;
	}
	cc_buf_done(&pending);
	return 0;
}

int cc_verb_events(char *const *argv, char *const *env)
{
	char state[PATH_MAX];
	char dir[PATH_MAX + 16];
	char path[PATH_MAX * 2];
	const char *session = NULL;
	bool follow = false;
	bool json = false;

	for (; *argv; argv++) {
		if (strcmp(*argv, "--follow") == 0)
			follow = true;
		else if (strcmp(*argv, "--json") == 0)
			json = true;
		else if (**argv != '-' && !session)
			session = *argv;
		else {
			cc_say("unexpected word \"%s\": ccbox events [--follow] [--json] [SESSION]", *argv);
			return CC_EXIT_NOT_ESTABLISHED;
		}
	}
	if (!cc_state_home(env, state, sizeof(state))) {
		cc_say("neither XDG_STATE_HOME nor HOME is set");
		return CC_EXIT_NOT_ESTABLISHED;
	}
	snprintf(dir, sizeof(dir), "%s/events", state);
	if (!find_log(dir, session, path, sizeof(path))) {
		if (session)
			cc_say("no session \"%s\" has left events in %s", session, dir);
		else
			cc_say("no session has left events in %s", dir);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	return show(path, follow, json);
}
