/* socket.c - one viewer of a terminal over a WebSocket (docs/terminals.md). Every message out is made when it can be
 * sent, so a connection that takes nothing costs nothing. */
#define _GNU_SOURCE
#include "console/terminals.h"

#include "wire/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_MAX = 32768 };

struct cc_term_conn {
	char id[CC_TERM_ID_LEN + 1];
	struct cc_term_entry *entry; /* NULL: not opened yet, or the terminal is gone */
	struct cc_socket *socket;
	struct cc_viewer viewer;
	struct cc_term_decoder decoder;
	struct cc_buf held; /* typed, and the terminal takes no more now */
	uint64_t from, window;
	bool greeted, ended, closing;
	unsigned changes; /* of title and size, told */
	uint64_t events;  /* refusals, told */
	struct cc_term_conn *next;
};

/* A number of the query; false when something is there that is none. */
static bool number_of(struct cc_socket *socket, const char *name, uint64_t *out)
{
	const char *text = cc_socket_query(socket, name);
	char *end = NULL;

	if (!text)
		return true;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && errno == 0;
}

static enum cc_code admit(struct cc_socket *socket, void **out_context, struct cc_err *err)
{
	struct cc_term_entry *entry = cc_terminals_find(cc_socket_context(socket), cc_socket_param(socket, 0));
	struct cc_term_conn *conn;
	uint64_t from = 0, window = 0;

	if (!entry || !entry->timer)
		return cc_fail(err, CC_ENOTFOUND, 0, "no such terminal");
	if (!number_of(socket, "from", &from) || !number_of(socket, "window", &window))
		return cc_fail(err, CC_EINVAL, 0, "from and window are numbers of bytes");
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	cc_buf_init(&conn->held, CC_TERM_INPUT_MAX);
	conn->from = from;
	conn->window = window;
	memcpy(conn->id, entry->id, sizeof(conn->id));
	*out_context = conn;
	return CC_OK;
}

static void end_conn(struct cc_term_conn *conn, enum cc_term_close code, const char *reason)
{
	if (conn->closing)
		return;
	conn->closing = true;
	cc_socket_close(conn->socket, (unsigned)code, reason);
}

static void opened(void *context, struct cc_socket *socket)
{
	struct cc_term_conn *conn = context;
	struct cc_term_entry *entry = cc_terminals_find(cc_socket_context(socket), conn->id);
	struct cc_err err = {0};

	conn->socket = socket;
	if (!entry) {
		end_conn(conn, CC_CLOSE_NOT_FOUND, "no such terminal");
	} else if (cc_viewer_join(&conn->viewer, entry->terminal, conn->from, conn->window, &err) != CC_OK) {
		end_conn(conn, CC_CLOSE_LIMIT, err.what);
	} else {
		conn->entry = entry;
		conn->next = entry->conns;
		entry->conns = conn;
		cc_terminals_after(entry); /* it may have waited for somebody who reads */
	}
}

static void type_in(struct cc_term_conn *conn, struct cc_view bytes)
{
	size_t taken = conn->held.len ? 0 : cc_terminal_input(conn->entry->terminal, bytes);

	if (taken == bytes.len)
		return;
	cc_buf_add(&conn->held, bytes.ptr + taken, bytes.len - taken);
	cc_socket_pause(conn->socket, true);
	if (conn->held.failed) /* more messages were under way than are held back */
		end_conn(conn, CC_CLOSE_LIMIT, "input came faster than the terminal takes it");
}

/* What was held back, now that the terminal may take it. */
static void go_on(struct cc_term_conn *conn)
{
	size_t taken;

	if (!conn->held.len || conn->closing)
		return;
	taken = cc_terminal_input(conn->entry->terminal, cc_buf_view(&conn->held));
	cc_buf_eat(&conn->held, taken);
	if (!conn->held.len)
		cc_socket_pause(conn->socket, false);
}

static bool message(void *context, const void *bytes, size_t len, bool binary)
{
	struct cc_term_conn *conn = context;
	struct cc_term_msg msg = {0};
	enum cc_term_close close = CC_CLOSE_BAD;
	struct cc_err err = {0};

	if (conn->closing || !conn->entry)
		return true;
	if (cc_term_decode(&conn->decoder, binary, (struct cc_view){bytes, len}, &msg, &close, &err) != CC_OK) {
		end_conn(conn, close, err.what);
		return true;
	}
	switch (msg.kind) {
	case CC_TERM_INPUT:
		type_in(conn, msg.input);
		break;
	case CC_TERM_RESIZE:
		cc_terminal_resize(conn->entry->terminal, (struct cc_pty_size){msg.rows, msg.cols});
		break;
	case CC_TERM_ACK:
		if (cc_viewer_ack(&conn->viewer, msg.seq, &err) != CC_OK)
			end_conn(conn, CC_CLOSE_ORDER, err.what);
		break;
	case CC_TERM_NOTHING:
		break;
	}
	cc_terminals_after(conn->entry);
	return true;
}

void cc_term_write_badge(struct cc_jsonw *w, enum cc_backend_kind backend)
{
	static const struct {
		const char *label;
		bool enclosed; /* a kernel of its own: microvm and nothing else */
	} badges[] = {[CC_BACKEND_UNSET] = {"Unknown", false},
		      [CC_BACKEND_MICROVM] = {"Enclosed VM", true},
		      [CC_BACKEND_NATIVE] = {"Native sandbox", false},
		      [CC_BACKEND_NONE] = {"No isolation", false}};

	cc_jsonw_key(w, "badge");
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "backend", cc_backend_name(backend));
	cc_jsonw_kstr(w, "label", badges[backend].label);
	cc_jsonw_kbool(w, "enclosed", badges[backend].enclosed);
	cc_jsonw_end(w);
}

/* hello: everything; status: what changes. */
static void write_state(struct cc_term_conn *conn, const struct cc_terminal_info *info, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "type", conn->greeted ? "status" : "hello");
	if (!conn->greeted) {
		cc_jsonw_kint(&w, "v", 1);
		cc_jsonw_kstr(&w, "id", conn->id);
		cc_jsonw_kstr(&w, "shell", info->shell);
		cc_jsonw_kstr(&w, "cwd", info->cwd);
		cc_jsonw_kint(&w, "oldest", (int64_t)info->oldest);
		cc_jsonw_kint(&w, "seq", (int64_t)conn->viewer.at);
		cc_jsonw_kint(&w, "end", (int64_t)info->end);
	}
	cc_jsonw_kstr(&w, "backend", cc_backend_name(info->backend));
	cc_term_write_badge(&w, info->backend);
	cc_jsonw_kstr(&w, "title", info->title);
	cc_jsonw_kint(&w, "rows", info->size.rows);
	cc_jsonw_kint(&w, "cols", info->size.cols);
	cc_jsonw_end(&w);
	conn->greeted = true;
	conn->changes = info->changes;
}

static void write_event(struct cc_term_conn *conn, struct cc_buf *out)
{
	const struct cc_term_entry *entry = conn->entry;
	const char *event;

	if (entry->event_count - conn->events > CC_TERM_EVENTS)
		conn->events = entry->event_count - CC_TERM_EVENTS;
	event = entry->events[conn->events++ % CC_TERM_EVENTS];
	if (event)
		cc_buf_addf(out, "{\"type\":\"event\",\"event\":%s}", event);
}

static void write_exit(struct cc_term_conn *conn, const struct cc_terminal_info *info, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "type", "exit");
	cc_jsonw_kstr(&w, "reason", info->why);
	if (info->reason == CC_CLOSE_EXIT)
		cc_jsonw_kint(&w, info->signal ? "signal" : "exitCode", info->signal ? info->signal : info->code);
	cc_jsonw_end(&w);
	conn->ended = true;
}

/* True: something was written. */
static bool write_output(struct cc_term_conn *conn, struct cc_buf *out)
{
	unsigned char head[CC_TERM_HEAD];
	struct cc_view bytes;

	if (!cc_viewer_next(&conn->viewer, OUT_MAX, &bytes)) {
		end_conn(conn, CC_CLOSE_SLOW, "output was said faster than this connection took it");
		return false;
	}
	if (!bytes.len)
		return false;
	cc_term_head(conn->viewer.at, head);
	cc_buf_add(out, head, sizeof(head));
	cc_buf_add(out, bytes.ptr, bytes.len);
	cc_viewer_sent(&conn->viewer, bytes.len);
	return true;
}

/* One message at a time, in this order. Output comes before what it has led to: the title, the exit. */
static bool fill(void *context, struct cc_buf *out, bool *out_binary)
{
	struct cc_term_conn *conn = context;
	struct cc_terminal_info info;
	bool wanted;

	*out_binary = false;
	if (conn->closing || !conn->entry)
		return false;
	wanted = cc_viewers_behind(conn->entry->terminal);
	cc_terminal_info(conn->entry->terminal, &info);
	if (!conn->greeted) {
		write_state(conn, &info, out);
		return true;
	}
	if (conn->events != conn->entry->event_count) {
		write_event(conn, out);
		return true;
	}
	if (write_output(conn, out)) {
		*out_binary = true;
		/* the terminal may have waited for this */
		if (wanted != cc_viewers_behind(conn->entry->terminal))
			cc_terminals_after(conn->entry);
		return true;
	}
	if (conn->closing)
		return false;
	if (conn->changes != info.changes) {
		write_state(conn, &info, out);
		return true;
	}
	if (info.over && !conn->ended && conn->viewer.at == info.end) {
		write_exit(conn, &info, out);
		end_conn(conn, info.reason, info.why);
	}
	return false;
}

static void leave(struct cc_term_conn *conn)
{
	struct cc_term_conn **at = &conn->entry->conns;

	while (*at && *at != conn)
		at = &(*at)->next;
	if (*at)
		*at = conn->next;
	cc_viewer_leave(&conn->viewer);
	conn->entry = NULL;
}

static void closed(void *context)
{
	struct cc_term_conn *conn = context;
	struct cc_term_entry *entry = conn->entry;

	if (entry) {
		leave(conn);
		cc_terminals_after(entry);
	}
	cc_buf_done(&conn->held);
	free(conn);
}

void cc_term_wake(struct cc_term_entry *entry)
{
	for (struct cc_term_conn *conn = entry->conns; conn; conn = conn->next) {
		go_on(conn);
		cc_socket_wake(conn->socket);
	}
}

void cc_term_drop_viewers(struct cc_term_entry *entry)
{
	while (entry->conns) {
		struct cc_term_conn *conn = entry->conns;

		leave(conn);
		end_conn(conn, CC_CLOSE_GOING, "the terminal is no longer kept");
	}
}

const struct cc_socket_row cc_sockets_terminal[] = {
	{"/v1/terminals/{id}/io", admit, opened, message, fill, closed},
	{0},
};
