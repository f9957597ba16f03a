/* clienthello.h - the first bytes a client sends through a tunnel: whom do they really address? Pure.
 *
 * A tunnel is opened for one host. TLS names its host in the SNI, cleartext HTTP in Host; both must name that host.
 * Everything else is opaque and passes (spec/egress 2.6). */
#ifndef CC_PARSE_CLIENTHELLO_H
#define CC_PARSE_CLIENTHELLO_H

#include "base/view.h"
#include "policy/hosts.h"

#include <stdbool.h>

enum { CC_HELLO_MAX = 65536 };

enum cc_hello_step { CC_HELLO_MORE = 0, CC_HELLO_DONE, CC_HELLO_BAD };

struct cc_hello {
	bool has_name;
	struct cc_host name; /* canonical */
	bool ech;            /* an encrypted_client_hello extension is there (real or GREASE) */
};

/* bytes start with a TLS record; the hello may lie in several records. BAD: *fault says why. */
enum cc_hello_step cc_hello_parse(struct cc_view bytes, struct cc_hello *out, const char **fault);

enum cc_sniff_verdict { CC_SNIFF_MORE = 0, CC_SNIFF_PASS, CC_SNIFF_REFUSE };

struct cc_sniff {
	const char *kind;  /* "tls", "http", "opaque" */
	const char *fault; /* with REFUSE */
	char named[256];   /* the host the client named, canonical; empty when none */
	bool ech;          /* with PASS: a TLS client that hides a name, or seems to */
};

/* bytes: what the client sent so far; ended: it will send no more. */
enum cc_sniff_verdict cc_sniff(struct cc_view bytes, bool ended, const struct cc_host *host, struct cc_sniff *out);

#endif
