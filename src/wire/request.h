/* request.h - what a client of the daemon asks for: a sandbox, or a command in one. The daemon checks the body with
 * this code and hands the same bytes to the session's owner, which reads them with the same code: there is no second
 * form.
 *
 * A key that is not known, a wrong type, a duplicate, a text that is not JSON: CC_EINVAL, with its line and column. */
#ifndef CC_WIRE_REQUEST_H
#define CC_WIRE_REQUEST_H

#include "policy/spec.h"
#include "wire/json.h"

enum { CC_REQUEST_MAX = 1 << 20, CC_EXEC_STDIN_MAX = 512 << 10, CC_EXEC_SECONDS_MAX = 365 * 24 * 3600 };

/* 0 = nobody said. */
struct cc_limits {
	int64_t memory; /* bytes */
	int64_t pids;
	int64_t cpu;  /* percent of one processor */
	int64_t wall; /* seconds */
};

struct cc_launch_request {
	struct cc_spec spec;
	enum cc_backend_kind backend; /* UNSET: as this host offers */
	char *agent;                  /* a known agent whose login is lent; NULL: none */
	struct cc_limits limits;
	bool sanitised; /* without a sandbox: not the host's whole environment (contract 2.5) */
};

void cc_launch_request_init(struct cc_launch_request *request);
void cc_launch_request_done(struct cc_launch_request *request);
/* Into an initialised one. Paths are checked as far as text says it. */
CC_MUST enum cc_code cc_launch_request_read(const struct cc_json *root, struct cc_launch_request *request,
					    struct cc_err *err);

/* As a body that cc_launch_request_read takes. */
void cc_launch_request_write(const struct cc_launch_request *request, struct cc_buf *out);

struct cc_exec_request_doc {
	struct cc_strv argv;
	struct cc_strv env; /* NAME=VALUE, on top of the session's own */
	char *workdir;      /* NULL: the session's */
	int64_t timeout;    /* seconds, 0 = none */
	struct cc_buf stdin_bytes;
	bool stdin_open; /* more comes later */
	bool detach;     /* the command outlives the call */
};

void cc_exec_request_init(struct cc_exec_request_doc *request);
void cc_exec_request_done(struct cc_exec_request_doc *request);
CC_MUST enum cc_code cc_exec_request_read(const struct cc_json *root, struct cc_exec_request_doc *request,
					  struct cc_err *err);

#endif
