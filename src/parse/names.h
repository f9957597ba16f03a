/* names.h - which address stands for which name inside a session. Only names that the rules allow get one; whoever
 * dials the address is judged again, by that name. Bounded: the name that was given an address longest ago loses it. */
#ifndef CC_PARSE_NAMES_H
#define CC_PARSE_NAMES_H

#include "base/mem.h"
#include "policy/hosts.h"

#include <stdbool.h>
#include <stdint.h>

enum { CC_NAMES_MAX = 8192 };

struct cc_names;
struct cc_names *cc_names_new(void); /* NULL: out of memory */
/* The address of a name, given now if it has none. False: out of memory. */
bool cc_names_address(struct cc_names *names, const char *name, uint8_t out[4]);
/* The name behind an address, or NULL. */
const char *cc_names_at(const struct cc_names *names, const uint8_t addr[4]);
void cc_names_free(struct cc_names *names);
CC_OWNED(cc_names)

#endif
