/* buf.h - growing bytes with a mandatory maximum. A buffer that would pass its maximum fails and stays failed,
 * so a writer may check once at the end. */
#ifndef CC_BASE_BUF_H
#define CC_BASE_BUF_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>

struct cc_buf {
	char *data; /* NUL-terminated once anything was added */
	size_t len;
	size_t cap;
	size_t max;
	bool failed; /* out of memory or past max: nothing more is added */
};

void cc_buf_init(struct cc_buf *buf, size_t max);
void cc_buf_done(struct cc_buf *buf);
void cc_buf_reset(struct cc_buf *buf);
void cc_buf_add(struct cc_buf *buf, const void *bytes, size_t len);
void cc_buf_adds(struct cc_buf *buf, const char *text);
void cc_buf_addf(struct cc_buf *buf, const char *fmt, ...) CC_PRINTF(2, 3);
/* One word for a POSIX shell, in single quotes: whatever it holds, the shell reads it back as it is. */
void cc_buf_add_quoted(struct cc_buf *buf, struct cc_view word);
/* Text of anybody's: bytes that are no UTF-8 become U+FFFD. */
void cc_buf_add_utf8(struct cc_buf *buf, struct cc_view text);
/* Removes the first len bytes. */
void cc_buf_eat(struct cc_buf *buf, size_t len);
struct cc_view cc_buf_view(const struct cc_buf *buf);
/* CC_OK, or CC_ELIMIT naming what when the buffer failed on the way. */
CC_MUST enum cc_code cc_buf_check(const struct cc_buf *buf, const char *what, struct cc_err *err);

#endif
