/* curl.h - the one place that knows libcurl: a call over https, its certificate verified, never by a proxy or along a
 * redirect, bounded in size and time, and made again where that can help. */
#ifndef CC_FORGE_CURL_H
#define CC_FORGE_CURL_H

#include "forge/kind.h"

enum { CC_ANSWER_MAX = 256 << 10 };

struct cc_answer;
struct cc_curl_ask {
	const struct cc_forge *forge; /* whose certificate it has */
	const struct cc_forge_call *call;
	int call_ms;      /* 0: as long as something moves */
	int body_fd;      /* -1: the body is the call's */
	int64_t body_len; /* of body_fd, from its beginning */
	int answer_fd;    /* -1: the body is kept. Otherwise that of status 200 goes there */
	/* Before the first byte goes there: status and type are known. Once, or never; not NULL with answer_fd. */
	void (*begun)(void *begun_context, const struct cc_answer *answer);
	void *begun_context;
	bool once;  /* it is not made again, whatever happens */
	bool *sent; /* set when the other side may have read it; NULL: nobody asks */
	bool (*stopped)(void *context);
	void *context;
};

struct cc_answer {
	long status;
	char *body; /* NUL-terminated */
	size_t len;
	char type[128];
	int64_t date; /* of the forge, seconds since 1970; -1: it did not say */
};

/* CC_OK: there is an answer, whatever its status. */
CC_MUST enum cc_code cc_curl_call(const struct cc_curl_ask *ask, struct cc_answer *out_answer, struct cc_err *err);
void cc_answer_done(struct cc_answer *answer); /* wiped */
/* Before any thread is started. */
CC_MUST enum cc_code cc_curl_start(struct cc_err *err);

#endif
