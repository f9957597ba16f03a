#define _GNU_SOURCE
#include "acp/inside.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"
#include "wire/event.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 5000, MORE_MS = 300 };

enum cc_code cc_acp_spawn(const struct cc_acp *acp, const struct cc_strv *flags, const struct cc_strv *words,
			  const int stdio[3], int events, struct cc_child *out, struct cc_err *err)
{
	struct cc_strv argv = {0};
	struct cc_spawn how = {.envp = acp->ask->env,
			       .stdio = {stdio[0], stdio[1], stdio[2]},
			       .new_session = true,
			       .die_with_parent = true};
	enum cc_code code = cc_strv_copy(&argv, acp->ask->run, err);

	if (code == CC_OK && events >= 0) {
		how.keep[how.keep_count++] = events;
		code = cc_strv_pushf(&argv, err, "--events");
		if (code == CC_OK)
			code = cc_strv_pushf(&argv, err, "fd:%d", events);
	}
	for (size_t i = 0; code == CC_OK && flags && i < flags->count; i++)
		code = cc_strv_push(&argv, flags->items[i], err);
	if (code == CC_OK)
		code = cc_strv_push(&argv, "--", err);
	for (size_t i = 0; code == CC_OK && i < words->count; i++)
		code = cc_strv_push(&argv, words->items[i], err);
	how.argv = argv.items;
	if (code == CC_OK)
		code = cc_proc_spawn(&how, out, err);
	cc_strv_done(&argv);
	return code;
}

/* initialize, with what we serve in the place of what the editor does. */
static void pass_initialize(struct cc_acp *acp, const struct cc_json *message)
{
	const struct cc_json *params = cc_json_get(message, "params");
	const struct cc_json *able = cc_json_get(params, "clientCapabilities");
	struct cc_rpcw out;
	char id[CC_RPC_ID];

	cc_rpc_id(message, id);
	cc_rpcw_call(&out, id, "initialize");
	cc_jsonw_object(&out.w);
	for (const struct cc_json *member = params ? params->child : NULL; member; member = member->next)
		if (!cc_view_is(member->key, "clientCapabilities")) {
			cc_jsonw_key(&out.w, member->key.ptr);
			cc_jsonw_copy(&out.w, member);
		}
	cc_jsonw_key(&out.w, "clientCapabilities");
	cc_jsonw_object(&out.w);
	for (const struct cc_json *member = able ? able->child : NULL; member; member = member->next)
		if (!cc_view_is(member->key, "fs") && !cc_view_is(member->key, "terminal")) {
			cc_jsonw_key(&out.w, member->key.ptr);
			cc_jsonw_copy(&out.w, member);
		}
	cc_jsonw_key(&out.w, "fs");
	cc_jsonw_object(&out.w);
	cc_jsonw_kbool(&out.w, "readTextFile", true);
	cc_jsonw_kbool(&out.w, "writeTextFile", cc_mode_writes(acp->ask->tools->mode));
	cc_jsonw_end(&out.w);
	cc_jsonw_kbool(&out.w, "terminal", cc_mode_writes(acp->ask->tools->mode));
	cc_jsonw_end(&out.w);
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->agent, &out);
}

static void from_editor(struct cc_acp *acp, struct cc_view line)
{
	enum cc_rpc_error error;
	CC_AUTO(cc_json_doc) doc = cc_rpc_parse(line, &error);
	const struct cc_json *root = doc ? cc_json_root(doc) : NULL;

	if (!root) {
		cc_acp_fail(&acp->editor, "null", error, "not a JSON-RPC 2.0 object");
		return;
	}
	if (cc_json_get(root, "method")) {
		cc_str_put(acp->session, sizeof(acp->session),
			   cc_json_str(cc_json_get(root, "params"), "sessionId", acp->session));
		if (strcmp(cc_json_str(root, "method", ""), "initialize") == 0) {
			pass_initialize(acp, root);
			return;
		}
	} else if (cc_acp_answered(acp, root)) {
		return;
	}
	cc_outlet_add(&acp->agent, line);
}

static void from_agent(struct cc_acp *acp, struct cc_view raw)
{
	enum cc_rpc_error error;
	struct cc_json_doc *doc;
	struct cc_buf line;

	cc_buf_init(&line, 3 * (size_t)CC_RPC_LINE_MAX);
	/* one bad byte of an agent's must not cost its message */
	cc_buf_add_utf8(&line, raw);
	doc = cc_rpc_parse(cc_buf_view(&line), &error);
	if (!doc) /* what an agent prints beside the protocol is no message */
		dprintf(2, "ccbox: the agent wrote a line that is no message: %.200s\n", line.data ? line.data : "");
	else if (!cc_acp_serve(acp, &doc))
		cc_outlet_add(&acp->editor, cc_buf_view(&line));
	cc_json_doc_free(doc);
	cc_buf_done(&line);
}

/* What the sandbox refused, where the person looks. */
static void from_events(struct cc_acp *acp, struct cc_view line)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *violation;
	struct cc_rpcw out;
	struct cc_buf text;
	struct cc_err err;

	if (cc_json_parse("event", line, 0, &doc, &err) != CC_OK || !acp->session[0] ||
	    strcmp(cc_json_str(cc_json_root(doc), "type", ""), "violation") != 0)
		return;
	violation = cc_json_get(cc_json_root(doc), "violation");
	cc_buf_init(&text, 16384);
	cc_buf_addf(&text, "[sandbox] refused %s %s; rule %s", cc_json_str(violation, "action", "?"),
		    cc_json_str(violation, "target", "?"), cc_json_str(violation, "rule", "?"));
	if (*cc_json_str(violation, "grant", ""))
		cc_buf_addf(&text, "; allow with: %s", cc_json_str(violation, "grant", ""));
	cc_buf_adds(&text, "\n");
	cc_rpcw_call(&out, NULL, "session/update");
	cc_jsonw_object(&out.w);
	cc_jsonw_kstr(&out.w, "sessionId", acp->session);
	cc_jsonw_key(&out.w, "update");
	cc_jsonw_object(&out.w);
	cc_jsonw_kstr(&out.w, "sessionUpdate", "agent_thought_chunk");
	cc_jsonw_key(&out.w, "content");
	cc_jsonw_object(&out.w);
	cc_jsonw_kstr(&out.w, "type", "text");
	cc_jsonw_key(&out.w, "text");
	cc_jsonw_view(&out.w, cc_buf_view(&text));
	cc_jsonw_end(&out.w);
	cc_jsonw_end(&out.w);
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->editor, &out);
	cc_buf_done(&text);
}

/* Reads what is there; each line to its place. Closes fd at its end. */
static void take(struct cc_acp *acp, int *fd, struct cc_lines *lines, void (*each)(struct cc_acp *, struct cc_view))
{
	char bytes[65536];
	struct cc_view line;
	ssize_t got = read(*fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0 && !cc_lines_add(lines, bytes, (size_t)got)) {
		/* nobody finds out otherwise why the agent is gone */
		dprintf(2, "ccbox: %s sent a message longer than %d MiB, and is not listened to any more\n",
			lines == &acp->from_editor ? "the editor" : "the agent", CC_RPC_LINE_MAX >> 20);
		got = 0;
	}
	if (got <= 0)
		cc_fd_close(fd);
	while (cc_lines_next(lines, &line))
		each(acp, line);
}

enum { AT_EDITOR, AT_AGENT, AT_EVENTS, AT_TO_EDITOR, AT_TO_AGENT, AT_CHILD, AT_TERMINALS };
enum { ENTRIES = AT_TERMINALS + 2 * CC_ACP_TERMINALS };

static struct pollfd wants(const struct cc_outlet *outlet)
{
	return (struct pollfd){.fd = outlet->bytes.len && !outlet->broken ? outlet->fd : -1, .events = POLLOUT};
}

static void turn(struct cc_acp *acp, int timeout_ms)
{
	struct pollfd entries[ENTRIES];

	/* one that does not take what it was sent is not listened to either: nothing piles up */
	entries[AT_EDITOR] = (struct pollfd){.fd = acp->agent.bytes.len ? -1 : acp->editor_in, .events = POLLIN};
	entries[AT_AGENT] = (struct pollfd){.fd = acp->editor.bytes.len ? -1 : acp->agent_out, .events = POLLIN};
	entries[AT_EVENTS] = (struct pollfd){.fd = acp->editor.bytes.len ? -1 : acp->events_in, .events = POLLIN};
	entries[AT_TO_EDITOR] = wants(&acp->editor);
	entries[AT_TO_AGENT] = wants(&acp->agent);
	entries[AT_CHILD] = (struct pollfd){.fd = acp->child.pidfd, .events = POLLIN};
	for (int i = 0; i < CC_ACP_TERMINALS; i++) {
		const struct cc_acp_terminal *terminal = &acp->terminals[i];
		bool lives = terminal->number && !terminal->over;

		entries[AT_TERMINALS + 2 * i] = (struct pollfd){.fd = lives ? terminal->out : -1, .events = POLLIN};
		entries[AT_TERMINALS + 2 * i + 1] =
			(struct pollfd){.fd = lives ? terminal->child.pidfd : -1, .events = POLLIN};
	}
	if (poll(entries, ENTRIES, timeout_ms) <= 0)
		return;
	if (entries[AT_EDITOR].revents)
		take(acp, &acp->editor_in, &acp->from_editor, from_editor);
	if (entries[AT_AGENT].revents)
		take(acp, &acp->agent_out, &acp->from_agent, from_agent);
	if (entries[AT_EVENTS].revents)
		take(acp, &acp->events_in, &acp->events, from_events);
	for (int i = 0; i < CC_ACP_TERMINALS; i++)
		if (entries[AT_TERMINALS + 2 * i].revents || entries[AT_TERMINALS + 2 * i + 1].revents)
			cc_acp_terminal_step(acp, &acp->terminals[i]);
	cc_outlet_flush(&acp->editor);
	cc_outlet_flush(&acp->agent);
}

static bool has_ended(struct cc_acp *acp)
{
	struct pollfd entry = {.fd = acp->child.pidfd, .events = POLLIN};

	return poll(&entry, 1, 0) == 1;
}

/* The agent's own end is waited for: what is lent to it goes back then. */
static int finish(struct cc_acp *acp)
{
	int64_t until;
	int status = 0;

	if (!has_ended(acp)) {
		cc_fd_close(&acp->agent.fd);
		acp->agent.broken = true;
		until = cc_clock_ms() + MORE_MS;
		while (!has_ended(acp) && cc_clock_ms() < until)
			turn(acp, 50);
		if (!has_ended(acp))
			kill(acp->child.pid, SIGTERM);
		until = cc_clock_ms() + GRACE_MS;
		while (!has_ended(acp) && cc_clock_ms() < until)
			turn(acp, 50);
	}
	while (acp->agent_out >= 0 && has_ended(acp) && !acp->editor.broken)
		turn(acp, 100);
	cc_outlet_flush(&acp->editor);
	if (!cc_proc_wait(&acp->child, 0, &status)) {
		cc_proc_end(&acp->child);
		return 128 + SIGKILL;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static enum cc_code start(struct cc_acp *acp, struct cc_err *err)
{
	int to[2] = {-1, -1}, from[2] = {-1, -1}, events[2] = {-1, -1};
	enum cc_code code = CC_OK;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 || pipe2(events, O_CLOEXEC) < 0)
		code = cc_fail(err, CC_ESYS, errno, "a pipe");
	if (code == CC_OK) {
		const int stdio[3] = {to[0], from[1], 2};

		code = cc_acp_spawn(acp, NULL, acp->ask->agent, stdio, events[1], &acp->child, err);
	}
	cc_fd_close(&to[0]);
	cc_fd_close(&from[1]);
	cc_fd_close(&events[1]);
	cc_outlet_init(&acp->agent, to[1]);
	acp->agent_out = from[0];
	acp->events_in = events[0];
	if (code == CC_OK) {
		cc_fd_set_nonblock(to[1], true);
		cc_fd_set_nonblock(from[0], true);
		cc_fd_set_nonblock(events[0], true);
	}
	return code;
}

enum cc_code cc_acp_run(const struct cc_acp_ask *ask, int *out_code, struct cc_err *err)
{
	struct cc_acp *acp = calloc(1, sizeof(*acp));
	enum cc_code code;

	if (!acp)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	acp->ask = ask;
	acp->editor_in = fcntl(ask->in, F_DUPFD_CLOEXEC, 3);
	cc_outlet_init(&acp->editor, ask->out);
	cc_lines_init(&acp->from_editor, CC_RPC_LINE_MAX);
	cc_lines_init(&acp->from_agent, CC_RPC_LINE_MAX);
	cc_lines_init(&acp->events, CC_RPC_LINE_MAX);
	code = start(acp, err);
	while (code == CC_OK && acp->editor_in >= 0 && !acp->editor.broken && !acp->agent.broken && !has_ended(acp))
		turn(acp, -1);
	if (code == CC_OK)
		*out_code = finish(acp);
	for (int i = 0; i < CC_ACP_TERMINALS; i++)
		cc_acp_terminal_end(&acp->terminals[i]);
	for (int i = 0; i < CC_ACP_ASKED; i++)
		cc_json_doc_free(acp->asked[i].doc);
	cc_fd_close(&acp->agent.fd);
	cc_fd_close(&acp->agent_out);
	cc_fd_close(&acp->events_in);
	cc_fd_close(&acp->editor_in);
	cc_buf_done(&acp->editor.bytes);
	cc_buf_done(&acp->agent.bytes);
	cc_lines_done(&acp->from_editor);
	cc_lines_done(&acp->from_agent);
	cc_lines_done(&acp->events);
	free(acp);
	return code;
}
