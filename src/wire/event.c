#include "wire/event.h"

#include "policy/names.h"

static const struct {
	const char *key;
	size_t offset;
} violation_fields[] = {
	{"action", offsetof(struct cc_violation, action)},   {"target", offsetof(struct cc_violation, target)},
	{"raw", offsetof(struct cc_violation, raw)},         {"spelled", offsetof(struct cc_violation, spelled)},
	{"rule", offsetof(struct cc_violation, rule)},       {"grant", offsetof(struct cc_violation, grant)},
	{"process", offsetof(struct cc_violation, process)}, {"reason", offsetof(struct cc_violation, reason)},
};

const char *cc_event_type_name(enum cc_event_type type)
{
	static const char *const names[] = {
#define EVENT_NAME(type, name) name,
		CC_EVENT_TYPES(EVENT_NAME)
#undef EVENT_NAME
	};

	return (size_t)type < CC_COUNT(names) ? names[type] : "unknown";
}

/* What is not text goes out as base64, so that nothing is lost or bent. */
static bool is_text(struct cc_view bytes)
{
	size_t at = 0;

	while (at < bytes.len) {
		size_t len = cc_utf8_len((const unsigned char *)bytes.ptr + at, bytes.len - at);

		if (len == 0)
			return false;
		at += len;
	}
	return true;
}

static void write_base64(struct cc_buf *out, struct cc_view bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	cc_buf_adds(out, "\"");
	for (size_t i = 0; i < bytes.len; i += 3) {
		unsigned long group = 0;
		char four[4] = {'=', '=', '=', '='};
		size_t have = bytes.len - i < 3 ? bytes.len - i : 3;

		for (size_t k = 0; k < 3; k++)
			group = group << 8 | (k < have ? (unsigned char)bytes.ptr[i + k] : 0);
		for (size_t k = 0; k <= have; k++)
			four[k] = digits[group >> (18 - 6 * k) & 63];
		cc_buf_add(out, four, 4);
	}
	cc_buf_adds(out, "\"");
}

static const char *field(const struct cc_violation *violation, size_t offset)
{
	return *(const char *const *)(const void *)((const char *)violation + offset);
}

static void write_violation(struct cc_jsonw *w, const struct cc_violation *violation)
{
	cc_jsonw_key(w, "violation");
	cc_jsonw_object(w);
	for (size_t i = 0; i < CC_COUNT(violation_fields); i++) {
		const char *text = field(violation, violation_fields[i].offset);

		if (text)
			cc_jsonw_kstr(w, violation_fields[i].key, text);
	}
	if (violation->pid)
		cc_jsonw_kint(w, "pid", violation->pid);
	cc_jsonw_kint(w, "count", violation->count ? violation->count : 1);
	cc_jsonw_end(w);
}

static void write_content(struct cc_jsonw *w, struct cc_view content)
{
	if (is_text(content)) {
		cc_jsonw_key(w, "content");
		cc_jsonw_view(w, content);
		return;
	}
	cc_jsonw_kstr(w, "encoding", "base64");
	/* the writer has no raw value: the key's own call leaves it expecting one, which the digits are */
	cc_jsonw_key(w, "content");
	w->after_key = false;
	write_base64(w->out, content);
}

static void write_net(struct cc_jsonw *w, const struct cc_event_net *net)
{
	if (net->generation)
		cc_jsonw_kint(w, "generation", net->generation);
	if (!net->closed)
		return;
	cc_jsonw_key(w, "closed");
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "target", net->closed);
	if (net->proto)
		cc_jsonw_kstr(w, "process", net->proto);
	cc_jsonw_kint(w, "up", net->up);
	cc_jsonw_kint(w, "down", net->down);
	cc_jsonw_kint(w, "ms", net->ms);
	if (net->ech)
		cc_jsonw_kbool(w, "ech", true);
	cc_jsonw_end(w);
}

void cc_event_write(const struct cc_event *event, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", 1);
	cc_jsonw_kint(&w, "seq", (int64_t)event->seq);
	cc_jsonw_kint(&w, "time", event->time_ms);
	cc_jsonw_kstr(&w, "session", event->session ? event->session : "");
	cc_jsonw_kstr(&w, "type", cc_event_type_name(event->type));
	if (event->exec)
		cc_jsonw_kint(&w, "exec", event->exec);
	if (event->type == CC_EVENT_EXIT)
		cc_jsonw_kint(&w, "exitCode", event->exit_code);
	if (event->content.len)
		write_content(&w, event->content);
	if (event->violation.action)
		write_violation(&w, &event->violation);
	write_net(&w, &event->net);
	cc_jsonw_end(&w);
	cc_buf_adds(out, "\n");
}

static void read_violation(const struct cc_json *from, struct cc_violation *out)
{
	for (size_t i = 0; i < CC_COUNT(violation_fields); i++)
		*(const char **)(void *)((char *)out + violation_fields[i].offset) =
			cc_json_str(from, violation_fields[i].key, NULL);
	out->pid = cc_json_int(from, "pid", 0);
	out->count = cc_json_int(from, "count", 1);
}

enum cc_code cc_event_read(const struct cc_json *root, struct cc_event *out_event, struct cc_err *err)
{
	const char *type = cc_json_str(root, "type", "");
	const struct cc_json *closed = cc_json_get(root, "closed");
	const struct cc_json *violation = cc_json_get(root, "violation");
	int kind = 0;

	while (kind <= CC_EVENT_NOTICE && strcmp(cc_event_type_name((enum cc_event_type)kind), type) != 0)
		kind++;
	if (kind > CC_EVENT_NOTICE)
		return cc_fail(err, CC_EPROTO, 0, "no event");
	*out_event = (struct cc_event){.type = (enum cc_event_type)kind,
				       .seq = (uint64_t)cc_json_int(root, "seq", 0),
				       .time_ms = cc_json_int(root, "time", 0),
				       .session = cc_json_str(root, "session", NULL),
				       .exec = (int)cc_json_int(root, "exec", 0),
				       .content = cc_view_of(cc_json_str(root, "content", NULL)),
				       .exit_code = (int)cc_json_int(root, "exitCode", 0)};
	if (violation)
		read_violation(violation, &out_event->violation);
	out_event->net.generation = cc_json_int(root, "generation", 0);
	if (closed)
		out_event->net = (struct cc_event_net){.closed = cc_json_str(closed, "target", "?"),
						       .proto = cc_json_str(closed, "process", NULL),
						       .generation = out_event->net.generation,
						       .up = cc_json_int(closed, "up", 0),
						       .down = cc_json_int(closed, "down", 0),
						       .ms = cc_json_int(closed, "ms", 0)};
	return CC_OK;
}

/* Controls, and characters that have no shape but turn or hide what stands beside them: a name must not be able to show
 * a person another flag than the one that is meant. */
static bool is_hidden(const unsigned char *byte, size_t len)
{
	switch (len) {
	case 0:
		return true;
	case 1:
		return byte[0] < 0x20 || byte[0] == 0x7f;
	case 2:
		return (byte[0] == 0xc2 && (byte[1] < 0xa0 || byte[1] == 0xad)) || (byte[0] == 0xd8 && byte[1] == 0x9c);
	case 3:
		if (byte[0] == 0xe2 && byte[1] == 0x80)
			return (byte[2] >= 0x8b && byte[2] <= 0x8f) || (byte[2] >= 0xa8 && byte[2] <= 0xae);
		return (byte[0] == 0xe2 && byte[1] == 0x81 && byte[2] >= 0xa0 && byte[2] <= 0xaf) ||
		       (byte[0] == 0xef && byte[1] == 0xbb && byte[2] == 0xbf);
	default:
		return byte[0] == 0xf3 && byte[1] == 0xa0; /* tags, further variation selectors */
	}
}

/* Bytes from inside reach a person's terminal here: everything that is not plain is shown as \xNN. */
void cc_event_safe(struct cc_buf *out, struct cc_view view)
{
	size_t at = 0;

	while (at < view.len) {
		const unsigned char *byte = (const unsigned char *)view.ptr + at;
		size_t len = cc_utf8_len(byte, view.len - at);

		if (is_hidden(byte, len)) {
			len = len ? len : 1;
			for (size_t i = 0; i < len; i++)
				cc_buf_addf(out, "\\x%02x", byte[i]);
		} else {
			cc_buf_add(out, byte, len);
		}
		at += len;
	}
}

static void say_safe(struct cc_buf *out, const char *text)
{
	cc_event_safe(out, cc_view_of(text));
}

void cc_event_say(const struct cc_event *event, struct cc_buf *out)
{
	const struct cc_violation *violation = &event->violation;

	if (!violation->action) {
		cc_buf_addf(out, "%s", cc_event_type_name(event->type));
		if (event->type == CC_EVENT_EXIT)
			cc_buf_addf(out, " %d", event->exit_code);
		if (event->content.len) {
			cc_buf_adds(out, ": ");
			cc_event_safe(out, event->content);
		}
		return;
	}
	cc_buf_adds(out, event->type == CC_EVENT_VIOLATION ? "refused " : "allowed ");
	say_safe(out, violation->action);
	cc_buf_adds(out, " ");
	say_safe(out, violation->target ? violation->target : "?");
	if (violation->count > 1)
		cc_buf_addf(out, " (%lld times)", (long long)violation->count);
	if (violation->rule) {
		cc_buf_adds(out, "; rule ");
		say_safe(out, violation->rule);
	}
	if (violation->reason) {
		cc_buf_adds(out, " (");
		say_safe(out, violation->reason);
		cc_buf_adds(out, ")");
	}
	if (violation->grant && violation->grant[0]) {
		/* One flag a file would be a long evening with a tree of dependencies. */
		if (strncmp(violation->grant, "--allow-name ", 13) == 0 && violation->target &&
		    cc_path_in_packages(cc_view_of(violation->target)))
			cc_buf_adds(out, "; all dependency trees with: --preset packages");
		cc_buf_adds(out, "; allow with: ");
		say_safe(out, violation->grant);
	}
}
