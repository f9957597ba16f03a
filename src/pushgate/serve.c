/* serve.c - who asks, and for what: the two requests of a push, and nothing else. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include <stdio.h>
#include <string.h>

#define ADVERTISE "/info/refs"
#define RECEIVE   "/git-receive-pack"

struct cc_view cc_push_field(const struct cc_http_head *head, const char *name, size_t *out_count)
{
	struct cc_view value = {NULL, 0};

	*out_count = 0;
	for (size_t i = 0; i < head->field_count; i++) {
		if (!cc_view_eq_nocase(head->fields[i].name, cc_view_of(name)))
			continue;
		value = head->fields[i].value;
		++*out_count;
	}
	return value;
}

const char *cc_push_protocol(const struct cc_http_head *head)
{
	static const char *const known[] = {"version=0", "version=1", "version=2"};
	size_t count;
	struct cc_view value = cc_push_field(head, "git-protocol", &count);

	for (size_t i = 0; count == 1 && i < CC_COUNT(known); i++)
		if (cc_view_is(value, known[i]))
			return known[i];
	return NULL;
}

/* Takes as long wherever it differs. */
static bool is_secret(struct cc_view said, const char *secret)
{
	size_t len = strlen(secret);
	unsigned char differs = said.len != len;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)secret[i] ^ (unsigned char)(i < said.len ? said.ptr[i] : 0);
	return differs == 0;
}

static void refuse(struct cc_push_conn *conn, unsigned status, const char *text)
{
	/* nobody reads the body that follows */
	conn->close |= conn->head.framing != CC_HTTP_NO_BODY;
	cc_push_conn_say(conn, status, "text/plain", text);
}

static struct cc_view without(struct cc_view path, const char *end)
{
	if (cc_view_ends(path, end))
		path.len -= strlen(end);
	return path;
}

/* Names of hosts, owners and repositories, and slashes between them: no dots that lead elsewhere, nothing quoted. */
static bool path_ok(struct cc_view path)
{
	for (size_t i = 0; i < path.len; i++) {
		unsigned char byte = (unsigned char)path.ptr[i];
		bool word = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
			    (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == ':';

		if (!word && byte != '.' && byte != '/')
			return false;
		if (!word && i + 1 < path.len && (path.ptr[i + 1] == '/' || (byte == '.' && path.ptr[i + 1] == '.')))
			return false;
	}
	return path.len > 0;
}

static bool find(const struct cc_pushgate *gate, struct cc_view name, size_t *out_at)
{
	for (size_t i = 0; path_ok(name) && i < gate->repositories.count; i++)
		if (cc_view_eq_nocase(without(name, ".git"),
				      without(cc_view_of(gate->repositories.items[i]), ".git"))) {
			*out_at = i;
			return true;
		}
	return false;
}

static const struct {
	const char *end;
	unsigned status;
	const char *text;
} others[] = {
	{"/git-upload-pack", 403, "this gateway takes pushes only: fetches go to the host itself"},
	{"/git-upload-archive", 403, "this gateway takes pushes only"},
};

/* Everything that is not a push, with the reason that fits best. */
static void other(struct cc_push_conn *conn, struct cc_view path, struct cc_view query)
{
	for (size_t i = 0; i < CC_COUNT(others); i++)
		if (cc_view_ends(path, others[i].end)) {
			refuse(conn, others[i].status, others[i].text);
			return;
		}
	if (path.len && memmem(path.ptr, path.len, "/info/lfs", 9)) {
		conn->close |= conn->head.framing != CC_HTTP_NO_BODY;
		cc_push_conn_say(conn, 403, "application/vnd.git-lfs+json",
				 "{\"message\":\"git lfs does not go through the push gateway: what it uploads cannot "
				 "be judged\"}");
		return;
	}
	if (cc_view_ends(path, ADVERTISE) && query.len == 0)
		refuse(conn, 403, "the old protocol of git over HTTP is not spoken here");
	else if (cc_view_ends(path, ADVERTISE))
		refuse(conn, 403, "this gateway takes pushes only: fetches go to the host itself");
	else
		refuse(conn, 404, "this is a gateway for git push, and for nothing else");
}

static void route(struct cc_push_conn *conn, struct cc_view target)
{
	const char *mark = memchr(target.ptr, '?', target.len);
	struct cc_view path = {target.ptr, mark ? (size_t)(mark - target.ptr) : target.len};
	struct cc_view query = {mark ? mark + 1 : NULL, mark ? target.len - path.len - 1 : 0};
	bool advertise = cc_view_is(conn->head.method, "GET") && cc_view_ends(path, ADVERTISE) &&
			 cc_view_is(query, "service=git-receive-pack");
	bool receive = cc_view_is(conn->head.method, "POST") && cc_view_ends(path, RECEIVE) && !mark;
	struct cc_view name = without(without(path, ADVERTISE), RECEIVE);
	const char *deny;
	size_t at;
	char text[300];

	if (!advertise && !receive) {
		other(conn, path, query);
		return;
	}
	name.ptr++; /* of the slash */
	name.len--;
	if (!find(conn->gate, name, &at)) {
		refuse(conn, 403, "this run pushes to the repositories that it was given, and this is none of them");
		return;
	}
	deny = cc_push_flat_deny(&conn->gate->push, conn->gate->repositories.items[at]);
	if (deny) {
		snprintf(text, sizeof(text), "nothing is pushed to this repository (rule %.100s)", deny);
		refuse(conn, 403, text);
	} else if (receive) {
		cc_push_receive(conn, at);
	} else if (conn->head.framing != CC_HTTP_NO_BODY) {
		refuse(conn, 400, "a question with a body");
	} else {
		cc_push_advertise(conn, at);
	}
}

void cc_push_serve(struct cc_push_conn *conn)
{
	struct cc_http_fault fault = {0};
	struct cc_view target = conn->head.target, host;
	size_t count;
	struct cc_view secret = cc_push_field(&conn->head, "x-cc-run", &count);

	if (!cc_push_off("secret") && (count != 1 || !is_secret(secret, conn->gate->secret))) {
		refuse(conn, 401, "this gateway belongs to a run, and this is not its secret");
		return;
	}
	if (target.ptr[0] != '/' && !cc_http_absolute(&conn->head, &host, &target, &fault)) {
		refuse(conn, fault.status, fault.text);
		return;
	}
	if (target.len < 2 || target.ptr[0] != '/')
		refuse(conn, 404, "this is a gateway for git push, and for nothing else");
	else
		route(conn, target);
}
