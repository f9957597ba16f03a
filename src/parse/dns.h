/* dns.h - the small resolver of a session with transparent capture: questions in, answers out. Pure. It asks nobody: an
 * allowed name gets an address that stands for it (names.h), any other name does not exist. */
#ifndef CC_PARSE_DNS_H
#define CC_PARSE_DNS_H

#include "base/view.h"
#include "policy/hosts.h"

#include <stdbool.h>
#include <stdint.h>

enum { CC_DNS_MAX = 512, CC_DNS_TTL = 30 };
enum { CC_DNS_A = 1, CC_DNS_PTR = 12, CC_DNS_ANY = 255 };
enum cc_dns_code {
	CC_DNS_OK = 0,
	CC_DNS_FORMAT = 1,
	CC_DNS_NO_NAME = 3,
	CC_DNS_NOT_IMPLEMENTED = 4,
	CC_DNS_REFUSED = 5
};

struct cc_dns_query {
	uint16_t id;
	uint16_t flags;
	struct cc_view question; /* of the packet, to be repeated byte by byte: some clients vary the case */
	char name[256];          /* without the last dot; empty: the root */
	size_t name_len;         /* a name may hold any byte */
	uint16_t type;
	bool plain; /* one question, of the Internet's class */
};

/* False: not even an answer that it is malformed is possible. */
bool cc_dns_parse(struct cc_view packet, struct cc_dns_query *out);
/* Writes the whole answer; its length. addr (4 bytes) or name may be NULL: then it has none. */
size_t cc_dns_answer(const struct cc_dns_query *query, enum cc_dns_code code, const uint8_t *addr, const char *name,
		     uint8_t out[CC_DNS_MAX]);
/* "4.3.18.198.in-addr.arpa": false when it is something else. */
bool cc_dns_reverse(const struct cc_dns_query *query, uint8_t addr[4]);

#endif
