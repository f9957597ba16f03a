/* apart.h - calls that may take long, each in a process of its own, so that others are answered meanwhile: what walks a
 * tree only reads, and answers in one text. */
#ifndef CC_MCP_APART_H
#define CC_MCP_APART_H

#include "tools/tools.h"
#include "wire/rpc.h"

#include <poll.h>
#include <sys/types.h>

enum { CC_APART_MAX = 8 };

struct cc_apart {
	struct cc_apart_call {
		char id[CC_RPC_ID]; /* as it is written in the answer */
		pid_t pid;          /* 0: free */
		int fd;
		struct cc_buf text;
	} calls[CC_APART_MAX];
};

bool cc_apart_full(const struct cc_apart *apart);
bool cc_apart_busy(const struct cc_apart *apart);
/* Starts it; the answer is asked for with cc_apart_step. text_max: of the answer. */
CC_MUST enum cc_code cc_apart_start(struct cc_apart *apart, const char *id, struct cc_tools *tools, const char *name,
				    const struct cc_json *args, size_t text_max, struct cc_err *err);
/* Descriptors that become readable when cc_apart_step is wanted; one for each place, -1 where it is free. */
void cc_apart_watch(const struct cc_apart *apart, struct pollfd entries[CC_APART_MAX]);
/* Reads what is there; one that has ended is handed over and its place is free again. */
void cc_apart_step(struct cc_apart *apart,
		   void (*over)(void *context, const char *id, bool failed, struct cc_view text), void *context);
/* Ends the call of that id without an answer, or, NULL, all of them. */
void cc_apart_drop(struct cc_apart *apart, const char *id);

#endif
