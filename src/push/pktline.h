/* pktline.h - git's packets: four digits of length, then what they count. Pure.
 *
 * Both ends of a push are strangers: a length that counts less than itself, that is no number, or that is more than a
 * packet may have, is refused and never repaired. */
#ifndef CC_PUSH_PKTLINE_H
#define CC_PUSH_PKTLINE_H

#include "base/buf.h"
#include "base/view.h"

enum { CC_PKT_MAX = 65520 };

enum cc_pkt {
	CC_PKT_MORE = 0, /* it is not whole yet */
	CC_PKT_DATA,
	CC_PKT_FLUSH, /* 0000 */
	CC_PKT_DELIM, /* 0001 */
	CC_PKT_END,   /* 0002 */
	CC_PKT_BAD,
};

/* The packet that bytes begin with. *out_used: its size; *out_data: what it carries. */
enum cc_pkt cc_pkt_take(struct cc_view bytes, struct cc_view *out_data, size_t *out_used);

/* The one that stands at *at, which goes on behind it. MORE, BAD: it stays. */
enum cc_pkt cc_pkt_next(struct cc_view bytes, size_t *at, struct cc_view *out_data);

void cc_pkt_add(struct cc_buf *out, struct cc_view data);
void cc_pkt_addf(struct cc_buf *out, const char *fmt, ...) CC_PRINTF(2, 3);
void cc_pkt_flush(struct cc_buf *out);
/* In side-band packets of that band, as many as it takes. */
enum { CC_BAND_DATA = 1, CC_BAND_PROGRESS = 2, CC_BAND_FATAL = 3 };
void cc_pkt_band(struct cc_buf *out, unsigned band, struct cc_view data);

#endif
