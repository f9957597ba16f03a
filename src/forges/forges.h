/* forges.h - the daemon's side of cc-forge, the one process that speaks to forges and holds what can push: started
 * when DATADIR/forges.json is there, asked on behalf of runs, started again after it ended. What it is told of a run is
 * the daemon's word, never the run's.
 *
 * forges.json: {"forges": [as wire/forgemsg.h has them], "push": [rules, as push/rule.h has them]}, JSONC, the person's
 * own and closed to others: it names the files of keys. */
#ifndef CC_FORGES_FORGES_H
#define CC_FORGES_FORGES_H

#include "base/err.h"
#include "base/view.h"
#include "wire/json.h"

#include <uv.h>

struct cc_forges;

enum { CC_FORGES_FILE_MAX = 64 << 10, CC_FORGES_ASKS = 256 };

struct cc_forges_config {
	uv_loop_t *loop;
	char *const *env;
	unsigned long files;
	const char *helper; /* cc-forge */
	const char *data_dir;
	/* It has ended, or says that it cannot work. */
	void (*log)(const char *text);
};

/* Without forges.json there are no forges, and that is no error; a file that cannot be held is one. */
CC_MUST enum cc_code cc_forges_open(const struct cc_forges_config *config, struct cc_forges **out_forges,
				    struct cc_err *err);
/* What is still out is taken back; done is called when that is over, after ten seconds at the latest: the journal of
 * cc-forge has the rest. */
void cc_forges_end(struct cc_forges *forges, void (*done)(void *context), void *context);
void cc_forges_reaped(struct cc_forges *forges, pid_t pid);

const struct cc_strv *cc_forges_hosts(const struct cc_forges *forges); /* none: there are no forges */
const char *cc_forges_rules(const struct cc_forges *forges);           /* a JSON array */

/* m: minted, done, failed ...; NULL: cc-forge is gone. */
typedef void (*cc_forges_answer)(void *context, int64_t number, const struct cc_json *m);
struct cc_forges_ask {
	const char *what;           /* mint, advertise, receive */
	const char *run;            /* on whose behalf */
	const struct cc_json *from; /* its further members are taken from here; by name, see link.c */
	const int *fds;             /* stay the caller's */
	size_t fd_count;
	int64_t number; /* the caller's own, for the answer */
	cc_forges_answer answer;
	void *context;
};
CC_MUST enum cc_code cc_forges_put(struct cc_forges *forges, const struct cc_forges_ask *ask, struct cc_err *err);
/* Its answers are not waited for any more, and everything that was made for that run is taken back. */
void cc_forges_revoke(struct cc_forges *forges, const char *run, void *context);

#endif
