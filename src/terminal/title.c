#include "terminal/title.h"

#include <stdint.h>
#include <string.h>

enum { GROUND = 0, ESCAPE, NUMBER, TEXT, TEXT_ESCAPE };
enum { SEEN_MAX = 4096, DIGITS_MAX = 4 };

/* Code points that hide, reorder or break what stands around a title. */
static const struct {
	uint32_t first, last;
} refused[] = {
	{0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},    {0x061c, 0x061c}, {0x200b, 0x200f},
	{0x2028, 0x202e}, {0x2060, 0x206f},   {0xd800, 0xf8ff},    {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
	{0xfff0, 0xfffb}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
};

static uint32_t code_point(const unsigned char *p, size_t len)
{
	static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t value = p[0] & first[len];

	for (size_t i = 1; i < len; i++)
		value = value << 6 | (p[i] & 0x3f);
	return value;
}

static bool is_refused(uint32_t value)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (value >= refused[i].first && value <= refused[i].last)
			return true;
	return false;
}

/* Takes what was gathered as the title. */
static bool take(struct cc_title *title)
{
	const unsigned char *raw = (const unsigned char *)title->raw;
	char text[CC_TITLE_MAX + 1];
	size_t len = 0;

	for (size_t at = 0; at < title->len;) {
		size_t step = cc_utf8_len(raw + at, title->len - at);

		if (step && !is_refused(code_point(raw + at, step))) {
			memcpy(text + len, raw + at, step);
			len += step;
		}
		at += step ? step : 1;
	}
	text[len] = '\0';
	if (strcmp(text, title->text) == 0)
		return false;
	memcpy(title->text, text, len + 1);
	return true;
}

static bool wanted(const struct cc_title *title)
{
	return title->number == 0 || title->number == 2;
}

static bool in_number(struct cc_title *title, char byte)
{
	if (byte >= '0' && byte <= '9' && title->seen < DIGITS_MAX) {
		title->number = title->number * 10 + (unsigned)(byte - '0');
		title->seen++;
	} else if (byte == ';' && title->seen) {
		title->state = TEXT;
		title->len = title->seen = 0;
	} else {
		title->state = byte == '\033' ? ESCAPE : GROUND;
	}
	return false;
}

static bool in_text(struct cc_title *title, char byte)
{
	if (byte == '\a') {
		title->state = GROUND;
		return wanted(title) && take(title);
	}
	if (byte == '\033')
		title->state = TEXT_ESCAPE;
	else if (byte == 0x18 || byte == 0x1a || ++title->seen > SEEN_MAX)
		title->state = GROUND; /* CAN, SUB; or it never ends */
	else if (title->len < sizeof(title->raw))
		title->raw[title->len++] = byte;
	return false;
}

static bool feed(struct cc_title *title, char byte)
{
	switch (title->state) {
	case ESCAPE:
		title->state = byte == ']' ? NUMBER : byte == '\033' ? ESCAPE : GROUND;
		title->number = 0;
		title->seen = 0;
		return false;
	case NUMBER:
		return in_number(title, byte);
	case TEXT:
		return in_text(title, byte);
	case TEXT_ESCAPE: /* ESC \ ends it; any other escape ends it too, without a title */
		title->state = byte == ']' ? NUMBER : GROUND;
		if (byte == ']') {
			title->number = 0;
			title->seen = 0;
		}
		return byte == '\\' && wanted(title) && take(title);
	default:
		if (byte == '\033')
			title->state = ESCAPE;
		return false;
	}
}

bool cc_title_feed(struct cc_title *title, struct cc_view output)
{
	bool changed = false;

	for (size_t i = 0; i < output.len; i++) {
		/* nearly all output is no control sequence */
		if (title->state == GROUND) {
			const char *escape = memchr(output.ptr + i, '\033', output.len - i);

			if (!escape)
				break;
			i = (size_t)(escape - output.ptr);
		}
		changed |= feed(title, output.ptr[i]);
	}
	return changed;
}
