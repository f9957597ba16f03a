#include "parse/names.h"

#include "policy/net.h"

#include <stdlib.h>
#include <string.h>

/* A power of two, twice as many as names: probes stay short. Addresses end in 1 to 254. */
enum { SLOTS = CC_NAMES_MAX * 2, PER_NET = 254 };

struct cc_names {
	char *name[CC_NAMES_MAX]; /* by number; the number is the address */
	uint16_t slot[SLOTS];     /* number + 1, 0 = free */
	size_t next;
};

static uint32_t hash(const char *name)
{
	uint32_t sum = 2166136261u;

	for (; *name; name++)
		sum = (sum ^ (unsigned char)*name) * 16777619u;
	return sum;
}

struct cc_names *cc_names_new(void)
{
	return calloc(1, sizeof(struct cc_names));
}

static void write_address(size_t number, uint8_t out[4])
{
	size_t net = number / PER_NET;

	out[0] = CC_CAPTURE_NET_0;
	out[1] = (uint8_t)(CC_CAPTURE_NET_1 + net / 256);
	out[2] = (uint8_t)(net % 256);
	out[3] = (uint8_t)(number % PER_NET + 1);
}

/* Where name is, or the free slot where it would go. */
static size_t find(const struct cc_names *names, const char *name)
{
	size_t at = hash(name) % SLOTS;

	while (names->slot[at] && strcmp(names->name[names->slot[at] - 1], name) != 0)
		at = (at + 1) % SLOTS;
	return at;
}

/* Takes a name out; those behind it in the same run of slots move up, so that they are still found. */
static void forget(struct cc_names *names, size_t number)
{
	size_t hole = find(names, names->name[number]);

	names->slot[hole] = 0;
	for (size_t at = (hole + 1) % SLOTS; names->slot[at]; at = (at + 1) % SLOTS) {
		uint16_t moved = names->slot[at];

		names->slot[at] = 0;
		names->slot[find(names, names->name[moved - 1])] = moved;
	}
	free(names->name[number]);
	names->name[number] = NULL;
}

bool cc_names_address(struct cc_names *names, const char *name, uint8_t out[4])
{
	size_t at = find(names, name);
	char *copy;

	if (names->slot[at]) {
		write_address(names->slot[at] - 1u, out);
		return true;
	}
	copy = cc_str_copy(name);
	if (!copy)
		return false;
	if (names->name[names->next])
		forget(names, names->next);
	names->name[names->next] = copy;
	names->slot[find(names, name)] = (uint16_t)(names->next + 1);
	write_address(names->next, out);
	names->next = (names->next + 1) % CC_NAMES_MAX;
	return true;
}

const char *cc_names_at(const struct cc_names *names, const uint8_t addr[4])
{
	size_t net = (size_t)(addr[1] - CC_CAPTURE_NET_1) * 256 + addr[2];
	size_t number = net * PER_NET + addr[3] - 1u;

	if (addr[0] != CC_CAPTURE_NET_0 || addr[1] < CC_CAPTURE_NET_1 || addr[3] == 0 || addr[3] > PER_NET ||
	    number >= CC_NAMES_MAX)
		return NULL;
	return names->name[number];
}

void cc_names_free(struct cc_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < CC_NAMES_MAX; i++)
		free(names->name[i]);
	free(names);
}
