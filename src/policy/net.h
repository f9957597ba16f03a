/* net.h - the network half of the rules: names first, then addresses. Pure. */
#ifndef CC_POLICY_NET_H
#define CC_POLICY_NET_H

#include "base/err.h"
#include "policy/hosts.h"
#include "policy/spec.h"

/* Plain lists (what the wire carries) and their compiled form. */
struct cc_net_rules {
	bool enabled;         /* false: everything is refused and nothing is resolved */
	struct cc_strv allow; /* patterns */
	struct cc_strv deny;  /* beats every allow */
	struct cc_strv private_names;
	struct cc_strv private_cidrs;
	struct cc_static_host *hosts; /* operator's name -> addresses: consent for exactly those */
	size_t host_count;
	struct cc_net_index *index;
};

CC_MUST enum cc_code cc_net_seal(struct cc_net_rules *net, struct cc_err *err);
void cc_net_rules_free(struct cc_net_rules *net);
CC_OWNED(cc_net_rules)

enum cc_net_reason {
	CC_NET_OFF = 0, /* network disabled */
	CC_NET_ALLOWED,
	CC_NET_NOT_ALLOWED, /* no entry matches */
	CC_NET_DENIED,      /* the deny list */
	CC_NET_ADDRESS,     /* the resolved address is of a refused class */
	CC_NET_MALFORMED,
	CC_NET_SNI,
	CC_NET_LIMIT,
};
const char *cc_net_reason_name(enum cc_net_reason reason); /* X-Sandbox-Reason: "not-allowed", "denied", ... */

struct cc_net_decision {
	bool allowed; /* zero is no */
	enum cc_net_reason reason;
	const char *entry; /* the allow or deny entry that decided, as written; NULL if none */
};

/* The name decision: deny list, then allow list, then no. For a literal it is the whole decision. */
struct cc_net_decision cc_net_decide(const struct cc_net_rules *net, const struct cc_host *host, uint16_t port);
/* The operator's own addresses for a name, or NULL. */
const struct cc_static_host *cc_net_static(const struct cc_net_rules *net, const struct cc_host *host);
/* The address decision for a name that was allowed; addr is what the resolver gave. */
struct cc_net_decision cc_net_decide_addr(const struct cc_net_rules *net, const struct cc_host *host, uint16_t port,
					  const uint8_t *addr, size_t len);

#endif
