/* output.h - what a command writes, kept bounded: its head, its tail, and all of it in a file once it is too long. */
#ifndef CC_MCP_OUTPUT_H
#define CC_MCP_OUTPUT_H

#include "base/buf.h"

#include <stdbool.h>

enum { CC_OUTPUT_SHOWN = 16000, CC_OUTPUT_HEAD = CC_OUTPUT_SHOWN / 5, CC_OUTPUT_FILE_MAX = 64 << 20 };

struct cc_output {
	char head[CC_OUTPUT_SHOWN]; /* the beginning, as long as nothing is left out; then HEAD bytes of it count */
	char tail[CC_OUTPUT_SHOWN - CC_OUTPUT_HEAD];
	size_t total, tail_at;
	const char *path; /* of the file, made when it is needed; NULL: none */
	int file;
};

void cc_output_init(struct cc_output *output, const char *path);
void cc_output_add(struct cc_output *output, const char *bytes, size_t len);
/* Closes the file. */
void cc_output_show(struct cc_output *output, struct cc_buf *out);

#endif
