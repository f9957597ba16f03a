/* err.h - the one way a function says that it failed.
 *
 * Every fallible function returns enum cc_code (0 is success) and, on failure, fills a caller-owned
 * struct cc_err. Nothing here allocates, so it works between fork and exec. */
#ifndef CC_BASE_ERR_H
#define CC_BASE_ERR_H

#include <stdarg.h>

/* code, stable name, what it means for the caller */
#define CC_CODES(X)                                                                                                    \
	X(CC_OK, "ok", "done")                                                                                         \
	X(CC_EINVAL, "invalid", "the input is not well formed")                                                        \
	X(CC_EPOLICY, "policy", "a rule refuses it")                                                                   \
	X(CC_EUNENFORCED, "unenforced", "the backend cannot hold a rule")                                              \
	X(CC_EUNSUPPORTED, "unsupported", "this host or build lacks the means")                                        \
	X(CC_ENOTFOUND, "not-found", "the named thing does not exist")                                                 \
	X(CC_ELIMIT, "limit", "a bound was reached")                                                                   \
	X(CC_ESYS, "system", "the operating system refused a call")                                                    \
	X(CC_EPROTO, "protocol", "the peer broke the protocol or went away")                                           \
	X(CC_ESTATE, "state", "not possible in the present state")                                                     \
	X(CC_ETIMEOUT, "timeout", "it took longer than allowed")

enum cc_code {
#define CC_CODE_ENUM(code, name, text) code,
	CC_CODES(CC_CODE_ENUM)
#undef CC_CODE_ENUM
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

const char *cc_code_name(enum cc_code code);

#endif
