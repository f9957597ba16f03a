/* jwt.h - what a GitHub App signs to say who it is: a JSON Web Token, RS256, good for nine minutes. */
#ifndef CC_FORGE_JWT_H
#define CC_FORGE_JWT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/view.h"

#include <stdbool.h>
#include <stdint.h>

struct cc_jwt_key;

/* A private RSA key in PEM, without a pass phrase. The text is not kept. */
CC_MUST enum cc_code cc_jwt_key_read(struct cc_view pem, struct cc_jwt_key **out_key, struct cc_err *err);
void cc_jwt_key_free(struct cc_jwt_key *key);
CC_OWNED(cc_jwt_key)
/* now: seconds since 1970 by the forge's clock. It was issued a minute ago, for clocks that differ a little. */
CC_MUST enum cc_code cc_jwt_make(const struct cc_jwt_key *key, const char *issuer, int64_t now, struct cc_buf *out,
				 struct cc_err *err);
/* With padding; url: the alphabet of addresses, without. */
void cc_base64(struct cc_buf *out, const void *bytes, size_t len, bool url);

#endif
