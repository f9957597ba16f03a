/* runrequest.h - what a client of the daemon asks for when an agent is to be run. As with request.h there is one form:
 * the daemon checks the body, and cc-run reads the same bytes with the same code. */
#ifndef CC_WIRE_RUNREQUEST_H
#define CC_WIRE_RUNREQUEST_H

#include "policy/spec.h"
#include "wire/json.h"

enum { CC_RUN_REQUEST_MAX = 512 << 10, CC_RUN_SAY_MAX = 8000, CC_RUN_ACTIONS = 32, CC_RUN_SECONDS_MAX = 24 * 3600 };

struct cc_run_request {
	char *agent;     /* of the table of agents */
	char *prompt;    /* what it is to do */
	char *model;     /* NULL: its own default */
	char *workspace; /* NULL: "default" */
	char *repo;      /* the checkout it works in a copy of: absolute, or its number in the list of repositories */
	char *base;      /* a revision of it; NULL: HEAD */
	char *directory; /* instead of repo: work there, without a copy; absolute */
	enum cc_mode mode;
	enum cc_backend_kind backend; /* UNSET: as this host offers */
	struct cc_strv env;           /* names (never values) of variables that are passed on */
	struct {                      /* rules of this run: names of src/guard, checked there */
		char *action, *verdict;
	} actions[CC_RUN_ACTIONS];
	size_t action_count;
	int64_t silence;  /* seconds without a word until it is ended; 0: by the mode */
	int64_t approval; /* seconds that a question waits; 0: an hour */
};

void cc_run_request_init(struct cc_run_request *request);
void cc_run_request_done(struct cc_run_request *request);
CC_MUST enum cc_code cc_run_request_read(const struct cc_json *root, struct cc_run_request *request,
					 struct cc_err *err);

#endif
