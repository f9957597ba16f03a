#define _GNU_SOURCE
#include "acp/inside.h"

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

void cc_acp_send(struct cc_outlet *outlet, struct cc_rpcw *message)
{
	if (cc_rpcw_end(message))
		cc_outlet_add(outlet, cc_buf_view(&message->text));
	else
		outlet->broken = true;
	cc_buf_done(&message->text);
}

void cc_acp_fail(struct cc_outlet *outlet, const char *id, enum cc_rpc_error code, const char *text)
{
	struct cc_rpcw message;

	cc_rpcw_error(&message, id, code, text);
	cc_acp_send(outlet, &message);
}
