#define _GNU_SOURCE
#include "backend/linux/native.h"

#include "os/fd.h"
#include "wire/msg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ARGS_MAX = 4 << 20, END_TIMEOUT_MS = 2000 };

void cc_native_read_diag(struct cc_native_box *box)
{
	char chunk[4096];
	ssize_t got;

	while (box->diag >= 0 && (got = read(box->diag, chunk, sizeof(chunk))) > 0)
		if (box->diag_text.len < 4096)
			cc_buf_add(&box->diag_text, chunk, (size_t)got);
	while (box->diag_text.len && box->diag_text.data[box->diag_text.len - 1] == '\n')
		box->diag_text.data[--box->diag_text.len] = '\0';
}

/* "ARGC ENVC\n" and the strings: argv and environment may be any bytes and any size, so they travel as a file. */
static enum cc_code write_block(const struct cc_box_exec *what, int *out_fd, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, ARGS_MAX);
	cc_buf_addf(&text, "%zu %zu\n", what->argv->count, what->env->count);
	for (size_t i = 0; i < what->argv->count; i++)
		cc_buf_add(&text, what->argv->items[i], strlen(what->argv->items[i]) + 1);
	for (size_t i = 0; i < what->env->count; i++)
		cc_buf_add(&text, what->env->items[i], strlen(what->env->items[i]) + 1);
	code = cc_buf_check(&text, "argv and environment", err);
	if (code == CC_OK)
		code = cc_fd_memfile("ccbox-exec", text.data, text.len, out_fd, err);
	cc_buf_done(&text);
	return code;
}

static enum cc_code native_exec(struct cc_box *box, int id, const struct cc_box_exec *what, struct cc_err *err)
{
	struct cc_native_box *native = (struct cc_native_box *)box;
	CC_AUTO_FD block = -1;
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code = write_block(what, &block, err);
	int fds[CC_PEER_FDS] = {block, what->stdio[0], what->stdio[1], what->stdio[2]};
	size_t count = what->pty ? 1 : 4;

	if (code != CC_OK)
		return code;
	cc_jsonw_message(&w, &text, CC_PEER_MAX, "exec");
	cc_jsonw_kint(&w, "id", id);
	cc_jsonw_kstr(&w, "cwd", what->cwd);
	cc_jsonw_kbool(&w, "pty", what->pty);
	cc_jsonw_kint(&w, "rows", what->size.rows);
	cc_jsonw_kint(&w, "cols", what->size.cols);
	cc_jsonw_key(&w, "inherit");
	cc_jsonw_array(&w);
	for (size_t i = 0; what->inherited && i < what->inherited->count; i++) {
		cc_jsonw_int(&w, what->inherited->fds[i]);
		fds[count++] = what->inherited->fds[i];
	}
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	code = cc_buf_check(&text, "the exec message", err);
	if (code == CC_OK)
		code = cc_peer_send(native->init, text.data, text.len, fds, count, err);
	for (size_t i = 0; what->inherited && i < what->inherited->count; i++)
		close(what->inherited->fds[i]); /* whoever is at the other end waits for the command's alone */
	cc_buf_done(&text);
	return code;
}

static enum cc_code native_signal(struct cc_box *box, int id, int signal, struct cc_err *err)
{
	struct cc_native_box *native = (struct cc_native_box *)box;
	char text[96];
	int len = snprintf(text, sizeof(text), "{\"m\":\"signal\",\"id\":%d,\"signal\":%d}", id, signal);

	return cc_peer_send(native->init, text, (size_t)len, NULL, 0, err);
}

enum cc_code cc_native_say(int sock, const char *name, const int *fds, size_t fd_count, struct cc_err *err)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "{\"m\":\"%s\"}", name);

	return cc_peer_send(sock, text, (size_t)len, fds, fd_count, err);
}

static enum cc_code native_tell(struct cc_box *box, const char *message, struct cc_err *err)
{
	return cc_native_say(((struct cc_native_box *)box)->init, message, NULL, 0, err);
}

static enum cc_code native_fetch(struct cc_box *box, int id, const char *message, const char *path, struct cc_err *err)
{
	struct cc_native_box *native = (struct cc_native_box *)box;
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, message);
	cc_jsonw_kint(&w, "id", id);
	cc_jsonw_kstr(&w, "path", path);
	cc_jsonw_end(&w);
	code = cc_buf_check(&text, "the path", err);
	if (code == CC_OK)
		code = cc_peer_send(native->init, text.data, text.len, NULL, 0, err);
	cc_buf_done(&text);
	return code;
}

static size_t native_watch(const struct cc_box *box, int fds[CC_BOX_WATCH])
{
	const struct cc_native_box *native = (const struct cc_native_box *)box;
	const int all[] = {native->init, native->egress, native->diag};
	size_t count = 0;

	for (size_t i = 0; i < CC_COUNT(all); i++)
		if (all[i] >= 0)
			fds[count++] = all[i];
	return count;
}

/* message name -> note */
static const struct {
	const char *name;
	enum cc_note_kind kind;
} messages[] = {
	{"started", CC_NOTE_STARTED},     {"refused", CC_NOTE_REFUSED}, {"exit", CC_NOTE_EXIT},
	{"violation", CC_NOTE_VIOLATION}, {"notice", CC_NOTE_NOTICE},   {"net", CC_NOTE_NET},
	{"closed", CC_NOTE_CLOSED},       {"file", CC_NOTE_FILE},       {"names", CC_NOTE_NAMES},
	{"frozen", CC_NOTE_FROZEN},       {"thawed", CC_NOTE_THAWED},   {"failed", CC_NOTE_LOST},
	{"stopped", CC_NOTE_STOPPED},     {"gateway", CC_NOTE_GATEWAY}, {"ready", CC_NOTE_POLICY},
	{"bye", CC_NOTE_PASSED},
};

static void note_fill(struct cc_note *note, struct cc_peer_msg *msg)
{
	const struct cc_json *root = cc_json_root(note->doc);
	const char *name = cc_json_str(root, "m", "");

	for (size_t i = 0; i < CC_COUNT(messages); i++)
		if (strcmp(messages[i].name, name) == 0)
			note->kind = messages[i].kind;
	note->id = (int)cc_json_int(root, "id", 0);
	note->code = (int)cc_json_int(root, "code", 0);
	note->signal = (int)cc_json_int(root, "signal", 0);
	note->sys = (int)cc_json_int(root, "errno", 0);
	note->text = cc_json_str(root, "text", NULL);
	if (msg->fd_count) {
		note->fd = msg->fds[0];
		msg->fds[0] = -1;
	}
}

/* The next message of that helper, in *out_text; its descriptors in *out_msg. */
static enum cc_code next_message(struct cc_native_box *box, int fd, struct cc_peer_msg **out_msg,
				 struct cc_view *out_text, struct cc_err *err)
{
	struct cc_peer_msg *msg = fd == box->egress ? &box->packet : &box->msg;
	size_t from = fd == box->egress ? box->at : 0;
	enum cc_code code = from ? CC_OK : cc_peer_recv(fd, msg, err);
	const char *end;

	*out_msg = msg;
	if (code != CC_OK)
		return code;
	*out_text = (struct cc_view){msg->text + from, msg->len - from};
	end = fd == box->egress ? memchr(out_text->ptr, '\n', out_text->len) : NULL;
	if (fd == box->egress)
		box->at = end ? (size_t)(end + 1 - msg->text) : 0;
	if (end)
		out_text->len = (size_t)(end - out_text->ptr);
	return CC_OK;
}

static enum cc_code native_next(struct cc_box *box, int fd, struct cc_note *out_note, struct cc_err *err)
{
	struct cc_native_box *native = (struct cc_native_box *)box;
	struct cc_peer_msg *msg;
	struct cc_view text = {NULL, 0};
	enum cc_code code;

	*out_note = (struct cc_note){.fd = -1};
	if (fd == native->diag) {
		cc_native_read_diag(native);
		return CC_OK;
	}
	code = next_message(native, fd, &msg, &text, err);
	if (code == CC_ETIMEOUT)
		return CC_OK;
	if (code != CC_OK || text.len == 0) {
		out_note->kind = CC_NOTE_LOST;
		out_note->text = fd == native->init ? "cc-init ended" : "cc-proxy ended";
		return CC_OK;
	}
	code = cc_json_parse("helper", text, 0, &out_note->doc, err);
	if (code == CC_OK && cc_native_pass_sockets(native, fd, cc_json_root(out_note->doc)))
		out_note->kind = CC_NOTE_PASSED;
	else if (code == CC_OK)
		note_fill(out_note, msg);
	/* Rules that the proxy could not read: it goes on with the ones it has. */
	if (fd == native->egress && out_note->kind == CC_NOTE_LOST &&
	    strcmp(cc_json_str(cc_json_root(out_note->doc), "step", ""), "policy") == 0)
		out_note->kind = CC_NOTE_POLICY;
	cc_peer_msg_close(msg);
	return code;
}

/* The inside is gone, and with it the clients; the proxy tells what became of their connections, and goes. */
static int native_last(struct cc_box *box)
{
	struct cc_native_box *native = (struct cc_native_box *)box;

	if (native->egress < 0 || cc_native_say(native->egress, "end", NULL, 0, NULL) != CC_OK)
		return -1;
	return native->egress;
}

/* Closing the sockets tells both helpers to go; cc-init's end ends its whole PID namespace in the kernel. */
void cc_native_end(struct cc_box *box)
{
	struct cc_native_box *native = (struct cc_native_box *)box;

	cc_fd_close(&native->late);
	cc_fd_close(&native->init);
	cc_fd_close(&native->egress);
	/* With its group: a bubblewrap that is killed while it starts leaves a child that waits for it for ever. */
	cc_proc_end_group(&native->bwrap, END_TIMEOUT_MS);
	cc_proc_end(&native->proxy);
	cc_fd_close(&native->diag);
	cc_peer_msg_close(&native->msg);
	cc_peer_msg_close(&native->packet);
	cc_buf_done(&native->diag_text);
	cc_strv_done(&native->roots);
	free(native);
}

const struct cc_backend cc_backend_native_linux = {
	.kind = CC_BACKEND_NATIVE,
	.enforces = CC_NEED_NAMES | CC_NEED_TREES | CC_NEED_READS | CC_NEED_READONLY | CC_NEED_GIT | CC_NEED_EGRESS |
		    CC_NEED_SOCKETS | CC_NEED_HIDDEN,
	.launch = cc_native_launch,
	.exec = native_exec,
	.signal = native_signal,
	.tell = native_tell,
	.fetch = native_fetch,
	.update = cc_native_update,
	.watch = native_watch,
	.next = native_next,
	.says_goodbye = true,
	.last = native_last,
	.end = cc_native_end,
};
