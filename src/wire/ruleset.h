/* ruleset.h - the rule set on the wire: how the session's owner hands the one compiled set to cc-init and cc-proxy.
 * Decoding ends with cc_rules_seal, so both sides answer from the same code over the same data. */
#ifndef CC_WIRE_RULESET_H
#define CC_WIRE_RULESET_H

#include "policy/rules.h"
#include "wire/json.h"

/* Writes one JSON object (a value, not a document). */
void cc_ruleset_write(struct cc_jsonw *w, const struct cc_rules *rules);
/* node is that object. Anything missing or unknown is CC_EPROTO: a rule is never skipped. */
CC_MUST enum cc_code cc_ruleset_read(const struct cc_json *node, struct cc_rules **out_rules, struct cc_err *err);

#endif
