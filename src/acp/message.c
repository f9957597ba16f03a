#define _GNU_SOURCE
#include "acp/inside.h"

#include "os/fd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WAITING_MAX = 64 << 20 };

void cc_outlet_init(struct cc_outlet *outlet, int fd)
{
	*outlet = (struct cc_outlet){.fd = fd};
	cc_buf_init(&outlet->bytes, WAITING_MAX);
}

void cc_outlet_add(struct cc_outlet *outlet, struct cc_view line)
{
	cc_buf_add(&outlet->bytes, line.ptr, line.len);
	cc_buf_adds(&outlet->bytes, "\n");
	outlet->broken |= outlet->bytes.failed;
}

void cc_outlet_flush(struct cc_outlet *outlet)
{
	while (outlet->bytes.len && !outlet->broken) {
		ssize_t written = write(outlet->fd, outlet->bytes.data, outlet->bytes.len);

		if (written > 0)
			cc_buf_eat(&outlet->bytes, (size_t)written);
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			outlet->broken = true;
	}
}

void cc_acp_begin(struct cc_acp_message *message)
{
	cc_buf_init(&message->text, CC_ACP_LINE_MAX);
	cc_jsonw_init(&message->w, &message->text);
	cc_jsonw_object(&message->w);
	cc_jsonw_kstr(&message->w, "jsonrpc", "2.0");
}

void cc_acp_result(struct cc_acp_message *message, const char *id)
{
	cc_acp_begin(message);
	cc_jsonw_key(&message->w, "id");
	cc_jsonw_raw(&message->w, id);
	cc_jsonw_key(&message->w, "result");
}

void cc_acp_send(struct cc_outlet *outlet, struct cc_acp_message *message)
{
	cc_jsonw_end(&message->w);
	if (message->text.failed)
		outlet->broken = true;
	else
		cc_outlet_add(outlet, cc_buf_view(&message->text));
	cc_buf_done(&message->text);
}

void cc_acp_fail(struct cc_outlet *outlet, const char *id, int code, const char *text)
{
	struct cc_acp_message message;

	cc_acp_begin(&message);
	cc_jsonw_key(&message.w, "id");
	cc_jsonw_raw(&message.w, id);
	cc_jsonw_key(&message.w, "error");
	cc_jsonw_object(&message.w);
	cc_jsonw_kint(&message.w, "code", code);
	cc_jsonw_kstr(&message.w, "message", text);
	cc_jsonw_end(&message.w);
	cc_acp_send(outlet, &message);
}

void cc_acp_id(const struct cc_json *message, char out[CC_ACP_ID])
{
	const struct cc_json *id = cc_json_get(message, "id");
	struct cc_buf text;
	struct cc_jsonw w;

	out[0] = '\0';
	if (!id || (id->kind != CC_JSON_INT && id->kind != CC_JSON_STRING))
		return;
	cc_buf_init(&text, CC_ACP_ID);
	cc_jsonw_init(&w, &text);
	cc_jsonw_copy(&w, id);
	if (!text.failed)
		cc_str_put(out, CC_ACP_ID, text.data);
	cc_buf_done(&text);
}
