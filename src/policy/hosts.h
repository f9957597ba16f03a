/* hosts.h - canonical hosts and allowlist patterns (contract 7.3; spec/egress 2.1-2.3). One canonicaliser for CONNECT,
 * absolute URIs, SOCKS names, SNI and patterns. Pure; no inet_aton, no locale. */
#ifndef CC_POLICY_HOSTS_H
#define CC_POLICY_HOSTS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/view.h"

#include <stdbool.h>
#include <stdint.h>

enum cc_host_kind { CC_HOST_BAD = 0, CC_HOST_NAME, CC_HOST_V4, CC_HOST_V6 };

struct cc_host {
	enum cc_host_kind kind;
	char text[256];   /* canonical: lower case, no trailing dot; v6 in RFC 5952 form without brackets */
	uint8_t addr[16]; /* network order: 4 bytes for V4 (v4-mapped included), 16 for V6 */
};

/* Addresses that stand for names inside a session: 198.18/15, which is for benchmarks and nobody's. */
enum { CC_CAPTURE_NET_0 = 198, CC_CAPTURE_NET_1 = 18, CC_CAPTURE_BITS = 15 };
bool cc_host_is_capture(const struct cc_host *host);

/* The session's own TCP ports inside. Published, they would be the proxies of whoever is on this host. */
enum { CC_PORT_HTTP = 3128, CC_PORT_SOCKS = 1080, CC_PORT_CATCH = 3129 };
bool cc_host_is_own_port(uint16_t port);

/* The flag that would let a host be reached which no entry allows, if there is one; host: as in struct cc_host, or
 * malformed. */
void cc_host_grant(struct cc_view host, uint16_t port, struct cc_buf *out);

enum cc_host_form {
	CC_HOST_URI = 0, /* a v6 literal needs brackets */
	CC_HOST_SOCKS,   /* a v6 literal comes bare */
};

/* CC_EINVAL says what is malformed; *out_host is untouched then. */
CC_MUST enum cc_code cc_host_parse(struct cc_view raw, enum cc_host_form form, struct cc_host *out_host,
				   struct cc_err *err);

/* The literal host of 4 or 16 address bytes (v4-mapped becomes V4); kind is CC_HOST_BAD for any other length. */
void cc_host_from_addr(const uint8_t *addr, size_t len, struct cc_host *out_host);
/* A decimal port 1..65535 without leading zero; 0 = malformed. */
uint16_t cc_host_port(struct cc_view digits);

/* A compiled list of patterns: exact names, "*.rest", "pre.*.rest", IP literals, each with an optional ":port". */
struct cc_hosts;
CC_MUST enum cc_code cc_hosts_compile(const struct cc_strv *patterns, struct cc_hosts **out_hosts, struct cc_err *err);
/* The pattern as written that matches, or NULL. Port 0 asks about all ports: only entries without a port match. */
const char *cc_hosts_match(const struct cc_hosts *hosts, const struct cc_host *host, uint16_t port);
/* The same for some port, whichever: an entry with a port matches too. */
const char *cc_hosts_match_some(const struct cc_hosts *hosts, const struct cc_host *host);
void cc_hosts_free(struct cc_hosts *hosts);
CC_OWNED(cc_hosts)

/* "*.com", "a.*.com": accepted, but the star covers a whole public suffix: worth a warning. */
bool cc_host_pattern_is_wide(const char *pattern);

enum cc_addr_class {
	CC_ADDR_REFUSED = 0, /* never: multicast, reserved, documentation, tunnels that hide an address ... */
	CC_ADDR_PUBLIC,
	CC_ADDR_LOOPBACK,
	CC_ADDR_UNSPECIFIED,
	CC_ADDR_LINK_LOCAL,
	CC_ADDR_METADATA,
	CC_ADDR_PRIVATE,
};
/* len is 4 or 16. Embedded v4 (mapped, NAT64, 6to4) is decoded and judged. */
enum cc_addr_class cc_addr_classify(const uint8_t *addr, size_t len);
const char *cc_addr_class_name(enum cc_addr_class klass);
/* The v4 address carried inside a v6 one (mapped, NAT64, 6to4), or NULL. */
const uint8_t *cc_addr_embedded(const uint8_t *addr, size_t len);
bool cc_addr_in(const uint8_t *addr, const uint8_t *net, unsigned bits); /* the first bits are equal */
/* One strict spelling each; out is untouched on failure of v6, unspecified on failure of v4. */
bool cc_addr_read_v4(struct cc_view text, uint8_t out[4]);
bool cc_addr_read_v6(struct cc_view text, uint8_t out[16]);

#endif
