/* redact.h - secrets taken out of what is recorded: by the shape of a credential, by the flag, header or variable that
 * it follows, by the name of a member. A net, not a proof: a secret of no known shape passes. Pure. */
#ifndef CC_AGENTS_REDACT_H
#define CC_AGENTS_REDACT_H

#include "base/buf.h"
#include "base/view.h"
#include "wire/json.h"

#include <stdbool.h>

#define CC_REDACTED "[redacted]"

void cc_redact(struct cc_view text, struct cc_buf *out);
/* Bytes at the end of a text that goes on later in which a secret may have begun: they are to be kept back. */
size_t cc_redact_open(struct cc_view text);
/* The name of a member or variable says that its value is a secret. */
bool cc_redact_is_name(struct cc_view name);
/* A value, its strings redacted and cut to CC_AGENT_LEAF_MAX bytes, members with such a name blanked, names redacted.
 */
void cc_redact_json(const struct cc_json *value, struct cc_jsonw *w);

#endif
