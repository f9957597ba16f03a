/* name.h - names of forges and of what lies there, from text alone. What becomes part of an address is letters, digits,
 * dots, dashes and underscores, so that no name can mean another place. */
#ifndef CC_FORGE_NAME_H
#define CC_FORGE_NAME_H

#include "base/buf.h"
#include "base/err.h"
#include "base/view.h"

enum { CC_REPO_MAX = 512, CC_REPO_PARTS_MAX = 20 };

/* Views into the text it was read from. */
struct cc_repo {
	struct cc_view host;  /* with its port, if there is one */
	struct cc_view owner; /* one name; on some forges several, with slashes */
	struct cc_view name;
};

/* NAME or NAME:PORT. */
bool cc_host_good(struct cc_view host);
/* HOST/OWNER/NAME. */
CC_MUST enum cc_code cc_repo_read(const char *text, struct cc_repo *out_repo, struct cc_err *err);
/* https://HOST/OWNER/NAME.git */
void cc_repo_url(const struct cc_repo *repo, struct cc_buf *out);
/* An https address without user, query or fragment, and without a slash at its end. */
bool cc_base_good(struct cc_view url);
/* Letters, digits, dashes: a run's id. */
bool cc_word_good(const char *word, size_t max);

#endif
