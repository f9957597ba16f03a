#define _GNU_SOURCE
#include <ccbox.h>

#include "base/view.h"
#include "client/http.h"
#include "client/place.h"
#include "wire/event.h"
#include "wire/request.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CC_VERSION
#define CC_VERSION "0"
#endif

enum { EVENT_BYTES_MAX = 8 << 20 };
#define SANDBOXES "/v1/sandboxes/"

extern char **environ;

struct ccbox {
	char socket[PATH_MAX];
};

struct ccbox_stream {
	struct cc_http http;
	struct cc_json_doc *doc;
	char *line;
	char *bytes;
};

const char *ccbox_version(void)
{
	return CC_VERSION;
}

static int fail(struct ccbox_error *error, const char *code, int status, const char *message)
{
	if (error) {
		error->status = status;
		snprintf(error->code, sizeof(error->code), "%s", code);
		snprintf(error->message, sizeof(error->message), "%s", message);
	}
	return -1;
}

static int fail_with(struct ccbox_error *error, const struct cc_err *why)
{
	const char *code = why->code == CC_ENOTFOUND ? "unreachable" : why->code == CC_EINVAL ? "invalid" : "system";

	return fail(error, code, 0, why->what);
}

int ccbox_open(const char *socket, struct ccbox **out_box, struct ccbox_error *error)
{
	struct ccbox *box = calloc(1, sizeof(*box));
	struct cc_err why;

	if (!box)
		return fail(error, "system", 0, "out of memory");
	if (socket && snprintf(box->socket, sizeof(box->socket), "%s", socket) >= (int)sizeof(box->socket)) {
		free(box);
		return fail(error, "invalid", 0, "the socket's path is too long");
	}
	if (!socket && cc_place_socket(NULL, environ, box->socket, &why) != CC_OK) {
		free(box);
		return fail_with(error, &why);
	}
	*out_box = box;
	return 0;
}

void ccbox_close(struct ccbox *box)
{
	free(box);
}

/* The server's own words, where it has given any. */
static int fail_answer(struct ccbox_error *error, const struct cc_http *http)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err why;
	const struct cc_json *said = NULL;

	if (cc_json_parse("answer", cc_buf_view(&http->in), 0, &doc, &why) == CC_OK)
		said = cc_json_get(cc_json_root(doc), "error");
	return fail(error, cc_json_str(said, "code", "lost"), http->status,
		    cc_json_str(said, "message", "the server did not answer as it should"));
}

int ccbox_call(struct ccbox *box, const char *method, const char *path, const char *body, size_t body_len,
	       char **out_json, struct ccbox_error *error)
{
	struct cc_http http;
	struct cc_err why = {0};
	int result = 0;

	if (cc_http_call(box->socket, method, path, body, body_len, &http, &why) != CC_OK)
		return fail_with(error, &why);
	if (cc_http_rest(&http, &why) != CC_OK)
		result = fail_with(error, &why);
	else if (http.status < 200 || http.status > 299)
		result = fail_answer(error, &http);
	else if (out_json) {
		*out_json = cc_str_copy(http.in.data ? http.in.data : "");
		if (!*out_json)
			result = fail(error, "system", 0, "out of memory");
	}
	cc_http_done(&http);
	return result;
}

int ccbox_probe(struct ccbox *box, char **out_json, struct ccbox_error *error)
{
	return ccbox_call(box, "GET", "/v1/probe", NULL, 0, out_json, error);
}

int ccbox_launch(struct ccbox *box, const char *spec, char **out_handle, struct ccbox_error *error)
{
	return ccbox_call(box, "POST", "/v1/sandboxes", spec, strlen(spec), out_handle, error);
}

int ccbox_list(struct ccbox *box, char **out_json, struct ccbox_error *error)
{
	return ccbox_call(box, "GET", "/v1/sandboxes", NULL, 0, out_json, error);
}

/* BEFORE/ID and what follows. Names may hold anything but slashes and blanks, so what has a meaning in a path is
 * written as its number. */
static void write_path(struct cc_buf *out, const char *before, const char *session, const char *rest)
{
	cc_buf_init(out, 4096);
	cc_buf_adds(out, before);
	for (const unsigned char *at = (const unsigned char *)session; *at; at++) {
		if (*at <= 0x20 || *at >= 0x7f || strchr("%?#/\\&", *at))
			cc_buf_addf(out, "%%%02X", *at);
		else
			cc_buf_add(out, at, 1);
	}
	cc_buf_adds(out, rest);
}

static int call_session(struct ccbox *box, const char *method, const char *session, const char *rest, char **out_json,
			struct ccbox_error *error)
{
	struct cc_buf path;
	int result;

	write_path(&path, SANDBOXES, session, rest);
	result = path.failed ? fail(error, "invalid", 0, "the name is too long")
			     : ccbox_call(box, method, path.data, NULL, 0, out_json, error);
	cc_buf_done(&path);
	return result;
}

int ccbox_get(struct ccbox *box, const char *session, char **out_handle, struct ccbox_error *error)
{
	return call_session(box, "GET", session, "", out_handle, error);
}

int ccbox_suspend(struct ccbox *box, const char *session, struct ccbox_error *error)
{
	return call_session(box, "POST", session, "/suspend", NULL, error);
}

int ccbox_resume(struct ccbox *box, const char *session, struct ccbox_error *error)
{
	return call_session(box, "POST", session, "/resume", NULL, error);
}

int ccbox_destroy(struct ccbox *box, const char *session, struct ccbox_error *error)
{
	return call_session(box, "DELETE", session, "", NULL, error);
}

int ccbox_signal(struct ccbox *box, const char *session, int command, const char *name, struct ccbox_error *error)
{
	char rest[96];

	snprintf(rest, sizeof(rest), "/exec/%d/signal/%.32s", command, name);
	return call_session(box, "POST", session, rest, NULL, error);
}

int ccbox_stdin(struct ccbox *box, const char *session, int command, const void *bytes, size_t len, int last,
		struct ccbox_error *error)
{
	struct cc_buf path;
	char rest[64];
	int result;

	snprintf(rest, sizeof(rest), "/exec/%d/stdin?last=%d", command, last ? 1 : 0);
	write_path(&path, SANDBOXES, session, rest);
	result = path.failed ? fail(error, "invalid", 0, "the name is too long")
			     : ccbox_call(box, "POST", path.data, bytes, len, NULL, error);
	cc_buf_done(&path);
	return result;
}

static int open_stream(struct ccbox *box, const char *method, const char *before, const char *session, const char *rest,
		       const struct cc_buf *body, struct ccbox_stream **out_stream, struct ccbox_error *error)
{
	struct ccbox_stream *stream = calloc(1, sizeof(*stream));
	struct cc_buf path;
	struct cc_err why = {0};
	int result = 0;

	if (!stream)
		return fail(error, "system", 0, "out of memory");
	write_path(&path, before, session, rest);
	if (path.failed || (body && body->failed)) {
		result = fail(error, "invalid", 0, "the call is too long");
	} else if (cc_http_call(box->socket, method, path.data, body ? body->data : NULL, body ? body->len : 0,
				&stream->http, &why) != CC_OK) {
		result = fail_with(error, &why);
	} else if (stream->http.status < 200 || stream->http.status > 299) {
		result = cc_http_rest(&stream->http, &why) == CC_OK ? fail_answer(error, &stream->http)
								    : fail_with(error, &why);
		cc_http_done(&stream->http);
	}
	cc_buf_done(&path);
	if (result != 0)
		free(stream);
	else
		*out_stream = stream;
	return result;
}

static void write_env(struct cc_jsonw *w, const char *const *env)
{
	cc_jsonw_key(w, "env");
	cc_jsonw_object(w);
	for (; env && *env; env++) {
		char name[256];
		size_t len = strcspn(*env, "=");

		if (!(*env)[len] || len >= sizeof(name))
			continue;
		memcpy(name, *env, len);
		name[len] = '\0';
		cc_jsonw_kstr(w, name, *env + len + 1);
	}
	cc_jsonw_end(w);
}

int ccbox_exec(struct ccbox *box, const char *session, const struct ccbox_command *command,
	       struct ccbox_stream **out_stream, struct ccbox_error *error)
{
	struct cc_buf body;
	struct cc_jsonw w;
	int result;

	if (command->size < sizeof(*command) || !command->argv || !command->argv[0])
		return fail(error, "invalid", 0, "no command");
	cc_buf_init(&body, CC_REQUEST_MAX);
	cc_jsonw_init(&w, &body);
	cc_jsonw_object(&w);
	cc_jsonw_key(&w, "argv");
	cc_jsonw_array(&w);
	for (const char *const *at = command->argv; *at; at++)
		cc_jsonw_str(&w, *at);
	cc_jsonw_end(&w);
	write_env(&w, command->env);
	if (command->workdir)
		cc_jsonw_kstr(&w, "workdir", command->workdir);
	if (command->timeout > 0)
		cc_jsonw_kint(&w, "timeoutSeconds", command->timeout);
	cc_jsonw_kbool(&w, "stdinOpen", command->stdin_open != 0);
	cc_jsonw_end(&w);
	result = open_stream(box, "POST", SANDBOXES, session, "/exec", &body, out_stream, error);
	cc_buf_done(&body);
	return result;
}

int ccbox_events(struct ccbox *box, const char *session, uint64_t since, int follow, struct ccbox_stream **out_stream,
		 struct ccbox_error *error)
{
	char rest[96];

	snprintf(rest, sizeof(rest), "/events?format=lines&since=%llu&follow=%d", (unsigned long long)since,
		 follow ? 1 : 0);
	return open_stream(box, "GET", SANDBOXES, session, rest, NULL, out_stream, error);
}

int ccbox_run_events(struct ccbox *box, const char *run, uint64_t since, int follow, struct ccbox_stream **out_stream,
		     struct ccbox_error *error)
{
	char rest[96];

	snprintf(rest, sizeof(rest), "/events?format=lines&since=%llu&follow=%d", (unsigned long long)since,
		 follow ? 1 : 0);
	return open_stream(box, "GET", "/v1/runs/", run, rest, NULL, out_stream, error);
}

static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static char *decode(const char *text, size_t *out_len)
{
	char *out = malloc(strlen(text) + 1);
	unsigned long group = 0;
	int have = 0;

	*out_len = 0;
	for (; out && *text && digit(*text) >= 0; text++) {
		group = group << 6 | (unsigned long)digit(*text);
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[(*out_len)++] = (char)(group >> have & 0xff);
		}
	}
	return out;
}

static int take_line(struct ccbox_stream *stream, size_t len, struct ccbox_event *out, struct ccbox_error *error)
{
	const struct cc_json *root;
	struct cc_err why;

	cc_json_doc_free(stream->doc);
	free(stream->line);
	free(stream->bytes);
	stream->doc = NULL;
	stream->bytes = NULL;
	stream->line = malloc(len + 1);
	if (!stream->line)
		return fail(error, "system", 0, "out of memory");
	memcpy(stream->line, stream->http.in.data, len);
	stream->line[len] = '\0';
	cc_buf_eat(&stream->http.in, len + 1);
	if (cc_json_parse("event", cc_view_of(stream->line), 0, &stream->doc, &why) != CC_OK)
		return fail(error, "lost", 0, why.what);
	root = cc_json_root(stream->doc);
	*out = (struct ccbox_event){.type = cc_json_str(root, "type", ""),
				    .seq = (uint64_t)cc_json_int(root, "seq", 0),
				    .lost = (uint64_t)cc_json_int(root, "lost", 0),
				    .command = (int)cc_json_int(root, "exec", 0),
				    .exit_code = (int)cc_json_int(root, "exitCode", 0),
				    .content = cc_json_str(root, "content", ""),
				    .json = stream->line};
	out->content_len = strlen(out->content);
	if (strcmp(cc_json_str(root, "encoding", ""), "base64") == 0) {
		stream->bytes = decode(out->content, &out->content_len);
		out->content = stream->bytes ? stream->bytes : "";
	}
	return 1;
}

int ccbox_next(struct ccbox_stream *stream, int timeout_ms, struct ccbox_event *out_event, struct ccbox_error *error)
{
	struct cc_err why;
	bool more;

	if (error)
		error->code[0] = '\0';
	for (;;) {
		const char *end = stream->http.in.len ? memchr(stream->http.in.data, '\n', stream->http.in.len) : NULL;

		if (end)
			return take_line(stream, (size_t)(end - stream->http.in.data), out_event, error);
		if (stream->http.over)
			return stream->http.in.len ? fail(error, "lost", 0, "the stream broke off") : -1;
		if (stream->http.in.len > EVENT_BYTES_MAX)
			return fail(error, "lost", 0, "an event is too long");
		if (cc_http_more(&stream->http, timeout_ms, &more, &why) != CC_OK)
			return fail_with(error, &why);
		if (!more && !stream->http.over)
			return 0;
	}
}

int ccbox_stream_fd(const struct ccbox_stream *stream)
{
	return stream->http.fd;
}

int ccbox_stream_command(const struct ccbox_stream *stream)
{
	return stream->http.command;
}

void ccbox_stream_close(struct ccbox_stream *stream)
{
	if (!stream)
		return;
	cc_http_done(&stream->http);
	cc_json_doc_free(stream->doc);
	free(stream->line);
	free(stream->bytes);
	free(stream);
}
