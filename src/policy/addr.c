/* addr.c - addresses as bytes: text forms, and the class of what a resolver answered. Own code instead of inet_pton and
 * inet_ntop: the room is pure, and one strict spelling is the point. */
#include "policy/hosts.h"

#include <stdio.h>
#include <string.h>

struct range {
	uint8_t bytes[16];
	unsigned bits;
	enum cc_addr_class klass;
};

/* First match wins: single addresses stand before the range they lie in. */
static const struct range v4_ranges[] = {
	{{0}, 8, CC_ADDR_UNSPECIFIED},
	{{127}, 8, CC_ADDR_LOOPBACK},
	{{169, 254}, 16, CC_ADDR_LINK_LOCAL},
	{{100, 100, 100, 200}, 32, CC_ADDR_METADATA},
	{{168, 63, 129, 16}, 32, CC_ADDR_METADATA},
	{{192, 0, 0, 192}, 32, CC_ADDR_METADATA},
	{{10}, 8, CC_ADDR_PRIVATE},
	{{172, 16}, 12, CC_ADDR_PRIVATE},
	{{192, 168}, 16, CC_ADDR_PRIVATE},
	{{100, 64}, 10, CC_ADDR_PRIVATE},
	{{192, 0, 0}, 24, CC_ADDR_REFUSED},
	{{192, 0, 2}, 24, CC_ADDR_REFUSED},
	{{198, 51, 100}, 24, CC_ADDR_REFUSED},
	{{203, 0, 113}, 24, CC_ADDR_REFUSED},
	{{198, 18}, 15, CC_ADDR_REFUSED},
	{{192, 88, 99}, 24, CC_ADDR_REFUSED},
	{{224}, 4, CC_ADDR_REFUSED},
	{{240}, 4, CC_ADDR_REFUSED},
	{{0}, 0, CC_ADDR_PUBLIC},
};

static const struct range v6_ranges[] = {
	{{0}, 128, CC_ADDR_UNSPECIFIED},
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, CC_ADDR_LOOPBACK},
	{{0xfe, 0x80}, 10, CC_ADDR_LINK_LOCAL},
	{{0xfd, 0x00, 0x0e, 0xc2}, 32, CC_ADDR_METADATA},
	{{0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, CC_ADDR_METADATA},
	{{0xfd, 0x00, 0, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe}, 128, CC_ADDR_METADATA},
	{{0xfd, 0x00, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42}, 128, CC_ADDR_METADATA},
	{{0xfd, 0x00, 0xa9, 0xfe, 0xa9, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, CC_ADDR_METADATA},
	{{0xfd, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0, 0x02, 0}, 128, CC_ADDR_METADATA},
	{{0xfc}, 7, CC_ADDR_PRIVATE},
	{{0xfe, 0xc0}, 10, CC_ADDR_PRIVATE},
	{{0x20, 0x01, 0, 0}, 32, CC_ADDR_REFUSED},          /* Teredo */
	{{0x20, 0x01, 0, 0x02, 0, 0}, 48, CC_ADDR_REFUSED}, /* benchmarking */
	{{0x20, 0x01, 0, 0x10}, 28, CC_ADDR_REFUSED},       /* ORCHID */
	{{0x20, 0x01, 0, 0x20}, 28, CC_ADDR_REFUSED},
	{{0x20, 0x01, 0x0d, 0xb8}, 32, CC_ADDR_REFUSED}, /* documentation */
	{{0x3f, 0xff, 0}, 20, CC_ADDR_REFUSED},
	{{0x20}, 3, CC_ADDR_PUBLIC},
	{{0}, 0, CC_ADDR_REFUSED}, /* v4-compatible, 64:ff9b:1::/48, 5f00::/16, multicast and all else */
};

/* v6 ranges that carry a v4 address, and where. */
static const struct {
	struct range range;
	size_t offset;
} embeddings[] = {
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 0}, 12},
	{{{0, 0x64, 0xff, 0x9b}, 96, 0}, 12},
	{{{0x20, 0x02}, 16, 0}, 2},
};

bool cc_addr_in(const uint8_t *addr, const uint8_t *net, unsigned bits)
{
	size_t whole = bits / 8;
	unsigned rest = bits % 8;

	if (memcmp(addr, net, whole) != 0)
		return false;
	return rest == 0 || ((addr[whole] ^ net[whole]) >> (8 - rest)) == 0;
}

const uint8_t *cc_addr_embedded(const uint8_t *addr, size_t len)
{
	if (len != 16)
		return NULL;
	for (size_t i = 0; i < CC_COUNT(embeddings); i++)
		if (cc_addr_in(addr, embeddings[i].range.bytes, embeddings[i].range.bits))
			return addr + embeddings[i].offset;
	return NULL;
}

enum cc_addr_class cc_addr_classify(const uint8_t *addr, size_t len)
{
	const uint8_t *inner = cc_addr_embedded(addr, len);
	const struct range *ranges = v6_ranges;
	size_t count = CC_COUNT(v6_ranges);

	if (inner || len == 4) {
		addr = inner ? inner : addr;
		ranges = v4_ranges;
		count = CC_COUNT(v4_ranges);
	} else if (len != 16) {
		return CC_ADDR_REFUSED;
	}
	for (size_t i = 0; i < count; i++)
		if (cc_addr_in(addr, ranges[i].bytes, ranges[i].bits))
			return ranges[i].klass;
	return CC_ADDR_REFUSED;
}

const char *cc_addr_class_name(enum cc_addr_class klass)
{
	static const char *const names[] = {
		[CC_ADDR_REFUSED] = "reserved",      [CC_ADDR_PUBLIC] = "public",
		[CC_ADDR_LOOPBACK] = "loopback",     [CC_ADDR_UNSPECIFIED] = "unspecified",
		[CC_ADDR_LINK_LOCAL] = "link-local", [CC_ADDR_METADATA] = "metadata",
		[CC_ADDR_PRIVATE] = "private",
	};

	return (size_t)klass < CC_COUNT(names) ? names[klass] : "reserved";
}

/* Strict dotted quad: four decimal parts, no leading zero, nothing else. */
bool cc_addr_read_v4(struct cc_view text, uint8_t out[4])
{
	size_t at = 0;

	for (unsigned part = 0; part < 4; part++) {
		size_t from = at;
		unsigned value = 0;

		while (at < text.len && at - from < 4 && text.ptr[at] >= '0' && text.ptr[at] <= '9')
			value = value * 10 + (unsigned)(text.ptr[at++] - '0');
		if (at == from || value > 255 || (text.ptr[from] == '0' && at - from > 1))
			return false;
		out[part] = (uint8_t)value;
		if (part < 3 && (at >= text.len || text.ptr[at++] != '.'))
			return false;
	}
	return at == text.len;
}

/* One group of up to four hex digits; 0 = no digit there. */
static size_t read_group(struct cc_view text, size_t at, unsigned *value)
{
	size_t len = 0;

	*value = 0;
	while (at + len < text.len && len < 4 && cc_hex_value(text.ptr[at + len]) >= 0)
		*value = *value * 16 + (unsigned)cc_hex_value(text.ptr[at + len++]);
	return len;
}

/* Groups into out from the front; *gap is where "::" stood. */
static bool read_groups(struct cc_view text, uint8_t out[16], size_t *out_used, size_t *gap)
{
	size_t at = 0;
	size_t used = 0;

	while (at < text.len) {
		unsigned value;
		size_t len;

		if (text.len - at >= 2 && text.ptr[at] == ':' && text.ptr[at + 1] == ':') {
			if (*gap != SIZE_MAX)
				return false;
			*gap = used;
			at += 2;
			continue;
		}
		if (used && !(*gap == used && text.ptr[at - 1] == ':') && text.ptr[at++] != ':')
			return false;
		if (used <= 12 && cc_addr_read_v4((struct cc_view){text.ptr + at, text.len - at}, out + used)) {
			used += 4;
			break;
		}
		len = read_group(text, at, &value);
		if (len == 0 || used > 14)
			return false;
		out[used++] = (uint8_t)(value >> 8);
		out[used++] = (uint8_t)value;
		at += len;
	}
	*out_used = used;
	return true;
}

bool cc_addr_read_v6(struct cc_view text, uint8_t out[16])
{
	uint8_t bytes[16] = {0};
	size_t used = 0;
	size_t gap = SIZE_MAX;

	if (text.len < 2 || text.len > 45 || !read_groups(text, bytes, &used, &gap))
		return false;
	if (gap == SIZE_MAX ? used != 16 : used > 14)
		return false;
	memset(out, 0, 16);
	if (gap == SIZE_MAX)
		gap = 16;
	memcpy(out, bytes, gap);
	if (gap < 16)
		memcpy(out + 16 - (used - gap), bytes + gap, used - gap);
	return true;
}

/* RFC 5952: lower case, the longest run of two or more zero groups (the first of equals) as "::". */
static void write_v6(const uint8_t addr[16], char out[64])
{
	int best = -1;
	int best_len = 1;
	size_t at = 0;

	for (int i = 0; i < 8; i++) {
		int len = 0;

		while (i + len < 8 && addr[2 * (i + len)] == 0 && addr[2 * (i + len) + 1] == 0)
			len++;
		if (len > best_len) {
			best = i;
			best_len = len;
		}
	}
	for (int i = 0; i < 8; i++) {
		if (i == best) {
			at += (size_t)snprintf(out + at, 64 - at, "::");
			i += best_len - 1;
			continue;
		}
		at += (size_t)snprintf(out + at, 64 - at, "%s%x", i && i != best + best_len ? ":" : "",
				       (unsigned)addr[2 * i] << 8 | addr[2 * i + 1]);
	}
}

void cc_host_from_addr(const uint8_t *addr, size_t len, struct cc_host *out_host)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	*out_host = (struct cc_host){0};
	if (len == 16 && memcmp(addr, mapped, sizeof(mapped)) == 0) {
		addr += 12;
		len = 4;
	}
	if (len == 4) {
		out_host->kind = CC_HOST_V4;
		memcpy(out_host->addr, addr, 4);
		snprintf(out_host->text, sizeof(out_host->text), "%u.%u.%u.%u", addr[0], addr[1], addr[2], addr[3]);
	} else if (len == 16) {
		out_host->kind = CC_HOST_V6;
		memcpy(out_host->addr, addr, 16);
		write_v6(addr, out_host->text);
	}
}
