/* net.h - the network half of the rules: names first, then addresses. Pure. */
#ifndef CC_POLICY_NET_H
#define CC_POLICY_NET_H

#include "base/err.h"
#include "policy/hosts.h"
#include "policy/spec.h"

/* The one name that is no host: a connection to it is handed to the session's owner as a descriptor. */
#define CC_NET_GATEWAY "gateway.ccbox.internal"

enum { CC_NET_CONNS = 256, CC_NET_CONNS_MAX = 16384, CC_NET_PORTS_MAX = 12 };

/* Are programs served that know nothing of proxies? Where the kernel cannot do it: a remark, or a refused start. */
enum cc_transparent { CC_TRANSPARENT_OFF = 0, CC_TRANSPARENT_TRY, CC_TRANSPARENT_MUST };

/* Plain lists (what the wire carries) and their compiled form. */
struct cc_net_rules {
	bool enabled;         /* false: everything is refused and nothing is resolved */
	struct cc_strv allow; /* patterns */
	struct cc_strv deny;  /* beats every allow */
	struct cc_strv private_names;
	struct cc_strv private_cidrs;
	struct cc_static_host *hosts; /* operator's name -> addresses: consent for exactly those */
	size_t host_count;
	struct cc_strv host_ports;  /* of the host's loopback, reachable inside under the same numbers */
	struct cc_strv publish;     /* ports inside, reachable on the host's loopback */
	struct cc_strv owner_ports; /* where the owner itself listens on this host: never reached, by whatever rule */
	char *parent;               /* NULL, or the HTTP proxy everything goes through: [USER:PASSWORD@]HOST:PORT */
	unsigned conns_max;         /* 0: CC_NET_CONNS */
	enum cc_transparent transparent;
	bool gateway; /* the owner takes CC_NET_GATEWAY */
	bool ech;     /* a TLS client may hide a name inside the one that is judged; it is told in the event */
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
/* A port of a loopback: ports is net->host_ports or net->publish. */
struct cc_net_decision cc_net_decide_port(const struct cc_net_rules *net, const struct cc_strv *ports, uint16_t port);
/* The same as cc_net_decide for some port: is there any that could be reached? For who asks about a name before there
 * is a port. */
struct cc_net_decision cc_net_decide_name(const struct cc_net_rules *net, const struct cc_host *host);
bool cc_net_is_gateway(const struct cc_host *host);
bool cc_net_is_owner_port(const struct cc_net_rules *net, uint16_t port);
struct cc_net_parent {
	struct cc_host host;
	uint16_t port;
	struct cc_view login; /* "user:password", empty when none */
};
/* NULL: connections are made directly. */
const struct cc_net_parent *cc_net_parent(const struct cc_net_rules *net);
/* The operator's own addresses for a name, or NULL. */
const struct cc_static_host *cc_net_static(const struct cc_net_rules *net, const struct cc_host *host);
/* The address decision for a name that was allowed; addr is what the resolver gave. */
struct cc_net_decision cc_net_decide_addr(const struct cc_net_rules *net, const struct cc_host *host, uint16_t port,
					  const uint8_t *addr, size_t len);

#endif
