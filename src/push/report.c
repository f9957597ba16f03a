#include "push/report.h"

#include "push/pktline.h"

#include <string.h>

enum { REASON = 300, REPORT_MAX = 8 << 20, LINE = 1000 };

/* One line, however the sentence came about. */
static void add_text(struct cc_buf *out, const char *text, size_t max)
{
	for (size_t i = 0; text[i] && i < max; i++) {
		unsigned char byte = (unsigned char)text[i];

		cc_buf_add(out, byte < 0x20 || byte == 0x7f ? "?" : &text[i], 1);
	}
}

static void add_status(struct cc_buf *out, const struct cc_push_list *list, size_t at, const char *why)
{
	const char *other = list->atomic ? "another reference of this atomic push was refused"
					 : "another reference of this push was refused";
	struct cc_buf line;

	cc_buf_init(&line, CC_PUSH_REF + REASON + 16);
	cc_buf_addf(&line, "ng %s ", list->items[at].ref);
	add_text(&line, why ? why : other, REASON);
	cc_buf_adds(&line, "\n");
	cc_pkt_add(out, cc_buf_view(&line));
	out->failed |= line.failed;
	cc_buf_done(&line);
}

void cc_push_progress(struct cc_buf *out, const struct cc_push_list *list, const char *sentence)
{
	struct cc_buf line;

	if (!list->side_band || !sentence)
		return;
	cc_buf_init(&line, LINE + 16);
	cc_buf_adds(&line, "ccbox: ");
	add_text(&line, sentence, LINE);
	cc_buf_adds(&line, "\n");
	cc_pkt_band(out, CC_BAND_PROGRESS, cc_buf_view(&line));
	out->failed |= line.failed;
	cc_buf_done(&line);
}

void cc_push_keepalive(struct cc_buf *out, const struct cc_push_list *list)
{
	static const char nothing[] = "0005\001"; /* as git's own servers say it */

	if (list->side_band)
		cc_buf_add(out, nothing, sizeof(nothing) - 1);
}

void cc_push_report(struct cc_buf *out, const struct cc_push_list *list, const char *const *why, const char *sentence,
		    const char *unpack)
{
	struct cc_buf report, line;

	cc_buf_init(&report, REPORT_MAX);
	cc_buf_init(&line, REASON + 16);
	cc_buf_adds(&line, "unpack ");
	add_text(&line, unpack ? unpack : "ok", REASON);
	cc_buf_adds(&line, "\n");
	cc_pkt_add(&report, cc_buf_view(&line));
	for (size_t i = 0; i < list->count; i++)
		add_status(&report, list, i, why && why[i] ? why[i] : unpack);
	cc_pkt_flush(&report);
	cc_push_progress(out, list, sentence);
	if (list->report || list->report_v2) {
		if (list->side_band)
			cc_pkt_band(out, CC_BAND_DATA, cc_buf_view(&report));
		else
			cc_buf_add(out, report.data, report.len);
	}
	if (list->side_band)
		cc_pkt_flush(out);
	out->failed |= report.failed || line.failed;
	cc_buf_done(&report);
	cc_buf_done(&line);
}
