#include "parse/dns.h"

#include <string.h>

enum { HEAD = 12, LABEL_MAX = 63, NAME_WIRE_MAX = 255, CLASS_IN = 1 };
enum { RESPONSE = 0x8000, OPCODE = 0x7800, RECURSION_WANTED = 0x0100, RECURSION_HERE = 0x0080, AUTHORITY = 0x0400 };

static uint16_t read16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void write16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* Reads the labels of a question, which has nothing before it that a pointer could point to. 0: malformed. */
static size_t read_name(struct cc_view bytes, struct cc_dns_query *out)
{
	size_t at = 0;

	out->name_len = 0;
	for (;;) {
		size_t len;

		if (at >= bytes.len || at >= NAME_WIRE_MAX)
			return 0;
		len = (unsigned char)bytes.ptr[at++];
		if (len == 0)
			break;
		if (len > LABEL_MAX || at + len > bytes.len || at + len >= NAME_WIRE_MAX)
			return 0;
		if (out->name_len)
			out->name[out->name_len++] = '.';
		memcpy(out->name + out->name_len, bytes.ptr + at, len);
		/* A dot inside a label would make two labels of one. */
		if (memchr(bytes.ptr + at, '.', len))
			return 0;
		out->name_len += len;
		at += len;
	}
	out->name[out->name_len] = '\0';
	return at;
}

bool cc_dns_parse(struct cc_view packet, struct cc_dns_query *out)
{
	const uint8_t *head = (const uint8_t *)packet.ptr;
	struct cc_view rest;
	size_t len;

	*out = (struct cc_dns_query){.plain = false};
	if (packet.len < HEAD)
		return false;
	out->id = read16(head);
	out->flags = read16(head + 2);
	if (out->flags & RESPONSE)
		return false;
	if ((out->flags & OPCODE) || read16(head + 4) != 1 || read16(head + 6) || read16(head + 8))
		return true;
	rest = (struct cc_view){packet.ptr + HEAD, packet.len - HEAD};
	len = read_name(rest, out);
	if (len == 0 || rest.len < len + 4)
		return true;
	out->type = read16((const uint8_t *)rest.ptr + len);
	if (read16((const uint8_t *)rest.ptr + len + 2) != CLASS_IN)
		return true;
	out->question = (struct cc_view){rest.ptr, len + 4};
	out->plain = true;
	return true;
}

/* The answer's record: a pointer to the question's name, type, class, time to live, data. */
static uint8_t *record(uint8_t *at, uint16_t type, size_t len)
{
	write16(at, 0xc000 | HEAD);
	write16(at + 2, type);
	write16(at + 4, CLASS_IN);
	write16(at + 6, 0);
	write16(at + 8, CC_DNS_TTL);
	write16(at + 10, (unsigned)len);
	return at + 12;
}

static size_t write_name(uint8_t *at, const char *name)
{
	uint8_t *start = at;

	while (*name) {
		size_t len = strcspn(name, ".");

		*at++ = (uint8_t)len;
		memcpy(at, name, len);
		at += len;
		name += len + (name[len] == '.');
	}
	*at++ = 0;
	return (size_t)(at - start);
}

size_t cc_dns_answer(const struct cc_dns_query *query, enum cc_dns_code code, const uint8_t *addr, const char *name,
		     uint8_t out[CC_DNS_MAX])
{
	uint8_t *at = out + HEAD;
	bool answered = code == CC_DNS_OK && (addr || name);

	memset(out, 0, HEAD);
	write16(out, query->id);
	write16(out + 2,
		RESPONSE | AUTHORITY | RECURSION_HERE | (query->flags & (RECURSION_WANTED | OPCODE)) | (unsigned)code);
	if (query->question.len) {
		write16(out + 4, 1);
		memcpy(at, query->question.ptr, query->question.len);
		at += query->question.len;
	}
	if (!answered)
		return (size_t)(at - out);
	write16(out + 6, 1);
	if (addr) {
		at = record(at, CC_DNS_A, 4);
		memcpy(at, addr, 4);
		return (size_t)(at + 4 - out);
	}
	/* both names have at most 255 bytes: together they fit */
	at = record(at, CC_DNS_PTR, 0);
	{
		size_t len = strlen(name) < 190 ? write_name(at, name) : write_name(at, "a-long-name.invalid");

		write16(at - 2, (unsigned)len);
		return (size_t)(at + len - out);
	}
}

bool cc_dns_reverse(const struct cc_dns_query *query, uint8_t addr[4])
{
	static const char suffix[] = ".in-addr.arpa";
	size_t tail = sizeof(suffix) - 1;
	uint8_t back[4];

	if (query->name_len <= tail || !cc_view_ends((struct cc_view){query->name, query->name_len}, suffix) ||
	    !cc_addr_read_v4((struct cc_view){query->name, query->name_len - tail}, back))
		return false;
	for (size_t i = 0; i < 4; i++)
		addr[i] = back[3 - i];
	return true;
}
