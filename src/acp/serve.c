#define _GNU_SOURCE
#include "acp/inside.h"

#include "base/mem.h"
#include "guard/command.h"
#include "os/fd.h"
#include "tools/place.h"
#include "tools/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void refuse(struct cc_acp *acp, const char *id, const char *text)
{
	cc_acp_fail(&acp->agent, id, CC_RPC_NOT_DONE, text);
}

/* fs/read_text_file {path, line?, limit?} */
static void read_file(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	int64_t line = cc_json_int(params, "line", 1), limit = cc_json_int(params, "limit", -1), number = 1;
	CC_AUTO_PLACE place = {.parent = -1};
	struct cc_rpcw out;
	struct cc_err err = {0};
	struct cc_buf text;
	struct cc_view all, part;
	size_t at = 0, from;
	enum cc_code code = cc_place_find(acp->ask->tools, cc_json_str(params, "path", ""), false, &place, &err);

	cc_buf_init(&text, CC_TOOL_FILE_MAX + 1);
	if (code == CC_OK && !place.there)
		code = cc_fail(&err, CC_ENOTFOUND, 0, "%.200s is not there", place.path);
	if (code == CC_OK)
		code = cc_place_read(acp->ask->tools, &place, &text, &err);
	if (code != CC_OK) {
		refuse(acp, id, err.what);
		cc_buf_done(&text);
		return;
	}
	all = cc_buf_view(&text);
	while (at < all.len && number < line) {
		(void)cc_text_line(all, &at);
		number++;
	}
	from = at;
	while (at < all.len && limit != 0) {
		(void)cc_text_line(all, &at);
		limit -= limit > 0;
	}
	part = (struct cc_view){all.ptr + from, at - from};
	cc_rpcw_result(&out, id);
	cc_jsonw_object(&out.w);
	cc_jsonw_key(&out.w, "content");
	cc_jsonw_view(&out.w, part);
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->agent, &out);
	cc_buf_done(&text);
}

/* fs/write_text_file {path, content} */
static void write_file(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	const struct cc_json *content = cc_json_get(params, "content");
	CC_AUTO_PLACE place = {.parent = -1};
	CC_AUTO_CHANGES changes = {0};
	struct cc_rpcw out;
	struct cc_err err = {0};
	enum cc_code code =
		content && content->kind == CC_JSON_STRING
			? cc_place_find(acp->ask->tools, cc_json_str(params, "path", ""), true, &place, &err)
			: cc_fail(&err, CC_EINVAL, 0, "content is missing");

	if (code == CC_OK)
		code = cc_changes_add(acp->ask->tools, &changes, &place, content->text, &err);
	if (code == CC_OK)
		code = cc_changes_apply(&changes, &err);
	if (code != CC_OK) {
		refuse(acp, id, err.what);
		return;
	}
	cc_rpcw_result(&out, id);
	cc_jsonw_object(&out.w);
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->agent, &out);
}

static enum cc_code words_of(const struct cc_json *params, struct cc_strv *words, struct cc_strv *flags,
			     struct cc_err *err)
{
	const struct cc_json *args = cc_json_get(params, "args"), *env = cc_json_get(params, "env");
	const char *command = cc_json_str(params, "command", ""), *cwd = cc_json_str(params, "cwd", NULL);
	enum cc_code code =
		*command ? cc_strv_push(words, command, err) : cc_fail(err, CC_EINVAL, 0, "command is missing");

	for (const struct cc_json *arg = args ? args->child : NULL; code == CC_OK && arg; arg = arg->next)
		code = cc_strv_push_view(words, arg->text, err);
	for (const struct cc_json *item = env ? env->child : NULL; code == CC_OK && item; item = item->next) {
		code = cc_strv_push(flags, "--env", err);
		if (code == CC_OK)
			code = cc_strv_pushf(flags, err, "%s=%s", cc_json_str(item, "name", ""),
					     cc_json_str(item, "value", ""));
	}
	if (code == CC_OK && cwd)
		code = cc_strv_push(flags, "--workdir", err);
	if (code == CC_OK && cwd)
		code = cc_strv_push(flags, cwd, err);
	return code;
}

static enum cc_code start_command(struct cc_acp *acp, struct cc_acp_terminal *terminal, const struct cc_strv *words,
				  const struct cc_strv *flags, struct cc_err *err)
{
	int fds[2] = {-1, -1};
	enum cc_code code;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "a pipe");
	cc_fd_set_nonblock(fds[0], true);
	code = cc_acp_spawn(acp, flags, words, (const int[3]){-1, fds[1], fds[1]}, -1, &terminal->child, err);
	close(fds[1]);
	terminal->out = fds[0];
	if (code != CC_OK)
		cc_fd_close(&terminal->out);
	return code;
}

static void create(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	int64_t limit = cc_json_int(params, "outputByteLimit", CC_ACP_OUTPUT);
	struct cc_acp_terminal *terminal = NULL;
	struct cc_strv words = {0}, flags = {0};
	struct cc_rpcw out;
	struct cc_err err = {0};
	char name[32];
	enum cc_code code;

	for (int i = 0; i < CC_ACP_TERMINALS && !terminal; i++)
		if (!acp->terminals[i].number)
			terminal = &acp->terminals[i];
	if (!terminal) {
		refuse(acp, id, "too many commands at once: release some");
		return;
	}
	*terminal = (struct cc_acp_terminal){.out = -1};
	terminal->limit = limit < 1 || limit > CC_ACP_OUTPUT ? CC_ACP_OUTPUT : (size_t)limit;
	cc_buf_init(&terminal->text, 4 * (size_t)CC_ACP_OUTPUT);
	code = words_of(params, &words, &flags, &err);
	if (code == CC_OK)
		code = start_command(acp, terminal, &words, &flags, &err);
	cc_strv_done(&words);
	cc_strv_done(&flags);
	if (code != CC_OK) {
		refuse(acp, id, err.what);
		return;
	}
	terminal->number = ++acp->terminals_made;
	snprintf(name, sizeof(name), "ccbox-%d", terminal->number);
	cc_rpcw_result(&out, id);
	cc_jsonw_object(&out.w);
	cc_jsonw_kstr(&out.w, "terminalId", name);
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->agent, &out);
}

/* The command policy's question, put to the person by the editor. */
static bool ask_editor(struct cc_acp *acp, struct cc_json_doc *doc, const struct cc_command_verdict *verdict)
{
	const struct cc_json *params = cc_json_get(cc_json_root(doc), "params");
	struct cc_rpcw out;
	char id[40], quoted[48], title[400];
	int slot = 0;

	while (slot < CC_ACP_ASKED && acp->asked[slot].number)
		slot++;
	if (slot == CC_ACP_ASKED)
		return false;
	acp->asked[slot].number = ++acp->asked_made;
	acp->asked[slot].doc = doc;
	snprintf(id, sizeof(id), "ccbox-ask-%d", acp->asked_made);
	snprintf(quoted, sizeof(quoted), "\"%s\"", id);
	snprintf(title, sizeof(title), "Run %s? (%s%s%s)", cc_json_str(params, "command", ""), verdict->rule,
		 *verdict->why ? " " : "", verdict->why);
	cc_rpcw_call(&out, quoted, "session/request_permission");
	cc_jsonw_object(&out.w);
	cc_jsonw_kstr(&out.w, "sessionId", cc_json_str(params, "sessionId", acp->session));
	cc_jsonw_key(&out.w, "toolCall");
	cc_jsonw_object(&out.w);
	cc_jsonw_kstr(&out.w, "toolCallId", id);
	cc_jsonw_kstr(&out.w, "title", title);
	cc_jsonw_kstr(&out.w, "kind", "execute");
	cc_jsonw_kstr(&out.w, "status", "pending");
	cc_jsonw_end(&out.w);
	cc_jsonw_key(&out.w, "options");
	cc_jsonw_raw(&out.w, "[{\"optionId\":\"allow\",\"name\":\"Allow once\",\"kind\":\"allow_once\"},"
			     "{\"optionId\":\"reject\",\"name\":\"Reject\",\"kind\":\"reject_once\"}]");
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->editor, &out);
	return true;
}

/* terminal/create {command, args?, env?, cwd?, outputByteLimit?}. True: the document is kept until a person answers. */
static bool create_if_allowed(struct cc_acp *acp, const char *id, struct cc_json_doc *doc)
{
	const struct cc_json *params = cc_json_get(cc_json_root(doc), "params");
	struct cc_strv words = {0}, flags = {0};
	struct cc_command_verdict verdict = {.verdict = CC_GUARD_DENY, .rule = "unclear", .why = ""};
	struct cc_err err = {0};
	enum cc_code code = words_of(params, &words, &flags, &err);
	char why[300];
	bool kept = false;

	if (code == CC_OK)
		code = cc_command_judge_argv((const char *const *)words.items, words.count, acp->ask->tools->mode,
					     &verdict, &err);
	snprintf(why, sizeof(why), "refused by the command policy: %s%s%s", verdict.rule ? verdict.rule : "",
		 verdict.why && *verdict.why ? " " : "", verdict.why ? verdict.why : "");
	if (code != CC_OK)
		cc_acp_fail(&acp->agent, id, CC_RPC_PARAMS, err.what);
	else if (!cc_mode_writes(acp->ask->tools->mode))
		refuse(acp, id, "no commands in a mode that only reads");
	else if (verdict.verdict == CC_GUARD_ALLOW)
		create(acp, id, params);
	else if (verdict.verdict == CC_GUARD_DENY || !(kept = ask_editor(acp, doc, &verdict)))
		refuse(acp, id, why);
	cc_strv_done(&words);
	cc_strv_done(&flags);
	return kept;
}

bool cc_acp_answered(struct cc_acp *acp, const struct cc_json *message)
{
	const char *id = cc_json_str(message, "id", "");
	const struct cc_json *outcome = cc_json_get(cc_json_get(message, "result"), "outcome");
	bool yes = outcome && strcmp(cc_json_str(outcome, "outcome", ""), "selected") == 0 &&
		   strcmp(cc_json_str(outcome, "optionId", ""), "allow") == 0;

	for (int i = 0; i < CC_ACP_ASKED; i++) {
		char mine[48], theirs[CC_RPC_ID];
		struct cc_json_doc *doc = acp->asked[i].doc;

		snprintf(mine, sizeof(mine), "ccbox-ask-%d", acp->asked[i].number);
		if (!acp->asked[i].number || strcmp(mine, id) != 0)
			continue;
		acp->asked[i].number = 0;
		acp->asked[i].doc = NULL;
		cc_rpc_id(cc_json_root(doc), theirs);
		if (yes)
			create(acp, theirs, cc_json_get(cc_json_root(doc), "params"));
		else
			refuse(acp, theirs, "the person did not allow it");
		cc_json_doc_free(doc);
		return true;
	}
	return false;
}

static struct cc_acp_terminal *find(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	const char *name = cc_json_str(params, "terminalId", "");

	for (int i = 0; i < CC_ACP_TERMINALS; i++) {
		char mine[32];

		snprintf(mine, sizeof(mine), "ccbox-%d", acp->terminals[i].number);
		if (acp->terminals[i].number && strcmp(mine, name) == 0)
			return &acp->terminals[i];
	}
	refuse(acp, id, "no such terminal");
	return NULL;
}

static void write_status(struct cc_jsonw *w, const struct cc_acp_terminal *terminal)
{
	cc_jsonw_key(w, "exitCode");
	if (WIFEXITED(terminal->status))
		cc_jsonw_int(w, WEXITSTATUS(terminal->status));
	else
		cc_jsonw_null(w);
	cc_jsonw_key(w, "signal");
	if (WIFSIGNALED(terminal->status))
		cc_jsonw_str(w, strsignal(WTERMSIG(terminal->status)));
	else
		cc_jsonw_null(w);
}

static void output(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	struct cc_acp_terminal *terminal = find(acp, id, params);
	struct cc_rpcw out;
	struct cc_view text;

	if (!terminal)
		return;
	text = cc_buf_view(&terminal->text);
	if (text.len > terminal->limit) {
		text.ptr += text.len - terminal->limit;
		text.len = terminal->limit;
	}
	while (text.len && ((unsigned char)*text.ptr & 0xc0) == 0x80) { /* not in the middle of a character */
		text.ptr++;
		text.len--;
	}
	cc_rpcw_result(&out, id);
	cc_jsonw_object(&out.w);
	cc_jsonw_key(&out.w, "output");
	cc_jsonw_view(&out.w, text);
	cc_jsonw_kbool(&out.w, "truncated", terminal->cut || terminal->text.len > terminal->limit);
	if (terminal->over) {
		cc_jsonw_key(&out.w, "exitStatus");
		cc_jsonw_object(&out.w);
		write_status(&out.w, terminal);
		cc_jsonw_end(&out.w);
	}
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->agent, &out);
}

static void tell_end(struct cc_acp *acp, struct cc_acp_terminal *terminal, const char *id)
{
	struct cc_rpcw out;

	cc_rpcw_result(&out, id);
	cc_jsonw_object(&out.w);
	write_status(&out.w, terminal);
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->agent, &out);
}

static void wait_for_exit(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	struct cc_acp_terminal *terminal = find(acp, id, params);

	if (!terminal)
		return;
	if (terminal->over)
		tell_end(acp, terminal, id);
	else if (terminal->waiting[0])
		refuse(acp, id, "it is waited for already");
	else
		cc_str_put(terminal->waiting, sizeof(terminal->waiting), id);
}

static void done(struct cc_acp *acp, const char *id)
{
	struct cc_rpcw out;

	cc_rpcw_result(&out, id);
	cc_jsonw_object(&out.w);
	cc_jsonw_end(&out.w);
	cc_acp_send(&acp->agent, &out);
}

static void kill_command(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	struct cc_acp_terminal *terminal = find(acp, id, params);

	if (!terminal)
		return;
	if (!terminal->over) {
		cc_proc_end(&terminal->child);
		terminal->status = 9; /* SIGKILL, as wait would say it */
		terminal->over = true;
		if (terminal->waiting[0])
			tell_end(acp, terminal, terminal->waiting);
	}
	done(acp, id);
}

static void release(struct cc_acp *acp, const char *id, const struct cc_json *params)
{
	struct cc_acp_terminal *terminal = find(acp, id, params);

	if (!terminal)
		return;
	if (terminal->waiting[0] && !terminal->over)
		refuse(acp, terminal->waiting, "it was released");
	cc_acp_terminal_end(terminal);
	done(acp, id);
}

void cc_acp_terminal_step(struct cc_acp *acp, struct cc_acp_terminal *terminal)
{
	char bytes[65536];
	ssize_t got = 0;
	bool ended = cc_proc_wait(&terminal->child, 0, &terminal->status);

	while (terminal->out >= 0 && (got = read(terminal->out, bytes, sizeof(bytes))) > 0) {
		cc_buf_add(&terminal->text, bytes, (size_t)got);
		if (terminal->text.len > 2 * (size_t)CC_ACP_OUTPUT) {
			cc_buf_eat(&terminal->text, terminal->text.len - CC_ACP_OUTPUT);
			terminal->cut = true;
		}
	}
	if (got == 0)
		cc_fd_close(&terminal->out);
	if (!ended)
		return;
	terminal->over = true;
	cc_fd_close(&terminal->out);
	if (terminal->waiting[0])
		tell_end(acp, terminal, terminal->waiting);
	terminal->waiting[0] = '\0';
}

void cc_acp_terminal_end(struct cc_acp_terminal *terminal)
{
	if (!terminal->number)
		return;
	cc_proc_end(&terminal->child);
	cc_fd_close(&terminal->out);
	cc_buf_done(&terminal->text);
	*terminal = (struct cc_acp_terminal){.out = -1};
}

static const struct {
	const char *method;
	void (*serve)(struct cc_acp *acp, const char *id, const struct cc_json *params);
} served[] = {
	{"fs/read_text_file", read_file},          {"fs/write_text_file", write_file}, {"terminal/output", output},
	{"terminal/wait_for_exit", wait_for_exit}, {"terminal/kill", kill_command},    {"terminal/release", release},
};

bool cc_acp_serve(struct cc_acp *acp, struct cc_json_doc **doc)
{
	const struct cc_json *root = cc_json_root(*doc);
	const char *method = cc_json_str(root, "method", "");
	char id[CC_RPC_ID];

	cc_rpc_id(root, id);
	if (strncmp(method, "fs/", 3) != 0 && strncmp(method, "terminal/", 9) != 0)
		return false;
	if (!cc_json_get(root, "id"))
		return true; /* a notification of that name means nothing */
	if (strcmp(method, "terminal/create") == 0) {
		if (create_if_allowed(acp, id, *doc))
			*doc = NULL;
		return true;
	}
	for (size_t i = 0; i < CC_COUNT(served); i++)
		if (strcmp(served[i].method, method) == 0) {
			served[i].serve(acp, id, cc_json_get(root, "params"));
			return true;
		}
	cc_acp_fail(&acp->agent, id, CC_RPC_METHOD, "no such method here");
	return true;
}
