/* policyfile.h - policy files (JSONC) and what may stand in them. Key names are srt's where the meaning is the same. */
#ifndef CC_WIRE_POLICYFILE_H
#define CC_WIRE_POLICYFILE_H

#include "base/buf.h"
#include "policy/spec.h"

/* Where a file comes from: a project file may only tighten (contract, DESIGN 8). */
enum cc_policy_source { CC_POLICY_PROJECT = 0, CC_POLICY_OPERATOR };

/* Parses text and adds what it says to *policy. name is used in messages: "name:line:column: ...".
 * Unknown key, wrong type, duplicate key, empty file, a glob that can never match, a loosening key in a project file:
 * CC_EINVAL, *policy untouched. */
CC_MUST enum cc_code cc_policyfile_parse(const char *name, struct cc_view text, enum cc_policy_source source,
					 struct cc_policy *policy, struct cc_err *err);
/* The JSON Schema of the file (what `ccbox policy schema` prints). */
void cc_policyfile_schema(struct cc_buf *out);
/* The policy as a canonical policy file. */
void cc_policyfile_write(const struct cc_policy *policy, struct cc_buf *out);

#endif
