/* agent.c - `ccbox agent` and `ccbox runs`: runs of agents in the daemon, started, followed, talked to. */
#define _GNU_SOURCE
#include "remote/remote.h"

#include "base/mem.h"
#include "os/fd.h"
#include "session/gitplace.h"
#include "wire/event.h"
#include "wire/msg.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { PATH_TEXT = 256, INTERRUPTED = 130, WORDS_MAX = 256 << 10 };

struct wish {
	const char *repo, *directory, *mode, *model, *backend, *base, *workspace;
	const char *env[64], *actions[32];
	size_t env_count, action_count;
	bool detach;
};

static int open_interrupt(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* To the end, or to where the record is now. The agent's exit code; 125 when the server went away. */
static int follow(struct ccbox *box, const char *run, bool raw, bool on)
{
	CC_AUTO_FD signals = on ? open_interrupt() : -1;
	struct ccbox_error error = {0};
	struct ccbox_stream *stream;
	struct ccbox_event event;
	int code = -1, got = 0, stops = 0;

	if (ccbox_run_events(box, run, 0, on, &stream, &error) != 0)
		return cc_remote_give_up(&error);
	while (got >= 0 && stops < 2) {
		struct pollfd set[] = {{.fd = ccbox_stream_fd(stream), .events = POLLIN},
				       {.fd = signals, .events = POLLIN}};
		CC_AUTO(cc_json_doc) doc = NULL;
		struct signalfd_siginfo info;
		struct cc_err err;
		char path[PATH_TEXT];

		got = ccbox_next(stream, 0, &event, &error);
		if (got > 0 && raw)
			printf("%s\n", event.json);
		if (got > 0 && cc_json_parse("event", cc_view_of(event.json), 0, &doc, &err) == CC_OK) {
			if (!raw)
				cc_remote_show(run, cc_json_root(doc));
			if (strcmp(cc_json_str(cc_json_root(doc), "record", ""), "end") == 0)
				code = (int)cc_json_int(cc_json_root(doc), "exitCode", 125);
		}
		if (got != 0)
			continue;
		if (poll(set, CC_COUNT(set), -1) < 0 && errno != EINTR)
			break;
		if (set[1].revents && read(signals, &info, sizeof(info)) > 0) {
			snprintf(path, sizeof(path), "/v1/runs/%.100s/stop", run);
			(void)ccbox_call(box, "POST", path, NULL, 0, NULL, &error);
			stops++;
		}
	}
	ccbox_stream_close(stream);
	if (code < 0 && on && stops < 2) {
		snprintf(error.message, sizeof(error.message), "the server went away; the run was ended");
		return cc_remote_give_up(&error);
	}
	return code >= 0 ? code : stops ? INTERRUPTED : 0;
}

static enum cc_code take_flag(struct wish *wish, char *const **at, struct cc_err *err)
{
	const struct {
		const char *name;
		const char **slot;
	} rows[] = {{"--repo", &wish->repo},          {"--in", &wish->directory},    {"--mode", &wish->mode},
		    {"--model", &wish->model},        {"--backend", &wish->backend}, {"--base", &wish->base},
		    {"--workspace", &wish->workspace}};
	const char *flag = **at, *value = (*at)[1];

	if (strcmp(flag, "--detach") == 0) {
		wish->detach = true;
		return CC_OK;
	}
	if (!value)
		return cc_fail(err, CC_EINVAL, 0, "%s needs a value", flag);
	(*at)++;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		if (strcmp(rows[i].name, flag) == 0) {
			*rows[i].slot = value;
			return CC_OK;
		}
	if (strcmp(flag, "--env") == 0 && wish->env_count < CC_COUNT(wish->env)) {
		wish->env[wish->env_count++] = value;
		return CC_OK;
	}
	if (strcmp(flag, "--action") == 0 && wish->action_count < CC_COUNT(wish->actions) && strchr(value, '=')) {
		wish->actions[wish->action_count++] = value;
		return CC_OK;
	}
	return cc_fail(err, CC_EINVAL, 0, "%.60s %.60s is not understood; %s", flag, value, CC_AGENT_USAGE);
}

/* Where the person stands, said so that the daemon understands it. */
static enum cc_code write_place(const struct wish *wish, struct cc_jsonw *w, struct cc_err *err)
{
	const char *word = wish->directory ? wish->directory : wish->repo ? wish->repo : ".";
	struct cc_git_place place = {0};
	char path[PATH_MAX];
	enum cc_code code = CC_OK;

	if (!wish->directory && strspn(word, "0123456789") == strlen(word)) {
		cc_jsonw_kstr(w, "repo", word);
		return CC_OK;
	}
	if (!realpath(word, path))
		return cc_fail(err, CC_ENOTFOUND, errno, "%.300s", word);
	if (wish->directory) {
		cc_jsonw_kstr(w, "directory", path);
		return CC_OK;
	}
	code = cc_git_place_find(path, &place, err);
	if (code == CC_OK)
		cc_jsonw_kstr(w, "repo", place.found ? place.top : path);
	cc_git_place_done(&place);
	return code;
}

static enum cc_code write_wish(const struct wish *wish, const char *agent, const char *prompt, struct cc_buf *body,
			       struct cc_err *err)
{
	const struct {
		const char *key, *value;
	} rows[] = {{"agent", agent},
		    {"prompt", prompt},
		    {"mode", wish->mode},
		    {"model", wish->model},
		    {"backend", wish->backend},
		    {"base", wish->base},
		    {"workspaceId", wish->workspace}};
	struct cc_jsonw w;
	enum cc_code code;

	cc_jsonw_init(&w, body);
	cc_jsonw_object(&w);
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		if (rows[i].value)
			cc_jsonw_kstr(&w, rows[i].key, rows[i].value);
	code = write_place(wish, &w, err);
	cc_jsonw_key(&w, "env");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < wish->env_count; i++)
		cc_jsonw_str(&w, wish->env[i]);
	cc_jsonw_end(&w);
	cc_jsonw_key(&w, "actions");
	cc_jsonw_object(&w);
	for (size_t i = 0; i < wish->action_count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(wish->actions[i], "="), wish->actions[i]);
		cc_jsonw_kstr(&w, name, strchr(wish->actions[i], '=') + 1);
	}
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	return code == CC_OK ? cc_buf_check(body, "the prompt", err) : code;
}

static int start(struct ccbox *box, const struct wish *wish, const struct cc_buf *body)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	CC_AUTO_FREE char *answer = NULL;
	struct ccbox_error error = {0};
	struct cc_err err;
	const char *id;

	if (ccbox_call(box, "POST", "/v1/runs", body->data, body->len, &answer, &error) != 0)
		return cc_remote_give_up(&error);
	if (cc_json_parse("answer", cc_view_of(answer), 0, &doc, &err) != CC_OK)
		return cc_give_up(&err);
	id = cc_json_str(cc_json_root(doc), "runId", "?");
	if (!wish->detach)
		return follow(box, id, false, true);
	printf("%s\n", id);
	return 0;
}

/* The words from here on, as one text. */
static void join(char *const *words, struct cc_buf *out)
{
	for (; *words; words++)
		cc_buf_addf(out, "%s%s", out->len ? " " : "", *words);
}

static int verb_run(struct ccbox *box, char *const *argv)
{
	struct wish wish = {0};
	struct cc_buf prompt, body;
	struct cc_err err = {0};
	enum cc_code code = CC_OK;
	int result;

	for (; code == CC_OK && *argv && strncmp(*argv, "--", 2) == 0 && (*argv)[2]; argv++)
		code = take_flag(&wish, &argv, &err);
	if (*argv && strcmp(*argv, "--") == 0)
		argv++;
	if (code == CC_OK && (!argv[0] || !argv[1]))
		return cc_remote_usage(CC_AGENT_USAGE);
	cc_buf_init(&prompt, WORDS_MAX);
	cc_buf_init(&body, 2 * (size_t)WORDS_MAX);
	if (code == CC_OK) {
		join(argv + 1, &prompt);
		code = write_wish(&wish, argv[0], prompt.data ? prompt.data : "", &body, &err);
	}
	result = code == CC_OK ? start(box, &wish, &body) : cc_give_up(&err);
	cc_buf_done(&prompt);
	cc_buf_done(&body);
	return result;
}

static int post_member(struct ccbox *box, const char *path, const char *key, const char *value)
{
	struct ccbox_error error = {0};
	struct cc_buf body;
	struct cc_jsonw w;
	int result;

	cc_buf_init(&body, WORDS_MAX);
	cc_jsonw_init(&w, &body);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, key, value);
	cc_jsonw_end(&w);
	result = ccbox_call(box, "POST", path, body.data, body.len, NULL, &error);
	cc_buf_done(&body);
	return result == 0 ? 0 : cc_remote_give_up(&error);
}

static bool is_id(const char *text)
{
	return text && *text && strlen(text) <= 80 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text);
}

static int verb_steer(struct ccbox *box, char *const *argv)
{
	char path[PATH_TEXT];
	struct cc_buf text;
	int result;

	if (!is_id(argv[0]) || !argv[1])
		return cc_remote_usage(CC_AGENT_USAGE);
	cc_buf_init(&text, WORDS_MAX);
	join(argv + 1, &text);
	snprintf(path, sizeof(path), "/v1/runs/%.100s/steer", argv[0]);
	result = post_member(box, path, "text", text.data ? text.data : "");
	cc_buf_done(&text);
	return result;
}

static int verb_stop(struct ccbox *box, char *const *argv)
{
	struct ccbox_error error = {0};
	char path[PATH_TEXT];

	if (!is_id(argv[0]) || argv[1])
		return cc_remote_usage(CC_AGENT_USAGE);
	snprintf(path, sizeof(path), "/v1/runs/%.100s/stop", argv[0]);
	return ccbox_call(box, "POST", path, NULL, 0, NULL, &error) == 0 ? 0 : cc_remote_give_up(&error);
}

/* Without a number: the one question that waits. Two of them are not answered at once by accident. */
static int verb_approve(struct ccbox *box, char *const *argv)
{
	const char *run = argv[0], *decision = "allow", *number = NULL;
	CC_AUTO(cc_json_doc) doc = NULL;
	CC_AUTO_FREE char *answer = NULL;
	const struct cc_json *waiting;
	struct ccbox_error error = {0};
	char path[PATH_TEXT], only[32];
	struct cc_err err;

	for (size_t i = 1; run && argv[i]; i++) {
		if (strcmp(argv[i], "--deny") == 0)
			decision = "deny";
		else if (!number && strspn(argv[i], "0123456789") == strlen(argv[i]) && strlen(argv[i]) < 10)
			number = argv[i];
		else
			return cc_remote_usage(CC_AGENT_USAGE);
	}
	if (!is_id(run))
		return cc_remote_usage(CC_AGENT_USAGE);
	snprintf(path, sizeof(path), "/v1/runs/%.100s", run);
	if (!number && ccbox_call(box, "GET", path, NULL, 0, &answer, &error) != 0)
		return cc_remote_give_up(&error);
	if (!number) {
		if (cc_json_parse("answer", cc_view_of(answer), 0, &doc, &err) != CC_OK)
			return cc_give_up(&err);
		waiting = cc_json_get(cc_json_root(doc), "questions");
		if (!waiting || waiting->count != 1) {
			cc_say("%zu questions wait in that run: say which", waiting ? waiting->count : 0);
			return CC_EXIT_NOT_ESTABLISHED;
		}
		snprintf(only, sizeof(only), "%lld", (long long)waiting->child->integer);
		number = only;
	}
	snprintf(path, sizeof(path), "/v1/runs/%.100s/approvals/%s", run, number);
	return post_member(box, path, "decision", decision);
}

int cc_verb_agent(char *const *argv, char *const *env)
{
	static const struct {
		const char *name;
		int (*run)(struct ccbox *box, char *const *argv);
	} verbs[] = {{"run", verb_run}, {"steer", verb_steer}, {"stop", verb_stop}, {"approve", verb_approve}};
	struct ccbox_error error = {0};
	struct ccbox *box;
	int result;

	(void)env;
	for (size_t i = 0; argv[0] && i < CC_COUNT(verbs); i++) {
		if (strcmp(verbs[i].name, argv[0]) != 0)
			continue;
		if (ccbox_open(NULL, &box, &error) != 0)
			return cc_remote_give_up(&error);
		result = verbs[i].run(box, argv + 1);
		ccbox_close(box);
		return result;
	}
	return cc_remote_usage(CC_AGENT_USAGE);
}

static int list(struct ccbox *box, bool raw)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	CC_AUTO_FREE char *answer = NULL;
	const struct cc_json *rows;
	struct ccbox_error error = {0};
	struct cc_err err;

	if (ccbox_call(box, "GET", "/v1/runs", NULL, 0, &answer, &error) != 0)
		return cc_remote_give_up(&error);
	if (raw) {
		printf("%s\n", answer);
		return 0;
	}
	if (cc_json_parse("answer", cc_view_of(answer), 0, &doc, &err) != CC_OK)
		return cc_give_up(&err);
	rows = cc_json_get(cc_json_root(doc), "runs");
	printf("%-20s %-10s %-8s %-8s %-8s %s\n", "RUN", "AGENT", "MODE", "BACKEND", "STATE", "PROMPT");
	for (const struct cc_json *m = rows ? rows->child : NULL; m; m = m->next) {
		struct cc_buf line;

		cc_buf_init(&line, 8192);
		cc_event_safe(&line, cc_view_of(cc_json_str(m, "prompt", "")));
		printf("%-20s %-10s %-8s %-8s %-8s %.60s\n", cc_json_str(m, "runId", "?"), cc_json_str(m, "agent", "?"),
		       cc_json_str(m, "mode", "?"), cc_json_str(m, "backend", "-"), cc_json_str(m, "state", "?"),
		       line.data ? line.data : "");
		cc_buf_done(&line);
	}
	return 0;
}

int cc_verb_runs(char *const *argv, char *const *env)
{
	const char *id = NULL;
	struct ccbox_error error = {0};
	struct ccbox *box;
	bool raw = false, on = false;
	int result;

	(void)env;
	for (; *argv; argv++) {
		if (strcmp(*argv, "--json") == 0)
			raw = true;
		else if (strcmp(*argv, "--follow") == 0)
			on = true;
		else if (!id && is_id(*argv))
			id = *argv;
		else
			return cc_remote_usage(CC_RUNS_USAGE);
	}
	if (ccbox_open(NULL, &box, &error) != 0)
		return cc_remote_give_up(&error);
	result = id ? follow(box, id, raw, on) : list(box, raw);
	ccbox_close(box);
	/* what became of the run is no failure of this verb's */
	return id && !on && result != CC_EXIT_NOT_ESTABLISHED ? 0 : result;
}
