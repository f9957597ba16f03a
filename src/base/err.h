/* err.h - the one way a function says that it failed.
 *
 * Every fallible function returns enum cc_code (0 is success) and, on failure, fills a caller-owned
 * struct cc_err. Nothing here allocates, so it works between fork and exec. */
#ifndef CC_BASE_ERR_H
#define CC_BASE_ERR_H

#include <stdarg.h>

enum cc_code {
	CC_OK = 0,       /* done */
	CC_EINVAL,       /* the input is not well formed */
	CC_EPOLICY,      /* a rule refuses it */
	CC_EUNENFORCED,  /* the backend cannot hold a rule */
	CC_EUNSUPPORTED, /* this host or build lacks the means */
	CC_ENOTFOUND,    /* the named thing does not exist */
	CC_ELIMIT,       /* a bound was reached */
	CC_ESYS,         /* the operating system refused a call */
	CC_EPROTO,       /* the peer broke the protocol or went away */
	CC_ESTATE,       /* not possible in the present state */
	CC_ETIMEOUT,     /* it took longer than allowed */
};

struct cc_err {
	enum cc_code code;
	int sys;        /* errno of the call that failed, 0 if none */
	char what[400]; /* one line for a person, no trailing newline */
};

#define CC_MUST              __attribute__((warn_unused_result))
#define CC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Fills err (which may be NULL) and returns code, so that a failing function is one line:
 *     return cc_fail(err, CC_EINVAL, 0, "line %u: ...", line);
 * With sys != 0 the text of that errno is appended. */
enum cc_code cc_fail(struct cc_err *err, enum cc_code code, int sys, const char *fmt, ...) CC_PRINTF(4, 5);

#endif
