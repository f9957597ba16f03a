#define _GNU_SOURCE
#include "mcp/output.h"

#include "os/fd.h"

#include <fcntl.h>
#include <string.h>

void cc_output_init(struct cc_output *output, const char *path)
{
	memset(output, 0, sizeof(*output));
	output->path = path;
	output->file = -1;
}

static void spill(struct cc_output *output, const char *bytes, size_t len)
{
	if (output->file >= 0 && output->total + len <= CC_OUTPUT_FILE_MAX &&
	    cc_fd_write_all(output->file, bytes, len, NULL) != CC_OK)
		cc_fd_close(&output->file); /* a full disk: what is shown is what is left */
}

void cc_output_add(struct cc_output *output, const char *bytes, size_t len)
{
	if (output->total <= CC_OUTPUT_SHOWN && output->total + len > CC_OUTPUT_SHOWN && output->path) {
		output->file = open(output->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		spill(output, output->head, output->total < CC_OUTPUT_SHOWN ? output->total : CC_OUTPUT_SHOWN);
	}
	spill(output, bytes, len);
	for (size_t i = 0; i < len; i++, output->total++) {
		if (output->total < CC_OUTPUT_SHOWN)
			output->head[output->total] = bytes[i];
		output->tail[output->tail_at] = bytes[i];
		output->tail_at = (output->tail_at + 1) % sizeof(output->tail);
	}
}

void cc_output_show(struct cc_output *output, struct cc_buf *out)
{
	if (output->total <= CC_OUTPUT_SHOWN) {
		cc_buf_add(out, output->head, output->total);
	} else {
		cc_buf_add(out, output->head, CC_OUTPUT_HEAD);
		cc_buf_addf(out, "\n[%zu bytes left out", output->total - CC_OUTPUT_SHOWN);
		if (output->file >= 0)
			cc_buf_addf(out, "; all of it: %s", output->path);
		cc_buf_adds(out, "]\n");
		cc_buf_add(out, output->tail + output->tail_at, sizeof(output->tail) - output->tail_at);
		cc_buf_add(out, output->tail, output->tail_at);
	}
	if (out->len && out->data[out->len - 1] != '\n')
		cc_buf_adds(out, "\n");
	cc_fd_close(&output->file);
}
