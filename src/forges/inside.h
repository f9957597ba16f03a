/* inside.h - what the files of this room share. */
#ifndef CC_FORGES_INSIDE_H
#define CC_FORGES_INSIDE_H

#include "forges/forges.h"
#include "os/proc.h"

struct cc_forges {
	struct cc_forges_config config;
	struct cc_strv hosts;
	char *rules, *document; /* what cc-forge is told at its start; NULL: there are no forges */
	/* the helper */
	struct cc_child child;
	int link;
	uv_poll_t *poll; /* of its own: it outlives one helper, until the loop has given it back */
	int64_t last;
	size_t waiting;
	struct cc_forges_wait {
		int64_t id; /* 0 = free */
		int64_t number;
		cc_forges_answer answer; /* NULL: nobody waits */
		void *context;
	} asks[CC_FORGES_ASKS];
	/* the end */
	uv_timer_t late;
	void (*done)(void *context);
	void *done_context;
};

CC_MUST enum cc_code cc_forges_start(struct cc_forges *forges, struct cc_err *err);
/* Everybody who waits is told that there is no answer. */
void cc_forges_lost(struct cc_forges *forges);
/* The last of it, once nothing waits. */
void cc_forges_check_end(struct cc_forges *forges);

#endif
