/* login.h - browsers that came by a one-time address. Kept in memory: they end with the server. */
#ifndef CC_CONSOLE_LOGIN_H
#define CC_CONSOLE_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

enum { CC_LOGIN_BYTES = 32, CC_LOGIN_KEYS = 8, CC_LOGIN_BROWSERS = 32, CC_LOGIN_KEY_MS = 60000 };

struct cc_login_secret {
	char text[2 * CC_LOGIN_BYTES + 1]; /* empty: none */
	int64_t until;                     /* of cc_clock_ms */
};

/* Zeroed memory is nobody. */
struct cc_logins {
	struct cc_login_secret keys[CC_LOGIN_KEYS];         /* in an address, to be used once */
	struct cc_login_secret browsers[CC_LOGIN_BROWSERS]; /* in a cookie */
};

/* A new secret in the place of the one that ends first. */
const char *cc_login_add(struct cc_login_secret *table, unsigned count, int64_t until);
/* True when it is there and not too old; used up with it when take is set. */
bool cc_login_know(struct cc_login_secret *table, unsigned count, const char *text, int64_t now, bool take);
#endif
