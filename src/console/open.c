/* open.c - POST, GET and DELETE /v1/terminals. */
#define _GNU_SOURCE
#include "console/terminals.h"

#include "backend/pick.h"
#include "os/clock.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One that is being opened, beside the loop. */
struct opening {
	uv_work_t work;
	struct cc_term_entry *entry;
	struct cc_call *call; /* NULL: the caller has gone */
	char *cwd, *shell;
	struct cc_terminal_ask ask;
	struct cc_err err;
	enum cc_code code;
};

/* The first call makes it: most servers never have a terminal. */
static struct cc_terminals *all_of(struct cc_console *console)
{
	struct cc_terminals *all = console->terminals;
	struct cc_err err;

	if (all)
		return all;
	all = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	all->console = console;
	/* read-denied inside a native terminal: token, database, socket */
	if (cc_strv_push(&all->daemon_paths, console->data_dir, &err) != CC_OK ||
	    cc_strv_push(&all->daemon_paths, console->run_dir, &err) != CC_OK) {
		cc_strv_done(&all->daemon_paths);
		free(all);
		return NULL;
	}
	console->terminals = all;
	return all;
}

/* On the worker while the terminal is opened, then on the loop: never both. */
static void on_event(void *context, const struct cc_event *event)
{
	struct cc_term_entry *entry = context;
	char **slot = &entry->events[entry->event_count % CC_TERM_EVENTS];
	struct cc_buf line;

	if (event->type != CC_EVENT_VIOLATION)
		return;
	cc_buf_init(&line, 65536);
	cc_event_write(event, &line);
	if (!line.failed && line.len) {
		line.data[--line.len] = '\0'; /* its newline */
		free(*slot);
		*slot = cc_str_copy(line.data);
		entry->event_count++;
	}
	cc_buf_done(&line);
}

static void write_info(struct cc_jsonw *w, const struct cc_term_entry *entry)
{
	struct cc_terminal_info info;

	cc_terminal_info(entry->terminal, &info);
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "id", entry->id);
	cc_jsonw_kstr(w, "backend", cc_backend_name(info.backend));
	cc_term_write_badge(w, info.backend);
	cc_jsonw_kstr(w, "state", info.over ? "ended" : entry->closing ? "closing" : "running");
	cc_jsonw_kstr(w, "shell", info.shell);
	cc_jsonw_kstr(w, "cwd", info.cwd);
	cc_jsonw_kstr(w, "title", info.title);
	cc_jsonw_kint(w, "rows", info.size.rows);
	cc_jsonw_kint(w, "cols", info.size.cols);
	cc_jsonw_kint(w, "viewers", (int64_t)info.viewers);
	cc_jsonw_kint(w, "oldest", (int64_t)info.oldest);
	cc_jsonw_kint(w, "seq", (int64_t)info.end);
	if (info.over) {
		cc_jsonw_kstr(w, "reason", info.why);
		if (info.reason == CC_CLOSE_EXIT)
			cc_jsonw_kint(w, info.signal ? "signal" : "exitCode", info.signal ? info.signal : info.code);
	}
	cc_jsonw_end(w);
}

static void reply_info(struct cc_call *call, int status, const struct cc_term_entry *entry)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, 65536);
	cc_jsonw_init(&w, &text);
	write_info(&w, entry);
	cc_buf_adds(&text, "\n");
	cc_reply_json(call, status, &text);
	cc_buf_done(&text);
}

static void do_open(uv_work_t *work)
{
	struct opening *it = work->data;

	it->code = cc_terminal_open(&it->ask, &it->entry->terminal, &it->err);
}

static void unlink_entry(struct cc_term_entry *entry)
{
	struct cc_term_entry **at = &entry->all->first;

	while (*at && *at != entry)
		at = &(*at)->next;
	if (*at)
		*at = entry->next;
	entry->all->count--;
	for (size_t i = 0; i < CC_TERM_EVENTS; i++)
		free(entry->events[i]);
	free(entry);
}

static bool start_timer(struct cc_term_entry *entry)
{
	uv_timer_t *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return false;
	uv_timer_init(entry->all->console->loop, timer);
	timer->data = entry;
	entry->timer = timer;
	return true;
}

static void on_opened(uv_work_t *work, int status)
{
	struct opening *it = work->data;
	struct cc_term_entry *entry = it->entry;

	if (status != 0 && it->code == CC_OK)
		it->code = cc_fail(&it->err, CC_ESTATE, 0, "the server stops");
	if (it->call)
		cc_call_on_closed(it->call, NULL, NULL);
	if (it->code == CC_OK && entry->terminal && start_timer(entry)) {
		cc_terminals_log(entry->all->console, false, "terminal %s: started", entry->id);
		if (it->call)
			reply_info(it->call, 201, entry);
		else /* nobody knows of it */
			cc_terminal_close(entry->terminal, CC_CLOSE_CLOSED);
		if (entry->all->console->ending)
			cc_terminal_close(entry->terminal, CC_CLOSE_GOING);
		cc_terminals_after(entry);
	} else {
		cc_terminals_log(entry->all->console, true, "terminal %s: not started: %s", entry->id, it->err.what);
		if (it->call)
			cc_reply_fail(it->call, &it->err);
		cc_terminal_free(entry->terminal);
		unlink_entry(entry);
	}
	free(it->cwd);
	free(it->shell);
	free(it);
}

static void on_caller_gone(void *context)
{
	((struct opening *)context)->call = NULL;
}

/* What the body may say. */
struct wish {
	const char *backend, *cwd, *shell;
	int64_t rows, cols, idle;
};

static const struct {
	const char *key;
	bool text;
	size_t at; /* in struct wish */
	int64_t least, most;
} fields[] = {
	{"backend", true, offsetof(struct wish, backend), 0, 0},
	{"cwd", true, offsetof(struct wish, cwd), 0, 0},
	{"shell", true, offsetof(struct wish, shell), 0, 0},
	{"rows", false, offsetof(struct wish, rows), 1, CC_TERM_SIZE_MAX},
	{"cols", false, offsetof(struct wish, cols), 1, CC_TERM_SIZE_MAX},
	{"idleSeconds", false, offsetof(struct wish, idle), 0, 7 * 24 * 3600},
};

static enum cc_code read_field(const struct cc_json *member, struct wish *wish, struct cc_err *err)
{
	for (size_t i = 0; i < CC_COUNT(fields); i++) {
		char *at = (char *)wish + fields[i].at;

		if (!cc_view_is(member->key, fields[i].key))
			continue;
		if (member->kind == CC_JSON_NULL)
			return CC_OK;
		if (fields[i].text && member->kind == CC_JSON_STRING) {
			memcpy(at, &member->text.ptr, sizeof(member->text.ptr));
			return CC_OK;
		}
		if (!fields[i].text && member->kind == CC_JSON_INT && member->integer >= fields[i].least &&
		    member->integer <= fields[i].most) {
			memcpy(at, &member->integer, sizeof(member->integer));
			return CC_OK;
		}
		if (fields[i].text)
			return cc_fail(err, CC_EINVAL, 0, "%s is a string", fields[i].key);
		return cc_fail(err, CC_EINVAL, 0, "%s is a whole number from %lld to %lld", fields[i].key,
			       (long long)fields[i].least, (long long)fields[i].most);
	}
	return cc_fail(err, CC_EINVAL, 0, "unknown field \"%.*s\"", (int)(member->key.len < 60 ? member->key.len : 60),
		       member->key.ptr);
}

static enum cc_code read_wish(struct cc_view body, struct cc_json_doc **doc, struct wish *wish, struct cc_err *err)
{
	const struct cc_json *root;
	enum cc_code code = cc_json_parse("body", body, 0, doc, err);

	*wish = (struct wish){.rows = 24, .cols = 80};
	root = code == CC_OK ? cc_json_root(*doc) : NULL;
	if (root && root->kind != CC_JSON_OBJECT)
		return cc_fail(err, CC_EINVAL, 0, "the body is a JSON object");
	for (const struct cc_json *at = root ? root->child : NULL; at && code == CC_OK; at = at->next)
		code = read_field(at, wish, err);
	return code;
}

/* The probe says what is certain beforehand; the launch itself decides, and a refusal there is one here. */
static enum cc_code choose(struct cc_terminals *all, const struct wish *wish, struct cc_choice *out, struct cc_err *err)
{
	const struct cc_probe *probe = all->console->probe;
	struct cc_choice_ask ask = {.asked = wish->backend,
				    .configured = all->console->configured,
				    .native = probe->available && !probe->failing.step[0],
				    .why_not_native = probe->available ? probe->failing.what : probe->install_hint};
	enum cc_code code = cc_backend_choose(&ask, out, err);

	if (code == CC_OK && out->stepped_down)
		cc_terminals_log(all->console, true,
				 "terminal: this host boots no microvm; the default steps down to %s",
				 cc_backend_name(out->kind));
	return code;
}

static void begin(struct cc_call *call, struct cc_terminals *all, const struct wish *wish, enum cc_backend_kind backend)
{
	struct opening *it = calloc(1, sizeof(*it));
	struct cc_term_entry *entry = calloc(1, sizeof(*entry));
	unsigned char random[12];

	if (!it || !entry) {
		free(it);
		free(entry);
		cc_reply_failf(call, CC_ELIMIT, "out of memory");
		return;
	}
	cc_random(random, sizeof(random));
	memcpy(entry->id, "term-", 6);
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(entry->id + 5 + 2 * i, 3, "%02x", random[i]);
	entry->all = all;
	it->entry = entry;
	it->call = call;
	it->cwd = cc_str_copy(wish->cwd);
	it->shell = cc_str_copy(wish->shell);
	it->ask = (struct cc_terminal_ask){
		.id = entry->id,
		.size = {(unsigned short)wish->rows, (unsigned short)wish->cols},
		.backend = backend,
		.cwd = it->cwd,
		.shell = it->shell,
		.env = all->console->env,
		.daemon_paths = &all->daemon_paths,
		.idle_ms = wish->idle * 1000,
		.event = on_event,
		.context = entry,
	};
	it->work.data = it;
	entry->next = all->first;
	all->first = entry;
	all->count++;
	cc_call_on_closed(call, on_caller_gone, it);
	uv_queue_work(all->console->loop, &it->work, do_open, on_opened);
}

static void post_terminal(struct cc_call *call)
{
	struct cc_console *console = cc_call_context(call);
	struct cc_terminals *all = all_of(console);
	CC_AUTO(cc_json_doc) doc = NULL;
	struct wish wish;
	struct cc_choice choice;
	struct cc_err err = {0};
	enum cc_code code =
		all ? read_wish(cc_call_body(call), &doc, &wish, &err) : cc_fail(&err, CC_ELIMIT, 0, "out of memory");

	if (code == CC_OK && console->ending)
		code = cc_fail(&err, CC_ESTATE, 0, "the server stops");
	if (code == CC_OK && all->count >= CC_TERMINALS_MAX)
		code = cc_fail(&err, CC_ELIMIT, 0, "at most %d terminals at once", CC_TERMINALS_MAX);
	if (code == CC_OK)
		code = choose(all, &wish, &choice, &err);
	if (code == CC_OK)
		begin(call, all, &wish, choice.kind);
	else
		cc_reply_fail(call, &err);
}

static void get_terminals(struct cc_call *call)
{
	struct cc_console *console = cc_call_context(call);
	struct cc_buf text;
	struct cc_jsonw w;

	cc_buf_init(&text, 1 << 20);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "terminals");
	cc_jsonw_array(&w);
	for (struct cc_term_entry *at = console->terminals ? console->terminals->first : NULL; at; at = at->next)
		if (at->timer) /* it is open */
			write_info(&w, at);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	cc_buf_adds(&text, "\n");
	cc_reply_json(call, 200, &text);
	cc_buf_done(&text);
}

static struct cc_term_entry *wanted(struct cc_call *call)
{
	struct cc_term_entry *entry = cc_terminals_find(cc_call_context(call), cc_call_param(call, 0));

	if (entry && entry->timer)
		return entry;
	cc_reply_failf(call, CC_ENOTFOUND, "no such terminal");
	return NULL;
}

static void get_terminal(struct cc_call *call)
{
	struct cc_term_entry *entry = wanted(call);

	if (entry)
		reply_info(call, 200, entry);
}

static void delete_terminal(struct cc_call *call)
{
	struct cc_term_entry *entry = wanted(call);

	if (!entry)
		return;
	entry->closing = true;
	cc_terminal_close(entry->terminal, CC_CLOSE_CLOSED);
	reply_info(call, 202, entry);
	cc_terminals_after(entry);
}

const struct cc_route cc_routes_terminal[] = {
	{"POST", "/v1/terminals", 0, CC_TERM_BODY_MAX, post_terminal},
	{"GET", "/v1/terminals", 0, 0, get_terminals},
	{"GET", "/v1/terminals/{id}", 0, 0, get_terminal},
	{"DELETE", "/v1/terminals/{id}", 0, 0, delete_terminal},
	{0},
};
