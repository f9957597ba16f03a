/* The network rules of a running session: replaced as one, connections that fall out of them ended, rules that cannot
 * be read left alone; and the reserved name, which reaches the owner. Speaks TAP. usage: session-live (beside the
 * helpers) */
#define _GNU_SOURCE
#include "rig.h"

#include "os/fd.h"
#include "session/prepare.h"
#include "session/session.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static struct {
	struct cc_buf events; /* as lines */
	int gateway;
	int ended;
} seen = {.gateway = -1};
static char dir[] = "/tmp/ccbox-live.XXXXXX";

static void on_event(void *context, const struct cc_event *event)
{
	(void)context;
	cc_event_write(event, &seen.events);
	if (getenv("RIG_VERBOSE"))
		printf("# %s", seen.events.data + (seen.events.len > 400 ? seen.events.len - 400 : 0));
}

static void on_note(void *context, struct cc_note *note)
{
	(void)context;
	if (note->kind == CC_NOTE_GATEWAY) {
		seen.gateway = note->fd;
		note->fd = -1;
	}
	seen.ended += note->kind == CC_NOTE_EXIT;
}

/* Until an event line holds every word, or the session's time is over. */
static bool wait_for(struct cc_session *session, bool (*there)(const void *), const void *what)
{
	struct cc_err err;

	for (int turn = 0; turn < 400; turn++) {
		struct pollfd entries[CC_BOX_WATCH];
		int fds[CC_BOX_WATCH];
		size_t count = cc_session_watch(session, fds);

		if (there(what))
			return true;
		for (size_t i = 0; i < count; i++)
			entries[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
		poll(entries, count, 50);
		for (size_t i = 0; i < count; i++)
			if (entries[i].revents && cc_session_step(session, fds[i], &err) != CC_OK)
				return false;
	}
	return false;
}

static bool line_holds(const void *what)
{
	const char *words = what;

	for (const char *line = seen.events.data; line && *line;) {
		const char *end = strchr(line, '\n');
		char copy[4096];
		char want[400];
		char *rest = NULL;
		bool all = true;

		snprintf(copy, sizeof(copy), "%.*s", end ? (int)(end - line) : 0, line);
		snprintf(want, sizeof(want), "%s", words);
		for (char *word = strtok_r(want, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
			all &= strstr(copy, word) != NULL;
		if (all)
			return true;
		line = end ? end + 1 : NULL;
	}
	return false;
}

static bool file_there(const void *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, (const char *)name);
	return access(path, F_OK) == 0;
}

static bool gateway_there(const void *unused)
{
	(void)unused;
	return seen.gateway >= 0;
}

static void fill(struct cc_spec *spec, const char *const *domains)
{
	struct cc_static_host *host;
	struct cc_err err;

	cc_spec_init(spec);
	spec->gateway = true;
	for (; *domains; domains++)
		if (cc_strv_push(&spec->policy.allowed_domains, *domains, &err) != CC_OK ||
		    cc_policy_add_host(&spec->policy, *domains, &host, &err) != CC_OK ||
		    cc_strv_push(&host->addresses, "127.0.0.1", &err) != CC_OK)
			exit(2);
	if (cc_spec_add_bind(spec, dir, false, &err) != CC_OK)
		exit(2);
}

static struct cc_session *launch(struct cc_prepared *prepared, struct cc_spec *spec)
{
	struct cc_prepare_ask ask = {
		.spec = spec, .backend = CC_BACKEND_NATIVE, .cwd = dir, .env = environ, .agent = "none"};
	struct cc_session_config config = {.session_id = "live", .sink = {NULL, on_event, on_note}};
	struct cc_session *session = NULL;
	struct cc_err err = {0};

	if (cc_prepare(&ask, prepared, &err) == CC_OK && cc_prepare_launch(prepared, &config.launch, &err) == CC_OK) {
		config.backend = prepared->backend;
		if (cc_session_launch(&config, &session, &err) == CC_OK)
			return session;
	}
	printf("Bail out! %s\n", err.what);
	exit(1);
}

static void execute(struct cc_session *session, const struct cc_prepared *prepared, const char *script)
{
	const char *words[] = {"/bin/bash", "-c", script};
	struct cc_strv argv = {0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct cc_box_exec exec = {.argv = &argv, .env = &prepared->plan.env, .cwd = dir, .stdio = {null, null, null}};
	struct cc_err err;
	int id;

	for (size_t i = 0; i < CC_COUNT(words); i++)
		if (cc_strv_push(&argv, words[i], &err) != CC_OK)
			exit(2);
	if (cc_session_exec(session, &exec, &id, &err) != CC_OK)
		exit(2);
	cc_strv_done(&argv);
	close(null);
}

/* The same session's rules with other domains; bad: with an entry that no proxy understands. */
static void update(struct cc_session *session, const char *const *domains, const char *bad)
{
	struct cc_spec spec;
	struct cc_prepared other = {0};
	struct cc_prepare_ask ask = {.spec = &spec, .cwd = dir, .env = environ, .agent = "none", .rules_only = true};
	struct cc_err err = {0};

	fill(&spec, domains);
	if (cc_prepare(&ask, &other, &err) != CC_OK)
		exit(2);
	if (bad) {
		free(other.rules->net->allow.items[0]);
		other.rules->net->allow.items[0] = strdup(bad);
	}
	tap(cc_session_update(session, other.rules, &err) == CC_OK, "3",
	    bad ? "rules with a broken entry are sent" : "new rules are sent");
	cc_prepared_done(&other);
	cc_spec_done(&spec);
}

static void reserved_name(struct cc_session *session, const struct cc_prepared *prepared)
{
	char text[100];
	char end;

	execute(session, prepared,
		"exec 3<>/dev/tcp/gateway.ccbox.internal/80; echo HELLO-gate >&3; read -r x <&3; [ \"$x\" = welcome ] && : >gate");
	tap(wait_for(session, gateway_there, NULL), "8",
	    "a connection to the reserved name is a note with a descriptor");
	cc_fd_set_nonblock(seen.gateway, false);
	rig_read(seen.gateway, text, sizeof(text), "HELLO-gate\n", &end);
	tap(end == '.', "8", "the owner reads what the program wrote");
	rig_send(seen.gateway, "welcome\n", 8);
	tap(wait_for(session, file_there, "gate"), "8", "and the program reads the owner's answer");
	cc_fd_close(&seen.gateway);
}

int main(void)
{
	static const char *const both[] = {"one.test", "two.test", NULL};
	static const char *const two[] = {"two.test", NULL};
	static const char *const files[] = {"one.open", "two.open", "one.closed", "two.closed", "asked", "gate"};
	static struct stub echo;
	struct cc_prepared prepared = {0};
	struct cc_spec spec;
	struct cc_session *session;
	char script[600];

	cc_buf_init(&seen.events, 1 << 22);
	if (!mkdtemp(dir))
		return 2;
	stub_start(&echo, NULL, stub_echo);
	fill(&spec, both);
	session = launch(&prepared, &spec);
	snprintf(
		script, sizeof(script),
		"for n in one two; do (exec 3<>/dev/tcp/$n.test/%u; echo HELLO-$n >&3; read -r x <&3; : >$n.open; cat <&3; : >$n.closed) & done; wait",
		echo.port);
	execute(session, &prepared, script);
	tap(wait_for(session, file_there, "one.open") && wait_for(session, file_there, "two.open"), "5",
	    "two programs without a proxy hold a connection each");
	update(session, two, NULL);
	tap(wait_for(session, line_holds, "\"generation\":1|new network rules are in force"), "3",
	    "the event says which rules are in force");
	tap(wait_for(session, line_holds, "\"generation\":1|\"target\":\"one.test:|not-allowed"), "3",
	    "the connection that they no longer allow is a violation of that generation");
	tap(wait_for(session, file_there, "one.closed"), "3", "and has ended");
	tap(!file_there("two.closed"), "3", "the other goes on");
	update(session, two, "bad..pattern");
	tap(wait_for(session, line_holds, "were not taken|bad..pattern"), "3", "which is a notice");
	tap(cc_session_state(session) == CC_STATE_ACTIVE, "3", "and not the end of the session");
	execute(session, &prepared, "exec 3<>/dev/tcp/two.test/1 || : >asked");
	tap(wait_for(session, line_holds, "\"target\":\"two.test:1\""), "3", "the last good rules stay in force");
	reserved_name(session, &prepared);
	cc_session_free(session);
	cc_prepared_done(&prepared);
	cc_spec_done(&spec);
	for (size_t i = 0; i < CC_COUNT(files); i++) {
		snprintf(script, sizeof(script), "%s/%s", dir, files[i]);
		unlink(script);
	}
	rmdir(dir);
	return tap_end();
}
